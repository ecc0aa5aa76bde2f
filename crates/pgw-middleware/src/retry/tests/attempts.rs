//! What follows each class of failure.

use pgw_types::{CallOptions, ErrorKind, FailureClass, Fault, FinishReason, PgwError};

use super::super::*;
use crate::doubles::{
    Bench, Script, Setup, Step, begin, done, fault, ms, pause, secs, text, thought,
};

fn reason(error: &PgwError) -> ScopeReason {
    error.unavailable().unwrap().reason()
}

fn source_reasons(error: &PgwError) -> Vec<(String, SourceReason)> {
    let reasons = error.unavailable().unwrap().per_source_reasons();
    reasons.iter().map(|(name, reason)| (name.to_string(), *reason)).collect()
}

/// MID-009, MID-030: a call that goes well asks each gate once and is settled by real usage.
#[tokio::test(start_paused = true)]
async fn a_good_call_takes_the_straight_way() {
    let bench = Setup::new(&["a"]).build();
    let answer = bench.whole().await.unwrap();
    assert_eq!((answer.content.as_str(), answer.source_name.as_str()), ("ok", "a"));
    assert_eq!(answer.cost, Some(15.0));
    for operation in ["try_acquire", "settle", "release", "mark_progress"] {
        assert_eq!(bench.limiter.count(operation), 1, "{operation}");
    }
    assert_eq!(bench.limiter.settled(), [15]);
    assert_eq!(bench.breaker.count("record_success"), 1);
    assert_eq!(bench.limiter.count("abandon") + bench.breaker.count("abandon"), 0);
    bench.assert_idle("after the call");
}

/// MID-004, MID-011, MID-031, MID-065: three attempts are three permits, three verdicts, three ids
/// and three rows; the limiter saw as many calls as the service.
#[tokio::test(start_paused = true)]
async fn each_attempt_is_its_own() {
    let bench = Setup::new(&["a"]).build();
    bench.upstream.script("a", [Script::fault(Fault::ServerError), Script::fault(Fault::Network)]);
    let answer = bench.whole().await.unwrap();
    assert_eq!(bench.limiter.count("try_acquire"), 3);
    assert_eq!(bench.limiter.count("release"), 3);
    assert_eq!(bench.breaker.count("record_failure"), 2);
    assert_eq!(bench.breaker.count("record_success"), 1);
    let made = bench.upstream.made();
    let sent: Vec<_> = made.iter().map(|made| made.call_id.as_str()).collect();
    let records = bench.recorder.all();
    let rows: Vec<_> = records.iter().map(|row| row.call_id.as_str()).collect();
    let traced: Vec<_> = answer.trace.attempts.iter().map(|a| &*a.call_id).collect();
    assert_eq!((&sent, &sent), (&rows, &traced));
    assert!(sent[0] != sent[1] && sent[1] != sent[2] && sent[0] != sent[2]);
    assert_eq!(answer.call_id, sent[2]);
    let numbers: Vec<_> = records.iter().map(|row| row.attempt).collect();
    assert_eq!(numbers, [Some(0), Some(1), Some(2)]);
}

/// MID-010, MID-020: the backoff doubles, on the clock of the loop.
#[tokio::test(start_paused = true)]
async fn the_backoff_doubles_between_attempts() {
    let bench = Setup::new(&["a"]).attempts(6).build();
    bench.upstream.otherwise(Script::fault(Fault::ServerError));
    bench.breaker.break_operations(["record_failure"]);
    bench.whole().await.unwrap_err();
    assert_eq!(bench.times(), [0, 1_000, 3_000, 7_000, 15_000, 23_000]);
    assert_eq!(bench.elapsed(), 23_000, "no backoff after the last attempt");
}

