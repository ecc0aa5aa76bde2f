//! Who is let in, who waits, and what a refusal says.

use pgw_types::{Denial, ErrorKind, Fault, Gate};

use super::super::*;
use crate::{
    OnFull,
    doubles::{Bench, Script, Setup, secs},
};

const fn full(retry_after: Option<Duration>) -> Denial {
    Denial { gate: Gate::SourceRpm, retry_after, never_above: None }
}

async fn refused(bench: &Bench) -> Unavailable {
    let error = bench.whole().await.unwrap_err();
    error.unavailable().unwrap().clone()
}

/// MID-003, MID-002: an open source is asked for no quota.
#[tokio::test(start_paused = true)]
async fn an_open_source_takes_no_quota() {
    let bench = Setup::new(&["a"]).fail_fast().build();
    bench.breaker.open_for("a", secs(25));
    let refusal = refused(&bench).await;
    assert_eq!(refusal.reason(), ScopeReason::CircuitOpen);
    assert_eq!(refusal.retry_after(), secs(25));
    assert_eq!(refusal.per_source_reasons().get("a"), Some(&SourceReason::CircuitOpen));
    assert_eq!(bench.limiter.count("try_acquire"), 0);
}

/// MID-070: an open source is passed over for another one.
#[tokio::test(start_paused = true)]
async fn an_open_source_is_passed_over() {
    let bench = Setup::new(&["a", "b"]).build();
    bench.breaker.open_for("a", secs(25));
    let answer = bench.whole().await.unwrap();
    assert_eq!(answer.source_name, "b");
    assert_eq!(bench.limiter.sources("try_acquire"), ["b"]);
    assert_eq!(answer.trace.skips[0].reason, SourceReason::CircuitOpen);
    assert_eq!(answer.trace.skips[0].retry_after_ms, Some(25_000));
    assert_eq!(
        (answer.trace.attempts.len(), bench.recorder.all().len()),
        (1, 1),
        "a refusal costs no attempt"
    );
}

/// D49: a full source spills to the next tier.
#[tokio::test(start_paused = true)]
async fn a_full_tier_spills_to_the_next() {
    let bench = Setup::new(&["a", "b"]).build();
    bench.limiter.deny("a", full(None));
    let answer = bench.whole().await.unwrap();
    assert_eq!(answer.source_name, "b");
    assert_eq!(answer.trace.skips[0].gate, Some(Gate::SourceRpm));
    assert_eq!(bench.elapsed(), 0);
}

/// MID-014, MID-050, MID-052, MID-053, D79: `fail_fast` refuses at once and names gate, scope and
/// the time to come back.
#[tokio::test(start_paused = true)]
async fn fail_fast_names_gate_scope_and_time() {
    let bench = Setup::new(&["a"]).fail_fast().build();
    bench.limiter.cap(0);
    let refusal = refused(&bench).await;
    assert_eq!(refusal.reason(), ScopeReason::QuotaExhausted);
    assert_eq!(refusal.kind(), ErrorKind::RateLimited);
    assert_eq!(refusal.scope(), "test");
    assert_eq!(refusal.retry_after(), secs(1), "the poll interval");
    let text = refusal.to_string();
    assert!(text.contains("global_concurrency") && text.contains("test"), "{text}");
    assert_eq!(bench.elapsed(), 0);

    bench.limiter.deny("a", full(Some(secs(7))));
    assert_eq!(refused(&bench).await.retry_after(), secs(7));
}

/// D79: a limit, a cooldown and no route are three different things.
#[tokio::test(start_paused = true)]
async fn limit_cooldown_and_no_route_are_told_apart() {
    let limit = Setup::new(&["a"]).fail_fast().build();
    limit.limiter.cap(0);
    let cooling = Setup::new(&["a"]).fail_fast().build();
    cooling.breaker.open_for("a", secs(9));
    let nowhere = Setup::new(&[]).fail_fast().build();
    let mut reasons = Vec::new();
    for bench in [limit, cooling, nowhere] {
        reasons.push(refused(&bench).await.reason());
    }
    assert_eq!(
        reasons,
        [ScopeReason::QuotaExhausted, ScopeReason::CircuitOpen, ScopeReason::NoSources]
    );
}

