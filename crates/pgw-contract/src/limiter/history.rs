//! Random histories, replayed on a store and on the model.

use std::{fmt, sync::Arc, time::Duration};

use pgw_types::{Admission, Lease, Limits};

use super::{LimiterHarness, LimiterSpec, model::LimiterModel};
use crate::{random::Random, shrink::shrink};

/// How many histories [`histories_match_the_model`] replays.
const HISTORIES: u64 = 128;
const STEPS: u64 = 80;

/// One step. Leases go by the order in which they were granted, modulo how many there are; a step
/// on a lease does nothing before the first was granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimiterStep {
    /// Asks for a call of so many tokens. Sources go by their place, modulo how many there are.
    Acquire {
        /// The source.
        source: usize,
        /// The estimate.
        tokens: u64,
    },
    /// Settles a lease.
    Settle {
        /// Which.
        lease: usize,
        /// Tokens used.
        used: u64,
    },
    /// Releases a lease.
    Release(usize),
    /// Gives a lease back as a destructor does.
    Abandon(usize),
    /// Renews a lease.
    Renew(usize),
    /// Notes progress.
    MarkProgress,
    /// Lets so many milliseconds pass.
    Advance(u64),
}

/// A history: a limiter and what happens to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimiterHistory {
    /// The limiter.
    pub spec: LimiterSpec,
    /// What happens.
    pub steps: Vec<LimiterStep>,
}

impl LimiterHistory {
    /// The history of a seed.
    #[must_use]
    pub fn random(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let sources = random.within(1, 3);
        let spec = LimiterSpec {
            scope: limits(&mut random),
            sources: (0..sources)
                .map(|place| (format!("source-{place}").into(), limits(&mut random)))
                .collect(),
            lease_ttl: Duration::from_secs(random.pick(&[7, 45, 60, 95, 600])),
        };
        let steps = (0..STEPS).map(|_| step(&mut random)).collect();
        Self { spec, steps }
    }

    /// Runs the history on a fresh store and on the model.
    ///
    /// # Errors
    /// The first answer in which they differ.
    pub async fn replay(&self, harness: &dyn LimiterHarness) -> Result<(), String> {
        self.replay_steps(harness, &self.steps).await
    }

    async fn replay_steps(
        &self,
        harness: &dyn LimiterHarness,
        steps: &[LimiterStep],
    ) -> Result<(), String> {
        let store = harness.fresh(self.spec.clone()).await;
        let mut model = LimiterModel::new(self.spec.clone());
        let mut leases: Vec<Lease> = Vec::new();
        let names: Vec<Arc<str>> = self.spec.sources.iter().map(|(name, _)| name.clone()).collect();
        for (place, step) in steps.iter().enumerate() {
            let failed = |error| format!("step {place}, {step:?}: the store failed: {error}");
            let at = |lease: usize| lease.checked_rem(leases.len());
            match *step {
                LimiterStep::Acquire { source, tokens } => {
                    let source = source % names.len();
                    let answer = store.try_acquire(&names[source], tokens).await;
                    let expected = model.try_acquire(source, tokens);
                    match (answer.map_err(failed)?, expected) {
                        (Admission::Granted(lease), Ok(_)) => leases.push(lease),
                        (Admission::Denied(denial), Err(expected)) if denial == expected => {}
                        (answer, expected) => {
                            return Err(format!(
                                "step {place}, {step:?}: the store says {answer:?}, the model \
                                 {expected:?}"
                            ));
                        }
                    }
                }
                LimiterStep::Settle { lease, used } => {
                    if let Some(lease) = at(lease) {
                        store.settle(&leases[lease], used).await.map_err(failed)?;
                        model.settle(lease, used);
                    }
                }
                LimiterStep::Release(lease) => {
                    if let Some(lease) = at(lease) {
                        store.release(&leases[lease]).await.map_err(failed)?;
                        model.release(lease);
                    }
                }
                LimiterStep::Abandon(lease) => {
                    if let Some(lease) = at(lease) {
                        store.abandon(&leases[lease]);
                        model.release(lease);
                    }
                }
                LimiterStep::Renew(lease) => {
                    if let Some(lease) = at(lease) {
                        store.renew(&leases[lease]).await.map_err(failed)?;
                        model.renew(lease);
                    }
                }
                LimiterStep::MarkProgress => {
                    store.mark_progress().await.map_err(failed)?;
                    model.mark_progress();
                }
                LimiterStep::Advance(millis) => {
                    harness.advance(Duration::from_millis(millis)).await;
                    model.advance(Duration::from_millis(millis));
                }
            }
            // A store over the network gives abandoned leases back in the background.
            let looks = if matches!(step, LimiterStep::Abandon(_)) { 1_000 } else { 1 };
            for (source, name) in names.iter().enumerate() {
                let expected = model.load(source);
                let mut load = store.source_load(name).await.map_err(failed)?;
                for _ in 1..looks {
                    if load == expected {
                        break;
                    }
                    tokio::task::yield_now().await;
                    load = store.source_load(name).await.map_err(failed)?;
                }
                if load != expected {
                    return Err(format!(
                        "after step {place}, {step:?}: the store says {name} has {load:?}, the \
                         model {expected:?}"
                    ));
                }
            }
            let (age, expected) = (store.progress_age().await, model.progress_age());
            let age = age.map_err(failed)?;
            if age != expected {
                return Err(format!(
                    "after step {place}, {step:?}: the store says progress was {age:?} ago, the \
                     model {expected:?}"
                ));
            }
        }
        Ok(())
    }
}

