//! `Retry-After` and rate limits, on the virtual clock.

use std::collections::BTreeSet;

use pgw_types::{ErrorKind, Fault};

use super::super::*;
use crate::{
    OnFull,
    doubles::{Script, Setup, Spread, ms, secs},
};

/// MID-021: with one source the wait is the larger of backoff and `Retry-After` (and then the
/// spread that keeps all who were told the same from coming at once).
#[tokio::test(start_paused = true)]
async fn one_source_waits_the_larger() {
    let larger = Setup::new(&["a"]).build();
    larger.upstream.script("a", [Script::rate_limited(Some(10))]);
    larger.whole().await.unwrap();
    assert_eq!(larger.times(), [0, 10_500]);

    let mut setup = Setup::new(&["a"]);
    setup.retry.base_delay = secs(20);
    setup.retry.max_delay = secs(20);
    let smaller = setup.build();
    smaller.upstream.script("a", [Script::rate_limited(Some(10))]);
    smaller.whole().await.unwrap();
    assert_eq!(smaller.times(), [0, 20_000]);
}

/// MID-010, MID-021: with another source at hand only the backoff is waited.
#[tokio::test(start_paused = true)]
async fn another_source_spares_the_wait() {
    let bench = Setup::new(&["a", "b"]).build();
    bench.upstream.script("a", [Script::rate_limited(Some(60))]);
    assert_eq!(bench.whole().await.unwrap().source_name, "b");
    assert_eq!(bench.times(), [0, 1_000]);
}

/// Architecture §12: a `Retry-After` beyond the cap counts as the cap.
#[tokio::test(start_paused = true)]
async fn an_endless_retry_after_is_capped() {
    let mut setup = Setup::new(&["a"]);
    setup.retry.retry_after_cap = secs(30);
    let bench = setup.build();
    bench.upstream.script("a", [Script::rate_limited(Some(86_400))]);
    bench.whole().await.unwrap();
    assert_eq!(bench.times(), [0, 30_500]);
}

/// MID-021: the same holds under `fail_fast`: the call was told when to come back.
#[tokio::test(start_paused = true)]
async fn fail_fast_still_honours_the_answer_it_got() {
    let bench = Setup::new(&["a"]).fail_fast().build();
    bench.upstream.script("a", [Script::rate_limited(Some(10))]);
    bench.whole().await.unwrap();
    assert_eq!(bench.times(), [0, 10_500]);
}

/// D43: a 429 without a time cools its source for the default, and the call goes on elsewhere.
#[tokio::test(start_paused = true)]
async fn a_bare_429_cools_its_source_and_moves_on() {
    let bench = Setup::new(&["a", "b"]).build();
    bench.upstream.script("a", [Script::rate_limited(None)]);
    assert_eq!(bench.whole().await.unwrap().source_name, "b");
    assert_eq!(bench.whole().await.unwrap().source_name, "b", "a cools");
    tokio::time::sleep(secs(19)).await;
    assert_eq!(bench.whole().await.unwrap().source_name, "a", "20 s later");
}

/// D53: the next call to the source is never before its `Retry-After`, whoever makes it.
#[tokio::test(start_paused = true)]
async fn the_next_call_honours_it_too() {
    let bench = Setup::new(&["a"]).attempts(1).build();
    bench.upstream.script("a", [Script::rate_limited(Some(50))]);
    let error = bench.whole().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UpstreamRateLimit);
    assert_eq!(error.retry_after(), Some(secs(50)));
    bench.whole().await.unwrap();
    assert_eq!(bench.times(), [0, 50_000]);

    let bench = Setup::new(&["a"]).attempts(1).fail_fast().build();
    bench.upstream.script("a", [Script::rate_limited(Some(50))]);
    bench.whole().await.unwrap_err();
    tokio::time::sleep(secs(20)).await;
    let error = bench.whole().await.unwrap_err();
    let refusal = error.unavailable().unwrap();
    assert_eq!(refusal.reason(), ScopeReason::CircuitOpen);
    assert_eq!(refusal.retry_after(), secs(30));
    assert_eq!(refusal.per_source_reasons().get("a"), Some(&SourceReason::Cooldown));
    assert_eq!(bench.upstream.made().len(), 1);
}

/// D53: twenty callers who were told the same time come back after it, and not together.
#[tokio::test(start_paused = true)]
async fn twenty_told_the_same_come_back_spread() {
    let mut setup = Setup::new(&["a"]);
    setup.jitter = Arc::new(Spread::new(20));
    setup.threshold = u32::MAX;
    let bench = setup.build();
    // It answers after a moment, so that all twenty are on their way when the first is told.
    let told = Script::rate_limited(Some(10)).after(ms(100));
    bench.upstream.script("a", (0..20).map(|_| told.clone()));
    let results = futures_util::future::join_all((0..20).map(|_| bench.whole())).await;
    for result in results {
        result.unwrap();
    }
    let back: BTreeSet<_> = bench.times().split_off(20).into_iter().collect();
    assert_eq!(back.len(), 20, "no two at once: {back:?}");
    let (first, last) = (*back.first().unwrap(), *back.last().unwrap());
    assert!(first >= 10_100, "{first}");
    // The window is half of the first backoff: 1 s × 0.5.
    assert!(last - first >= 475, "{first}..{last}");
}

/// D47, D51: a service that answers 429 for ever is asked no more than the bound, and the call ends.
#[tokio::test(start_paused = true)]
async fn an_endless_429_ends() {
    for retry_after in [None, Some(0), Some(1), Some(100_000)] {
        for on_full in [OnFull::Wait, OnFull::FailFast] {
            let mut setup = Setup::new(&["a", "b"]).attempts(5);
            setup.wait.on_full = on_full;
            setup.wait.max_wait = secs(3_600);
            setup.wait.stall_window = secs(3_600);
            let bench = setup.build();
            bench.upstream.otherwise(Script::rate_limited(retry_after));
            let error = bench.whole().await.unwrap_err();
            let made = bench.upstream.made().len();
            assert!(made <= 6, "{made} calls for {retry_after:?} {on_full:?}");
            assert_eq!(error.kind(), ErrorKind::UpstreamRateLimit, "{error}");
            assert_eq!(
                error.unavailable().unwrap().last_failure().unwrap().fault(),
                Fault::RateLimit
            );
            bench.assert_idle("after the last 429");
        }
    }
}

/// Issue 3, "no caller can wait without end": others that keep a source cooling can't hold a caller
/// back beyond the longest wait.
#[tokio::test(start_paused = true)]
async fn nobody_is_put_off_for_ever() {
    let mut setup = Setup::new(&["a"]);
    setup.threshold = u32::MAX;
    let bench = setup.build();
    bench.limiter.set_progress_age(Duration::ZERO);
    bench.upstream.otherwise(Script::rate_limited(Some(10)));
    let patient = bench.whole();
    let hammering = async {
        // Each of these comes just when the source has stopped cooling, and makes it cool again.
        loop {
            tokio::time::sleep(secs(10)).await;
            let _ = bench.whole_within(secs(1)).await;
        }
    };
    let limit = tokio::time::timeout(secs(1_000), async {
        tokio::select! {
            result = patient => result,
            never = hammering => never,
        }
    });
    let error = limit.await.unwrap().unwrap_err();
    assert!(bench.elapsed() <= 140_000, "{} ms", bench.elapsed());
    assert!(error.unavailable().is_some());
}
