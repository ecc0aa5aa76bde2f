//! The cases.

use std::{sync::Arc, time::Duration};

use super::{CacheHarness, Subject};

const MINUTE: Duration = Duration::from_mins(1);
const INSTANT: Duration = Duration::from_millis(1);

/// PRT-012: what was kept is there; what was not isn't.
pub async fn a_value_is_found_under_its_key(harness: &dyn CacheHarness) {
    let cache = Subject::new(harness).await;
    cache.lacks("a").await;
    cache.put("a", b"one", MINUTE).await;
    cache.holds("a", b"one").await;
    cache.holds("a", b"one").await;
    cache.lacks("b").await;
    cache.lacks("").await;
}

/// MID-085: a value is there until its time is over, exactly, and doesn't come back.
pub async fn a_value_is_gone_when_its_time_is_over(harness: &dyn CacheHarness) {
    let cache = Subject::new(harness).await;
    cache.put("a", b"one", MINUTE).await;
    cache.put("b", b"two", 2 * MINUTE).await;
    harness.advance(MINUTE.saturating_sub(INSTANT)).await;
    cache.holds("a", b"one").await;
    harness.advance(INSTANT).await;
    cache.lacks("a").await;
    cache.holds("b", b"two").await;
    harness.advance(Duration::from_hours(1)).await;
    cache.lacks("a").await;
    cache.lacks("b").await;
}

/// MID-094: the last value counts, whole, with its own time; keeping the same again changes nothing
/// but the time.
pub async fn the_last_value_counts_with_its_own_time(harness: &dyn CacheHarness) {
    let cache = Subject::new(harness).await;
    cache.put("a", b"a long first value", 10 * MINUTE).await;
    cache.put("a", b"short", MINUTE).await;
    cache.holds("a", b"short").await;
    harness.advance(MINUTE).await;
    cache.lacks("a").await;
    cache.put("b", b"same", MINUTE).await;
    harness.advance(MINUTE / 2).await;
    cache.put("b", b"same", MINUTE).await;
    harness.advance(MINUTE / 2).await;
    cache.holds("b", b"same").await;
}

/// MID-093: keys that look alike are different keys.
pub async fn keys_that_look_alike_never_meet(harness: &dyn CacheHarness) {
    let cache = Subject::new(harness).await;
    let keys = ["a", "A", "a ", " a", "a:b", "a:", ":a", "a\0", "a\0b", "*", "é", "e\u{301}", "ａ"];
    for (number, key) in (0_u8..).zip(keys) {
        cache.put(key, &[number], MINUTE).await;
    }
    for (number, key) in (0_u8..).zip(keys) {
        cache.holds(key, &[number]).await;
    }
}

/// PRT-012: values are bytes, whatever they are.
pub async fn values_are_opaque(harness: &dyn CacheHarness) {
    let cache = Subject::new(harness).await;
    let every_byte: Vec<u8> = (0..=255).collect();
    let large = vec![b'x'; 1 << 20];
    for value in [&b""[..], b"\0", b"\r\n$-1\r\n", b"null", &every_byte, &large] {
        cache.put("a", value, MINUTE).await;
        assert!(
            cache.look("a").await.as_deref() == Some(value),
            "a value of {} bytes came back changed",
            value.len()
        );
    }
}

/// MEM-016: instances share nothing unless they were made to.
pub async fn instances_never_interact(harness: &dyn CacheHarness) {
    let (one, other) = (Subject::new(harness).await, Subject::new(harness).await);
    one.put("a", b"one", MINUTE).await;
    other.lacks("a").await;
    other.put("a", b"other", MINUTE).await;
    one.holds("a", b"one").await;
}

/// Cancel safety: a dropped set has kept the whole value or nothing.
pub async fn a_dropped_set_keeps_all_or_nothing(harness: &dyn CacheHarness) {
    let cache = Subject::new(harness).await;
    let value = vec![b'x'; 64 << 10];
    for polls in 0..4 {
        let key = format!("key-{polls}");
        let mut set = cache.0.set(&key, value.clone().into(), MINUTE);
        for _ in 0..polls {
            let once =
                std::future::poll_fn(|cx| std::task::Poll::Ready(set.as_mut().poll(cx).is_ready()));
            if once.await {
                break;
            }
        }
        drop(set);
        let kept = cache.look(&key).await;
        assert!(kept.is_none() || kept.as_ref() == Some(&value), "a part of the value was kept");
    }
}

/// Writers that race leave one of their values, whole.
pub async fn racing_writers_leave_one_whole_value(harness: &dyn CacheHarness) {
    let cache = harness.fresh().await;
    let value = |writer: u8| vec![writer; 1_000 + usize::from(writer)];
    let mut tasks = tokio::task::JoinSet::new();
    for writer in 0..8_u8 {
        let cache = Arc::clone(&cache);
        tasks.spawn(async move {
            for _ in 0..50 {
                if let Err(error) = cache.set("a", value(writer).into(), MINUTE).await {
                    panic!("the store failed to set: {error}");
                }
                match cache.get("a").await {
                    Ok(Some(seen)) => {
                        let by = seen.first().copied().unwrap_or(u8::MAX);
                        assert!(seen == value(by), "a mixture of values came back");
                    }
                    Ok(None) => panic!("a value went missing"),
                    Err(error) => panic!("the store failed to get: {error}"),
                }
            }
        });
    }
    while let Some(result) = tasks.join_next().await {
        if let Err(failure) = result {
            std::panic::resume_unwind(failure.into_panic());
        }
    }
}