/// MID-010, MID-042: a transient failure goes to another source after the backoff; those that
/// failed in this call come last.
#[tokio::test(start_paused = true)]
async fn failed_sources_are_asked_last() {
    let bench = Setup::new(&["a", "b", "c"]).attempts(5).build();
    bench.upstream.otherwise(Script::fault(Fault::Overloaded));
    bench.whole().await.unwrap_err();
    assert_eq!(bench.upstream.sources(), ["a", "b", "c", "a", "b"]);
    assert_eq!(bench.times(), [0, 1_000, 3_000, 7_000, 15_000]);
}

/// MID-012, MID-040: a dead source is left without waiting, its breaker is forced open, and later
/// calls do not even ask it.
#[tokio::test(start_paused = true)]
async fn a_dead_source_is_left_at_once() {
    let bench = Setup::new(&["a", "b"]).build();
    bench.upstream.script("a", [Script::fault(Fault::InvalidKey)]);
    let answer = bench.whole().await.unwrap();
    assert_eq!(answer.source_name, "b");
    assert_eq!(bench.times(), [0, 0]);
    assert_eq!(bench.breaker.sources("force_open"), ["a"]);
    assert_eq!(answer.trace.attempts[0].fault, Some(Fault::InvalidKey));
    assert_eq!(bench.whole().await.unwrap().source_name, "b");
    assert_eq!(bench.breaker.sources("try_enter"), ["a", "b", "b"]);
    assert_eq!(bench.elapsed(), 0);
}

/// D45: however many keys are dead and however few retries there are, one healthy source serves.
#[tokio::test(start_paused = true)]
async fn any_number_of_dead_sources_costs_no_attempt() {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    for dead in 0..names.len() {
        let bench = Setup::new(&names[..=dead]).attempts(1).build();
        for name in &names[..dead] {
            bench.upstream.script(name, [Script::fault(Fault::Quota)]);
        }
        let answer = bench.whole().await.unwrap();
        assert_eq!(answer.source_name, names[dead]);
        assert_eq!(bench.upstream.made().len(), dead + 1);
        assert_eq!(bench.elapsed(), 0);
    }
}

/// MID-028, MID-012: all dead is the end, with the reason of each and the time to the first.
#[tokio::test(start_paused = true)]
async fn all_dead_is_exhausted() {
    let bench = Setup::new(&["a", "b"]).build();
    bench.upstream.otherwise(Script::fault(Fault::InvalidKey));
    let error = bench.whole().await.unwrap_err();
    assert_eq!(reason(&error), ScopeReason::RetryExhausted);
    assert_eq!(error.kind(), ErrorKind::UpstreamAuthError);
    assert_eq!(error.retry_after(), Some(secs(30)));
    let dead = SourceReason::SourceDead;
    assert_eq!(source_reasons(&error), [("a".into(), dead), ("b".into(), dead)]);
    assert_eq!(bench.upstream.sources(), ["a", "b"]);
}

/// MID-013, MID-073, D51: whatever is rejected is rejected once.
#[tokio::test(start_paused = true)]
async fn a_rejected_request_makes_one_upstream_call() {
    let rejected = |fault: &&Fault| fault.class() == FailureClass::RequestRejected;
    for &kind in Fault::ALL.iter().filter(rejected) {
        let bench = Setup::new(&["a", "b"]).attempts(1_000).build();
        bench.upstream.otherwise(Script::fault(kind));
        let error = bench.whole().await.unwrap_err();
        assert_eq!(error.call().unwrap().fault(), kind);
        assert_eq!(bench.upstream.made().len(), 1, "{kind:?}");
        assert_eq!(bench.breaker.verdicts(), 0, "{kind:?}");
        assert_eq!(bench.recorder.all().len(), 1);
        assert_eq!(bench.elapsed(), 0);
        bench.assert_idle("after a rejection");
    }
}

