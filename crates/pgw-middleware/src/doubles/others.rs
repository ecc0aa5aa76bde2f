//! A recorder, a price table and chance that tests can decide.

use std::sync::{
    Mutex,
    atomic::{AtomicBool, AtomicU32, Ordering},
};

use async_trait::async_trait;
use pgw_ports::{Jitter, Pricing, Receipt, TelemetryRecorder};
use pgw_types::{CallRecord, Usage};

/// Keeps records in memory. When deaf, it takes them but confirms none.
#[derive(Debug, Default)]
pub(crate) struct FakeRecorder {
    records: Mutex<Vec<CallRecord>>,
    deaf: AtomicBool,
}

impl FakeRecorder {
    /// Whether receipts stay open for ever.
    pub(crate) fn set_deaf(&self, deaf: bool) {
        self.deaf.store(deaf, Ordering::SeqCst);
    }

    pub(crate) fn all(&self) -> Vec<CallRecord> {
        self.records.lock().unwrap().clone()
    }

    /// The records of one call.
    pub(crate) fn of(&self, request_id: &str) -> Vec<CallRecord> {
        let mut all = self.all();
        all.retain(|record| record.request_id == request_id);
        all
    }

    /// The `error` of every record.
    pub(crate) fn errors(&self) -> Vec<Option<String>> {
        self.all().into_iter().map(|record| record.error).collect()
    }
}

#[async_trait]
impl TelemetryRecorder for FakeRecorder {
    fn offer(&self, record: CallRecord) -> Receipt {
        self.records.lock().unwrap().push(record);
        if self.deaf.load(Ordering::SeqCst) {
            Box::pin(std::future::pending())
        } else {
            Box::pin(std::future::ready(()))
        }
    }

    async fn flush(&self) {}

    async fn close(&self) {}
}

/// A token costs one.
#[derive(Debug)]
pub(crate) struct FlatPrice;

impl Pricing for FlatPrice {
    fn cost(&self, _model: &str, usage: &Usage) -> Option<f64> {
        u32::try_from(usage.total_tokens()).ok().map(f64::from)
    }

    fn rank(&self, _model: &str) -> Option<f64> {
        None
    }
}

/// Always the same chance.
#[derive(Debug)]
pub(crate) struct Fixed(pub(crate) f64);

impl Jitter for Fixed {
    fn unit(&self) -> f64 {
        self.0
    }
}

/// Runs through `0.0..1.0` in so many even steps, over and over.
#[derive(Debug)]
pub(crate) struct Spread {
    steps: u32,
    next: AtomicU32,
}

impl Spread {
    pub(crate) fn new(steps: u32) -> Self {
        Self { steps, next: AtomicU32::new(0) }
    }
}

impl Jitter for Spread {
    fn unit(&self) -> f64 {
        let step = self.next.fetch_add(1, Ordering::SeqCst) % self.steps;
        f64::from(step) / f64::from(self.steps)
    }
}
