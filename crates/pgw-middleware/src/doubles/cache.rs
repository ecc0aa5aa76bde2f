//! A cache that does as it is told.

use std::{
    collections::HashMap,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use pgw_ports::{CacheBackend, CacheError};

#[derive(Debug, Default)]
pub(crate) struct FakeCache {
    entries: Mutex<HashMap<String, (Bytes, Duration)>>,
    broken: AtomicBool,
    silent: AtomicBool,
    slow: AtomicBool,
    asked: AtomicUsize,
}

impl FakeCache {
    /// Makes every operation fail, or work again.
    pub(crate) fn set_broken(&self, broken: bool) {
        self.broken.store(broken, Ordering::SeqCst);
    }

    /// Makes every operation hang, or work again.
    pub(crate) fn set_silent(&self, silent: bool) {
        self.silent.store(silent, Ordering::SeqCst);
    }

    /// Makes every operation suspend.
    pub(crate) fn slow_down(&self) {
        self.slow.store(true, Ordering::SeqCst);
    }

    /// How often it was asked for anything.
    pub(crate) fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    /// The keys of what it keeps.
    pub(crate) fn keys(&self) -> Vec<String> {
        self.entries.lock().unwrap().keys().cloned().collect()
    }

    /// How long the only entry is kept.
    pub(crate) fn only_ttl(&self) -> Duration {
        let entries = self.entries.lock().unwrap();
        assert_eq!(entries.len(), 1);
        entries.values().next().unwrap().1
    }

    /// Writes nonsense over everything it keeps.
    pub(crate) fn corrupt(&self) {
        for (value, _) in self.entries.lock().unwrap().values_mut() {
            *value = Bytes::from_static(b"{\"content\": 3");
        }
    }

    async fn answer(&self) -> Result<(), CacheError> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        if self.silent.load(Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
        if self.slow.load(Ordering::SeqCst) {
            tokio::task::yield_now().await;
        }
        if self.broken.load(Ordering::SeqCst) {
            return Err(CacheError::new("the cache is broken"));
        }
        Ok(())
    }
}

#[async_trait]
impl CacheBackend for FakeCache {
    async fn get(&self, key: &str) -> Result<Option<Bytes>, CacheError> {
        self.answer().await?;
        Ok(self.entries.lock().unwrap().get(key).map(|(value, _)| value.clone()))
    }

    async fn set(&self, key: &str, value: Bytes, ttl: Duration) -> Result<(), CacheError> {
        self.answer().await?;
        self.entries.lock().unwrap().insert(key.to_owned(), (value, ttl));
        Ok(())
    }
}
