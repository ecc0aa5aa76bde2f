//! Kept answers, in this process.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use lru::LruCache;
use pgw_ports::{CacheBackend, CacheError, Clock};

/// What an entry costs beside its key and its value: the node of the list, the slot of the map and
/// the headers of two allocations, roughly.
const OVERHEAD: usize = 128;

/// Answers in memory, bounded in bytes: what was not used for longest makes room.
///
/// An expired answer is absent at once, and its room is free when it is asked for or its turn comes.
/// An answer that is larger than the whole bound is not kept.
#[derive(Debug)]
pub struct MemoryCache {
    state: Mutex<Held>,
    clock: Arc<dyn Clock>,
}

#[derive(Debug)]
struct Held {
    entries: LruCache<Box<str>, Entry>,
    bytes: usize,
    max_bytes: usize,
}

#[derive(Debug)]
struct Entry {
    value: Bytes,
    until: Duration,
}

fn cost(key: &str, value: &Bytes) -> usize {
    key.len().saturating_add(value.len()).saturating_add(OVERHEAD)
}

impl Held {
    fn remove(&mut self, key: &str) {
        if let Some(entry) = self.entries.pop(key) {
            self.bytes = self.bytes.saturating_sub(cost(key, &entry.value));
        }
    }

    fn make_room(&mut self) {
        while self.bytes > self.max_bytes
            && let Some((key, entry)) = self.entries.pop_lru()
        {
            self.bytes = self.bytes.saturating_sub(cost(&key, &entry.value));
        }
    }
}

impl MemoryCache {
    /// An empty cache of at most `max_bytes` bytes, keys and book-keeping included.
    #[must_use]
    pub fn new(max_bytes: usize, clock: Arc<dyn Clock>) -> Self {
        let state = Held { entries: LruCache::unbounded(), bytes: 0, max_bytes };
        Self { state: Mutex::new(state), clock }
    }

    /// How many bytes it holds now.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.state().bytes
    }

    /// The state is whole between any two statements, so a panic elsewhere can't have broken it.
    fn state(&self) -> MutexGuard<'_, Held> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl CacheBackend for MemoryCache {
    async fn get(&self, key: &str) -> Result<Option<Bytes>, CacheError> {
        let now = self.clock.now();
        let mut state = self.state();
        match state.entries.get(key) {
            Some(entry) if entry.until > now => Ok(Some(entry.value.clone())),
            Some(_) => {
                state.remove(key);
                Ok(None)
            }
            None => Ok(None),
        }
    }

    async fn set(&self, key: &str, value: Bytes, ttl: Duration) -> Result<(), CacheError> {
        let until = self.clock.now().saturating_add(ttl);
        let mut state = self.state();
        state.remove(key);
        let cost = cost(key, &value);
        if cost <= state.max_bytes {
            state.bytes += cost;
            state.entries.put(key.into(), Entry { value, until });
            state.make_room();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doubles::{RuntimeClock, secs};

    fn cache(max_bytes: usize) -> MemoryCache {
        MemoryCache::new(max_bytes, Arc::new(RuntimeClock::default()))
    }

    async fn put(cache: &MemoryCache, key: &str, bytes: usize) {
        cache.set(key, vec![b'x'; bytes].into(), secs(60)).await.unwrap();
    }

    async fn has(cache: &MemoryCache, key: &str) -> bool {
        cache.get(key).await.unwrap().is_some()
    }

    /// MEM-014: the bound holds, and what was used last stays.
    #[tokio::test(start_paused = true)]
    async fn what_was_not_used_for_longest_makes_room() {
        let room = 3 * (1_000 + 1 + OVERHEAD);
        let cache = cache(room);
        for key in ["a", "b", "c"] {
            put(&cache, key, 1_000).await;
        }
        assert_eq!(cache.bytes(), room);
        assert!(has(&cache, "a").await);
        put(&cache, "d", 1_000).await;
        assert_eq!(cache.bytes(), room);
        assert_eq!(
            [has(&cache, "a").await, has(&cache, "b").await, has(&cache, "c").await],
            [true, false, true]
        );
        put(&cache, "e", 2_000).await;
        assert!(cache.bytes() <= room);
        assert!(has(&cache, "e").await);
    }

    /// MEM-014: a value larger than everything would only drive everything else out.
    #[tokio::test(start_paused = true)]
    async fn a_value_larger_than_the_bound_is_not_kept() {
        let cache = cache(1_000);
        put(&cache, "a", 100).await;
        put(&cache, "big", 1_000).await;
        assert!(has(&cache, "a").await && !has(&cache, "big").await);
        put(&cache, "a", 1_000).await;
        assert!(!has(&cache, "a").await, "the older value of the key is void all the same");
        assert_eq!(cache.bytes(), 0);
    }

    /// MEM-014: rewriting and expiring give their room back.
    #[tokio::test(start_paused = true)]
    async fn room_comes_back() {
        let cache = cache(10_000);
        for size in [500, 700, 20] {
            put(&cache, "a", size).await;
            assert_eq!(cache.bytes(), size + 1 + OVERHEAD);
        }
        tokio::time::advance(secs(60)).await;
        assert!(!has(&cache, "a").await);
        assert_eq!(cache.bytes(), 0);
    }
}
