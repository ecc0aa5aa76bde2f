//! Rolling windows: what counts, for how long, and when to come back.

use std::{collections::VecDeque, time::Duration};

use pgw_types::{Admission, Gate, Limits};

use super::{
    LimiterHarness, LimiterSpec, OTHER, SOURCE, Subject, concurrency, rpm, scope, source, tpm,
};

const MILLI: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_mins(1);

/// Tokens count from the moment of admission, so a burst can't sail past the limit. MEM-003, D27
/// (`envoyproxy/ai-gateway#2394`).
pub async fn tokens_are_charged_at_the_door(harness: &dyn LimiterHarness) {
    for spec in [scope(tpm(100)), source(tpm(100))] {
        let subject = Subject::new(harness, spec).await;
        for _ in 0..4 {
            subject.enter(SOURCE, 25).await;
        }
        subject.denied(SOURCE, 1).await;
        // A call that takes nothing fits in a full window.
        subject.enter(SOURCE, 0).await;
    }
}

/// A refund is free at once, in the window in which it was charged. PRT-004, MEM-003, D27.
pub async fn settling_corrects_the_charge_in_its_window(harness: &dyn LimiterHarness) {
    let subject = Subject::new(harness, scope(tpm(100))).await;
    let lease = subject.enter(SOURCE, 90).await;
    harness.advance(30 * SECOND).await;
    subject.denied(OTHER, 20).await;
    subject.settle(&lease, 10).await;
    assert_eq!(subject.load(SOURCE).await.tokens_in_window, 10);
    subject.enter(OTHER, 90).await;
    assert_eq!(
        subject.denied(OTHER, 10).await.retry_after,
        Some(30 * SECOND),
        "the settled charge still ends with the minute after its admission"
    );
    harness.advance(30 * SECOND).await;
    subject.enter(OTHER, 10).await;

    let slow = Subject::new(harness, scope(tpm(100))).await;
    let lease = slow.enter(SOURCE, 50).await;
    harness.advance(MINUTE).await;
    slow.settle(&lease, 1_000_000).await;
    assert_eq!(slow.load(SOURCE).await.tokens_in_window, 0, "that window has passed");
    slow.enter(SOURCE, 100).await;
}

/// What was used beyond the charge counts too, even over the limit: later calls wait. PRT-004.
pub async fn settling_above_the_charge_holds_others_back(harness: &dyn LimiterHarness) {
    let subject = Subject::new(harness, scope(tpm(100))).await;
    let lease = subject.enter(SOURCE, 10).await;
    subject.settle(&lease, 150).await;
    assert_eq!(subject.load(SOURCE).await.tokens_in_window, 150);
    harness.advance(20 * SECOND).await;
    let denial = subject.denied(OTHER, 1).await;
    assert_eq!((denial.gate, denial.never_above), (Gate::GlobalTpm, None));
    assert_eq!(denial.retry_after, Some(40 * SECOND));
    harness.advance(40 * SECOND).await;
    subject.enter(OTHER, 100).await;
}

/// A refusal says when its window frees enough for this very ask: no sooner, no later. PRT-003.
pub async fn the_hint_of_a_window_is_exact(harness: &dyn LimiterHarness) {
    let calls = Subject::new(harness, source(rpm(2))).await;
    calls.enter(SOURCE, 1).await;
    harness.advance(10 * SECOND).await;
    calls.enter(SOURCE, 1).await;
    harness.advance(10 * SECOND).await;
    comes_back_after(harness, &calls, 1, 40 * SECOND).await;
    // Its room is taken again; the next comes free ten seconds later.
    comes_back_after(harness, &calls, 1, 10 * SECOND).await;

    let tokens = Subject::new(harness, scope(tpm(100))).await;
    for charge in [30, 30, 40] {
        tokens.enter(SOURCE, charge).await;
        harness.advance(10 * SECOND).await;
    }
    // Fifty tokens take the end of the first two charges.
    comes_back_after(harness, &tokens, 50, 40 * SECOND).await;
}

async fn comes_back_after(
    harness: &dyn LimiterHarness,
    subject: &Subject,
    tokens: u64,
    wait: Duration,
) {
    assert_eq!(subject.denied(SOURCE, tokens).await.retry_after, Some(wait));
    harness.advance(wait.saturating_sub(MILLI)).await;
    assert_eq!(subject.denied(SOURCE, tokens).await.retry_after, Some(MILLI));
    harness.advance(MILLI).await;
    subject.enter(SOURCE, tokens).await;
}

