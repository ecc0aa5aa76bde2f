//! Random histories, replayed on a store and on the model.

use std::{collections::BTreeSet, fmt, sync::Arc, time::Duration};

use pgw_ports::{Breaker, GateError};
use pgw_types::{BreakerTicket, Entry};

use super::{BreakerHarness, BreakerSpec, model::BreakerModel};
use crate::{random::Random, shrink::shrink};

/// How many histories [`histories_match_the_model`] replays.
const HISTORIES: u64 = 256;
const STEPS: u64 = 80;

/// One step. Tickets go by the order in which they were given, modulo how many there are; a step on
/// a ticket does nothing before the first was given. A call is judged once: a verdict on a ticket
/// that was judged or given back does nothing either.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakerStep {
    /// Asks to be let in. Sources go by their place, modulo how many there are.
    Enter(usize),
    /// The call went well.
    Succeed(usize),
    /// The call failed.
    Fail(usize),
    /// The call found the source dead.
    Dead(usize),
    /// Gives the probe back.
    ReleaseProbe(usize),
    /// Gives the probe back as a destructor does.
    Abandon(usize),
    /// Lets so many milliseconds pass.
    Advance(u64),
}

/// A history: a breaker and what happens to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BreakerHistory {
    /// The breaker.
    pub spec: BreakerSpec,
    /// What happens.
    pub steps: Vec<BreakerStep>,
}

impl BreakerHistory {
    /// The history of a seed.
    #[must_use]
    pub fn random(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let sources = random.within(1, 2);
        let spec = BreakerSpec {
            threshold: random.pick(&[1, 2, 3]),
            cooldown: Duration::from_secs(random.pick(&[5, 30, 60])),
            // Mostly longer than the cooldown, but nothing hangs on that.
            dead_cooldown: Duration::from_secs(random.pick(&[10, 120, 600])),
            probe_lease: Duration::from_secs(random.pick(&[3, 20, 90])),
            sources: (0..sources)
                .map(|place| {
                    let concurrency = random.pick(&[None, Some(1), Some(2)]);
                    (format!("source-{place}").into(), concurrency)
                })
                .collect(),
        };
        let steps = (0..STEPS).map(|_| step(&mut random)).collect();
        Self { spec, steps }
    }

    /// Runs the history on a fresh store and on the model.
    ///
    /// # Errors
    /// The first answer in which they differ.
    pub async fn replay(&self, harness: &dyn BreakerHarness) -> Result<(), String> {
        self.replay_steps(harness, &self.steps).await
    }

    async fn replay_steps(
        &self,
        harness: &dyn BreakerHarness,
        steps: &[BreakerStep],
    ) -> Result<(), String> {
        let mut replay = Replay {
            store: harness.fresh(self.spec.clone()).await,
            model: BreakerModel::new(self.spec.clone()),
            names: self.spec.sources.iter().map(|(name, _)| name.clone()).collect(),
            tickets: Vec::new(),
            done: BTreeSet::new(),
            abandoned: false,
        };
        for (place, step) in steps.iter().enumerate() {
            if let BreakerStep::Advance(millis) = *step {
                harness.advance(Duration::from_millis(millis)).await;
                replay.model.advance(Duration::from_millis(millis));
                continue;
            }
            match replay.step(*step).await {
                Ok(None) => {}
                Ok(Some(difference)) => {
                    return Err(format!("step {place}, {step:?}: {difference}"));
                }
                Err(error) => {
                    return Err(format!("step {place}, {step:?}: the store failed: {error}"));
                }
            }
        }
        Ok(())
    }
}

struct Replay {
    store: Arc<dyn Breaker>,
    model: BreakerModel,
    names: Vec<Arc<str>>,
    tickets: Vec<BreakerTicket>,
    /// Tickets that were judged or given back.
    done: BTreeSet<usize>,
    /// Whether a probe was ever abandoned.
    abandoned: bool,
}