/// MID-072: an answer of no use is the end of the call but a success for the breaker.
#[tokio::test(start_paused = true)]
async fn an_invalid_result_is_a_healthy_source() {
    let bench = Setup::new(&["a", "b"]).build();
    bench
        .upstream
        .script("a", [Script::steps([begin(), thought("hm"), done(FinishReason::Length)])]);
    let error = bench.whole().await.unwrap_err();
    assert_eq!(error.class(), Some(FailureClass::ResultInvalid));
    assert_eq!(error.partial().unwrap().thinking.as_deref(), Some("hm"), "what came is kept");
    assert_eq!(bench.upstream.made().len(), 1);
    assert_eq!(bench.breaker.count("record_success"), 1);
    assert_eq!(bench.breaker.count("record_failure"), 0);
}

/// MID-010, MID-090: an empty answer, a cut one and one that breaks half-way are retried without
/// the caller noticing.
#[tokio::test(start_paused = true)]
async fn a_stream_that_dies_is_retried_invisibly() {
    let deaths = [
        Script::steps([begin(), done(FinishReason::Stop)]),
        Script::steps([begin(), text("half")]),
        Script::steps([begin(), text("half"), Step::Fail(fault(Fault::Truncated))]),
    ];
    for death in deaths {
        let bench = Setup::new(&["a", "b"]).build();
        bench.upstream.script("a", [death]);
        let answer = bench.whole().await.unwrap();
        assert_eq!((&*answer.content, &*answer.source_name), ("ok", "b"));
        assert_eq!(bench.times(), [0, 1_000]);
        assert_eq!(bench.breaker.count("record_failure"), 1);
    }
}

/// MID-027, MID-028: attempts used up, told with the reason of each source and as what the last
/// attempt died of.
#[tokio::test(start_paused = true)]
async fn used_up_attempts_tell_each_sources_reason() {
    let bench = Setup::new(&["a", "b"]).build();
    bench.upstream.script("a", [Script::fault(Fault::ServerError), Script::fault(Fault::Timeout)]);
    bench.upstream.script("b", [Script::rate_limited(Some(60))]);
    let error = bench.whole().await.unwrap_err();
    assert_eq!(reason(&error), ScopeReason::RetryExhausted);
    assert_eq!(bench.upstream.sources(), ["a", "b", "a"]);
    assert_eq!(error.kind(), ErrorKind::Timeout, "what the last died of");
    assert_eq!(
        source_reasons(&error),
        [("a".into(), SourceReason::Timeout), ("b".into(), SourceReason::RateLimited)]
    );
    assert_eq!(error.trace().unwrap().attempts.len(), 3);
    assert_eq!(error.retry_after(), Some(Duration::ZERO), "a is not cooling");
    assert!(error.to_string().contains("timeout"), "{error}");
}

/// MID-029: no source, or none that the plan allows, is `no_sources` with no time to wait.
#[tokio::test(start_paused = true)]
async fn no_sources_is_said_at_once() {
    let mut excluded = Setup::new(&["a"]).build();
    excluded.plan.candidates.clear();
    for bench in [Setup::new(&[]).build(), excluded] {
        let error = bench.whole().await.unwrap_err();
        assert_eq!(reason(&error), ScopeReason::NoSources);
        assert_eq!(error.retry_after(), Some(Duration::ZERO));
        assert_eq!(bench.elapsed(), 0);
        assert_eq!(bench.upstream.made().len(), 0);
    }
}

/// MID-041: a breaker that opened in a call keeps its source out, and a probe that goes well
/// brings it back.
#[tokio::test(start_paused = true)]
async fn an_opened_source_comes_back_through_its_probe() {
    let mut setup = Setup::new(&["a", "b"]);
    setup.threshold = 1;
    let bench = setup.build();
    bench.upstream.script("a", [Script::fault(Fault::ServerError)]);
    assert_eq!(bench.whole().await.unwrap().source_name, "b");
    assert_eq!(bench.whole().await.unwrap().source_name, "b");
    tokio::time::sleep(secs(30)).await;
    assert_eq!(bench.whole().await.unwrap().source_name, "a");
    assert!(bench.breaker.is_closed("a"));
    assert_eq!(bench.breaker.sources("try_enter"), ["a", "b", "b", "a"]);
}

