//! Random histories, replayed on a store and on the model: a map that is never full.

use std::{collections::BTreeMap, fmt::Write as _, time::Duration};

use super::{CacheHarness, Subject};
use crate::{random::Random, shrink::shrink};

/// How many histories [`histories_match_the_model`] replays.
const HISTORIES: u64 = 64;
const STEPS: u64 = 60;
const KEYS: u64 = 5;

/// One step of a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CacheStep {
    /// Keeps a value of so many bytes, all the number of the step, for so many milliseconds.
    Set {
        /// Which key.
        key: u64,
        /// How long the value is.
        bytes: usize,
        /// How long it is kept.
        ttl_ms: u64,
    },
    /// Looks for a key.
    Get(u64),
    /// Lets so many milliseconds pass.
    Advance(u64),
}

/// The steps of a seed.
fn random(seed: u64) -> Vec<CacheStep> {
    let mut random = Random::new(seed);
    let step = |random: &mut Random| match random.below(10) {
        0..=3 => CacheStep::Set {
            key: random.below(KEYS),
            bytes: random.pick(&[0, 1, 100, 5_000]),
            ttl_ms: random.pick(&[1, 50, 1_000, 60_000]),
        },
        4..=7 => CacheStep::Get(random.below(KEYS)),
        _ => CacheStep::Advance(random.pick(&[1, 49, 50, 999, 1_000, 59_000])),
    };
    (0..STEPS).map(|_| step(&mut random)).collect()
}

async fn replay(harness: &dyn CacheHarness, steps: &[CacheStep]) -> Option<String> {
    let store = Subject::new(harness).await;
    // Values with the time when they end.
    let mut model: BTreeMap<u64, (Vec<u8>, u64)> = BTreeMap::new();
    let mut now = 0;
    for (place, step) in steps.iter().enumerate() {
        match *step {
            CacheStep::Set { key, bytes, ttl_ms } => {
                let mark = u8::try_from(place % 256).unwrap_or_default();
                let value = vec![mark; bytes];
                store.put(&format!("key-{key}"), &value, Duration::from_millis(ttl_ms)).await;
                model.insert(key, (value, now + ttl_ms));
            }
            CacheStep::Get(key) => {
                let expected = model.get(&key).filter(|(_, until)| *until > now);
                let expected = expected.map(|(value, _)| value.clone());
                let found = store.look(&format!("key-{key}")).await;
                if found != expected {
                    let told = |value: &Option<Vec<u8>>| {
                        value.as_ref().map(|value| (value.len(), value.first().copied()))
                    };
                    return Some(format!(
                        "step {place}, {step:?}: the store says {:?}, the model {:?} (length and \
                         first byte)",
                        told(&found),
                        told(&expected)
                    ));
                }
            }
            CacheStep::Advance(by) => {
                now += by;
                harness.advance(Duration::from_millis(by)).await;
            }
        }
    }
    None
}

/// PRT-025: random histories give what the contract says. A history that fails is cut down to what
/// is needed and printed with its seed.
pub async fn histories_match_the_model(harness: &dyn CacheHarness) {
    for seed in 0..HISTORIES {
        replay_seed(harness, seed).await;
    }
}

/// Replays the history of one seed.
pub async fn replay_seed(harness: &dyn CacheHarness, seed: u64) {
    let steps = random(seed);
    if let Some(failure) = replay(harness, &steps).await {
        let (steps, failure) =
            shrink(steps, failure, async |steps: &[CacheStep]| replay(harness, steps).await).await;
        let mut text = format!("seed {seed}: {failure}\nsteps that are needed:\n");
        for step in steps {
            // Writing to a String can't fail.
            let _ = writeln!(text, "  {step:?}");
        }
        panic!("{text}");
    }
}
