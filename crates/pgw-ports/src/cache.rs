//! The seam of kept answers: where they are kept, and what of an operation makes them keepable.

use std::{error::Error as StdError, fmt::Debug, sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use pgw_types::CallRecord;
use serde_json::Value;

use crate::{CallCx, Operation};

/// Why a cache could not serve. It never fails a call: the call goes on without it.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct CacheError {
    message: String,
    #[source]
    cause: Option<Arc<dyn StdError + Send + Sync + 'static>>,
}

impl CacheError {
    /// A failure, in words for a log: no keys, no values.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), cause: None }
    }

    /// Keeps the error that lies beneath.
    #[must_use]
    pub fn with_cause(mut self, cause: impl StdError + Send + Sync + 'static) -> Self {
        self.cause = Some(Arc::new(cause));
        self
    }
}

/// Keeps answers for a time.
///
/// # Contract
/// - Keys and values are opaque; equal keys are one entry, and no two others ever meet.
/// - A value is there until its time is over, or until it had to make room. From then on it is
///   absent; it never comes back.
/// - The last value set under a key counts, whole, together with its own time.
/// - Two instances share entries only if they were made over the same store on purpose.
///
/// # Cancel safety
/// A dropped [`set`](Self::set) has kept the whole value or nothing.
#[async_trait]
pub trait CacheBackend: Debug + Send + Sync + 'static {
    /// The value under `key`, if its time is not over.
    async fn get(&self, key: &str) -> Result<Option<Bytes>, CacheError>;

    /// Keeps `value` under `key` for `ttl`, which is more than zero.
    async fn set(&self, key: &str, value: Bytes, ttl: Duration) -> Result<(), CacheError>;
}

const _: fn(&dyn CacheBackend) = |_| {};

/// What the assembly says about which answers are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeepRules {
    /// Whether answers that the output limit or a content filter cut are kept too. They are real
    /// answers, but a cut one kept is a cut one for everybody who asks (HKUDS/LightRAG PR #3446).
    pub keep_cut: bool,
}

/// An operation whose answers can be kept and handed out again.
pub trait Cacheable: Operation {
    /// Everything of a request that shapes its answer, but for the model and the messages: members
    /// at their defaults are left out, binary payloads stand as digests. `None`: answers to such a
    /// request are not kept.
    fn key_parts(request: &Self::Request) -> Option<Value>;

    /// The model that the caller named; `None` leaves it to the source.
    fn asked_model(request: &Self::Request) -> Option<&str>;

    /// The answer as it is kept; `None`: it is not one to keep.
    fn kept(response: &Self::Response, rules: KeepRules) -> Option<Vec<u8>>;

    /// An answer out of what was kept, for the call `cx`; `None`: it can't be read, or is not what
    /// this call asks for.
    fn recalled(kept: &[u8], cx: &CallCx) -> Option<Self::Response>;

    /// Marks an answer as handed out again: the id of this hit, no latency, no cost.
    fn mark_hit(response: &mut Self::Response, call_id: &str);

    /// The answer as events, for a caller who takes it live.
    fn replayed(response: &Self::Response) -> Vec<Self::Event>;

    /// What a record of the hit says about the answer: model, provider, source, texts, tokens.
    fn hit_record(response: &Self::Response) -> CallRecord;
}
