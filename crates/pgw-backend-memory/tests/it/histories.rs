//! More random histories than the contract's own, and cut down by proptest: other shapes, larger
//! limits, other mixes of steps.

use std::{sync::Arc, time::Duration};

use pgw_contract::{
    BreakerHistory, BreakerSpec, BreakerStep, LimiterHistory, LimiterSpec, LimiterStep,
};
use pgw_types::Limits;
use proptest::{collection::vec, option, prelude::*};

use super::Memory;

fn names(count: usize) -> impl Iterator<Item = Arc<str>> {
    (0..count).map(|place| format!("source-{place}").into())
}

fn limits() -> impl Strategy<Value = Limits> {
    (option::of(1_u32..20), option::of(1_u32..40), option::of(1_u64..2_000))
        .prop_map(|(max_concurrency, rpm, tpm)| Limits { max_concurrency, rpm, tpm })
}

fn pause() -> impl Strategy<Value = u64> {
    prop_oneof![
        4 => 0_u64..2_000,
        2 => 0_u64..61_000,
        1 => Just(60_000_u64),
        1 => 0_u64..100_000_000,
    ]
}

fn limiter_history() -> impl Strategy<Value = LimiterHistory> {
    let lease = 0_usize..10_000;
    let step = prop_oneof![
        10 => (0_usize..4, 0_u64..400)
            .prop_map(|(source, tokens)| LimiterStep::Acquire { source, tokens }),
        3 => (lease.clone(), 0_u64..800).prop_map(|(lease, used)| LimiterStep::Settle {
            lease,
            used
        }),
        3 => lease.clone().prop_map(LimiterStep::Release),
        1 => lease.clone().prop_map(LimiterStep::Abandon),
        1 => lease.prop_map(LimiterStep::Renew),
        1 => Just(LimiterStep::MarkProgress),
        4 => pause().prop_map(LimiterStep::Advance),
    ];
    let spec =
        (limits(), vec(limits(), 1..4), 1_u64..200).prop_map(|(scope, sources, ttl)| LimiterSpec {
            scope,
            sources: names(sources.len()).zip(sources).collect(),
            lease_ttl: Duration::from_secs(ttl),
        });
    (spec, vec(step, 1..150)).prop_map(|(spec, steps)| LimiterHistory { spec, steps })
}

fn breaker_history() -> impl Strategy<Value = BreakerHistory> {
    let ticket = 0_usize..10_000;
    let step = prop_oneof![
        8 => (0_usize..3).prop_map(BreakerStep::Enter),
        2 => ticket.clone().prop_map(BreakerStep::Succeed),
        4 => ticket.clone().prop_map(BreakerStep::Fail),
        1 => ticket.clone().prop_map(BreakerStep::Dead),
        1 => ticket.clone().prop_map(BreakerStep::ReleaseProbe),
        1 => ticket.prop_map(BreakerStep::Abandon),
        4 => pause().prop_map(BreakerStep::Advance),
    ];
    let sources = vec(option::of(1_u32..4), 1..3);
    let spec = (1_u32..5, 1_u64..90, 1_u64..900, 1_u64..90, sources).prop_map(
        |(threshold, cooldown, dead_cooldown, probe_lease, sources)| BreakerSpec {
            threshold,
            cooldown: Duration::from_secs(cooldown),
            dead_cooldown: Duration::from_secs(dead_cooldown),
            probe_lease: Duration::from_secs(probe_lease),
            sources: names(sources.len()).zip(sources).collect(),
        },
    );
    (spec, vec(step, 1..150)).prop_map(|(spec, steps)| BreakerHistory { spec, steps })
}

fn run(replay: impl Future<Output = Result<(), String>>) -> Result<(), TestCaseError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let runtime = runtime.map_err(|error| TestCaseError::fail(error.to_string()))?;
    runtime.block_on(replay).map_err(TestCaseError::fail)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// MEM-001…005, PRT-022: the memory limiter is the reference model.
    #[test]
    fn limiter_histories(history in limiter_history()) {
        run(history.replay(&Memory::default()))?;
    }

    /// MEM-006…012, PRT-022: the memory breaker is the reference model.
    #[test]
    fn breaker_histories(history in breaker_history()) {
        run(history.replay(&Memory::default()))?;
    }
}
