//! Walking away at every point: a call is dropped after its 1st, 2nd, … n-th poll, and nothing may
//! leak, whatever was going on.

use std::pin::Pin;

use futures_util::{StreamExt as _, stream::FuturesUnordered};
use pgw_types::{CallOptions, CallRecord, ChatRequest, Fault, FinishReason, Message};

use super::super::*;
use crate::doubles::{
    Bench, DropAfter, Script, Setup, Step, begin, consume, done, fault, ms, pause, secs, text,
    thought, usage,
};

type Side<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

/// One situation to walk away from.
struct Scenario {
    name: &'static str,
    setup: fn() -> Setup,
    /// What the doubles do.
    arm: fn(&Bench),
    /// What else goes on at the same time.
    side: for<'a> fn(&'a Bench) -> Side<'a>,
}

fn alone(_: &Bench) -> Side<'_> {
    Box::pin(std::future::ready(()))
}

fn slow_answer() -> Script {
    Script::steps([
        begin(),
        pause(30),
        thought("hm"),
        pause(30),
        text("ye"),
        text("s"),
        pause(30),
        usage(10, 5),
        done(FinishReason::Stop),
    ])
    .after(ms(50))
}

fn two() -> Setup {
    Setup::new(&["a", "b"])
}

fn one() -> Setup {
    Setup::new(&["a"])
}

/// Somebody else's lease blocks the door for a while.
fn held_for_a_while(bench: &Bench) -> Side<'_> {
    Box::pin(async {
        bench.limiter.cap(1);
        let lease = bench.limiter.hold("a").await;
        tokio::time::sleep(secs(2)).await;
        bench.limiter.release(&lease).await.unwrap();
    })
}

/// Others hold the door and stand in line.
fn crowd(bench: &Bench) -> Side<'_> {
    Box::pin(async {
        bench.limiter.cap(1);
        let others = (0..3).map(|_| bench.whole());
        for result in futures_util::future::join_all(others).await {
            assert!(result.is_ok(), "somebody's drop is nobody else's business");
        }
    })
}

const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "a good answer",
        setup: two,
        arm: |bench| bench.upstream.script("a", [slow_answer()]),
        side: alone,
    },
    Scenario {
        name: "backoff after a failure",
        setup: two,
        arm: |bench| {
            let failing = Script::fault(Fault::ServerError).after(ms(20));
            bench.upstream.script("a", [failing]);
        },
        side: alone,
    },
    Scenario {
        name: "a stream that breaks before its first token and then within its text",
        setup: two,
        arm: |bench| {
            let early = [begin(), pause(20), Step::Fail(fault(Fault::Truncated))];
            let late = [text("half"), pause(20), Step::Fail(fault(Fault::Network))];
            bench.upstream.script("a", [Script::steps(early)]);
            bench.upstream.script("b", [Script::steps(late)]);
        },
        side: alone,
    },
    Scenario {
        name: "a dead source",
        setup: two,
        arm: |bench| bench.upstream.script("a", [Script::fault(Fault::Quota)]),
        side: alone,
    },
    Scenario {
        name: "a rejected request",
        setup: two,
        arm: |bench| {
            let rejected = Script::fault(Fault::BadRequest).after(ms(20));
            bench.upstream.script("a", [rejected]);
        },
        side: alone,
    },
    Scenario {
        name: "Retry-After with one source",
        setup: one,
        arm: |bench| bench.upstream.script("a", [Script::rate_limited(Some(10))]),
        side: alone,
    },
    Scenario {
        name: "a silent source",
        setup: one,
        arm: |bench| bench.upstream.otherwise(Script::silent()),
        side: alone,
    },
    Scenario { name: "waiting for a slot", setup: one, arm: |_| {}, side: held_for_a_while },
    Scenario {
        name: "a crowd in line",
        setup: one,
        arm: |bench| bench.upstream.otherwise(slow_answer()),
        side: crowd,
    },
    Scenario {
        name: "waiting for a cooldown, then probing",
        setup: one,
        arm: |bench| {
            bench.breaker.open_for("a", secs(3));
            bench.upstream.script("a", [slow_answer()]);
        },
        side: alone,
    },
    Scenario {
        name: "a probe that the limiter refuses at first",
        setup: one,
        arm: |bench| {
            bench.breaker.open_for("a", Duration::ZERO);
            bench.limiter.shut_for(secs(3));
        },
        side: alone,
    },
    Scenario {
        name: "a probe that fails",
        setup: two,
        arm: |bench| {
            bench.breaker.open_for("a", Duration::ZERO);
            bench.upstream.script("a", [Script::fault(Fault::ServerError)]);
        },
        side: alone,
    },
    Scenario { name: "stalled", setup: one, arm: |bench| bench.limiter.cap(0), side: alone },
    Scenario {
        name: "broken books",
        setup: two,
        arm: |bench| {
            let books = ["settle", "release", "mark_progress", "renew"];
            bench.limiter.break_operations(books);
            let verdicts = ["record_success", "record_failure", "release_probe"];
            bench.breaker.break_operations(verdicts);
            bench.upstream.script("a", [Script::fault(Fault::ServerError)]);
        },
        side: alone,
    },
    Scenario {
        name: "a broken door",
        setup: two,
        arm: |bench| {
            bench.breaker.open_for("a", Duration::ZERO);
            bench.limiter.break_operations(["try_acquire"]);
        },
        side: alone,
    },
    Scenario {
        name: "a recorder that never confirms",
        setup: two,
        arm: |bench| {
            bench.recorder.set_deaf(true);
            bench.upstream.script("a", [Script::fault(Fault::ServerError)]);
        },
        side: alone,
    },
];

