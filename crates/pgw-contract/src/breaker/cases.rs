//! Opening, probing and closing.

use std::sync::Arc;

use pgw_ports::GateError;
use pgw_types::{BreakerTicket, Entry, effective_threshold};

use super::{
    BreakerHarness, COOLDOWN, DEAD_COOLDOWN, MILLI, OTHER, PROBE_LEASE, SOURCE, Subject, THRESHOLD,
    spec,
};

/// A source that the breaker was not made with is an error, never a way in. MEM-013.
pub async fn an_unknown_source_is_refused(harness: &dyn BreakerHarness) {
    let subject = Subject::new(harness).await;
    let ticket = BreakerTicket { source_name: "nobody".into(), epoch: 0, probe: None };
    let unknown = |error: Option<GateError>| match error {
        Some(GateError::SourceNotConfigured { source_name }) => assert_eq!(source_name, "nobody"),
        other => panic!("an unknown source is SourceNotConfigured, not {other:?}"),
    };
    unknown(subject.0.try_enter(&ticket.source_name).await.err());
    unknown(subject.0.record_success(&ticket).await.err());
    unknown(subject.0.record_failure(&ticket).await.err());
    unknown(subject.0.force_open(&ticket).await.err());
}

/// The threshold of failures in a row opens it for the cooldown, and a refusal says how much of
/// that is left. MEM-007.
pub async fn consecutive_failures_open_it(harness: &dyn BreakerHarness) {
    let subject = Subject::opened(harness).await;
    assert_eq!(subject.refused(SOURCE).await, COOLDOWN);
    harness.advance(COOLDOWN.saturating_sub(MILLI)).await;
    assert_eq!(subject.refused(SOURCE).await, MILLI);
    harness.advance(MILLI).await;
    subject.probe(SOURCE).await;
}

/// Failures with a success in between are not in a row. MEM-009.
pub async fn a_success_resets_the_count(harness: &dyn BreakerHarness) {
    let subject = Subject::new(harness).await;
    for _ in 0..5 {
        for _ in 1..THRESHOLD {
            let ticket = subject.enter(SOURCE).await;
            assert_eq!(subject.fail(&ticket).await, None);
        }
        let ticket = subject.enter(SOURCE).await;
        subject.succeed(&ticket).await;
    }
    subject.open(SOURCE).await;
}

/// One burst on a busy source can't open it: twice its concurrency counts. MEM-017.
pub async fn the_threshold_follows_the_concurrency(harness: &dyn BreakerHarness) {
    for concurrency in [None, Some(1), Some(8)] {
        let mut spec = spec();
        spec.sources = vec![(SOURCE.into(), concurrency)];
        let subject = Subject(harness.fresh(spec).await);
        let threshold = effective_threshold(THRESHOLD, concurrency);
        let mut tickets = Vec::new();
        for _ in 0..threshold {
            tickets.push(subject.enter(SOURCE).await);
        }
        for (failures, ticket) in (1..).zip(&tickets) {
            let cooldown = (failures == threshold).then_some(COOLDOWN);
            assert_eq!(subject.fail(ticket).await, cooldown, "{concurrency:?}");
        }
    }
}

/// One source's failures don't count for another. MEM-011.
pub async fn sources_have_breakers_of_their_own(harness: &dyn BreakerHarness) {
    let subject = Subject::opened(harness).await;
    for _ in 1..THRESHOLD {
        let ticket = subject.enter(OTHER).await;
        assert_eq!(subject.fail(&ticket).await, None);
    }
    subject.refused(SOURCE).await;
    subject.enter(OTHER).await;
}

/// Two breakers share nothing, even with the same sources. MEM-016.
pub async fn instances_never_interact(harness: &dyn BreakerHarness) {
    let _left = Subject::opened(harness).await;
    let right = Subject::new(harness).await;
    right.enter(SOURCE).await;
}

/// A hundred callers at a half-open breaker: one is the probe, the others wait for its lease.
/// MEM-008, D39 (`diegosouzapw/OmniRoute#13836`).
pub async fn racing_callers_get_exactly_one_probe(harness: &dyn BreakerHarness) {
    let subject = Subject::half_open(harness).await;
    for round in 0..3 {
        let mut callers = tokio::task::JoinSet::new();
        for _ in 0..100 {
            let breaker = Arc::clone(&subject.0);
            callers.spawn(async move { breaker.try_enter(&SOURCE.into()).await });
        }
        let mut probes = 0;
        while let Some(answer) = callers.join_next().await {
            match answer {
                Ok(Ok(Entry::Admitted(ticket))) => {
                    assert!(ticket.probe.is_some());
                    probes += 1;
                }
                Ok(Ok(Entry::Refused { retry_after })) => assert_eq!(retry_after, PROBE_LEASE),
                other => panic!("a caller failed: {other:?}"),
            }
        }
        assert_eq!(probes, 1, "round {round}");
        harness.advance(PROBE_LEASE).await;
    }
}

/// The source is well: everybody is let in again, and the count starts anew. MEM-007.
pub async fn a_probe_that_succeeds_closes_it(harness: &dyn BreakerHarness) {
    let subject = Subject::half_open(harness).await;
    let probe = subject.probe(SOURCE).await;
    subject.succeed(&probe).await;
    subject.enter(SOURCE).await;
    subject.open(SOURCE).await;
}

