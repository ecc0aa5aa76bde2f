//! The call's own deadline cuts through everything.

use pgw_types::{CallOptions, Denial, ErrorKind, Fault, FinishReason, Gate};

use super::super::*;
use crate::doubles::{Script, Setup, begin, consume, done, ms, pause, secs, text};

/// Issue 3 §7: a backoff that ends beyond the deadline isn't begun.
#[tokio::test(start_paused = true)]
async fn a_backoff_beyond_the_deadline_ends_the_call_at_once() {
    let mut setup = Setup::new(&["a", "b"]);
    setup.retry.base_delay = secs(8);
    let bench = setup.build();
    bench.upstream.otherwise(Script::fault(Fault::ServerError));
    let error = bench.whole_within(secs(5)).await.unwrap_err();
    assert_eq!(bench.elapsed(), 0);
    assert_eq!(error.unavailable().unwrap().reason(), ScopeReason::RetryExhausted);
    assert!(error.to_string().contains("deadline"), "{error}");
    assert_eq!(bench.upstream.made().len(), 1);
}

/// Issue 3 §7: so does a `Retry-After` beyond the deadline, once no other source is left.
#[tokio::test(start_paused = true)]
async fn a_retry_after_beyond_the_deadline_is_not_waited_for() {
    let bench = Setup::new(&["a"]).build();
    bench.upstream.script("a", [Script::rate_limited(Some(60))]);
    let error = bench.whole_within(secs(5)).await.unwrap_err();
    assert!(bench.elapsed() <= 1_000, "{} ms", bench.elapsed());
    assert_eq!(error.kind(), ErrorKind::UpstreamRateLimit);
    assert_eq!(bench.upstream.made().len(), 1);
}

/// MID-152, D91: a deadline that cuts an attempt, before its head or within its stream, says
/// nothing about the source: no verdict, no second attempt, everything back.
#[tokio::test(start_paused = true)]
async fn a_deadline_within_an_attempt_is_no_verdict() {
    let slow = Script::steps([begin(), text("half"), pause(50_000)]);
    for script in [Script::silent(), slow] {
        for probe in [false, true] {
            let bench = Setup::new(&["a", "b"]).build();
            if probe {
                bench.breaker.open_for("a", Duration::ZERO);
            }
            bench.upstream.script("a", [script.clone()]);
            let error = bench.whole_within(secs(5)).await.unwrap_err();
            assert_eq!(error.call().unwrap().fault(), Fault::Deadline);
            assert_eq!(error.kind(), ErrorKind::Timeout);
            assert_eq!(bench.elapsed(), 5_000);
            assert_eq!(bench.breaker.verdicts(), 0);
            assert_eq!(bench.upstream.made().len(), 1);
            let row = &bench.recorder.all()[0];
            assert!(row.error.as_ref().unwrap().contains("deadline"));
            bench.assert_idle("after the deadline");
        }
    }
}

/// Issue 3 §7: a wait for a slot ends with the deadline.
#[tokio::test(start_paused = true)]
async fn a_wait_ends_with_the_deadline() {
    let bench = Setup::new(&["a"]).build();
    bench.limiter.cap(0);
    let error = bench.whole_within(ms(5_500)).await.unwrap_err();
    assert_eq!(bench.elapsed(), 5_500);
    let refusal = error.unavailable().unwrap();
    assert_eq!(refusal.reason(), ScopeReason::QuotaExhausted);
    assert_eq!(bench.upstream.made().len(), 0);
}

/// Issue 3 §4: a deadline before the earliest possible admission is refused at once.
#[tokio::test(start_paused = true)]
async fn a_deadline_before_the_earliest_admission_is_refused_at_once() {
    let bench = Setup::new(&["a", "b"]).build();
    let denial = |seconds| Denial {
        gate: Gate::SourceRpm,
        retry_after: Some(secs(seconds)),
        never_above: None,
    };
    bench.limiter.deny("a", denial(40));
    bench.limiter.deny("b", denial(30));
    let error = bench.whole_within(secs(20)).await.unwrap_err();
    let refusal = error.unavailable().unwrap();
    assert_eq!(bench.elapsed(), 0);
    assert_eq!(refusal.reason(), ScopeReason::QuotaExhausted);
    assert_eq!(refusal.retry_after(), secs(30), "the least of the hints");

    // The same for sources that cool.
    let bench = Setup::new(&["a"]).build();
    bench.breaker.open_for("a", secs(30));
    let error = bench.whole_within(secs(20)).await.unwrap_err();
    assert_eq!(bench.elapsed(), 0);
    assert_eq!(error.unavailable().unwrap().reason(), ScopeReason::CircuitOpen);
}

/// Issue 3 §7: a deadline that has passed already sends nothing.
#[tokio::test(start_paused = true)]
async fn a_past_deadline_sends_nothing() {
    let bench = Setup::new(&["a"]).build();
    let error = bench.whole_within(Duration::ZERO).await.unwrap_err();
    assert_eq!(error.call().unwrap().fault(), Fault::Deadline);
    assert_eq!(bench.upstream.made().len(), 0);
    assert_eq!(bench.recorder.all().len(), 1);
}

/// Issue 3 §7: a live answer ends at the deadline with an error item.
#[tokio::test(start_paused = true)]
async fn a_live_answer_ends_at_the_deadline() {
    let bench = Setup::new(&["a"]).build();
    let slow = [begin(), text("x"), pause(9_000), done(FinishReason::Stop)];
    bench.upstream.script("a", [Script::steps(slow)]);
    let options = CallOptions { deadline: Some(secs(5)), ..CallOptions::default() };
    let cx = bench.cx(Hand::Live, options);
    let reply = bench.send(&cx, pgw_types::ChatRequest::default()).await;
    let error = consume(reply.unwrap()).await.unwrap_err();
    assert_eq!(error.call().unwrap().fault(), Fault::Deadline);
    assert_eq!(bench.elapsed(), 5_000);
    assert_eq!(bench.breaker.verdicts(), 0);
    bench.assert_idle("after the deadline");
}
