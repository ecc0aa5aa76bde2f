//! Gates whose stores fail: shut at the door, soft in the books.

use std::error::Error as _;

use pgw_types::{CallOptions, Fault};

use super::super::*;
use crate::doubles::{Bench, Script, Setup, secs};

#[track_caller]
fn assert_backend_down(error: &PgwError, operation: &str) {
    let refusal = error.unavailable().unwrap();
    assert_eq!(refusal.reason(), ScopeReason::GovernanceBackendDown);
    assert!(refusal.is_governance_backend());
    assert_eq!(refusal.scope(), "test");
    assert_eq!(refusal.retry_after(), secs(5));
    let text = error.to_string();
    assert!(text.contains(operation), "{text}");
    assert!(text.contains(&format!("{operation} is broken")), "word for word: {text}");
    assert_eq!(refusal.source().unwrap().to_string(), "the wire is cut");
}

fn break_both(bench: &Bench, operations: &[&'static str]) {
    let operations = operations.iter().copied();
    bench.limiter.break_operations(operations.clone());
    bench.breaker.break_operations(operations);
}

/// MID-055, MID-056, MID-059, MID-106: a gate that can't decide lets nothing pass; the error names
/// the scope and 5 s, and stands in one record.
#[tokio::test(start_paused = true)]
async fn a_broken_gate_stays_shut() {
    for operation in ["try_enter", "try_acquire", "source_load"] {
        let mut setup = Setup::new(&["a", "b"]);
        setup.selector = "least_inflight";
        let bench = setup.build();
        bench.breaker.open_for("a", Duration::ZERO);
        break_both(&bench, &[operation]);
        let error = bench.whole().await.unwrap_err();
        assert_backend_down(&error, operation);
        assert_eq!(bench.elapsed(), 0, "no waiting for a dead store");
        assert_eq!(bench.upstream.made().len(), 0);
        assert_eq!(bench.breaker.verdicts(), 0);
        let records = bench.recorder.all();
        assert_eq!(records.len(), 1);
        let text = records[0].error.as_deref().unwrap();
        assert!(text.starts_with("unavailable/governance_backend_down"), "{text}");
        bench.assert_idle(operation);
    }
}

/// MID-033, MID-055: so does a store that can't say whether anybody makes progress.
#[tokio::test(start_paused = true)]
async fn a_broken_progress_age_reaches_the_waiter() {
    let bench = Setup::new(&["a"]).build();
    bench.limiter.cap(0);
    break_both(&bench, &["progress_age"]);
    let results = futures_util::future::join_all([bench.whole(), bench.whole()]).await;
    for result in results {
        assert_backend_down(&result.unwrap_err(), "progress_age");
    }
    bench.assert_idle("after the refusal");
}

/// MID-064: a store that fails after a failed attempt is told as that, not as exhausted attempts.
#[tokio::test(start_paused = true)]
async fn a_store_that_fails_later_is_not_wrapped() {
    let bench = Setup::new(&["a"]).build();
    let failing = Script::fault(Fault::ServerError).after(secs(1));
    bench.upstream.script("a", [failing]);
    let breaking = async {
        tokio::time::sleep(secs(1)).await;
        break_both(&bench, &["try_acquire"]);
    };
    let (result, ()) = tokio::join!(bench.whole(), breaking);
    assert_backend_down(&result.unwrap_err(), "try_acquire");
    assert_eq!(bench.recorder.all().len(), 1, "the attempt's row alone");
    bench.assert_idle("after the refusal");
}

/// MID-060, MID-061, MID-062: books that can't be kept never touch a good answer.
#[tokio::test(start_paused = true)]
async fn broken_books_do_not_touch_a_success() {
    let books = ["settle", "release", "record_success", "mark_progress"];
    let each = books.iter().map(|operation| vec![*operation]);
    for broken in each.chain([books.to_vec()]) {
        let bench = Setup::new(&["a"]).build();
        break_both(&bench, &broken);
        let answer = bench.whole().await.unwrap();
        assert_eq!(answer.content, "ok");
        assert_eq!(bench.recorder.errors(), [None]);
        bench.assert_idle("a permit that can't be released is handed to the store's clean-up");
    }
}

/// MID-060, MID-061: nor do they change what a failure means.
#[tokio::test(start_paused = true)]
async fn broken_books_do_not_touch_a_failure() {
    let books = ["settle", "release", "record_failure", "force_open"];
    let bench = Setup::new(&["a", "b", "c"]).build();
    break_both(&bench, &books);
    bench.upstream.script("a", [Script::fault(Fault::InvalidKey)]);
    bench.upstream.script("b", [Script::fault(Fault::ServerError)]);
    let answer = bench.whole().await.unwrap();
    assert_eq!(answer.source_name, "c");
    assert_eq!(bench.times(), [0, 0, 1_000]);
    bench.assert_idle("after the call");

    let bench = Setup::new(&["a"]).build();
    break_both(&bench, &["release_probe", "settle", "release"]);
    bench.breaker.open_for("a", Duration::ZERO);
    bench.upstream.script("a", [Script::fault(Fault::BadRequest)]);
    let error = bench.whole().await.unwrap_err();
    assert_eq!(error.call().unwrap().fault(), Fault::BadRequest);
    bench.assert_idle("after the rejection");
}

/// MID-060: a lease that can't be renewed does not end its stream.
#[tokio::test(start_paused = true)]
async fn a_broken_renewal_does_not_end_the_stream() {
    let mut setup = Setup::new(&["a"]);
    setup.lease_ttl = Duration::ZERO;
    let bench = setup.build();
    break_both(&bench, &["renew"]);
    assert_eq!(bench.whole().await.unwrap().content, "ok");
    assert_eq!(bench.limiter.count("renew"), 1);
}

/// MID-063: a call dropped while its books are being kept is simply gone, broken books or not.
#[tokio::test(start_paused = true)]
async fn a_drop_while_settling_wins() {
    let bench = Setup::new(&["a"]).build();
    bench.limiter.slow_down();
    bench.breaker.slow_down();
    bench.limiter.break_operations(["release"]);
    let mut polls = 1;
    loop {
        let call = bench.whole_with(CallOptions::default());
        let finished = crate::doubles::DropAfter::new(call, polls).await;
        bench.assert_idle("after the drop");
        match finished {
            Some(result) => break assert_eq!(result.unwrap().content, "ok"),
            None => polls += 1,
        }
    }
}
