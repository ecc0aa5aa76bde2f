//! A breaker by the book: closed, open, half-open with one probe.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, atomic::Ordering},
    time::Duration,
};

use async_trait::async_trait;
use pgw_ports::{Breaker, Clock, GateError};
use pgw_types::{BreakerTicket, Entry};

use super::wire::{Wire, over_a_wire};

over_a_wire!(FakeBreaker);

#[derive(Debug, Default)]
struct Fuse {
    epoch: u64,
    failures: u32,
    open_until: Option<Duration>,
    probe: Option<u64>,
}

/// A breaker by the book: closed, open, half-open with one probe.
#[derive(Debug)]
pub(crate) struct FakeBreaker {
    clock: Arc<dyn Clock>,
    wire: Wire,
    threshold: u32,
    cooldown: Duration,
    fuses: Mutex<(u64, BTreeMap<Arc<str>, Fuse>)>,
}

impl FakeBreaker {
    pub(crate) fn new(clock: Arc<dyn Clock>, threshold: u32, cooldown: Duration) -> Self {
        Self { clock, wire: Wire::default(), threshold, cooldown, fuses: Mutex::default() }
    }

    /// Opens a source's breaker for a time; with zero it is half-open at once.
    pub(crate) fn open_for(&self, source: &str, wait: Duration) {
        let until = self.clock.now() + wait;
        self.with(&source.into(), |fuse| fuse.open_until = Some(until));
    }

    /// All operations are whole again.
    pub(crate) fn heal(&self) {
        self.wire.broken.lock().unwrap().clear();
    }

    /// How many probes are out.
    pub(crate) fn probes(&self) -> usize {
        let fuses = self.fuses.lock().unwrap();
        fuses.1.values().filter(|fuse| fuse.probe.is_some()).count()
    }

    /// Whether a source's breaker is closed.
    pub(crate) fn is_closed(&self, source: &str) -> bool {
        self.with(&source.into(), |fuse| fuse.open_until.is_none())
    }

    /// How many verdicts were given, of any kind.
    pub(crate) fn verdicts(&self) -> usize {
        ["record_success", "record_failure", "force_open"]
            .map(|operation| self.count(operation))
            .iter()
            .sum()
    }

    fn with<T>(&self, source: &Arc<str>, act: impl FnOnce(&mut Fuse) -> T) -> T {
        let mut fuses = self.fuses.lock().unwrap();
        act(fuses.1.entry(Arc::clone(source)).or_default())
    }

    fn open(&self, fuse: &mut Fuse) -> Duration {
        let now = self.clock.now();
        let until = now + self.cooldown;
        fuse.epoch += 1;
        fuse.failures = 0;
        fuse.probe = None;
        fuse.open_until = Some(fuse.open_until.map_or(until, |known| known.max(until)));
        self.cooldown
    }

    fn give_back(&self, ticket: &BreakerTicket) {
        self.with(&ticket.source_name, |fuse| {
            if ticket.probe.is_some() && fuse.probe == ticket.probe {
                fuse.probe = None;
            }
        });
    }
}

#[async_trait]
impl Breaker for FakeBreaker {
    async fn try_enter(&self, source_name: &Arc<str>) -> Result<Entry, GateError> {
        self.wire.ask("try_enter", source_name).await?;
        let now = self.clock.now();
        let mut fuses = self.fuses.lock().unwrap();
        let (next_probe, fuses) = &mut *fuses;
        let fuse = fuses.entry(Arc::clone(source_name)).or_default();
        let probe = match fuse.open_until {
            None => None,
            Some(until) if until > now => {
                return Ok(Entry::Refused { retry_after: until.saturating_sub(now) });
            }
            Some(_) if fuse.probe.is_some() => {
                return Ok(Entry::Refused { retry_after: Duration::from_secs(1) });
            }
            Some(_) => {
                *next_probe += 1;
                fuse.probe = Some(*next_probe);
                fuse.probe
            }
        };
        Ok(Entry::Admitted(BreakerTicket {
            source_name: Arc::clone(source_name),
            epoch: fuse.epoch,
            probe,
        }))
    }

    async fn record_success(&self, ticket: &BreakerTicket) -> Result<(), GateError> {
        self.wire.ask("record_success", &ticket.source_name).await?;
        self.with(&ticket.source_name, |fuse| {
            if fuse.epoch == ticket.epoch {
                *fuse = Fuse { epoch: fuse.epoch, ..Fuse::default() };
            }
        });
        self.wire.dawdle().await;
        Ok(())
    }

    async fn record_failure(&self, ticket: &BreakerTicket) -> Result<Option<Duration>, GateError> {
        self.wire.ask("record_failure", &ticket.source_name).await?;
        let cooldown = self.with(&ticket.source_name, |fuse| {
            if fuse.epoch != ticket.epoch {
                return None;
            }
            fuse.failures += 1;
            let opens = ticket.probe.is_some() || fuse.failures >= self.threshold;
            opens.then(|| self.open(fuse))
        });
        self.wire.dawdle().await;
        Ok(cooldown)
    }

    async fn force_open(&self, ticket: &BreakerTicket) -> Result<Duration, GateError> {
        self.wire.ask("force_open", &ticket.source_name).await?;
        let cooldown = self.with(&ticket.source_name, |fuse| self.open(fuse));
        self.wire.dawdle().await;
        Ok(cooldown)
    }

    async fn release_probe(&self, ticket: &BreakerTicket) -> Result<(), GateError> {
        self.wire.ask("release_probe", &ticket.source_name).await?;
        self.give_back(ticket);
        self.wire.dawdle().await;
        Ok(())
    }

    fn abandon(&self, ticket: &BreakerTicket) {
        self.wire.note("abandon", &ticket.source_name);
        self.give_back(ticket);
    }
}
