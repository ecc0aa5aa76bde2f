//! Gates, leases, progress and load.

use std::{pin::pin, sync::Arc, task, time::Duration};

use pgw_ports::GateError;
use pgw_types::{Gate, Limits, SourceLoad};

use super::{
    LimiterHarness, LimiterSpec, OTHER, SOURCE, Subject, concurrency, open, rpm, scope, sound,
    source, tpm,
};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_mins(1);

/// A spec in which one gate has this limit.
fn limited(spec: &mut LimiterSpec, gate: Gate, limit: u32) {
    let limits = if gate.is_global() { &mut spec.scope } else { &mut spec.sources[0].1 };
    match gate {
        Gate::GlobalConcurrency | Gate::SourceConcurrency => limits.max_concurrency = Some(limit),
        Gate::GlobalRpm | Gate::SourceRpm => limits.rpm = Some(limit),
        Gate::GlobalTpm | Gate::SourceTpm => limits.tpm = Some(limit.into()),
    }
}

fn is_window(gate: Gate) -> bool {
    !matches!(gate, Gate::GlobalConcurrency | Gate::SourceConcurrency)
}

/// A source that the limiter was not made with is an error, never an open gate. MEM-013.
pub async fn an_unknown_source_is_refused(harness: &dyn LimiterHarness) {
    let subject = Subject::new(harness, open()).await;
    let name: Arc<str> = "nobody".into();
    let unknown = |error: Option<GateError>| match error {
        Some(GateError::SourceNotConfigured { source_name }) => assert_eq!(source_name, "nobody"),
        other => panic!("an unknown source is SourceNotConfigured, not {other:?}"),
    };
    unknown(subject.0.try_acquire(&name, 1).await.err());
    unknown(subject.0.source_load(&name).await.err());
}

/// Where no limit is set, nothing is refused. MEM-002.
pub async fn without_limits_everything_passes(harness: &dyn LimiterHarness) {
    let subject = Subject::new(harness, open()).await;
    for _ in 0..200 {
        subject.enter(SOURCE, 1_000_000).await;
    }
    assert_eq!(subject.load(SOURCE).await.in_flight, 200);
}

/// Each of the six gates admits what its limit says, then refuses under its own name. A window says
/// when to come back; a full concurrency gate can't tell. PRT-003, MEM-002.
pub async fn each_gate_refuses_by_its_name(harness: &dyn LimiterHarness) {
    for gate in Gate::ALL {
        let mut spec = open();
        limited(&mut spec, gate, 3);
        let subject = Subject::new(harness, spec).await;
        for _ in 0..3 {
            subject.enter(SOURCE, 1).await;
        }
        let denial = subject.denied(SOURCE, 1).await;
        assert_eq!(denial.gate, gate);
        assert_eq!(denial.retry_after, is_window(gate).then_some(MINUTE), "{gate}");
        assert_eq!(denial.never_above, None, "{gate}");
        if gate.is_global() {
            assert_eq!(subject.denied(OTHER, 1).await.gate, gate);
        } else {
            subject.enter(OTHER, 1).await;
        }
    }
}

/// When several gates refuse, the first in the order of [`Gate::ALL`] is named. PRT-003.
pub async fn the_first_refusing_gate_is_named(harness: &dyn LimiterHarness) {
    for (place, first) in Gate::ALL.into_iter().enumerate() {
        for &second in &Gate::ALL[place + 1..] {
            let mut spec = open();
            limited(&mut spec, first, 1);
            limited(&mut spec, second, 1);
            let subject = Subject::new(harness, spec).await;
            subject.enter(SOURCE, 1).await;
            assert_eq!(subject.denied(SOURCE, 1).await.gate, first, "and {second}");
        }
    }
}

