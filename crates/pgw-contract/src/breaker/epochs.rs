//! Verdicts that come late, and deadlines that meet.

use super::{
    BreakerHarness, COOLDOWN, DEAD_COOLDOWN, MILLI, PROBE_LEASE, SOURCE, Subject, THRESHOLD, spec,
};

/// Of two deadlines the later wins, whichever came first. D37 (`BerriAI/litellm#40130`).
pub async fn the_later_deadline_wins(harness: &dyn BreakerHarness) {
    // A short cooldown is put off by a longer one.
    let subject = Subject::new(harness).await;
    let straggler = subject.enter(SOURCE).await;
    subject.open(SOURCE).await;
    assert_eq!(subject.dead(&straggler).await, DEAD_COOLDOWN);
    assert_eq!(subject.refused(SOURCE).await, DEAD_COOLDOWN);

    // A long one is not cut by a shorter one that is found out later.
    let mut spec = spec();
    (spec.cooldown, spec.dead_cooldown) = (DEAD_COOLDOWN, COOLDOWN);
    let subject = Subject(harness.fresh(spec).await);
    let straggler = subject.enter(SOURCE).await;
    for _ in 0..THRESHOLD {
        let ticket = subject.enter(SOURCE).await;
        subject.fail(&ticket).await;
    }
    harness.advance(MILLI).await;
    let left = DEAD_COOLDOWN.saturating_sub(MILLI);
    assert_eq!(subject.dead(&straggler).await, left, "what is left is told");
    assert_eq!(subject.refused(SOURCE).await, left);
}

/// Calls that entered before the breaker opened, or closed, neither close nor open nor count. D41
/// (`App-vNext/Polly#217`, `sony/gobreaker#122`).
pub async fn verdicts_of_an_older_epoch_are_void(harness: &dyn BreakerHarness) {
    let subject = Subject::new(harness).await;
    let mut early = Vec::new();
    for _ in 0..20 {
        early.push(subject.enter(SOURCE).await);
    }
    subject.open(SOURCE).await;
    harness.advance(MILLI).await;

    // While open: a success does not close it, a failure does not put its deadline off.
    subject.succeed(&early[0]).await;
    let left = COOLDOWN.saturating_sub(MILLI);
    assert_eq!(subject.fail(&early[1]).await, Some(left), "it is open, and says so");
    assert_eq!(subject.refused(SOURCE).await, left);

    // While half-open: the probe alone decides.
    harness.advance(left).await;
    let probe = subject.probe(SOURCE).await;
    subject.succeed(&early[2]).await;
    assert_eq!(subject.fail(&early[3]).await, None, "it is not open now");
    assert_eq!(subject.refused(SOURCE).await, PROBE_LEASE);

    // While closed again: old failures don't count, old successes don't reset.
    subject.succeed(&probe).await;
    for ticket in &early[4..] {
        assert_eq!(subject.fail(ticket).await, None);
    }
    for count in 1..=THRESHOLD {
        subject.succeed(&early[0]).await;
        let ticket = subject.enter(SOURCE).await;
        let cooldown = subject.fail(&ticket).await;
        assert_eq!(cooldown, (count == THRESHOLD).then_some(COOLDOWN));
    }
    // The second verdict of a probe is one of an older epoch as well.
    subject.succeed(&probe).await;
    assert_eq!(subject.refused(SOURCE).await, COOLDOWN);
}

/// A source that answers more slowly than the probe's lease lasts must be able to recover: the late
/// verdict counts as long as nothing else changed the state since. It ends the epoch of any probe
/// that followed. D39, D41.
pub async fn a_late_probe_still_has_its_say(harness: &dyn BreakerHarness) {
    let subject = Subject::half_open(harness).await;
    let slow = subject.probe(SOURCE).await;
    harness.advance(PROBE_LEASE).await;
    let second = subject.probe(SOURCE).await;
    subject.succeed(&slow).await;
    subject.enter(SOURCE).await;
    assert_eq!(subject.dead(&second).await, std::time::Duration::ZERO, "void: it closed since");
    subject.enter(SOURCE).await;

    let subject = Subject::half_open(harness).await;
    let slow = subject.probe(SOURCE).await;
    harness.advance(PROBE_LEASE).await;
    let second = subject.probe(SOURCE).await;
    assert_eq!(subject.fail(&slow).await, Some(COOLDOWN));
    subject.succeed(&second).await;
    assert_eq!(subject.refused(SOURCE).await, COOLDOWN);
}

/// That a key is dead is news whenever its call began, unless a probe that entered later has
/// succeeded: then it is void like other late verdicts. MEM-010, D37, D41.
pub async fn a_dead_source_is_news_in_an_older_epoch(harness: &dyn BreakerHarness) {
    let subject = Subject::new(harness).await;
    let mut early = Vec::new();
    for _ in 0..4 {
        early.push(subject.enter(SOURCE).await);
    }
    subject.open(SOURCE).await;
    harness.advance(MILLI).await;
    assert_eq!(subject.dead(&early[0]).await, DEAD_COOLDOWN, "while open");

    // While half-open it ends the epoch of the probe under way.
    harness.advance(DEAD_COOLDOWN).await;
    let probe = subject.probe(SOURCE).await;
    assert_eq!(subject.dead(&early[1]).await, DEAD_COOLDOWN);
    subject.succeed(&probe).await;
    assert_eq!(subject.refused(SOURCE).await, DEAD_COOLDOWN);

    harness.advance(DEAD_COOLDOWN).await;
    let probe = subject.probe(SOURCE).await;
    subject.succeed(&probe).await;
    assert_eq!(subject.dead(&early[2]).await, std::time::Duration::ZERO);
    subject.enter(SOURCE).await;
    // Nor does it put off the deadline of an opening that came after the success.
    let ticket = subject.enter(SOURCE).await;
    subject.open(SOURCE).await;
    assert_eq!(subject.dead(&early[3]).await, COOLDOWN, "what is left is told");
    assert_eq!(subject.dead(&ticket).await, DEAD_COOLDOWN);
}