/// MID-014: `wait` is let in as soon as a slot is free, by being woken, not by polling.
#[tokio::test(start_paused = true)]
async fn a_release_wakes_the_waiter() {
    let mut setup = Setup::new(&["a"]);
    setup.wait.poll_interval = secs(50);
    let bench = setup.build();
    bench.limiter.cap(1);
    let lease = bench.limiter.hold("a").await;
    let release = async {
        tokio::time::sleep(secs(5)).await;
        bench.limiter.release(&lease).await.unwrap();
    };
    let (answer, ()) = tokio::join!(bench.whole(), release);
    assert_eq!(bench.times(), [5_000]);
    assert_eq!(answer.unwrap().trace.waited_ms, 5_000);
}

/// MID-014: a refusal's hint wakes as well, and nothing is asked before it.
#[tokio::test(start_paused = true)]
async fn a_hint_wakes_the_waiter() {
    let mut setup = Setup::new(&["a"]);
    setup.wait.poll_interval = secs(50);
    let bench = setup.build();
    bench.limiter.shut_for(secs(7));
    bench.whole().await.unwrap();
    assert_eq!(bench.times(), [7_000]);
    assert!(bench.limiter.count("try_acquire") <= 3);
}

/// MID-014, MID-040, MID-071: with all breakers open the call waits for the first cooldown to end,
/// and asks no breaker until then.
#[tokio::test(start_paused = true)]
async fn an_open_scope_is_waited_for() {
    let bench = Setup::new(&["a", "b"]).build();
    bench.breaker.open_for("a", secs(50));
    bench.breaker.open_for("b", secs(30));
    assert_eq!(bench.whole().await.unwrap().source_name, "b");
    assert_eq!(bench.times(), [30_000]);
    assert_eq!(bench.breaker.sources("try_enter"), ["a", "b", "b"]);
    assert!(bench.breaker.is_closed("b"), "the call was the probe");
}

/// MID-051, MID-052: only a long wait in a scope where nobody gets an answer is a stall.
#[tokio::test(start_paused = true)]
async fn a_stall_needs_both_halves() {
    // Both: nobody ever got an answer, and this call has waited the window out.
    let bench = Setup::new(&["a"]).build();
    bench.limiter.cap(0);
    let refusal = refused(&bench).await;
    assert_eq!(refusal.reason(), ScopeReason::Stalled);
    assert_eq!(refusal.kind(), ErrorKind::GatewayOverloaded);
    assert_eq!(bench.elapsed(), 60_000);

    // A long wait alone: others get answers all the time. Only the longest wait ends it.
    let bench = Setup::new(&["a"]).build();
    bench.limiter.cap(0);
    bench.limiter.set_progress_age(secs(59));
    let refusal = refused(&bench).await;
    assert_eq!(refusal.reason(), ScopeReason::QuotaExhausted);
    assert_eq!(bench.elapsed(), 120_000);
    assert!(refusal.to_string().contains("120000 ms"), "{refusal}");

    // Long silence alone: this call has only just come.
    let bench = Setup::new(&["a"]).build();
    bench.limiter.set_progress_age(secs(86_400));
    bench.limiter.shut_for(secs(59));
    bench.whole().await.unwrap();
    assert_eq!(bench.times(), [59_000]);
}

/// MID-051: the answers of others count as progress, by way of the limiter.
#[tokio::test(start_paused = true)]
async fn an_answer_of_another_call_is_progress() {
    let bench = Setup::new(&["a", "b"]).build();
    bench.upstream.otherwise(Script::answer("ok").after(secs(50)));
    bench.limiter.cap(1);
    let first = async {
        bench.whole().await.unwrap();
        // The slot is gone again before the second caller can take it.
        bench.limiter.cap(0);
    };
    let ((), second) = tokio::join!(first, bench.whole());
    let error = second.unwrap_err();
    assert_eq!(error.unavailable().unwrap().reason(), ScopeReason::Stalled);
    assert_eq!(bench.elapsed(), 110_000, "a window after the last answer");
}

