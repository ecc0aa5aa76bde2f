//! The six gates, one by one, in pairs, and under saturation.

mod histories;
mod model;

use super::*;
use crate::doubles::{just_before, secs};

const TTL: Duration = Duration::from_mins(10);

fn is_concurrency(gate: Gate) -> bool {
    matches!(gate, Gate::GlobalConcurrency | Gate::SourceConcurrency)
}

/// Two sources; each of the gates has its limit, for the scope or for the first source.
fn quotas(gates: &[(Gate, u32)]) -> Quotas {
    let (mut global, mut source) = (Limits::default(), Limits::default());
    for (gate, limit) in gates {
        let limits = if gate.is_global() { &mut global } else { &mut source };
        match gate {
            Gate::GlobalConcurrency | Gate::SourceConcurrency => {
                limits.max_concurrency = Some(*limit);
            }
            Gate::GlobalRpm | Gate::SourceRpm => limits.rpm = Some(*limit),
            Gate::GlobalTpm | Gate::SourceTpm => limits.tpm = Some((*limit).into()),
        }
    }
    Quotas::new(global, [source, Limits::default()], TTL)
}

/// MEM-002: each gate alone admits up to its limit, and says when it will admit again.
#[test]
fn each_gate_keeps_its_limit() {
    for gate in Gate::ALL {
        let mut quotas = quotas(&[(gate, 3)]);
        for _ in 0..3 {
            quotas.acquire(secs(1), 0, 1).unwrap();
        }
        let denial = quotas.acquire(secs(11), 0, 1).unwrap_err();
        let retry_after = (!is_concurrency(gate)).then_some(secs(50));
        assert_eq!(denial, Denial { gate, retry_after, never_above: None });
        let other = quotas.acquire(secs(11), 1, 1);
        assert_eq!(other.is_err(), gate.is_global(), "{gate}: a source's gate binds it alone");
        assert_eq!(quotas.acquire(secs(61), 0, 1).is_ok(), !is_concurrency(gate));
    }
}

/// D23 (BerriAI/litellm#39309): a refusal by any gate leaves no trace in any other. Checked for all
/// pairs, on the whole state and on what the other gate still admits.
#[test]
fn a_refusal_leaves_no_trace() {
    for refusing in Gate::ALL {
        for other in Gate::ALL.into_iter().filter(|other| *other != refusing) {
            let mut quotas = quotas(&[(refusing, 1), (other, 5)]);
            quotas.acquire(secs(0), 0, 1).unwrap();
            let before = format!("{quotas:?}");
            for _ in 0..100 {
                assert_eq!(quotas.acquire(secs(1), 0, 1).unwrap_err().gate, refusing);
            }
            assert_eq!(format!("{quotas:?}"), before, "{refusing} then {other}");
            if !refusing.is_global() && other.is_global() {
                for _ in 0..4 {
                    quotas.acquire(secs(1), 1, 1).unwrap();
                }
                assert_eq!(quotas.acquire(secs(1), 1, 1).unwrap_err().gate, other);
            }
        }
    }
}

#[test]
fn the_first_refusing_gate_is_named() {
    for (place, first) in Gate::ALL.into_iter().enumerate() {
        let gates: Vec<(Gate, u32)> = Gate::ALL[place..].iter().map(|gate| (*gate, 1)).collect();
        let mut quotas = quotas(&gates);
        quotas.acquire(secs(0), 0, 1).unwrap();
        assert_eq!(quotas.acquire(secs(0), 0, 1).unwrap_err().gate, first);
    }
}

/// D27: tokens are charged at the door; the hint is the moment at which this ask fits.
#[test]
fn tokens_are_charged_at_the_door_and_the_hint_is_exact() {
    for (ask, wait) in [(10, None), (11, Some(40)), (40, Some(40)), (41, Some(50)), (100, Some(50))]
    {
        let mut quotas = quotas(&[(Gate::SourceTpm, 100)]);
        quotas.acquire(secs(0), 0, 30).unwrap();
        quotas.acquire(secs(10), 0, 60).unwrap();
        let denial = quotas.acquire(secs(20), 0, ask).err();
        assert_eq!(denial.and_then(|denial| denial.retry_after), wait.map(secs), "{ask}");
        if let Some(wait) = wait {
            let moment = secs(20 + wait);
            assert!(quotas.acquire(just_before(moment), 0, ask).is_err());
            assert!(quotas.acquire(moment, 0, ask).is_ok());
        }
    }
}

