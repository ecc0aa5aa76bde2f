//! Random histories, replayed on the state machine and on the model.

use proptest::{prelude::*, sample::Index};

use super::{model::Model, *};

#[derive(Clone, Debug)]
enum Step {
    Advance(Duration),
    Acquire { source: usize, tokens: u64 },
    Settle { lease: Index, used: u64 },
    Release { lease: Index },
    Renew { lease: Index },
}

fn limits() -> impl Strategy<Value = Limits> {
    let max_concurrency = prop::option::of(1_u32..5);
    let rpm = prop::option::of(1_u32..8);
    let tpm = prop::option::of(20_u64..200);
    (max_concurrency, rpm, tpm).prop_map(|(max_concurrency, rpm, tpm)| Limits {
        max_concurrency,
        rpm,
        tpm,
    })
}

/// Small steps, the very edges of the window, and jumps over it.
fn pause() -> impl Strategy<Value = Duration> {
    let nano = Duration::from_nanos(1);
    prop_oneof![
        6 => (0_u64..20_000).prop_map(Duration::from_millis),
        2 => prop::sample::select(vec![nano, secs(1), just_before(secs(60)), secs(60), secs(60) + nano]),
        1 => (0_u64..400).prop_map(secs),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => pause().prop_map(Step::Advance),
        6 => (0_usize..3, 0_u64..60).prop_map(|(source, tokens)| Step::Acquire { source, tokens }),
        2 => (any::<Index>(), 0_u64..120).prop_map(|(lease, used)| Step::Settle { lease, used }),
        3 => any::<Index>().prop_map(|lease| Step::Release { lease }),
        1 => any::<Index>().prop_map(|lease| Step::Renew { lease }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    /// MEM-002, MEM-003, MEM-004, PRT-006, PRT-007, D21, D23, D27: after any history every answer,
    /// every hint and every gauge is the model's; no 60 s hold more than the limits; and once all
    /// leases have ended, nothing is in flight.
    #[test]
    fn any_history_is_as_the_model_says(
        global in limits(),
        sources in prop::collection::vec(limits(), 3),
        ttl in 1_u64..200,
        steps in prop::collection::vec(step(), 1..120),
    ) {
        let ttl = secs(ttl);
        let mut quotas = Quotas::new(global, sources.clone(), ttl);
        let mut model = Model::new(global, sources.clone(), ttl);
        let mut now = Duration::ZERO;
        // The id of each lease with its source; its place here is its place in the model.
        let mut leases: Vec<(u64, usize)> = Vec::new();
        for step in steps {
            match step {
                Step::Advance(pause) => now += pause,
                Step::Acquire { source, tokens } => {
                    let answer = quotas.acquire(now, source, tokens);
                    let expected = model.acquire(now, source, tokens);
                    prop_assert_eq!(answer.err(), expected.err());
                    leases.extend(answer.map(|id| (id, source)));
                }
                Step::Settle { .. } | Step::Release { .. } | Step::Renew { .. }
                    if leases.is_empty() => {}
                Step::Settle { lease, used } => {
                    let place = lease.index(leases.len());
                    let (id, source) = leases[place];
                    quotas.settle(now, id, source, used);
                    model.settle(now, place, used);
                }
                Step::Release { lease } => {
                    let place = lease.index(leases.len());
                    let (id, source) = leases[place];
                    quotas.release(now, id, source);
                    model.release(now, place);
                }
                Step::Renew { lease } => {
                    let place = lease.index(leases.len());
                    let (id, source) = leases[place];
                    quotas.renew(now, id, source);
                    model.renew(now, place);
                }
            }
            for source in 0..sources.len() {
                let load = quotas.load(now, source);
                let usage = (load.in_flight, load.calls_in_window, load.tokens_in_window);
                prop_assert_eq!(usage, model.usage(now, Some(source)));
            }
            let all = &mut quotas.global;
            all.window.advance(now);
            let tokens = u64::try_from(all.window.tokens()).unwrap();
            let usage = (all.in_flight, all.window.calls(), tokens);
            prop_assert_eq!(usage, model.usage(now, None));
        }

        let scopes = sources.iter().enumerate().map(|(source, limits)| (Some(source), limits));
        for (scope, limits) in scopes.chain([(None, &global)]) {
            let (calls, tokens) = model.peaks(scope);
            prop_assert!(limits.rpm.is_none_or(|limit| calls <= limit.into()));
            prop_assert!(limits.tpm.is_none_or(|limit| tokens <= limit));
        }

        now += ttl;
        quotas.expire(now);
        prop_assert_eq!(quotas.global.in_flight, 0);
        prop_assert!(quotas.sources.iter().all(|pool| pool.in_flight == 0));
    }
}