/// Issue 3 "Bad input": a request over every limit is refused at the call with the number needed.
#[tokio::test(start_paused = true)]
async fn a_request_over_every_limit_names_the_number_needed() {
    for on_full in [OnFull::Wait, OnFull::FailFast] {
        let mut setup = Setup::new(&["a", "b"]);
        setup.wait.on_full = on_full;
        for source in &mut setup.sources {
            source.est_tokens = 5_000;
        }
        let bench = setup.build();
        for (name, limit) in [("a", 3_000), ("b", 4_000)] {
            let denial =
                Denial { gate: Gate::SourceTpm, retry_after: None, never_above: Some(limit) };
            bench.limiter.deny(name, denial);
        }
        let error = bench.whole().await.unwrap_err();
        assert_eq!(error.call().unwrap().fault(), Fault::RequestTooLarge);
        let text = error.to_string();
        assert!(text.contains("5000") && text.contains("4000"), "{text}");
        assert!(text.contains("source_tpm"), "{text}");
        assert_eq!(bench.elapsed(), 0, "no silent wait");
        assert_eq!(bench.upstream.made().len(), 0);

        // One source that could ever take it is worth waiting for.
        bench.limiter.deny("b", full(Some(secs(3))));
        let error = bench.whole_within(secs(1)).await.unwrap_err();
        assert!(error.unavailable().is_some(), "{error}");
    }
}

/// D91: a probe that our own limiter refuses goes back without a verdict.
#[tokio::test(start_paused = true)]
async fn a_probe_refused_by_the_limiter_goes_back_unused() {
    let bench = Setup::new(&["a"]).fail_fast().build();
    bench.breaker.open_for("a", Duration::ZERO);
    bench.limiter.cap(0);
    assert_eq!(refused(&bench).await.reason(), ScopeReason::QuotaExhausted);
    assert_eq!(bench.breaker.verdicts(), 0);
    bench.assert_idle("after the refusal");
    bench.limiter.heal();
    bench.whole().await.unwrap();
    assert!(bench.breaker.is_closed("a"), "the probe was there to be had");
}

/// D91: so does the probe of a request that the service rejects.
#[tokio::test(start_paused = true)]
async fn a_rejected_probe_goes_back_unused() {
    let bench = Setup::new(&["a"]).build();
    bench.breaker.open_for("a", Duration::ZERO);
    bench.upstream.script("a", [Script::fault(Fault::BadRequest)]);
    bench.whole().await.unwrap_err();
    assert_eq!(bench.breaker.count("release_probe"), 1);
    assert_eq!(bench.breaker.verdicts(), 0);
    bench.assert_idle("after the rejection");
}

/// TYP-054, TYP-055, MEM-013: a source that a gate does not know is an assembly fault, never an open gate.
#[tokio::test(start_paused = true)]
async fn a_source_unknown_to_the_limiter_is_an_assembly_fault() {
    let bench = Setup::new(&["a", "b"]).build();
    bench.limiter.forget("a");
    let error = bench.whole().await.unwrap_err();
    let PgwError::SourceNotConfigured(fault) = error else { panic!("{error:?}") };
    assert_eq!((&*fault.source_name, &*fault.gate), ("a", "limiter"));
    assert_eq!(bench.upstream.made().len(), 0);
    bench.assert_idle("after the fault");
}

/// A gate that refuses "for no time at all" must not make its waiters spin.
#[tokio::test(start_paused = true)]
async fn a_hint_of_nothing_does_not_spin() {
    let bench = Setup::new(&["a"]).build();
    bench.limiter.deny("a", full(Some(Duration::ZERO)));
    let error = tokio::time::timeout(secs(1_000), bench.whole()).await;
    assert!(error.unwrap().is_err());
    let asked = bench.limiter.count("try_acquire");
    assert!(asked <= 100_000, "asked {asked} times in 60 s");
}
