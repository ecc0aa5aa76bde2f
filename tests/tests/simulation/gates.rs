//! The real limiter with an auditor beside it, and the account.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use pgw_backend_memory::MemoryLimiter;
use pgw_ports::{Clock, GateError, Limiter, Receipt, TelemetryRecorder};
use pgw_types::{Admission, CallRecord, Gate, Lease, Limits, SourceLoad};

/// Over how long calls and tokens are counted.
pub(crate) const WINDOW: Duration = Duration::from_mins(1);

/// What should never happen, as it happened: told together at the end, with the seed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Breaches(Arc<Mutex<Vec<String>>>);

impl Breaches {
    pub(crate) fn note(&self, breach: String) {
        self.0.lock().unwrap().push(breach);
    }

    /// The first of them, if there are any.
    pub(crate) fn first(&self) -> Vec<String> {
        self.0.lock().unwrap().iter().take(10).cloned().collect()
    }
}

#[derive(Debug)]
struct Grant {
    at: Duration,
    id: u64,
    source_name: Arc<str>,
    tokens: u64,
    /// Not yet released.
    open: bool,
    settled: bool,
}

/// A limiter whose grants are counted once more, the slow way.
#[derive(Debug)]
pub(crate) struct Audited {
    limiter: MemoryLimiter,
    clock: Arc<dyn Clock>,
    limits: BTreeMap<Arc<str>, Limits>,
    breaches: Breaches,
    /// Those of the last minute, and those that are open.
    grants: Mutex<VecDeque<Grant>>,
    denials: Mutex<BTreeMap<Gate, u64>>,
}

impl Audited {
    pub(crate) fn new(
        limiter: MemoryLimiter,
        clock: Arc<dyn Clock>,
        limits: BTreeMap<Arc<str>, Limits>,
        breaches: Breaches,
    ) -> Self {
        let (grants, denials) = (Mutex::default(), Mutex::default());
        Self { limiter, clock, limits, breaches, grants, denials }
    }

    /// How often each gate refused.
    pub(crate) fn denials(&self) -> BTreeMap<Gate, u64> {
        self.denials.lock().unwrap().clone()
    }

    fn granted(&self, lease: &Lease) {
        let now = self.clock.now();
        let mut grants = self.grants.lock().unwrap();
        grants.retain(|grant| grant.open || grant.at + WINDOW > now);
        grants.push_back(Grant {
            at: now,
            id: lease.id,
            source_name: Arc::clone(&lease.source_name),
            tokens: lease.charged_tokens,
            open: true,
            settled: false,
        });
        for name in [&lease.source_name, &"".into()] {
            let of_it = |grant: &&Grant| name.is_empty() || grant.source_name == *name;
            let limits = self.limits[name];
            let open = grants.iter().filter(of_it).filter(|grant| grant.open).count();
            let recent = || grants.iter().filter(of_it).filter(|grant| grant.at + WINDOW > now);
            let (calls, tokens) = (recent().count(), recent().map(|grant| grant.tokens).sum());
            let over =
                |limit: Option<u32>, count| limit.is_some_and(|limit| count > limit as usize);
            if over(limits.max_concurrency, open) {
                self.breaches.note(format!("{open} permits of {name:?} at {now:?}"));
            }
            if over(limits.rpm, calls) {
                self.breaches.note(format!("{calls} calls a minute of {name:?} at {now:?}"));
            }
            if limits.tpm.is_some_and(|limit| limit < tokens) {
                self.breaches.note(format!("{tokens} tokens a minute of {name:?} at {now:?}"));
            }
        }
    }

    fn on_open(&self, lease: &Lease, act: impl FnOnce(&mut Grant)) {
        let mut grants = self.grants.lock().unwrap();
        if let Some(grant) = grants.iter_mut().find(|grant| grant.id == lease.id && grant.open) {
            act(grant);
        }
    }
}

#[async_trait]
impl Limiter for Audited {
    async fn try_acquire(
        &self,
        source_name: &Arc<str>,
        tokens: u64,
    ) -> Result<Admission, GateError> {
        let admission = self.limiter.try_acquire(source_name, tokens).await?;
        match &admission {
            Admission::Granted(lease) => self.granted(lease),
            Admission::Denied(denial) => {
                *self.denials.lock().unwrap().entry(denial.gate).or_default() += 1;
            }
        }
        Ok(admission)
    }

    async fn settle(&self, lease: &Lease, used_tokens: u64) -> Result<(), GateError> {
        self.on_open(lease, |grant| {
            if !std::mem::replace(&mut grant.settled, true) {
                grant.tokens = used_tokens;
            }
        });
        self.limiter.settle(lease, used_tokens).await
    }

    async fn release(&self, lease: &Lease) -> Result<(), GateError> {
        self.on_open(lease, |grant| grant.open = false);
        self.limiter.release(lease).await
    }

    async fn renew(&self, lease: &Lease) -> Result<(), GateError> {
        self.limiter.renew(lease).await
    }

    fn abandon(&self, lease: &Lease) {
        self.on_open(lease, |grant| grant.open = false);
        self.limiter.abandon(lease);
    }

    async fn mark_progress(&self) -> Result<(), GateError> {
        self.limiter.mark_progress().await
    }

    async fn progress_age(&self) -> Result<Option<Duration>, GateError> {
        self.limiter.progress_age().await
    }

    async fn source_load(&self, source_name: &Arc<str>) -> Result<SourceLoad, GateError> {
        self.limiter.source_load(source_name).await
    }

    fn version(&self) -> u64 {
        self.limiter.version()
    }

    async fn changed(&self, since: u64) {
        self.limiter.changed(since).await;
    }
}

/// Keeps records in memory.
#[derive(Debug, Default)]
pub(crate) struct Rows(Mutex<Vec<CallRecord>>);

impl Rows {
    /// All records so far, by call.
    pub(crate) fn by_call(&self) -> BTreeMap<String, Vec<CallRecord>> {
        let mut calls: BTreeMap<String, Vec<CallRecord>> = BTreeMap::new();
        for row in self.0.lock().unwrap().iter() {
            calls.entry(row.request_id.clone()).or_default().push(row.clone());
        }
        calls
    }
}

#[async_trait]
impl TelemetryRecorder for Rows {
    fn offer(&self, record: CallRecord) -> Receipt {
        self.0.lock().unwrap().push(record);
        Box::pin(std::future::ready(()))
    }

    async fn flush(&self) {}

    async fn close(&self) {}
}
