//! A limiter with one cap, one gate that opens at a moment, and denials by source.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, atomic::Ordering},
    time::Duration,
};

use async_trait::async_trait;
use pgw_ports::{Clock, GateError, Limiter};
use pgw_types::{Admission, Denial, Gate, Lease, SourceLoad};
use tokio::sync::watch;

use super::wire::{Wire, over_a_wire};

over_a_wire!(FakeLimiter);

#[derive(Debug, Default)]
struct Quotas {
    known: Vec<String>,
    next_id: u64,
    leases: BTreeMap<u64, Arc<str>>,
    peak: usize,
    cap: Option<usize>,
    shut_until: Option<Duration>,
    denials: BTreeMap<String, Denial>,
    settled: Vec<u64>,
    progress: Option<Duration>,
    progress_age: Option<Duration>,
}

/// A limiter: one cap on calls in flight, one gate that opens at a moment, and denials by source.
#[derive(Debug)]
pub(crate) struct FakeLimiter {
    clock: Arc<dyn Clock>,
    wire: Wire,
    quotas: Mutex<Quotas>,
    version: watch::Sender<u64>,
}

impl FakeLimiter {
    pub(crate) fn new(clock: Arc<dyn Clock>, known: Vec<String>) -> Self {
        Self {
            clock,
            wire: Wire::default(),
            quotas: Mutex::new(Quotas { known, ..Quotas::default() }),
            version: watch::Sender::new(0),
        }
    }

    /// Calls in flight at most.
    pub(crate) fn cap(&self, cap: usize) {
        self.quotas.lock().unwrap().cap = Some(cap);
    }

    /// Admits nothing for a time, and says so.
    pub(crate) fn shut_for(&self, wait: Duration) {
        self.quotas.lock().unwrap().shut_until = Some(self.clock.now() + wait);
    }

    /// Refuses a source.
    pub(crate) fn deny(&self, source: &str, denial: Denial) {
        let mut quotas = self.quotas.lock().unwrap();
        quotas.denials.insert(source.into(), denial);
    }

    /// Says that somebody got an answer so long ago, whatever happens.
    pub(crate) fn set_progress_age(&self, age: Duration) {
        self.quotas.lock().unwrap().progress_age = Some(age);
    }

    /// Forgets a source.
    pub(crate) fn forget(&self, source: &str) {
        let mut quotas = self.quotas.lock().unwrap();
        quotas.known.retain(|known| known != source);
    }

    /// Everything is open and whole again.
    pub(crate) fn heal(&self) {
        self.wire.broken.lock().unwrap().clear();
        let mut quotas = self.quotas.lock().unwrap();
        quotas.cap = None;
        quotas.shut_until = None;
        quotas.denials.clear();
        drop(quotas);
        self.bump();
    }

    /// Calls in flight now.
    pub(crate) fn in_flight(&self) -> usize {
        self.quotas.lock().unwrap().leases.len()
    }

    /// The most calls there ever were in flight.
    pub(crate) fn peak(&self) -> usize {
        self.quotas.lock().unwrap().peak
    }

    /// The token counts that leases were settled by.
    pub(crate) fn settled(&self) -> Vec<u64> {
        self.quotas.lock().unwrap().settled.clone()
    }

    /// A lease of the test's own.
    pub(crate) async fn hold(&self, source: &str) -> Lease {
        match self.try_acquire(&source.into(), 1).await.unwrap() {
            Admission::Granted(lease) => lease,
            Admission::Denied(denial) => panic!("the test's own lease was refused: {denial:?}"),
        }
    }

    fn bump(&self) {
        self.version.send_modify(|version| *version += 1);
    }

    fn free(&self, lease: &Lease) {
        self.quotas.lock().unwrap().leases.remove(&lease.id);
        self.bump();
    }
}

#[async_trait]
impl Limiter for FakeLimiter {
    async fn try_acquire(
        &self,
        source_name: &Arc<str>,
        tokens: u64,
    ) -> Result<Admission, GateError> {
        self.wire.ask("try_acquire", source_name).await?;
        let now = self.clock.now();
        let mut quotas = self.quotas.lock().unwrap();
        if !quotas.known.iter().any(|known| **known == **source_name) {
            return Err(GateError::SourceNotConfigured { source_name: source_name.to_string() });
        }
        let denied = |gate, retry_after| {
            Ok(Admission::Denied(Denial { gate, retry_after, never_above: None }))
        };
        if let Some(denial) = quotas.denials.get(&**source_name) {
            return Ok(Admission::Denied(*denial));
        }
        if quotas.cap.is_some_and(|cap| quotas.leases.len() >= cap) {
            return denied(Gate::GlobalConcurrency, None);
        }
        if let Some(until) = quotas.shut_until.filter(|until| *until > now) {
            return denied(Gate::GlobalRpm, Some(until.saturating_sub(now)));
        }
        quotas.next_id += 1;
        let id = quotas.next_id;
        quotas.leases.insert(id, Arc::clone(source_name));
        quotas.peak = quotas.peak.max(quotas.leases.len());
        Ok(Admission::Granted(Lease {
            id,
            source_name: Arc::clone(source_name),
            charged_tokens: tokens,
        }))
    }

    async fn settle(&self, lease: &Lease, used_tokens: u64) -> Result<(), GateError> {
        self.wire.ask("settle", &lease.source_name).await?;
        self.quotas.lock().unwrap().settled.push(used_tokens);
        self.wire.dawdle().await;
        Ok(())
    }

    async fn release(&self, lease: &Lease) -> Result<(), GateError> {
        self.wire.ask("release", &lease.source_name).await?;
        self.free(lease);
        self.wire.dawdle().await;
        Ok(())
    }

    async fn renew(&self, lease: &Lease) -> Result<(), GateError> {
        self.wire.ask("renew", &lease.source_name).await
    }

    fn abandon(&self, lease: &Lease) {
        self.wire.note("abandon", &lease.source_name);
        self.free(lease);
    }

    async fn mark_progress(&self) -> Result<(), GateError> {
        self.wire.ask("mark_progress", "").await?;
        self.quotas.lock().unwrap().progress = Some(self.clock.now());
        self.wire.dawdle().await;
        Ok(())
    }

    async fn progress_age(&self) -> Result<Option<Duration>, GateError> {
        self.wire.ask("progress_age", "").await?;
        let quotas = self.quotas.lock().unwrap();
        let since = quotas.progress.map(|at| self.clock.now().saturating_sub(at));
        Ok(quotas.progress_age.or(since))
    }

    async fn source_load(&self, source_name: &Arc<str>) -> Result<SourceLoad, GateError> {
        self.wire.ask("source_load", source_name).await?;
        let quotas = self.quotas.lock().unwrap();
        let here = quotas.leases.values().filter(|name| *name == source_name);
        Ok(SourceLoad { in_flight: u32::try_from(here.count()).unwrap(), ..SourceLoad::default() })
    }

    fn version(&self) -> u64 {
        *self.version.borrow()
    }

    async fn changed(&self, since: u64) {
        let mut versions = self.version.subscribe();
        let _ = versions.wait_for(|version| *version != since).await;
    }
}
