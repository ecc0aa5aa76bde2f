//! Random histories, replayed on the state machine and on a model without epochs.

use proptest::{prelude::*, sample::Index};

use super::*;

#[derive(Clone, Debug)]
enum Step {
    Advance(Duration),
    Enter,
    Succeed(Index),
    Fail(Index),
    Kill(Index),
    GiveBack(Index),
}

/// What the model knows of a call: it marks each one when its word loses its worth.
#[derive(Debug, Default)]
struct Call {
    void: bool,
    closed_since: bool,
}

/// The breaker in its plainest form. The place of a call in the list is its name.
#[derive(Debug)]
struct Model {
    rules: Rules,
    open_until: Option<Duration>,
    failures: u32,
    probe: Option<(usize, Duration)>,
    calls: Vec<Call>,
    stale: u64,
}

impl Model {
    fn new(rules: Rules) -> Self {
        Self { rules, open_until: None, failures: 0, probe: None, calls: Vec::new(), stale: 0 }
    }

    fn enter(&mut self, now: Duration) -> Result<usize, Duration> {
        let place = self.calls.len();
        if let Some(until) = self.open_until {
            if now < until {
                return Err(until.saturating_sub(now));
            }
            if let Some((_, expires)) = self.probe.filter(|(_, expires)| now < *expires) {
                return Err(expires.saturating_sub(now));
            }
            self.probe = Some((place, now + self.rules.probe_lease));
        }
        self.calls.push(Call::default());
        Ok(place)
    }

    fn turn(&mut self, open_until: Option<Duration>) {
        self.open_until = open_until;
        self.failures = 0;
        self.probe = None;
        for call in &mut self.calls {
            call.void = true;
            call.closed_since |= open_until.is_none();
        }
    }

    fn succeed(&mut self, place: usize) {
        if self.calls[place].void {
            self.stale += 1;
        } else if self.open_until.is_some() {
            self.turn(None);
        } else {
            self.failures = 0;
        }
    }

    fn fail(&mut self, now: Duration, place: usize) {
        if self.calls[place].void {
            self.stale += 1;
            return;
        }
        self.failures += 1;
        if self.open_until.is_some() || self.failures >= self.rules.threshold {
            self.turn(Some(now + self.rules.cooldown));
        }
    }

    fn kill(&mut self, now: Duration, place: usize) {
        if self.calls[place].closed_since {
            self.stale += 1;
            return;
        }
        let until = now + self.rules.dead_cooldown;
        self.turn(Some(self.open_until.map_or(until, |known| known.max(until))));
    }

    fn give_back(&mut self, place: usize) {
        self.probe = self.probe.filter(|(probe, _)| *probe != place);
    }

    fn cooling(&self, now: Duration) -> Option<Duration> {
        self.open_until.filter(|until| now < *until).map(|until| until.saturating_sub(now))
    }

    fn state(&self, now: Duration) -> BreakerState {
        match self.open_until {
            None => BreakerState::Closed,
            Some(until) if now < until => BreakerState::Open,
            Some(_) => BreakerState::HalfOpen,
        }
    }
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (0_u64..15_000).prop_map(|ms| Step::Advance(Duration::from_millis(ms))),
        1 => (0_u64..90).prop_map(|seconds| Step::Advance(secs(seconds))),
        6 => Just(Step::Enter),
        2 => any::<Index>().prop_map(Step::Succeed),
        4 => any::<Index>().prop_map(Step::Fail),
        1 => any::<Index>().prop_map(Step::Kill),
        2 => any::<Index>().prop_map(Step::GiveBack),
    ]
}

/// Mostly one of the newest calls, for the oldest ones are mostly void.
fn recent(index: Index, len: usize) -> usize {
    let reach = if index.index(4) == 0 { len } else { len.min(3) };
    len - 1 - index.index(reach)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    /// MEM-006, MEM-007, MEM-009, MEM-010, MEM-012, D37, D39, D41: after any history every answer
    /// and every state is the model's; at most one probe is out; and however it stands, the breaker
    /// lets somebody in once its cooldown and a probe's lease have passed.
    #[test]
    fn any_history_is_as_the_model_says(
        threshold in 1_u32..5,
        cooldown in 0_u64..40,
        dead_cooldown in 0_u64..80,
        probe_lease in 0_u64..20,
        steps in prop::collection::vec(step(), 1..150),
    ) {
        let rules = Rules {
            threshold,
            cooldown: secs(cooldown),
            dead_cooldown: secs(dead_cooldown),
            probe_lease: secs(probe_lease),
        };
        let mut fuse = Fuse::new(rules);
        let mut model = Model::new(rules);
        let mut now = Duration::ZERO;
        let mut passes: Vec<Pass> = Vec::new();
        for step in steps {
            match step {
                Step::Advance(pause) => now += pause,
                Step::Enter => {
                    let answer = fuse.enter(now);
                    let expected = model.enter(now);
                    prop_assert_eq!(answer.err(), expected.err());
                    if let Ok(pass) = answer {
                        prop_assert_eq!(pass.probe.is_some(), model.open_until.is_some());
                        passes.push(pass);
                    }
                }
                _ if passes.is_empty() => {}
                Step::Succeed(index) => {
                    let place = recent(index, passes.len());
                    fuse.succeed(passes[place]);
                    model.succeed(place);
                }
                Step::Fail(index) => {
                    let place = recent(index, passes.len());
                    let cooling = fuse.fail(now, passes[place]);
                    model.fail(now, place);
                    prop_assert_eq!(cooling, model.cooling(now));
                }
                Step::Kill(index) => {
                    let place = recent(index, passes.len());
                    let cooling = fuse.kill(now, passes[place]);
                    model.kill(now, place);
                    prop_assert_eq!(cooling, model.cooling(now).unwrap_or_default());
                }
                Step::GiveBack(index) => {
                    let place = recent(index, passes.len());
                    fuse.give_back(passes[place]);
                    model.give_back(place);
                }
            }
            prop_assert_eq!(fuse.state(now), model.state(now));
            prop_assert_eq!(fuse.stale(), model.stale);
        }
        now += rules.cooldown.max(rules.dead_cooldown) + rules.probe_lease;
        prop_assert!(fuse.enter(now).is_ok());
    }
}