/// A call that no wait can help is told so, even while another gate would refuse it first.
#[test]
fn an_ask_above_a_limit_is_refused_for_ever() {
    for gate in [Gate::GlobalTpm, Gate::SourceTpm] {
        let mut quotas = quotas(&[(gate, 100), (Gate::GlobalConcurrency, 1)]);
        let never = Denial { gate, retry_after: None, never_above: Some(100) };
        assert_eq!(quotas.acquire(secs(0), 0, 101), Err(never));
        quotas.acquire(secs(0), 0, 100).unwrap();
        assert_eq!(quotas.acquire(secs(0), 0, 101), Err(never));
        assert_eq!(quotas.acquire(secs(0), 0, u64::MAX), Err(never));
        assert_eq!(quotas.acquire(secs(0), 0, 100).unwrap_err().gate, Gate::GlobalConcurrency);
    }
}

/// MEM-003, PRT-004, D27: a settle gives back or charges more, where the charge was made.
#[test]
fn a_settle_corrects_the_charge() {
    let mut quotas = quotas(&[(Gate::GlobalTpm, 100)]);
    let low = quotas.acquire(secs(0), 0, 50).unwrap();
    quotas.settle(secs(30), low, 0, 20);
    assert!(quotas.take_freed());
    assert_eq!(quotas.load(secs(30), 0).tokens_in_window, 20);
    let high = quotas.acquire(secs(30), 1, 80).unwrap();
    quotas.settle(secs(31), high, 1, 150);
    assert!(!quotas.take_freed());
    // The window is over its limit now; later admissions wait, even one of no tokens.
    assert_eq!(quotas.acquire(secs(32), 0, 0).unwrap_err().retry_after, Some(secs(58)));
    assert_eq!(quotas.load(secs(60), 0).tokens_in_window, 0, "20 have left with their admission");
    assert!(quotas.acquire(secs(89), 0, 1).is_err());
    assert!(quotas.acquire(secs(90), 0, 100).is_ok());
}

/// PRT-006: the second settle and the second release change nothing; so does a settle after the
/// release.
#[test]
fn settle_and_release_are_idempotent() {
    let mut quotas = quotas(&[(Gate::GlobalTpm, 100), (Gate::GlobalConcurrency, 9)]);
    let id = quotas.acquire(secs(0), 0, 50).unwrap();
    let other = quotas.acquire(secs(0), 0, 10).unwrap();
    for used in [20, 0, 20, 90] {
        quotas.settle(secs(1), id, 0, used);
        assert_eq!(quotas.load(secs(1), 0).tokens_in_window, 30);
    }
    quotas.release(secs(2), id, 0);
    for _ in 0..3 {
        quotas.take_freed();
        quotas.release(secs(2), id, 0);
        quotas.settle(secs(2), id, 0, 90);
        assert!(!quotas.take_freed());
        let load = quotas.load(secs(2), 0);
        assert_eq!((load.in_flight, load.tokens_in_window), (1, 30));
    }
    quotas.release(secs(2), other, 1);
    assert_eq!(quotas.load(secs(2), 0).in_flight, 1, "not the source of that lease");
}

/// PRT-007, MEM-004: the lease of a dead owner frees its place; whatever that owner still says
/// changes nobody else's state.
#[test]
fn an_expired_lease_touches_nobody() {
    let mut quotas = quotas(&[(Gate::SourceConcurrency, 1)]);
    let dead = quotas.acquire(secs(0), 0, 10).unwrap();
    assert!(quotas.acquire(just_before(TTL), 0, 10).is_err());
    let heir = quotas.acquire(TTL, 0, 10).unwrap();
    assert!(quotas.take_freed());
    let before = format!("{quotas:?}");
    quotas.settle(TTL, dead, 0, 1_000);
    quotas.renew(TTL, dead, 0);
    quotas.release(TTL, dead, 0);
    assert_eq!(format!("{quotas:?}"), before);
    assert!(quotas.acquire(TTL, 0, 10).is_err());
    quotas.release(TTL, heir, 0);
    assert!(quotas.acquire(TTL, 0, 10).is_ok());
}