impl fmt::Display for LimiterHistory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:?}", self.spec)?;
        for (place, step) in self.steps.iter().enumerate() {
            writeln!(f, "{place:3} {step:?}")?;
        }
        Ok(())
    }
}

fn limits(random: &mut Random) -> Limits {
    Limits {
        max_concurrency: random.once_in(3).then(|| random.pick(&[1, 2, 3, 5])),
        rpm: random.once_in(2).then(|| random.pick(&[1, 2, 4, 7])),
        tpm: random.once_in(2).then(|| random.within(20, 150)),
    }
}

fn step(random: &mut Random) -> LimiterStep {
    let lease = usize::try_from(random.below(1_000)).unwrap_or_default();
    match random.below(100) {
        0..42 => LimiterStep::Acquire {
            source: lease,
            // Now and then more than any window holds.
            tokens: if random.once_in(25) { random.within(100, 300) } else { random.below(50) },
        },
        42..52 => LimiterStep::Settle { lease, used: random.below(90) },
        52..62 => LimiterStep::Release(lease),
        62..66 => LimiterStep::Abandon(lease),
        66..72 => LimiterStep::Renew(lease),
        72..75 => LimiterStep::MarkProgress,
        // Short, long, and up to exactly the end of a window.
        75..94 => LimiterStep::Advance(random.below(20_000)),
        94..97 => LimiterStep::Advance(60_000),
        _ => LimiterStep::Advance(random.below(3_600_000)),
    }
}

/// Replays the history of a seed that failed, or any other.
pub async fn replay_seed(harness: &dyn LimiterHarness, seed: u64) {
    let history = LimiterHistory::random(seed);
    let Err(failure) = history.replay(harness).await else {
        return;
    };
    let fails = async |steps: &[LimiterStep]| history.replay_steps(harness, steps).await.err();
    let (steps, failure) = shrink(history.steps.clone(), failure, fails).await;
    let spec = history.spec.clone();
    let shortest = LimiterHistory { spec, steps };
    panic!("seed {seed}: {failure}\n{shortest}");
}

/// Random arrivals, settles, releases, drops, renewals and jumps of the clock: the store answers
/// as the model does, word for word. PRT-022, PRT-025.
pub async fn histories_match_the_model(harness: &dyn LimiterHarness) {
    for seed in 0..HISTORIES {
        replay_seed(harness, seed).await;
    }
}
