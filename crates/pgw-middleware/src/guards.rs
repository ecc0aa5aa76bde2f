//! What an attempt holds: its permit and its breaker pass. Both free themselves on drop.
//!
//! Memory stores act in `abandon` at once; a store over the network queues it. On the normal path
//! the explicit operations run first and leave nothing for the destructor to do.

use std::{sync::Arc, time::Duration};

use pgw_ports::{Breaker, GateError, Limiter};
use pgw_types::{BreakerTicket, Lease};

/// Accounting that fails must not touch the call: one line in the log and on.
fn warn_soft(what: &str, source_name: &str, error: &GateError) {
    tracing::warn!(operation = what, source = source_name, %error, "accounting failed");
}

/// A quota permit.
#[derive(Debug)]
pub(crate) struct Permit {
    limiter: Arc<dyn Limiter>,
    lease: Option<Lease>,
}

impl Permit {
    pub(crate) fn new(limiter: Arc<dyn Limiter>, lease: Lease) -> Self {
        Self { limiter, lease: Some(lease) }
    }

    /// Settles by real usage, if it is known, and releases. Failures warn.
    pub(crate) async fn finish(mut self, used_tokens: Option<u64>) {
        let Some(lease) = &self.lease else { return };
        if let Some(used) = used_tokens
            && let Err(error) = self.limiter.settle(lease, used).await
        {
            warn_soft("settle", &lease.source_name, &error);
        }
        match self.limiter.release(lease).await {
            Ok(()) => self.lease = None,
            // The destructor hands the lease to the store's own clean-up.
            Err(error) => warn_soft("release", &lease.source_name, &error),
        }
    }

    /// Puts off the expiry of the lease. Failures warn.
    pub(crate) async fn renew(&self) {
        if let Some(lease) = &self.lease
            && let Err(error) = self.limiter.renew(lease).await
        {
            warn_soft("renew", &lease.source_name, &error);
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if let Some(lease) = self.lease.take() {
            self.limiter.abandon(&lease);
        }
    }
}

/// The right to be judged by a source's breaker.
#[derive(Debug)]
pub(crate) struct Pass {
    breaker: Arc<dyn Breaker>,
    ticket: Option<BreakerTicket>,
}

/// What an attempt says about its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is healthy.
    Success,
    /// It failed.
    Failure,
    /// It is dead.
    Dead,
    /// Nothing: the fault was ours or the request's.
    Neutral,
}

impl Pass {
    pub(crate) fn new(breaker: Arc<dyn Breaker>, ticket: BreakerTicket) -> Self {
        Self { breaker, ticket: Some(ticket) }
    }

    /// Gives the verdict. Returns the cooldown if the breaker is open now. Failures warn.
    pub(crate) async fn judge(mut self, verdict: Verdict) -> Option<Duration> {
        let ticket = self.ticket.as_ref()?;
        let result = match verdict {
            Verdict::Success => self.breaker.record_success(ticket).await.map(|()| None),
            Verdict::Failure => self.breaker.record_failure(ticket).await,
            Verdict::Dead => self.breaker.force_open(ticket).await.map(Some),
            Verdict::Neutral if ticket.probe.is_some() => {
                self.breaker.release_probe(ticket).await.map(|()| None)
            }
            Verdict::Neutral => Ok(None),
        };
        match result {
            Ok(cooldown) => {
                self.ticket = None;
                cooldown
            }
            Err(error) => {
                warn_soft("verdict", &ticket.source_name, &error);
                None
            }
        }
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket.take() {
            self.breaker.abandon(&ticket);
        }
    }
}
