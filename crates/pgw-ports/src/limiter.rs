//! The seam of quotas.

use std::{fmt::Debug, sync::Arc, time::Duration};

use async_trait::async_trait;
use pgw_types::{Admission, Lease, SourceLoad};

use crate::GateError;

/// Six gates, taken all or nothing: concurrency, calls a minute and tokens a minute, each for the
/// whole scope and for one source.
///
/// One instance serves one scope. Clients that share an instance share its limits; two instances
/// never interact.
///
/// # Contract
/// - Over any 60 s the calls admitted stay within the calls-a-minute limits, and the tokens charged
///   within the tokens-a-minute limits: charged by estimate at the door, corrected by
///   [`settle`](Self::settle) in the window they were charged in.
/// - A refusal by any gate leaves no trace in any other.
/// - `settle` and `release` are idempotent; a settle after the lease expired changes nobody else's
///   state. A lease that nobody releases expires by itself.
/// - An unknown source is [`GateError::SourceNotConfigured`], never an open gate.
///
/// # Cancel safety
/// Dropping the future of [`try_acquire`](Self::try_acquire) before it is ready leaves no lease
/// behind, or one that the backend itself gives back.
#[async_trait]
pub trait Limiter: Debug + Send + Sync + 'static {
    /// Asks all six gates for one call on `source_name` that may use `tokens` tokens.
    async fn try_acquire(
        &self,
        source_name: &Arc<str>,
        tokens: u64,
    ) -> Result<Admission, GateError>;

    /// Corrects the charge of a lease to what was really used.
    async fn settle(&self, lease: &Lease, used_tokens: u64) -> Result<(), GateError>;

    /// Frees the concurrency of a lease.
    async fn release(&self, lease: &Lease) -> Result<(), GateError>;

    /// Puts off the expiry of a lease while its stream lives.
    async fn renew(&self, lease: &Lease) -> Result<(), GateError>;

    /// Gives a lease back from a destructor: releases it without waiting, and keeps its charge,
    /// since nobody knows what was used. Must not block.
    fn abandon(&self, lease: &Lease);

    /// Notes that some call of the scope got an answer just now.
    async fn mark_progress(&self) -> Result<(), GateError>;

    /// How long ago any call of the scope got an answer; `None`: never.
    async fn progress_age(&self) -> Result<Option<Duration>, GateError>;

    /// How busy a source is.
    async fn source_load(&self, source_name: &Arc<str>) -> Result<SourceLoad, GateError>;

    /// A number that changes whenever capacity may have come free in this process. A store that
    /// can't tell returns a constant.
    fn version(&self) -> u64;

    /// Resolves once [`version`](Self::version) is no longer `since`. A store that can't tell stays
    /// pending; waiters then go by the refusal's hint.
    async fn changed(&self, since: u64);
}

const _: fn(&dyn Limiter) = |_| {};