/// Sends one call and reads its answer to the end.
async fn call(bench: &Bench, cx: &Arc<CallCx>) -> Result<(), PgwError> {
    let request = ChatRequest::new(vec![Message::user("question")]);
    consume(bench.send(cx, request).await?).await.map(|_| ())
}

/// What must hold once the call is over, or `gone`.
fn assert_accounted_for(bench: &Bench, cx: &CallCx, gone: bool, place: &str) {
    bench.assert_idle(place);
    let rows = bench.recorder.of(&cx.request_id);
    let attempts: Vec<_> = rows.iter().filter_map(|row| row.attempt).collect();
    assert_eq!(attempts, (0..cx.attempts()).collect::<Vec<_>>(), "{place}: {rows:#?}");
    // A row without an attempt: refused, or dropped while none was under way.
    let terminal = rows.len() - attempts.len();
    assert!(terminal <= usize::from(gone || attempts.is_empty()), "{place}: {rows:#?}");
    let cancelled =
        rows.iter().filter(|row| row.error.as_deref() == Some(CallRecord::CANCELLED)).count();
    let settled = rows.iter().any(|row| row.error.is_none());
    if gone && !settled {
        assert_eq!(cancelled, 1, "{place}: {rows:#?}");
    } else {
        assert_eq!(cancelled, 0, "{place}: {rows:#?}");
    }
}

/// Drops the call after its n-th poll, for every n until it ends by itself. Returns how many there
/// were.
async fn drop_everywhere(scenario: &Scenario, hand: Hand) -> usize {
    for polls in 1_usize.. {
        let place = format!("{}, {hand:?}, poll {polls}", scenario.name);
        let bench = (scenario.setup)().build();
        // With stores on a network every operation is a point at which to walk away.
        bench.limiter.slow_down();
        bench.breaker.slow_down();
        (scenario.arm)(&bench);
        let cx = bench.cx(hand, CallOptions::default());
        // The others come first, so that the call finds them there.
        let (side, finished) = futures_util::future::join(
            (scenario.side)(&bench),
            DropAfter::new(call(&bench, &cx), polls),
        )
        .await;
        let () = side;
        assert_accounted_for(&bench, &cx, finished.is_none(), &place);
        // The next call finds an empty line, a free slot and a probe to be had.
        bench.heal();
        tokio::time::sleep(secs(3_600)).await;
        let began = bench.elapsed();
        let next = bench.whole().await;
        assert!(next.is_ok(), "{place}: {next:?}");
        assert_eq!(bench.elapsed(), began, "{place}: it had to wait");
        bench.assert_idle(&place);
        if finished.is_some() {
            return polls;
        }
    }
    unreachable!("the call never ended")
}

