//! The contract of the cache, case by case.
//!
//! Every case makes instances of its own. A store under test must have room for all that one case
//! keeps, two megabytes at most; what else it drops, and when, is its own business.

mod cases;
pub(crate) mod history;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use pgw_ports::CacheBackend;

pub use cases::*;
pub use history::{histories_match_the_model, replay_seed};

/// What the suite must know about a store to test it.
#[async_trait]
pub trait CacheHarness: Send + Sync {
    /// An empty cache that shares nothing with earlier ones.
    async fn fresh(&self) -> Arc<dyn CacheBackend>;

    /// Lets time pass for all caches of this harness. Whole milliseconds.
    async fn advance(&self, by: Duration);
}

/// A cache under test. Its operations fail the case where a store must not fail.
struct Subject(Arc<dyn CacheBackend>);

impl Subject {
    async fn new(harness: &dyn CacheHarness) -> Self {
        Self(harness.fresh().await)
    }

    async fn put(&self, key: &str, value: &[u8], ttl: Duration) {
        if let Err(error) = self.0.set(key, value.to_vec().into(), ttl).await {
            panic!("the store failed to set {key:?}: {error}");
        }
    }

    async fn look(&self, key: &str) -> Option<Vec<u8>> {
        match self.0.get(key).await {
            Ok(value) => value.map(|value| value.to_vec()),
            Err(error) => panic!("the store failed to get {key:?}: {error}"),
        }
    }

    async fn holds(&self, key: &str, value: &[u8]) {
        assert_eq!(self.look(key).await.as_deref(), Some(value), "under {key:?}");
    }

    async fn lacks(&self, key: &str) {
        assert_eq!(self.look(key).await, None, "under {key:?}");
    }
}
