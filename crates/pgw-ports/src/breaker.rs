//! The seam of the circuit breaker's state.

use std::{fmt::Debug, sync::Arc, time::Duration};

use async_trait::async_trait;
use pgw_types::{BreakerTicket, Entry};

use crate::GateError;

/// One breaker per source: closed → open at the threshold of consecutive failures → half-open after
/// the cooldown with exactly one probe → closed on its success, open again on its failure.
///
/// # Contract
/// - Half-open admits exactly one probe under any contention. The probe is a lease: if its owner
///   dies, another caller may probe once the lease has run out.
/// - Each opening starts a new epoch. A verdict with an older epoch changes no state.
/// - [`force_open`](Self::force_open) opens from any state at once. Of two deadlines the later wins.
/// - A success resets the count of consecutive failures.
/// - `release_probe` and `abandon` are idempotent and give no verdict.
#[async_trait]
pub trait Breaker: Debug + Send + Sync + 'static {
    /// Asks to call `source_name`.
    async fn try_enter(&self, source_name: &Arc<str>) -> Result<Entry, GateError>;

    /// The call went well (or failed for a reason that is not the source's).
    async fn record_success(&self, ticket: &BreakerTicket) -> Result<(), GateError>;

    /// The source failed the call. Returns the cooldown if the breaker is open now.
    async fn record_failure(&self, ticket: &BreakerTicket) -> Result<Option<Duration>, GateError>;

    /// The source is dead: opens its breaker. Returns the cooldown.
    async fn force_open(&self, ticket: &BreakerTicket) -> Result<Duration, GateError>;

    /// Gives the probe back without a verdict; a ticket without a probe needs nothing.
    async fn release_probe(&self, ticket: &BreakerTicket) -> Result<(), GateError>;

    /// [`release_probe`](Self::release_probe) from a destructor. Must not block.
    fn abandon(&self, ticket: &BreakerTicket);
}

const _: fn(&dyn Breaker) = |_| {};