/// A call that one gate refuses burns nothing at any other gate, for all pairs of gates. D23
/// (`BerriAI/litellm#39309`).
pub async fn a_refusal_leaves_no_trace_in_other_gates(harness: &dyn LimiterHarness) {
    for refusing in Gate::ALL {
        for other in Gate::ALL {
            if other == refusing {
                continue;
            }
            let mut spec = open();
            limited(&mut spec, refusing, 1);
            limited(&mut spec, other, 2);
            let subject = Subject::new(harness, spec).await;
            let first = subject.enter(SOURCE, 1).await;
            let before = subject.load(SOURCE).await;
            // Half a minute later, so that what a refusal burns outlives the first call.
            harness.advance(MINUTE / 2).await;
            for _ in 0..5 {
                assert_eq!(subject.denied(SOURCE, 1).await.gate, refusing);
            }
            assert_eq!(subject.load(SOURCE).await, before, "{refusing} and {other}");
            harness.advance(MINUTE / 2).await;
            subject.release(&first).await;
            // Nothing is left of the first call: if the gate is not open now, a refusal shut it.
            subject.enter(SOURCE, 1).await;
        }
    }
}

/// One source's limits don't bind another. MEM-002, MEM-015.
pub async fn sources_have_gates_of_their_own(harness: &dyn LimiterHarness) {
    let subject = Subject::new(harness, source(concurrency(1))).await;
    subject.enter(SOURCE, 1).await;
    assert_eq!(subject.denied(SOURCE, 1).await.gate, Gate::SourceConcurrency);
    for _ in 0..10 {
        subject.enter(OTHER, 1).await;
    }
    assert_eq!(subject.load(SOURCE).await.in_flight, 1);
    assert_eq!(subject.load(OTHER).await.in_flight, 10);
}

/// Two limiters share nothing, even with the same sources. MEM-016.
pub async fn instances_never_interact(harness: &dyn LimiterHarness) {
    let spec = scope(Limits { max_concurrency: Some(1), rpm: Some(1), tpm: Some(1) });
    let (left, right) =
        (Subject::new(harness, spec.clone()).await, Subject::new(harness, spec).await);
    let lease = left.enter(SOURCE, 1).await;
    sound("mark_progress", left.0.mark_progress().await);
    right.enter(SOURCE, 1).await;
    left.release(&lease).await;
    assert_eq!(right.load(SOURCE).await.in_flight, 1);
    assert_eq!(sound("progress_age", right.0.progress_age().await), None);
}

/// A released lease makes room at once, and only as much as it took. PRT-005.
pub async fn concurrency_comes_free_by_release(harness: &dyn LimiterHarness) {
    let subject = Subject::new(harness, scope(concurrency(2))).await;
    let first = subject.enter(SOURCE, 1).await;
    let second = subject.enter(OTHER, 1).await;
    assert_ne!(first.id, second.id);
    subject.denied(SOURCE, 1).await;
    subject.release(&first).await;
    subject.enter(SOURCE, 1).await;
    subject.denied(OTHER, 1).await;
}

/// A destructor gives the concurrency back. What was charged stays, since nobody knows what was
/// used. PRT-005.
pub async fn an_abandoned_lease_keeps_its_charge(harness: &dyn LimiterHarness) {
    let subject = Subject::new(harness, open()).await;
    let lease = subject.enter(SOURCE, 70).await;
    subject.0.abandon(&lease);
    subject.0.abandon(&lease);
    settled(&subject, SOURCE, 0).await;
    let load = subject.load(SOURCE).await;
    assert_eq!((load.calls_in_window, load.tokens_in_window), (1, 70));
}

/// However many callers walk away, in whatever order, the gauges come back to zero. D21
/// (`BerriAI/litellm#27955`).
pub async fn abandoning_a_thousand_leases_leaves_nothing(harness: &dyn LimiterHarness) {
    let subject = Subject::new(harness, scope(concurrency(1_000))).await;
    let mut random = crate::random::Random::new(21);
    let mut leases = Vec::new();
    for _ in 0..1_000 {
        leases.push(subject.enter(random.pick(&[SOURCE, OTHER]), 1).await);
    }
    while !leases.is_empty() {
        let place = random.below(leases.len() as u64);
        let lease = leases.swap_remove(usize::try_from(place).unwrap_or_default());
        if random.once_in(2) {
            subject.0.abandon(&lease);
        } else {
            subject.release(&lease).await;
        }
    }
    settled(&subject, SOURCE, 0).await;
    settled(&subject, OTHER, 0).await;
}

/// Waits until a source has so many calls in flight: a store over the network abandons leases in
/// the background.
async fn settled(subject: &Subject, source: &str, in_flight: u32) {
    for _ in 0..1_000 {
        if subject.load(source).await.in_flight == in_flight {
            return;
        }
        tokio::task::yield_now().await;
    }
    assert_eq!(subject.load(source).await.in_flight, in_flight);
}

