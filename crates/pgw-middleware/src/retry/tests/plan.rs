//! GWY-082: the loop keeps to the plan, and tells what the plan left out.

use pgw_types::{CallOptions, ChatRequest, Denial, Exclusion, Fault, Gate};

use super::super::*;
use crate::doubles::{Bench, Script, Setup, consume, secs};

fn without(mut bench: Bench, names: &[&str]) -> Bench {
    let exclude = |name: &&str| Exclusion {
        source_name: (*name).into(),
        reason: "can't use tools, and the call brings some".into(),
    };
    bench.plan = bench.plan.without(names.iter().map(exclude));
    bench
}

/// What the plan leaves out is never asked, whatever happens to the others, and the trace says so.
#[tokio::test(start_paused = true)]
async fn an_excluded_source_is_never_asked() {
    let bench = without(Setup::new(&["a", "b"]).build(), &["a"]);
    bench.upstream.script("b", [Script::fault(Fault::ServerError)]);
    let answer = bench.whole().await.unwrap();
    assert_eq!(bench.upstream.sources(), ["b", "b"]);
    assert_eq!(bench.limiter.sources("try_acquire"), ["b", "b"]);
    assert_eq!(answer.trace.exclusions, bench.plan.exclusions);
    assert!(answer.trace.skips.is_empty(), "left out is not passed over");

    bench.upstream.otherwise(Script::fault(Fault::InvalidKey));
    let error = bench.whole().await.unwrap_err();
    assert_eq!(error.unavailable().unwrap().reason(), ScopeReason::RetryExhausted);
    assert_eq!(error.trace().unwrap().exclusions, bench.plan.exclusions);
    assert_eq!(bench.upstream.sources(), ["b", "b", "b"]);
    bench.assert_idle("at the end");
}

/// A request that no source can serve waits for nothing, and learns why of each.
#[tokio::test(start_paused = true)]
async fn a_plan_without_sources_says_why() {
    let bench = without(Setup::new(&["a", "b"]).build(), &["a", "b"]);
    let error = bench.whole().await.unwrap_err();
    let refusal = error.unavailable().unwrap();
    assert_eq!(refusal.reason(), ScopeReason::NoSources);
    assert_eq!(
        error.to_string(),
        "scope test is unavailable for now: no_sources (a can't use tools, and the call brings \
         some; b can't use tools, and the call brings some)"
    );
    assert_eq!(refusal.trace().unwrap().exclusions, bench.plan.exclusions);
    assert_eq!((bench.elapsed(), bench.upstream.sources().len()), (0, 0));
    assert_eq!(bench.recorder.all().len(), 1, "the call has its record");
}

/// A call that waits for the only source that can serve it holds up none that another can serve.
#[tokio::test(start_paused = true)]
async fn a_narrow_call_holds_up_no_other() {
    let mut bench = Setup::new(&["a", "b"]).build();
    let whole = bench.plan.clone();
    bench = without(bench, &["b"]);
    let narrow = bench.cx(Hand::Whole, CallOptions::default());
    bench.plan = whole;
    let full = Denial { gate: Gate::SourceConcurrency, retry_after: None, never_above: None };
    bench.limiter.deny("a", full);
    let waiting = async { consume(bench.send(&narrow, ChatRequest::default()).await?).await };
    let other = async {
        tokio::time::sleep(secs(1)).await;
        let answer = bench.whole().await.unwrap();
        assert_eq!((&*answer.source_name, bench.elapsed()), ("b", 1_000));
        bench.limiter.heal();
    };
    let (waited, ()) = tokio::join!(waiting, other);
    assert_eq!(waited.unwrap().source_name, "a");
    bench.assert_idle("at the end");
}
