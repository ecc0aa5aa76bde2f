//! Silence is measured from when nothing could be read, on virtual time.

use std::future::poll_fn;

use super::*;

const LIMIT: Duration = Duration::from_secs(10);

#[tokio::test(start_paused = true)]
async fn silence_ends_at_its_limit() {
    let start = Instant::now();
    let mut silence = Silence::new(LIMIT);
    poll_fn(|cx| silence.poll_too_long(cx)).await;
    assert_eq!(start.elapsed().as_secs(), 10);
}

#[tokio::test(start_paused = true)]
async fn a_piece_starts_the_count_anew() {
    let start = Instant::now();
    let mut silence = Silence::new(LIMIT);
    let waited =
        tokio::time::timeout(Duration::from_secs(6), poll_fn(|cx| silence.poll_too_long(cx)));
    assert!(waited.await.is_err());
    silence.broken();
    poll_fn(|cx| silence.poll_too_long(cx)).await;
    assert_eq!(start.elapsed().as_secs(), 16);
}

#[tokio::test(start_paused = true)]
async fn time_without_polling_is_not_silence() {
    let start = Instant::now();
    let mut silence = Silence::new(LIMIT);
    silence.broken();
    tokio::time::advance(Duration::from_secs(100)).await;
    poll_fn(|cx| silence.poll_too_long(cx)).await;
    assert_eq!(start.elapsed().as_secs(), 110);
}

#[tokio::test(start_paused = true)]
async fn an_endless_limit_never_ends() {
    let mut silence = Silence::new(Duration::MAX);
    let waited = tokio::time::timeout(
        Duration::from_secs(1_000_000),
        poll_fn(|cx| silence.poll_too_long(cx)),
    );
    assert!(waited.await.is_err());
}