/// PRT-007: a lease lives as long as its stream renews it.
#[test]
fn a_renewed_lease_lives() {
    let mut quotas = quotas(&[(Gate::GlobalConcurrency, 1)]);
    let id = quotas.acquire(secs(0), 0, 0).unwrap();
    for minute in 1..60 {
        quotas.renew(secs(60 * minute), id, 0);
    }
    let last = secs(60 * 59) + TTL;
    assert!(quotas.acquire(just_before(last), 1, 0).is_err());
    assert!(quotas.acquire(last, 1, 0).is_ok());
}

#[test]
fn sums_do_not_overflow() {
    let huge = Limits { tpm: Some(u64::MAX), ..Limits::default() };
    let mut quotas = Quotas::new(huge, [Limits::default()], TTL);
    let first = quotas.acquire(secs(0), 0, 1).unwrap();
    let second = quotas.acquire(secs(0), 0, 1).unwrap();
    quotas.settle(secs(1), first, 0, u64::MAX);
    quotas.settle(secs(1), second, 0, u64::MAX);
    assert_eq!(quotas.load(secs(1), 0).tokens_in_window, u64::MAX);
    assert_eq!(quotas.acquire(secs(1), 0, 1).unwrap_err().retry_after, Some(secs(59)));
    assert!(quotas.acquire(Duration::MAX, 0, u64::MAX).is_ok());
}

/// MEM-002: callers that never stop asking get at least 95 % of what is allowed, and no 60 s hold
/// more than the limit; both while the window is exact and when its entries are shared.
#[test]
fn saturation_uses_the_limit_and_never_more() {
    let minutes = 3;
    for (rpm, step) in [(7_u32, 1_000_000_u64), (300, 50_000), (100_000, 200)] {
        let mut quotas = quotas(&[(Gate::GlobalRpm, rpm)]);
        let mut admitted: Vec<Duration> = Vec::new();
        for tick in 0..minutes * 60_000_000 / step {
            let now = Duration::from_micros(tick * step);
            if let Ok(id) = quotas.acquire(now, 0, 0) {
                quotas.release(now, id, 0);
                admitted.push(now);
            }
        }
        assert!(admitted.len() as u64 * 100 >= u64::from(rpm) * minutes * 95, "{rpm}");
        for (first, beyond) in admitted.iter().zip(admitted.iter().skip(rpm as usize)) {
            assert!(*beyond >= *first + secs(60), "{rpm}: {first:?} to {beyond:?}");
        }
    }
}

/// D27: the same for tokens, charged by a high estimate and corrected when the call is done.
#[test]
fn saturated_tokens_use_the_limit_and_never_more() {
    let (minutes, limit, estimate, used) = (10, 100_000_u32, 900, 400);
    let mut quotas = quotas(&[(Gate::SourceTpm, limit)]);
    let mut flying: Vec<(Duration, u64)> = Vec::new();
    let mut done: Vec<Duration> = Vec::new();
    for tick in 0..minutes * 600 {
        let now = Duration::from_millis(tick * 100);
        while let Some((since, id)) = flying.first().copied()
            && now >= since + secs(1)
        {
            flying.remove(0);
            quotas.settle(now, id, 0, used);
            quotas.release(now, id, 0);
            done.push(since);
        }
        while let Ok(id) = quotas.acquire(now, 0, estimate) {
            flying.push((now, id));
        }
    }
    assert!(done.len() as u64 * used * 100 >= u64::from(limit) * minutes * 95);
    let most = usize::try_from(u64::from(limit) / used).unwrap();
    for (first, beyond) in done.iter().zip(done.iter().skip(most)) {
        assert!(*beyond >= *first + secs(60), "{first:?} to {beyond:?}");
    }
}