/// The second time, nothing changes. PRT-006.
pub async fn settle_and_release_are_idempotent(harness: &dyn LimiterHarness) {
    let subject = Subject::new(harness, scope(concurrency(2))).await;
    let first = subject.enter(SOURCE, 100).await;
    let _second = subject.enter(SOURCE, 100).await;
    subject.settle(&first, 30).await;
    subject.settle(&first, 30).await;
    subject.settle(&first, 5).await;
    assert_eq!(subject.load(SOURCE).await.tokens_in_window, 130);
    subject.release(&first).await;
    subject.release(&first).await;
    subject.0.abandon(&first);
    subject.settle(&first, 1).await;
    let load = subject.load(SOURCE).await;
    assert_eq!((load.in_flight, load.tokens_in_window), (1, 130));
    subject.enter(SOURCE, 1).await;
    subject.denied(SOURCE, 1).await;
}

/// A lease whose owner died ends with its term. PRT-007, MEM-004.
pub async fn a_lease_expires_by_itself(harness: &dyn LimiterHarness) {
    let mut spec = scope(concurrency(1));
    spec.lease_ttl = 30 * SECOND;
    let subject = Subject::new(harness, spec).await;
    subject.enter(SOURCE, 1).await;
    harness.advance((30 * SECOND).saturating_sub(Duration::from_millis(1))).await;
    subject.denied(SOURCE, 1).await;
    assert_eq!(subject.load(SOURCE).await.in_flight, 1);
    harness.advance(Duration::from_millis(1)).await;
    assert_eq!(subject.load(SOURCE).await.in_flight, 0);
    subject.enter(OTHER, 1).await;
}

/// A stream that lives keeps its lease by renewing it. PRT-007.
pub async fn a_renewed_lease_lives_on(harness: &dyn LimiterHarness) {
    let mut spec = scope(concurrency(1));
    spec.lease_ttl = 30 * SECOND;
    let subject = Subject::new(harness, spec).await;
    let lease = subject.enter(SOURCE, 1).await;
    for _ in 0..5 {
        harness.advance(20 * SECOND).await;
        subject.renew(&lease).await;
        subject.denied(SOURCE, 1).await;
    }
    harness.advance(30 * SECOND).await;
    subject.renew(&lease).await;
    assert_eq!(subject.load(SOURCE).await.in_flight, 0, "renewed too late");
    subject.enter(SOURCE, 1).await;
}

/// Whoever settles, renews or releases after their lease ran out changes nothing that belongs to
/// others. PRT-006, PRT-007.
pub async fn late_operations_change_nobody_elses_state(harness: &dyn LimiterHarness) {
    let mut spec = scope(concurrency(1));
    spec.lease_ttl = 10 * SECOND;
    let subject = Subject::new(harness, spec).await;
    let late = subject.enter(SOURCE, 40).await;
    harness.advance(10 * SECOND).await;
    let _owner = subject.enter(SOURCE, 7).await;
    subject.settle(&late, 1_000).await;
    subject.renew(&late).await;
    subject.release(&late).await;
    subject.0.abandon(&late);
    subject.denied(SOURCE, 1).await;
    let load = subject.load(SOURCE).await;
    assert_eq!((load.in_flight, load.tokens_in_window), (1, 47));
}

/// Dropping an acquire before it is ready leaves no lease, or one that the store gives back.
pub async fn a_dropped_acquire_leaves_no_lease(harness: &dyn LimiterHarness) {
    let subject = Subject::new(harness, scope(concurrency(1))).await;
    let name: Arc<str> = SOURCE.into();
    drop(subject.0.try_acquire(&name, 1));
    for _ in 0..20 {
        let mut acquire = subject.0.try_acquire(&name, 1);
        let polled = acquire.as_mut().poll(&mut task::Context::from_waker(task::Waker::noop()));
        drop(acquire);
        if let task::Poll::Ready(Ok(pgw_types::Admission::Granted(lease))) = polled {
            subject.release(&lease).await;
        }
    }
    settled(&subject, SOURCE, 0).await;
    subject.enter(SOURCE, 1).await;
}