/// MID-015, MID-032, MID-054, MID-063, MID-103, D21, D39: the harness.
#[tokio::test(start_paused = true)]
async fn a_call_dropped_at_any_poll_leaks_nothing() {
    for scenario in SCENARIOS {
        for hand in [Hand::Whole, Hand::Live] {
            let polls = drop_everywhere(scenario, hand).await;
            assert!(polls > 2, "{}: only {polls} polls", scenario.name);
        }
    }
}

/// MID-103: a call that was never polled never was: nothing is held and nothing recorded.
#[tokio::test(start_paused = true)]
async fn a_call_that_was_never_polled_never_was() {
    let bench = two().build();
    let cx = bench.cx(Hand::Whole, CallOptions::default());
    drop(call(&bench, &cx));
    bench.assert_idle("after the drop");
    assert_eq!(bench.recorder.all().len(), 0);
}

/// MID-103: a drop while the books are being kept still leaves what had come in the record.
#[tokio::test(start_paused = true)]
async fn a_drop_while_settling_keeps_what_had_come() {
    let mut seen = 0;
    for polls in 1_usize.. {
        let bench = one().build();
        bench.limiter.slow_down();
        bench.breaker.slow_down();
        bench.upstream.script("a", [slow_answer()]);
        let cx = bench.cx(Hand::Whole, CallOptions::default());
        let finished = DropAfter::new(call(&bench, &cx), polls).await;
        if finished.is_some() {
            break;
        }
        if bench.breaker.count("record_success") > 0 {
            seen += 1;
            let row = &bench.recorder.all()[0];
            assert_eq!(row.error.as_deref(), Some(CallRecord::CANCELLED));
            assert_eq!((&*row.response, &*row.thinking), ("yes", "hm"));
            assert_eq!((row.prompt_tokens, row.completion_tokens), (10, 5));
            assert_eq!(row.cost, Some(15.0));
        }
    }
    assert!(seen > 3, "the verdict, the settling, the release, the progress: {seen}");
}

/// D21: a thousand calls dropped at random moments; afterwards every gauge is at zero and the next
/// call is served.
#[tokio::test(start_paused = true)]
async fn a_thousand_random_cancels_leave_nothing_behind() {
    let mut chance = fastrand::Rng::with_seed(21);
    let mut setup = Setup::new(&["a", "b", "c"]);
    setup.wait.max_queue = 2_000;
    setup.threshold = 3;
    let bench = setup.build();
    bench.limiter.cap(8);
    bench.upstream.otherwise(slow_answer());
    for name in ["a", "b", "c"] {
        let fate = |roll| match roll {
            0 => Script::fault(Fault::ServerError).after(ms(40)),
            1 => Script::rate_limited(Some(1)),
            2 => Script::fault(Fault::InvalidKey),
            3 => Script::silent(),
            _ => slow_answer(),
        };
        bench.upstream.script(name, (0..300).map(|_| fate(chance.u8(0..10))));
    }
    let calls = FuturesUnordered::new();
    for _ in 0..1_000 {
        let hand = if chance.bool() { Hand::Live } else { Hand::Whole };
        let (start, patience) = (ms(chance.u64(0..10_000)), ms(chance.u64(0..3_000)));
        let bench = &bench;
        calls.push(async move {
            tokio::time::sleep(start).await;
            let cx = bench.cx(hand, CallOptions::default());
            let _ = tokio::time::timeout(patience, call(bench, &cx)).await;
            let rows = bench.recorder.of(&cx.request_id);
            let attempts = rows.iter().filter(|row| row.attempt.is_some()).count();
            assert_eq!(attempts, usize::try_from(cx.attempts()).unwrap(), "{rows:#?}");
            assert!((1..=attempts + 1).contains(&rows.len()), "{rows:#?}");
        });
    }
    calls.collect::<Vec<()>>().await;
    assert!(bench.limiter.peak() <= 8);
    bench.assert_idle("after a thousand cancels");
    bench.heal();
    tokio::time::sleep(secs(3_600)).await;
    assert_eq!(bench.whole().await.unwrap().content, "ok");
}
