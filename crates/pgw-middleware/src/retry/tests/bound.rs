//! D47: no script and no configuration makes more upstream calls than the plan says.

use proptest::prelude::*;

use pgw_types::{CallOptions, ChatRequest, Fault, FinishReason};

use super::super::*;
use crate::doubles::{Script, Setup, Step, begin, consume, done, fault, secs, text, thought};

/// What one upstream call may do, by number.
const OUTCOMES: usize = 12;

fn outcome(number: usize) -> Script {
    match number {
        0 => Script::answer("ok"),
        1 => Script::fault(Fault::ServerError),
        2 => Script::fault(Fault::Network),
        3 => Script::fault(Fault::InvalidKey),
        4 => Script::fault(Fault::ModelUnavailable),
        5 => Script::rate_limited(None),
        6 => Script::rate_limited(Some(45)),
        7 => Script::steps([begin(), text("half"), Step::Fail(fault(Fault::Truncated))]),
        8 => Script::steps([begin(), done(FinishReason::Stop)]),
        9 => Script::steps([begin(), thought("hm"), done(FinishReason::Length)]),
        10 => Script::fault(Fault::BadRequest),
        _ => Script::silent(),
    }
}

#[derive(Clone, Debug)]
struct Case {
    /// Outcomes of each source's calls, and of all calls beyond them.
    scripts: Vec<Vec<usize>>,
    otherwise: usize,
    attempts: u32,
    threshold: u32,
    fail_fast: bool,
    live: bool,
    deadline: Option<u64>,
    selector: &'static str,
    callers: usize,
}

fn case() -> impl Strategy<Value = Case> {
    let failing_mostly = prop_oneof![1 => Just(0_usize), 9 => 0..OUTCOMES];
    let source = prop::collection::vec(failing_mostly.clone(), 0..8);
    let selector = prop::sample::select(crate::selectors::NAMES.to_vec());
    (
        prop::collection::vec(source, 1..6),
        failing_mostly,
        0_u32..6,
        1_u32..4,
        any::<bool>(),
        any::<bool>(),
        prop::option::of(0_u64..200),
        selector,
        1_usize..4,
    )
        .prop_map(
            |(
                scripts,
                otherwise,
                attempts,
                threshold,
                fail_fast,
                live,
                deadline,
                selector,
                callers,
            )| {
                Case {
                    scripts,
                    otherwise,
                    attempts,
                    threshold,
                    fail_fast,
                    live,
                    deadline,
                    selector,
                    callers,
                }
            },
        )
}

async fn run(case: Case) {
    let names = ["a", "b", "c", "d", "e"];
    let sources = case.scripts.len();
    let mut setup = Setup::new(&names[..sources]).attempts(case.attempts);
    setup.threshold = case.threshold;
    setup.selector = case.selector;
    if case.fail_fast {
        setup = setup.fail_fast();
    }
    let bench = setup.build();
    for (name, script) in names.iter().zip(&case.scripts) {
        bench.upstream.script(name, script.iter().map(|n| outcome(*n)));
    }
    bench.upstream.otherwise(outcome(case.otherwise));
    let hand = if case.live { Hand::Live } else { Hand::Whole };
    let one = async |_| {
        let options = CallOptions { deadline: case.deadline.map(secs), ..CallOptions::default() };
        let cx = bench.cx(hand, options);
        let result = match bench.send(&cx, ChatRequest::default()).await {
            Ok(reply) => consume(reply).await,
            Err(error) => Err(error),
        };
        let trace = match &result {
            Ok(response) => response.trace.clone(),
            Err(error) => error.trace().unwrap().clone(),
        };
        let attempts = usize::try_from(cx.attempts()).unwrap();
        assert!(cx.attempts() <= bench.plan.upstream_call_bound, "{trace:?}");
        assert_eq!(trace.attempts.len(), attempts, "every attempt is traced");
        let rows = bench.recorder.of(&cx.request_id);
        assert_eq!(rows.len(), attempts.max(1), "every attempt is recorded: {rows:?}");
        attempts
    };
    let attempts = futures_util::future::join_all((0..case.callers).map(one)).await;
    assert_eq!(attempts.iter().sum::<usize>(), bench.upstream.made().len());
    assert!(bench.elapsed() < 24 * 3_600_000, "{} ms", bench.elapsed());
    bench.assert_idle("at the end");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    /// D47, MID-100: upstream calls = attempts traced = attempts recorded ≤ the plan's bound, for
    /// any script of any source and any configuration, for several callers at once; and the call
    /// ends.
    #[test]
    fn upstream_calls_stay_within_the_bound(case in case()) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(run(case));
    }
}
