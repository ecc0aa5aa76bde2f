//! The breaker's transitions, one by one.

mod histories;

use super::*;
use crate::doubles::{just_before, secs};

const RULES: Rules = Rules {
    threshold: 3,
    cooldown: Duration::from_secs(30),
    dead_cooldown: Duration::from_mins(5),
    probe_lease: Duration::from_secs(10),
};

fn fuse() -> Fuse {
    Fuse::new(RULES)
}

/// Lets `failures` calls in and fails them all at `now`.
fn fail(fuse: &mut Fuse, now: Duration, failures: u32) -> Option<Duration> {
    let passes: Vec<Pass> = (0..failures).map(|_| fuse.enter(now).unwrap()).collect();
    passes.into_iter().fold(None, |_, pass| fuse.fail(now, pass))
}

/// A breaker that opened at 0 s.
fn opened() -> Fuse {
    let mut fuse = fuse();
    assert_eq!(fail(&mut fuse, secs(0), 3), Some(secs(30)));
    fuse
}

#[test]
fn states_have_stable_names() {
    let states = [BreakerState::Closed, BreakerState::Open, BreakerState::HalfOpen];
    assert_eq!(states.map(|state| state.to_string()), ["closed", "open", "half_open"]);
}

/// MEM-007: closed, open, half-open, closed.
#[test]
fn a_good_probe_closes() {
    let mut fuse = fuse();
    assert_eq!(fail(&mut fuse, secs(0), 2), None);
    assert_eq!(fuse.state(secs(0)), BreakerState::Closed);
    assert_eq!(fail(&mut fuse, secs(5), 1), Some(secs(30)));
    assert_eq!(fuse.state(secs(5)), BreakerState::Open);
    assert_eq!(fuse.enter(secs(15)), Err(secs(20)));
    assert_eq!(fuse.state(secs(35)), BreakerState::HalfOpen);
    let probe = fuse.enter(secs(35)).unwrap();
    assert!(probe.probe.is_some());
    assert_eq!(fuse.enter(secs(38)), Err(secs(7)), "what is left of the probe's lease");
    fuse.succeed(probe);
    assert_eq!(fuse.state(secs(38)), BreakerState::Closed);
    assert_eq!(fail(&mut fuse, secs(38), 2), None, "the count starts anew");
    assert_eq!(fuse.enter(secs(38)).unwrap().probe, None);
    assert_eq!(fuse.stale(), 0);
}

/// MEM-007: closed, open, half-open, open again.
#[test]
fn a_bad_probe_opens_again() {
    let mut fuse = opened();
    let probe = fuse.enter(secs(30)).unwrap();
    assert_eq!(fuse.fail(secs(32), probe), Some(secs(30)));
    assert_eq!(fuse.enter(secs(61)), Err(secs(1)));
    assert!(fuse.enter(secs(62)).is_ok());
}

/// MEM-009: only consecutive failures open.
#[test]
fn a_success_resets_the_count() {
    let mut fuse = fuse();
    for _ in 0..10 {
        assert_eq!(fail(&mut fuse, secs(0), 2), None);
        let pass = fuse.enter(secs(0)).unwrap();
        fuse.succeed(pass);
    }
    assert_eq!(fuse.state(secs(0)), BreakerState::Closed);
    assert_eq!(fail(&mut fuse, secs(0), 3), Some(secs(30)));
}

#[test]
fn a_threshold_of_zero_is_one() {
    let mut fuse = Fuse::new(Rules { threshold: 0, ..RULES });
    assert_eq!(fail(&mut fuse, secs(0), 1), Some(secs(30)));
}

/// MEM-010: a dead source opens its breaker from any state.
#[test]
fn a_dead_source_opens_from_any_state() {
    let mut closed = fuse();
    let pass = closed.enter(secs(0)).unwrap();
    assert_eq!(closed.kill(secs(1), pass), secs(300));
    assert_eq!(closed.state(secs(300)), BreakerState::Open);
    assert_eq!(closed.state(secs(301)), BreakerState::HalfOpen, "a finite cooldown");

    let mut open = fuse();
    let pass = open.enter(secs(0)).unwrap();
    fail(&mut open, secs(0), 3);
    assert_eq!(open.kill(secs(10), pass), secs(300));
    assert_eq!(open.enter(secs(10)), Err(secs(300)));

    let mut half_open = opened();
    let probe = half_open.enter(secs(30)).unwrap();
    assert_eq!(half_open.kill(secs(31), probe), secs(300));
    assert_eq!(half_open.enter(secs(31)), Err(secs(300)));
    assert_eq!((closed.stale(), open.stale(), half_open.stale()), (0, 0, 0));
}

/// D37 (BerriAI/litellm#40130): of two deadlines the later wins, in whichever order they come.
#[test]
fn the_later_deadline_wins() {
    for (dead_cooldown, left) in [(secs(10), secs(25)), (secs(60), secs(60))] {
        let mut fuse = Fuse::new(Rules { dead_cooldown, ..RULES });
        let pass = fuse.enter(secs(0)).unwrap();
        fail(&mut fuse, secs(0), 3);
        assert_eq!(fuse.kill(secs(5), pass), left);
        assert_eq!(fuse.enter(secs(5)), Err(left));
    }
    // Failures of the same burst come too late to shorten it.
    let mut fuse = fuse();
    let passes: Vec<Pass> = (0..5).map(|_| fuse.enter(secs(0)).unwrap()).collect();
    assert_eq!(fuse.kill(secs(0), passes[0]), secs(300));
    for pass in &passes[1..] {
        assert_eq!(fuse.fail(secs(20), *pass), Some(secs(280)), "open, and for how long");
    }
    assert_eq!(fuse.stale(), 4);
}

