//! The breakers of one scope in one process.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use pgw_ports::{Breaker, Clock, GateError};
use pgw_types::{BreakerTicket, Entry, effective_threshold};

use crate::fuse::{BreakerState, Fuse, Pass, Rules};

/// When the breakers of a scope open and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BreakerSettings {
    /// Consecutive failures that open a breaker, raised to twice the source's concurrency
    /// ([`effective_threshold`]). 0 counts as 1.
    pub threshold: u32,
    /// How long a breaker stays open after failures.
    pub cooldown: Duration,
    /// How long a breaker stays open after its source was found dead.
    pub dead_cooldown: Duration,
    /// How long a probe has the half-open breaker to itself.
    pub probe_lease: Duration,
}

/// One circuit breaker for each source of a scope.
///
/// - Each opening and each closing starts a new epoch. A success or failure of an older epoch
///   changes nothing and is counted in [`stale_verdicts`](Self::stale_verdicts).
/// - A dead source opens its breaker, or puts off the end of its cooldown, even when the verdict is
///   of an older epoch: a key that was refused a moment ago is still refused. Only when the breaker
///   has closed since, after a newer success, is that verdict stale too.
/// - A verdict of a probe counts even after its lease has run out, as long as no other verdict came
///   first: else a source slower than the lease could never come back.
#[derive(Debug)]
pub struct MemoryBreaker {
    fuses: HashMap<Arc<str>, Mutex<Fuse>>,
    clock: Arc<dyn Clock>,
}

impl MemoryBreaker {
    /// Breakers for these sources, given with their highest concurrency, and no other.
    pub fn new(
        settings: BreakerSettings,
        sources: impl IntoIterator<Item = (Arc<str>, Option<u32>)>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let fuse = |max_concurrency| {
            Mutex::new(Fuse::new(Rules {
                threshold: effective_threshold(settings.threshold, max_concurrency),
                cooldown: settings.cooldown,
                dead_cooldown: settings.dead_cooldown,
                probe_lease: settings.probe_lease,
            }))
        };
        let fuses =
            sources.into_iter().map(|(name, max_concurrency)| (name, fuse(max_concurrency)));
        Self { fuses: fuses.collect(), clock }
    }

    /// What the breaker of a source does now; `None` if the source is not configured here.
    #[must_use]
    pub fn state(&self, source_name: &str) -> Option<BreakerState> {
        self.transition(source_name, |fuse, now| fuse.state(now)).ok()
    }

    /// Verdicts that came too late to count, over all sources.
    #[must_use]
    pub fn stale_verdicts(&self) -> u64 {
        let stale =
            |fuse: &Mutex<Fuse>| fuse.lock().unwrap_or_else(PoisonError::into_inner).stale();
        self.fuses.values().map(stale).sum()
    }

    fn transition<T>(
        &self,
        source_name: &str,
        act: impl FnOnce(&mut Fuse, Duration) -> T,
    ) -> Result<T, GateError> {
        let fuse = self.fuses.get(source_name).ok_or_else(|| GateError::SourceNotConfigured {
            source_name: source_name.to_owned(),
        })?;
        let mut fuse = fuse.lock().unwrap_or_else(PoisonError::into_inner);
        // Read under the lock, so that the state machine never sees time go back.
        let now = self.clock.now();
        Ok(act(&mut fuse, now))
    }
}

const fn pass(ticket: &BreakerTicket) -> Pass {
    Pass { epoch: ticket.epoch, probe: ticket.probe }
}

#[async_trait]
impl Breaker for MemoryBreaker {
    async fn try_enter(&self, source_name: &Arc<str>) -> Result<Entry, GateError> {
        let entry = self.transition(source_name, Fuse::enter)?;
        Ok(match entry {
            Ok(Pass { epoch, probe }) => {
                let source_name = Arc::clone(source_name);
                Entry::Admitted(BreakerTicket { source_name, epoch, probe })
            }
            Err(retry_after) => Entry::Refused { retry_after },
        })
    }

    async fn record_success(&self, ticket: &BreakerTicket) -> Result<(), GateError> {
        self.transition(&ticket.source_name, |fuse, _| fuse.succeed(pass(ticket)))
    }

    async fn record_failure(&self, ticket: &BreakerTicket) -> Result<Option<Duration>, GateError> {
        self.transition(&ticket.source_name, |fuse, now| fuse.fail(now, pass(ticket)))
    }

    async fn force_open(&self, ticket: &BreakerTicket) -> Result<Duration, GateError> {
        self.transition(&ticket.source_name, |fuse, now| fuse.kill(now, pass(ticket)))
    }

    async fn release_probe(&self, ticket: &BreakerTicket) -> Result<(), GateError> {
        self.transition(&ticket.source_name, |fuse, _| fuse.give_back(pass(ticket)))
    }

    fn abandon(&self, ticket: &BreakerTicket) {
        // A ticket of a source that is not configured here was never given out here, so there is
        // nothing to give back.
        let _ = self.transition(&ticket.source_name, |fuse, _| fuse.give_back(pass(ticket)));
    }
}

#[cfg(test)]
mod tests;