impl Replay {
    /// Does one step on both. Returns how they differ.
    async fn step(&mut self, step: BreakerStep) -> Result<Option<String>, GateError> {
        match step {
            BreakerStep::Enter(source) => return self.enter(source % self.names.len()).await,
            BreakerStep::Succeed(ticket) => {
                if let Some(ticket) = self.unjudged(ticket) {
                    self.store.record_success(&self.tickets[ticket]).await?;
                    self.model.record_success(ticket);
                }
            }
            BreakerStep::Fail(ticket) => {
                if let Some(ticket) = self.unjudged(ticket) {
                    let answer = self.store.record_failure(&self.tickets[ticket]).await?;
                    return Ok(differ(&answer, &self.model.record_failure(ticket)));
                }
            }
            BreakerStep::Dead(ticket) => {
                if let Some(ticket) = self.unjudged(ticket) {
                    let answer = self.store.force_open(&self.tickets[ticket]).await?;
                    return Ok(differ(&answer, &self.model.force_open(ticket)));
                }
            }
            BreakerStep::ReleaseProbe(ticket) => {
                if let Some(ticket) = ticket.checked_rem(self.tickets.len()) {
                    self.done.insert(ticket);
                    self.store.release_probe(&self.tickets[ticket]).await?;
                    self.model.release_probe(ticket);
                }
            }
            BreakerStep::Abandon(ticket) => {
                if let Some(ticket) = ticket.checked_rem(self.tickets.len()) {
                    self.done.insert(ticket);
                    self.store.abandon(&self.tickets[ticket]);
                    self.model.release_probe(ticket);
                    self.abandoned = true;
                }
            }
            BreakerStep::Advance(_) => {}
        }
        Ok(None)
    }

    async fn enter(&mut self, source: usize) -> Result<Option<String>, GateError> {
        let expected = self.model.try_enter(source);
        let mut entry = self.store.try_enter(&self.names[source]).await?;
        // A store over the network gives abandoned probes back in the background.
        let looks = if self.abandoned && expected.is_ok() { 1_000 } else { 1 };
        for _ in 1..looks {
            if matches!(entry, Entry::Admitted(_)) {
                break;
            }
            tokio::task::yield_now().await;
            entry = self.store.try_enter(&self.names[source]).await?;
        }
        let difference = format!("the store says {entry:?}, the model {expected:?}");
        let agree = match (entry, expected) {
            (Entry::Admitted(ticket), Ok(place)) => {
                let agree = ticket.probe.is_some() == self.model.is_probe(place);
                self.tickets.push(ticket);
                agree
            }
            (Entry::Refused { retry_after }, Err(wait)) => retry_after == wait,
            _ => false,
        };
        Ok((!agree).then_some(difference))
    }

    fn unjudged(&mut self, ticket: usize) -> Option<usize> {
        let ticket = ticket.checked_rem(self.tickets.len())?;
        self.done.insert(ticket).then_some(ticket)
    }
}

fn differ<T: fmt::Debug + PartialEq>(answer: &T, expected: &T) -> Option<String> {
    (answer != expected).then(|| format!("the store says {answer:?}, the model {expected:?}"))
}

impl fmt::Display for BreakerHistory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:?}", self.spec)?;
        for (place, step) in self.steps.iter().enumerate() {
            writeln!(f, "{place:3} {step:?}")?;
        }
        Ok(())
    }
}

fn step(random: &mut Random) -> BreakerStep {
    let ticket = usize::try_from(random.below(1_000)).unwrap_or_default();
    match random.below(100) {
        0..38 => BreakerStep::Enter(ticket),
        38..47 => BreakerStep::Succeed(ticket),
        47..67 => BreakerStep::Fail(ticket),
        67..71 => BreakerStep::Dead(ticket),
        71..76 => BreakerStep::ReleaseProbe(ticket),
        76..79 => BreakerStep::Abandon(ticket),
        // Short, long, and to exactly the end of a cooldown or lease.
        79..91 => BreakerStep::Advance(random.below(10_000)),
        91..96 => BreakerStep::Advance(1_000 * random.pick(&[3, 5, 10, 20, 30, 60, 90])),
        _ => BreakerStep::Advance(random.below(700_000)),
    }
}

/// Replays the history of a seed that failed, or any other.
pub async fn replay_seed(harness: &dyn BreakerHarness, seed: u64) {
    let history = BreakerHistory::random(seed);
    let Err(failure) = history.replay(harness).await else {
        return;
    };
    let fails = async |steps: &[BreakerStep]| history.replay_steps(harness, steps).await.err();
    let (steps, failure) = shrink(history.steps.clone(), failure, fails).await;
    let spec = history.spec.clone();
    let shortest = BreakerHistory { spec, steps };
    panic!("seed {seed}: {failure}\n{shortest}");
}

/// Random arrivals, verdicts early and late, lost probes and jumps of the clock: the store answers
/// as the model does, word for word. PRT-022, PRT-025.
pub async fn histories_match_the_model(harness: &dyn BreakerHarness) {
    for seed in 0..HISTORIES {
        replay_seed(harness, seed).await;
    }
}