/// One failed probe is enough for another whole cooldown. MEM-007.
pub async fn a_probe_that_fails_opens_it_again(harness: &dyn BreakerHarness) {
    let subject = Subject::half_open(harness).await;
    for _ in 0..3 {
        let probe = subject.probe(SOURCE).await;
        harness.advance(PROBE_LEASE / 2).await;
        assert_eq!(subject.fail(&probe).await, Some(COOLDOWN));
        assert_eq!(subject.refused(SOURCE).await, COOLDOWN);
        harness.advance(COOLDOWN).await;
    }
}

/// A probe whose owner died blocks others for its lease only, and a refusal says how much of that
/// is left. MEM-012, D39.
pub async fn a_lost_probe_lets_another_caller_probe(harness: &dyn BreakerHarness) {
    let subject = Subject::half_open(harness).await;
    let lost = subject.probe(SOURCE).await;
    assert_eq!(subject.refused(SOURCE).await, PROBE_LEASE);
    harness.advance(PROBE_LEASE.saturating_sub(MILLI)).await;
    assert_eq!(subject.refused(SOURCE).await, MILLI);
    harness.advance(MILLI).await;
    let second = subject.probe(SOURCE).await;
    assert_ne!(lost.probe, second.probe);
    // The lost one comes back too late to free anything.
    subject.give_back(&lost).await;
    assert_eq!(subject.refused(SOURCE).await, PROBE_LEASE);
    subject.succeed(&second).await;
    subject.enter(SOURCE).await;
}

/// A probe that was refused by a gate of ours, or whose caller left, says nothing about the source:
/// the next caller may probe at once, and the breaker is as it was. D91 (`bagowix/interlock` PR
/// 194), MEM-012.
pub async fn a_local_refusal_gives_no_verdict(harness: &dyn BreakerHarness) {
    let subject = Subject::half_open(harness).await;
    let mut probe = subject.probe(SOURCE).await;
    for _ in 0..10 {
        subject.give_back(&probe).await;
        probe = subject.probe(SOURCE).await;
        probe = subject.abandon_for_another(&probe).await;
        subject.refused(SOURCE).await;
    }
    subject.succeed(&probe).await;
    // Nor do they count while it is closed.
    for _ in 0..10 {
        let ticket = subject.enter(SOURCE).await;
        subject.give_back(&ticket).await;
        subject.0.abandon(&ticket);
    }
    subject.open(SOURCE).await;
}

/// Only the first giving back frees anything. PRT-011, MEM-012.
pub async fn giving_a_probe_back_is_idempotent(harness: &dyn BreakerHarness) {
    let subject = Subject::half_open(harness).await;
    let first = subject.probe(SOURCE).await;
    subject.give_back(&first).await;
    subject.give_back(&first).await;
    let second = subject.probe(SOURCE).await;
    subject.give_back(&first).await;
    subject.0.abandon(&first);
    subject.refused(SOURCE).await;
    assert_eq!(subject.fail(&second).await, Some(COOLDOWN));
    subject.give_back(&second).await;
    assert_eq!(subject.refused(SOURCE).await, COOLDOWN);
}

/// A dead source is shut at once for the longer, but finite, cooldown: while closed, while open and
/// while half-open. MEM-010.
pub async fn a_dead_source_opens_it_from_any_state(harness: &dyn BreakerHarness) {
    let closed = Subject::new(harness).await;
    let (first, second) = (closed.enter(SOURCE).await, closed.enter(SOURCE).await);
    assert_eq!(closed.dead(&first).await, DEAD_COOLDOWN);
    assert_eq!(closed.refused(SOURCE).await, DEAD_COOLDOWN);

    harness.advance(COOLDOWN).await;
    assert_eq!(closed.dead(&second).await, DEAD_COOLDOWN, "while open");
    assert_eq!(closed.refused(SOURCE).await, DEAD_COOLDOWN);

    harness.advance(DEAD_COOLDOWN).await;
    let probe = closed.probe(SOURCE).await;
    assert_eq!(closed.dead(&probe).await, DEAD_COOLDOWN, "while half-open");
    assert_eq!(closed.refused(SOURCE).await, DEAD_COOLDOWN);
    harness.advance(DEAD_COOLDOWN).await;
    let probe = closed.probe(SOURCE).await;
    closed.succeed(&probe).await;
    closed.enter(SOURCE).await;
}

/// Whatever happened, once all cooldowns and leases are over a caller can probe. D39.
pub async fn no_state_lasts_for_ever(harness: &dyn BreakerHarness) {
    let subject = Subject::opened(harness).await;
    for _ in 0..5 {
        harness.advance(DEAD_COOLDOWN + PROBE_LEASE).await;
        let lost = subject.probe(SOURCE).await;
        harness.advance(PROBE_LEASE).await;
        let dead = subject.probe(SOURCE).await;
        assert_ne!(lost, dead);
        subject.dead(&dead).await;
    }
    // A year and more.
    harness.advance(DEAD_COOLDOWN * 100_000).await;
    subject.probe(SOURCE).await;
}