/// MID-026, MID-032: a call dropped during its backoff makes no further upstream call.
#[tokio::test(start_paused = true)]
async fn a_dropped_call_sends_nothing_more() {
    let bench = Setup::new(&["a", "b"]).attempts(9).build();
    bench.upstream.otherwise(Script::fault(Fault::ServerError));
    tokio::select! {
        result = bench.whole() => panic!("it should be backing off: {result:?}"),
        () = tokio::time::sleep(ms(500)) => {}
    }
    tokio::time::sleep(secs(3_600)).await;
    assert_eq!(bench.upstream.made().len(), 1);
    let errors = bench.recorder.errors();
    assert_eq!(errors.len(), 2, "the attempt's own, and the drop: {errors:?}");
    assert_eq!(errors[1].as_deref(), Some("cancelled"));
    bench.assert_idle("after the drop");
}

/// Architecture §3: a lease is renewed while its stream lives.
#[tokio::test(start_paused = true)]
async fn a_lease_is_renewed_while_the_stream_lives() {
    let mut setup = Setup::new(&["a"]);
    setup.lease_ttl = secs(30);
    let bench = setup.build();
    let tokens = (0..12).flat_map(|_| [pause(5_000), text("x")]);
    bench.upstream.script(
        "a",
        [Script::steps(std::iter::once(begin()).chain(tokens).chain([done(FinishReason::Stop)]))],
    );
    bench.whole().await.unwrap();
    assert_eq!(bench.limiter.count("renew"), 6, "every third of 30 s in 60 s");
}

/// MID-025: two hundred calls at once on one loop, each with a script of its own, never mix.
#[tokio::test(start_paused = true)]
async fn two_hundred_calls_do_not_mix() {
    const FAULTS: [Fault; 3] = [Fault::ServerError, Fault::Network, Fault::Overloaded];
    let mut setup = Setup::new(&["a", "b", "c"]).attempts(4);
    setup.threshold = u32::MAX;
    setup.selector = "round_robin";
    let bench = setup.build();
    let failures = |number: usize| number % 4;
    for number in 0..200 {
        let scripts = FAULTS[..failures(number)]
            .iter()
            .map(|&kind| Script::fault(kind).after(ms(number as u64)))
            .chain([Script::answer(&format!("answer {number}"))]);
        bench.upstream.script_model(&format!("m{number}"), scripts);
    }
    let one = async |number: usize| {
        let answer = bench.whole_of(&format!("m{number}")).await.unwrap();
        assert_eq!(answer.content, format!("answer {number}"));
        let faults: Vec<_> = answer.trace.attempts.iter().map(|a| a.fault).collect();
        let mut expected: Vec<_> = FAULTS[..failures(number)].iter().copied().map(Some).collect();
        expected.push(None);
        assert_eq!(faults, expected, "call {number}");
        let rows = bench.recorder.of(&answer.trace.request_id);
        assert_eq!(rows.len(), failures(number) + 1);
        assert!(rows.iter().all(|row| row.model == format!("m{number}")));
    };
    futures_util::future::join_all((0..200).map(one)).await;
    assert_eq!(bench.upstream.made().len(), 200 + 300);
    assert_eq!(bench.limiter.count("try_acquire"), 500);
    bench.assert_idle("after all calls");
}

/// Without a recorder nothing is written and the call is the same.
#[tokio::test(start_paused = true)]
async fn without_a_recorder_nothing_is_written() {
    let mut setup = Setup::new(&["a"]);
    setup.recorded = false;
    let bench: Bench = setup.build();
    let answer = bench.whole_with(CallOptions::default()).await.unwrap();
    assert_eq!(answer.cost, Some(15.0));
    assert_eq!(bench.recorder.all().len(), 0);
}
