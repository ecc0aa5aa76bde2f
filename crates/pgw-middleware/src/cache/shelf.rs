//! The store of kept answers, seen from a call that must not suffer by it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use pgw_ports::{CacheBackend, CacheError, Clock};

use crate::ledger::millis;

/// How long a call waits for the store, at most.
const PATIENCE: Duration = Duration::from_millis(250);

/// How long the store is left alone after it failed.
const DOWN_FOR: Duration = Duration::from_secs(5);

/// A store that never fails and never takes long: trouble is an empty answer, one warning, and a pause.
#[derive(Debug)]
pub(super) struct Shelf {
    backend: Arc<dyn CacheBackend>,
    clock: Arc<dyn Clock>,
    down: AtomicBool,
    /// Until when the store is left alone, in milliseconds of the clock.
    down_until_ms: AtomicU64,
}

impl Shelf {
    pub(super) fn new(backend: Arc<dyn CacheBackend>, clock: Arc<dyn Clock>) -> Self {
        Self { backend, clock, down: AtomicBool::new(false), down_until_ms: AtomicU64::new(0) }
    }

    pub(super) async fn get(&self, key: &str) -> Option<Bytes> {
        if self.is_left_alone() {
            return None;
        }
        self.answer("get", self.backend.get(key)).await.flatten()
    }

    pub(super) async fn set(&self, key: &str, value: Bytes, ttl: Duration) {
        if !self.is_left_alone() {
            self.answer("set", self.backend.set(key, value, ttl)).await;
        }
    }

    fn is_left_alone(&self) -> bool {
        millis(self.clock.now()) < self.down_until_ms.load(Ordering::Relaxed)
    }

    async fn answer<T>(
        &self,
        operation: &'static str,
        asked: impl Future<Output = Result<T, CacheError>>,
    ) -> Option<T> {
        let failure = match tokio::time::timeout(PATIENCE, asked).await {
            Ok(Ok(answer)) => {
                if self.down.swap(false, Ordering::Relaxed) {
                    tracing::info!("the cache answers again");
                }
                return Some(answer);
            }
            Ok(Err(error)) => error,
            Err(_) => CacheError::new(format!("no answer within {} ms", PATIENCE.as_millis())),
        };
        let until = millis(self.clock.now().saturating_add(DOWN_FOR));
        self.down_until_ms.store(until, Ordering::Relaxed);
        if !self.down.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                operation,
                error = %failure,
                "the cache fails; calls go on without it until it answers again"
            );
        }
        None
    }
}