/// D41 (App-vNext/Polly#217, sony/gobreaker#122): verdicts of calls that began before an opening
/// or a closing change nothing and are counted.
#[test]
fn a_verdict_of_an_older_epoch_is_void() {
    let mut fuse = fuse();
    let old: Vec<Pass> = (0..6).map(|_| fuse.enter(secs(0)).unwrap()).collect();
    fail(&mut fuse, secs(0), 3);

    fuse.succeed(old[0]);
    assert_eq!(fuse.state(secs(1)), BreakerState::Open, "a late success doesn't close");
    assert_eq!(fuse.fail(secs(20), old[1]), Some(secs(10)), "a late failure doesn't prolong");

    let probe = fuse.enter(secs(30)).unwrap();
    fuse.succeed(old[2]);
    assert_eq!(fuse.fail(secs(30), old[3]), None);
    assert_eq!(fuse.enter(secs(31)), Err(secs(9)), "the probe is still out");

    fuse.succeed(probe);
    assert_eq!(fail(&mut fuse, secs(31), 2), None);
    assert_eq!(fuse.fail(secs(31), old[4]), None, "nor does it count after the closing");
    assert_eq!(fuse.kill(secs(31), old[5]), secs(0), "a success since is newer knowledge");
    assert_eq!(fuse.state(secs(31)), BreakerState::Closed);
    assert_eq!(fuse.stale(), 6);

    // It has closed since, so an opening after that doesn't make the old verdict count.
    assert_eq!(fail(&mut fuse, secs(32), 1), Some(secs(30)));
    assert_eq!(fuse.kill(secs(33), old[5]), secs(29));
    assert_eq!(fuse.stale(), 7);
}

/// A verdict from nowhere changes nothing either.
#[test]
fn a_verdict_of_an_unknown_epoch_is_void() {
    let mut fuse = fuse();
    let foreign = Pass { epoch: 7, probe: None };
    fuse.succeed(foreign);
    assert_eq!(fuse.fail(secs(0), foreign), None);
    assert_eq!(fuse.kill(secs(0), foreign), secs(0));
    assert_eq!((fuse.state(secs(0)), fuse.stale()), (BreakerState::Closed, 3));
}

/// MEM-012, D39 (diegosouzapw/OmniRoute#13836): the probe of a dead owner frees its place.
#[test]
fn a_probe_is_a_lease() {
    let mut fuse = opened();
    let dead = fuse.enter(secs(30)).unwrap();
    assert_eq!(fuse.enter(just_before(secs(40))), Err(Duration::from_nanos(1)));
    let heir = fuse.enter(secs(40)).unwrap();
    assert_ne!(dead, heir);
    fuse.give_back(dead);
    assert_eq!(
        fuse.enter(secs(41)),
        Err(secs(9)),
        "the heir's place is not the dead one's to give"
    );
    // The late answer is of this epoch and newer than the opening, so it counts.
    fuse.succeed(dead);
    assert_eq!(fuse.state(secs(42)), BreakerState::Closed);
    assert_eq!(fuse.fail(secs(43), heir), None);
    assert_eq!(fuse.stale(), 1, "and the heir's comes too late");
}

/// MEM-012, PRT-011, D91: a probe given back leaves no verdict, and giving it back twice is as
/// giving it back once.
#[test]
fn giving_back_is_idempotent_and_no_verdict() {
    let mut fuse = opened();
    let first = fuse.enter(secs(30)).unwrap();
    fuse.give_back(first);
    assert_eq!(fuse.state(secs(30)), BreakerState::HalfOpen);
    let second = fuse.enter(secs(30)).unwrap();
    fuse.give_back(first);
    fuse.give_back(first);
    assert_eq!(fuse.enter(secs(30)), Err(secs(10)), "the second probe is still out");
    fuse.succeed(second);
    fuse.give_back(second);
    assert_eq!(fuse.state(secs(30)), BreakerState::Closed);
    let plain = fuse.enter(secs(30)).unwrap();
    fuse.give_back(plain);
    assert_eq!((fuse.state(secs(30)), fuse.stale()), (BreakerState::Closed, 0));
}

#[test]
fn endless_times_do_not_overflow() {
    let mut fuse = Fuse::new(Rules {
        threshold: u32::MAX,
        cooldown: Duration::MAX,
        dead_cooldown: Duration::MAX,
        probe_lease: Duration::MAX,
    });
    let pass = fuse.enter(secs(5)).unwrap();
    fuse.kill(secs(5), pass);
    assert!(fuse.enter(secs(6)).is_err());
    assert!(fuse.enter(Duration::MAX).is_ok());
    assert_eq!(fuse.state(Duration::MAX), BreakerState::HalfOpen);
}