/// The mark of progress is the scope's, and its age grows with time. PRT-008, MEM-005.
pub async fn progress_is_remembered(harness: &dyn LimiterHarness) {
    let subject = Subject::new(harness, open()).await;
    let age = async || sound("progress_age", subject.0.progress_age().await);
    harness.advance(SECOND).await;
    assert_eq!(age().await, None, "nobody got an answer yet");
    sound("mark_progress", subject.0.mark_progress().await);
    assert_eq!(age().await, Some(Duration::ZERO));
    harness.advance(90 * SECOND).await;
    assert_eq!(age().await, Some(90 * SECOND));
    sound("mark_progress", subject.0.mark_progress().await);
    assert_eq!(age().await, Some(Duration::ZERO));
}

/// A selector can see how busy a source is, also where nothing is limited. PRT-009.
pub async fn load_is_told(harness: &dyn LimiterHarness) {
    let subject = Subject::new(harness, open()).await;
    assert_eq!(subject.load(SOURCE).await, SourceLoad::default());
    let lease = subject.enter(SOURCE, 10).await;
    harness.advance(20 * SECOND).await;
    subject.enter(SOURCE, 5).await;
    let load = |in_flight, calls_in_window, tokens_in_window| SourceLoad {
        in_flight,
        calls_in_window,
        tokens_in_window,
    };
    assert_eq!(subject.load(SOURCE).await, load(2, 2, 15));
    subject.release(&lease).await;
    harness.advance(40 * SECOND).await;
    assert_eq!(subject.load(SOURCE).await, load(1, 1, 5));
    harness.advance(20 * SECOND).await;
    assert_eq!(subject.load(SOURCE).await, load(1, 0, 0));
    assert_eq!(subject.load(OTHER).await, load(0, 0, 0));
}

/// Whoever waits for a change learns of a release and of a refund. A store that can't tell keeps
/// its version, and the wait pending.
pub async fn capacity_that_comes_free_is_announced(harness: &dyn LimiterHarness) {
    let subject = Subject::new(harness, scope(concurrency(1))).await;
    let lease = subject.enter(SOURCE, 10).await;
    let since = subject.0.version();
    let mut changed = pin!(subject.0.changed(since));
    let mut cx = task::Context::from_waker(task::Waker::noop());
    assert!(changed.as_mut().poll(&mut cx).is_pending(), "nothing came free");
    subject.denied(SOURCE, 1).await;
    assert!(changed.as_mut().poll(&mut cx).is_pending(), "a refusal frees nothing");
    subject.release(&lease).await;
    if subject.0.version() == since {
        return;
    }
    arrives(changed, "the release").await;
    arrives(subject.0.changed(since), "a change of before").await;

    let lease = subject.enter(SOURCE, 10).await;
    let since = subject.0.version();
    subject.settle(&lease, 4).await;
    arrives(subject.0.changed(since), "the refund").await;
}

async fn arrives(changed: impl Future<Output = ()>, what: &str) {
    // Bounds a case that would hang; nothing is measured.
    let arrived = tokio::time::timeout(30 * SECOND, changed).await;
    assert!(arrived.is_ok(), "{what} wakes those who wait");
}

/// A hundred callers at once get exactly what the limits allow. D21, D27.
pub async fn racing_callers_stay_within_the_limits(harness: &dyn LimiterHarness) {
    for (limits, admitted) in [(concurrency(7), 7), (rpm(11), 11), (tpm(60), 20)] {
        let subject = Subject::new(harness, scope(limits)).await;
        let mut callers = tokio::task::JoinSet::new();
        for caller in 0..100 {
            let limiter = Arc::clone(&subject.0);
            callers.spawn(async move {
                let name = if caller % 2 == 0 { SOURCE } else { OTHER };
                limiter.try_acquire(&name.into(), 3).await
            });
        }
        let mut granted = 0;
        while let Some(answer) = callers.join_next().await {
            match answer {
                Ok(Ok(pgw_types::Admission::Granted(_))) => granted += 1,
                Ok(Ok(pgw_types::Admission::Denied(_))) => {}
                other => panic!("a caller failed: {other:?}"),
            }
        }
        assert_eq!(granted, admitted, "{limits:?}");
    }
}
