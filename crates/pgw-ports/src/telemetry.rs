//! The seam of records.

use std::{fmt::Debug, future::Future, pin::Pin};

use async_trait::async_trait;
use pgw_types::CallRecord;

/// Resolves when the record is safe with its store, or the store gave it up. Dropping it changes
/// nothing for the record.
pub type Receipt = Pin<Box<dyn Future<Output = ()> + Send + 'static>>;

/// Where records go.
///
/// # Contract
/// - [`offer`](Self::offer) takes the record over at once and never blocks: it is called from
///   destructors. A store that can't keep up drops its oldest records and counts them.
/// - No failure reaches a call. The store warns once and goes on.
/// - A record whose `call_id` is known already is ignored.
#[async_trait]
pub trait TelemetryRecorder: Debug + Send + Sync + 'static {
    /// Hands a record over.
    fn offer(&self, record: CallRecord) -> Receipt;

    /// Resolves when everything offered so far is with the store.
    async fn flush(&self);

    /// Flushes and ends; later offers are dropped. Idempotent.
    async fn close(&self);
}

const _: fn(&dyn TelemetryRecorder) = |_| {};
