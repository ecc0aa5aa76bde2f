//! The limiter of one scope in one process.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use pgw_ports::{Clock, GateError, Limiter};
use pgw_types::{Admission, Lease, Limits, SourceLoad};
use tokio::sync::watch;

use crate::quotas::Quotas;

/// A timer's resolution: waiting for anything shorter would be spinning.
const SHORTEST_LEASE: Duration = Duration::from_millis(1);

/// Six quota gates for one scope: calls in flight, calls a minute and tokens a minute, each for the
/// whole scope and for one source.
///
/// - A minute is any 60 s, not one of the clock: an admission counts until just before 60 s after
///   it. Beyond 4,096 admissions in the window neighbours share an entry, which leaves with its
///   latest; so a limit is never exceeded, and a charge leaves late by at most 15 ms.
/// - A call whose tokens alone are over a limit is refused on that ground before any other, since
///   waiting can't help it. Else the refusal names the first gate in the order of
///   [`Gate::ALL`](pgw_types::Gate::ALL), and its hint is the moment at which that gate admits the
///   call if nobody else comes before.
/// - The first [`settle`](Limiter::settle) of a lease corrects its charge. Whatever comes after it,
///   or after the lease has been released or has expired, changes nothing.
/// - [`changed`](Limiter::changed) resolves on a release, on an expiry, and on a settle that gave
///   tokens back. It needs a tokio runtime with a timer in step with the clock.
#[derive(Debug)]
pub struct MemoryLimiter {
    places: HashMap<Arc<str>, usize>,
    quotas: Mutex<Quotas>,
    version: watch::Sender<u64>,
    clock: Arc<dyn Clock>,
}

impl MemoryLimiter {
    /// A limiter for these sources and no other.
    ///
    /// `global` binds all of them together, and `lease_ttl` is how long a lease lives that nobody
    /// renews or releases, at least 1 ms. If a name occurs twice its last limits hold.
    pub fn new(
        global: Limits,
        sources: impl IntoIterator<Item = (Arc<str>, Limits)>,
        lease_ttl: Duration,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let (names, limits): (Vec<_>, Vec<_>) = sources.into_iter().unzip();
        Self {
            places: names.into_iter().zip(0..).collect(),
            quotas: Mutex::new(Quotas::new(global, limits, lease_ttl.max(SHORTEST_LEASE))),
            version: watch::Sender::new(0),
            clock,
        }
    }

    fn place(&self, source_name: &str) -> Result<usize, GateError> {
        self.places
            .get(source_name)
            .copied()
            .ok_or_else(|| GateError::SourceNotConfigured { source_name: source_name.to_owned() })
    }

    /// One transition under the lock; then tells the waiting if something came free.
    fn transition<T>(&self, act: impl FnOnce(&mut Quotas, Duration) -> T) -> T {
        let (answer, freed) = {
            let mut quotas = self.quotas.lock().unwrap_or_else(PoisonError::into_inner);
            // Read under the lock, so that the state machine never sees time go back.
            let now = self.clock.now();
            let answer = act(&mut quotas, now);
            (answer, quotas.take_freed())
        };
        if freed {
            self.version.send_modify(|version| *version = version.wrapping_add(1));
        }
        answer
    }
}

#[async_trait]
impl Limiter for MemoryLimiter {
    async fn try_acquire(
        &self,
        source_name: &Arc<str>,
        tokens: u64,
    ) -> Result<Admission, GateError> {
        let source = self.place(source_name)?;
        let admission = self.transition(|quotas, now| quotas.acquire(now, source, tokens));
        Ok(match admission {
            Ok(id) => Admission::Granted(Lease {
                id,
                source_name: Arc::clone(source_name),
                charged_tokens: tokens,
            }),
            Err(denial) => Admission::Denied(denial),
        })
    }

    async fn settle(&self, lease: &Lease, used_tokens: u64) -> Result<(), GateError> {
        let source = self.place(&lease.source_name)?;
        self.transition(|quotas, now| quotas.settle(now, lease.id, source, used_tokens));
        Ok(())
    }

    async fn release(&self, lease: &Lease) -> Result<(), GateError> {
        let source = self.place(&lease.source_name)?;
        self.transition(|quotas, now| quotas.release(now, lease.id, source));
        Ok(())
    }

    async fn renew(&self, lease: &Lease) -> Result<(), GateError> {
        let source = self.place(&lease.source_name)?;
        self.transition(|quotas, now| quotas.renew(now, lease.id, source));
        Ok(())
    }

    fn abandon(&self, lease: &Lease) {
        // A lease of a source that is not configured here was never granted here.
        if let Ok(source) = self.place(&lease.source_name) {
            self.transition(|quotas, now| quotas.release(now, lease.id, source));
        }
    }

    async fn mark_progress(&self) -> Result<(), GateError> {
        self.transition(Quotas::mark_progress);
        Ok(())
    }

    async fn progress_age(&self) -> Result<Option<Duration>, GateError> {
        Ok(self.transition(|quotas, now| quotas.progress_age(now)))
    }

    async fn source_load(&self, source_name: &Arc<str>) -> Result<SourceLoad, GateError> {
        let source = self.place(source_name)?;
        Ok(self.transition(|quotas, now| quotas.load(now, source)))
    }

    fn version(&self) -> u64 {
        *self.version.borrow()
    }

    async fn changed(&self, since: u64) {
        let mut versions = self.version.subscribe();
        loop {
            // A lease that expires frees its place without anybody calling, so this looks again
            // when the first of them may.
            let wait =
                self.transition(|quotas, now| quotas.earliest_expiry(now).saturating_sub(now));
            tokio::select! {
                biased;
                // The sender is ours, so the only answer is that the version is another.
                _ = versions.wait_for(|version| *version != since) => return,
                () = tokio::time::sleep(wait) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests;
