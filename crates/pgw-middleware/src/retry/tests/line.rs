//! Standing in line: order, bounds, and nobody overtakes.

use std::{future::poll_fn, pin::Pin, task::Poll};

use pgw_types::{Denial, Fault, Gate};

use super::super::*;
use crate::doubles::{Bench, Script, Setup, ms, secs};

/// Polls once and expects the future to wait.
async fn is_waiting<F: Future>(future: &mut Pin<Box<F>>) -> bool {
    poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx).is_pending())).await
}

fn order(bench: &Bench) -> Vec<String> {
    let made = bench.upstream.made();
    made.into_iter().map(|made| made.request.model.clone().unwrap()).collect()
}

/// Issue 3 §4: twenty waiters are served in the order in which they came.
#[tokio::test(start_paused = true)]
async fn twenty_waiters_are_served_in_order() {
    let bench = Setup::new(&["a"]).build();
    bench.limiter.cap(1);
    bench.upstream.otherwise(Script::answer("ok").after(secs(1)));
    let caller = async |number: u64| {
        tokio::time::sleep(ms(number)).await;
        bench.whole_of(&format!("{number:02}")).await.unwrap();
    };
    futures_util::future::join_all((0..21).map(caller)).await;
    let served = order(&bench);
    assert!(served.is_sorted(), "{served:?}");
    assert_eq!(served.len(), 21);
    assert_eq!(bench.limiter.peak(), 1);
    let times = bench.times();
    assert_eq!(times.last(), Some(&20_000), "no gap between them: {times:?}");
}

/// Issue 3 §4: a newcomer that is quicker than the woken waiter does not overtake it.
#[tokio::test(start_paused = true)]
async fn a_newcomer_does_not_overtake() {
    let bench = Setup::new(&["a"]).build();
    bench.limiter.cap(1);
    let lease = bench.limiter.hold("a").await;
    let mut first = Box::pin(bench.whole_of("first"));
    let mut second = Box::pin(bench.whole_of("second"));
    assert!(is_waiting(&mut first).await && is_waiting(&mut second).await);
    bench.limiter.release(&lease).await.unwrap();
    let mut newcomer = Box::pin(bench.whole_of("newcomer"));
    assert!(is_waiting(&mut newcomer).await, "the slot is not for it");
    let (third, two, one) = tokio::join!(newcomer, second, first);
    assert!(one.is_ok() && two.is_ok() && third.is_ok());
    assert_eq!(order(&bench), ["first", "second", "newcomer"]);
}

/// MID-032, MID-054: whoever leaves the line, at its head or within, does not hold up the rest.
#[tokio::test(start_paused = true)]
async fn leaving_the_line_holds_up_nobody() {
    let bench = Setup::new(&["a"]).build();
    bench.limiter.cap(1);
    let lease = bench.limiter.hold("a").await;
    let mut head = Box::pin(bench.whole_of("head"));
    let mut middle = Box::pin(bench.whole_of("middle"));
    let mut last = Box::pin(bench.whole_of("last"));
    for waiter in [&mut head, &mut middle, &mut last] {
        assert!(is_waiting(waiter).await);
    }
    drop(middle);
    drop(head);
    bench.limiter.release(&lease).await.unwrap();
    last.await.unwrap();
    assert_eq!((order(&bench), bench.elapsed()), (vec!["last".into()], 0));
    assert_eq!(bench.limiter.count("abandon"), 0, "waiting takes no lease");
    let cancelled = bench.recorder.errors();
    assert_eq!(cancelled.iter().flatten().collect::<Vec<_>>(), ["cancelled", "cancelled"]);
}

/// Issue 3 §4: the line is bounded.
#[tokio::test(start_paused = true)]
async fn a_full_line_refuses_at_once() {
    let mut setup = Setup::new(&["a"]);
    setup.wait.max_queue = 2;
    let bench = setup.build();
    bench.limiter.cap(0);
    let mut one = Box::pin(bench.whole());
    let mut two = Box::pin(bench.whole());
    assert!(is_waiting(&mut one).await && is_waiting(&mut two).await);
    let error = bench.whole().await.unwrap_err();
    let refusal = error.unavailable().unwrap();
    assert_eq!(refusal.reason(), ScopeReason::QuotaExhausted);
    assert_eq!(refusal.retry_after(), secs(1));
    assert!(refusal.to_string().contains("stand in line"), "{refusal}");
    assert_eq!(bench.elapsed(), 0);
    drop(one);
    let mut three = Box::pin(bench.whole());
    assert!(is_waiting(&mut three).await, "a place came free");
}

/// Issue 3 §4, D79: the longest wait ends a wait behind others as well, with the reason for which
/// they all stand there.
#[tokio::test(start_paused = true)]
async fn the_longest_wait_ends_a_wait_within_the_line() {
    let bench = Setup::new(&["a"]).build();
    bench.limiter.cap(0);
    bench.limiter.set_progress_age(Duration::ZERO);
    let results = futures_util::future::join_all((0..3).map(|_| bench.whole())).await;
    assert_eq!(bench.elapsed(), 120_000);
    for result in results {
        let error = result.unwrap_err();
        let refusal = error.unavailable().unwrap();
        assert_eq!(refusal.reason(), ScopeReason::QuotaExhausted, "{refusal}");
        assert!(refusal.to_string().contains("global_concurrency"), "{refusal}");
    }
}

/// MID-051: those within the line are stalled together with its head.
#[tokio::test(start_paused = true)]
async fn the_whole_line_is_stalled_together() {
    let bench = Setup::new(&["a"]).build();
    bench.limiter.cap(0);
    let results = futures_util::future::join_all((0..3).map(|_| bench.whole())).await;
    assert_eq!(bench.elapsed(), 60_000);
    for result in results {
        let error = result.unwrap_err();
        let reason = error.unavailable().unwrap().reason();
        assert_eq!(reason, ScopeReason::Stalled);
    }
}

/// MID-012, MID-029: a call that no wait can help does not stand in line to learn it.
#[tokio::test(start_paused = true)]
async fn a_hopeless_call_does_not_stand_in_line() {
    let mut bench = Setup::new(&["a", "b"]).build();
    let full = Denial { gate: Gate::SourceConcurrency, retry_after: None, never_above: None };
    // This call is on its way when the line forms behind the full gates; then its source dies.
    let dying = Script::fault(Fault::InvalidKey).after(secs(1));
    bench.upstream.script_model("dying", [dying]);
    let everywhere = bench.plan.candidates.clone();
    bench.plan.candidates.truncate(1);
    let narrow = bench.cx(Hand::Whole, pgw_types::CallOptions::default());
    bench.plan.candidates.clear();
    let nowhere = bench.cx(Hand::Whole, pgw_types::CallOptions::default());
    bench.plan.candidates = everywhere;
    let request =
        |model: &str| pgw_types::ChatRequest { model: Some(model.into()), ..Default::default() };
    let mut dying = Box::pin(bench.send(&narrow, request("dying")));
    assert!(is_waiting(&mut dying).await);
    bench.limiter.deny("a", full);
    bench.limiter.deny("b", full);
    let mut waiter = Box::pin(bench.whole());
    assert!(is_waiting(&mut waiter).await);
    let error = dying.await.unwrap_err();
    assert_eq!(bench.elapsed(), 1_000);
    assert_eq!(error.unavailable().unwrap().reason(), ScopeReason::RetryExhausted);
    let error = bench.send(&nowhere, request("any")).await.unwrap_err();
    assert_eq!(error.unavailable().unwrap().reason(), ScopeReason::NoSources);
    assert_eq!(bench.elapsed(), 1_000);
}