/// The hint is that of the gate that is named, the first that refuses. A full concurrency gate has
/// none: it opens with another call's end, and nobody knows when that is. PRT-003.
pub async fn the_hint_is_that_of_the_named_gate(harness: &dyn LimiterHarness) {
    let mut spec = scope(rpm(2));
    spec.sources[0].1 = Limits { max_concurrency: Some(1), ..tpm(10) };
    let subject = Subject::new(harness, spec).await;
    subject.enter(OTHER, 1).await;
    harness.advance(25 * SECOND).await;
    let first = subject.enter(SOURCE, 10).await;
    let hint = async || {
        let denial = subject.denied(SOURCE, 1).await;
        (denial.gate, denial.retry_after)
    };
    assert_eq!(hint().await, (Gate::SourceConcurrency, None));
    subject.release(&first).await;
    assert_eq!(hint().await, (Gate::GlobalRpm, Some(35 * SECOND)));
    harness.advance(35 * SECOND).await;
    assert_eq!(hint().await, (Gate::SourceTpm, Some(25 * SECOND)));
    harness.advance(25 * SECOND).await;
    subject.enter(SOURCE, 1).await;
}

/// A call that is over a limit all by itself is told that limit, even while other gates are full:
/// waiting can't help it.
pub async fn what_can_never_be_admitted_is_told_so(harness: &dyn LimiterHarness) {
    for (spec, gate) in [(scope(tpm(100)), Gate::GlobalTpm), (source(tpm(100)), Gate::SourceTpm)] {
        let mut spec = spec;
        spec.scope.max_concurrency = concurrency(1).max_concurrency;
        let subject = Subject::new(harness, spec).await;
        for _ in 0..2 {
            let denial = subject.denied(SOURCE, 101).await;
            assert_eq!((denial.gate, denial.never_above), (gate, Some(100)));
            assert_eq!(denial.retry_after, None);
            // Full from here on.
            subject.ask(SOURCE, 100).await;
        }
        assert_eq!(subject.denied(SOURCE, 100).await.never_above, None);
    }
}

/// Five minutes of a crowd that asks every 100 ms: in every 60 s, however they are cut, no more
/// than the limits, and no less than 95 % of the one that binds. MEM-002.
pub async fn calls_and_tokens_stay_within_every_rolling_minute(harness: &dyn LimiterHarness) {
    let by_calls = Limits { max_concurrency: None, rpm: Some(90), tpm: Some(10_000_000) };
    let by_tokens = Limits { max_concurrency: None, rpm: Some(1_000), tpm: Some(1_200) };
    for limits in [by_calls, by_tokens] {
        for spec in [scope(limits), source(limits)] {
            crowd(harness, spec, limits).await;
            // Not in step with the minutes of any clock: those would be found out by the next.
            harness.advance(31 * SECOND).await;
        }
    }
}

async fn crowd(harness: &dyn LimiterHarness, spec: LimiterSpec, limits: Limits) {
    const TOKENS: u64 = 20;
    let subject = Subject::new(harness, spec).await;
    let most = u64::from(limits.rpm.unwrap_or(u32::MAX));
    let most = most.min(limits.tpm.unwrap_or(u64::MAX) / TOKENS);
    let mut window: VecDeque<Duration> = VecDeque::new();
    let mut now = Duration::ZERO;
    let mut total = 0;
    let minutes = 5;
    while now < minutes * MINUTE {
        if let Admission::Granted(lease) = subject.ask(SOURCE, TOKENS).await {
            subject.settle(&lease, TOKENS).await;
            subject.release(&lease).await;
            window.push_back(now);
            total += 1;
        }
        while window.front().is_some_and(|first| *first + MINUTE <= now) {
            window.pop_front();
        }
        assert!(window.len() as u64 <= most, "{} of {most} calls", window.len());
        let step = Duration::from_millis(100);
        harness.advance(step).await;
        now += step;
    }
    let allowed = most * u64::from(minutes);
    assert!(total * 100 >= allowed * 95, "{total} of {allowed} calls allowed");
}
