//! The one place that writes records.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use pgw_ports::{Clock, Pricing, Receipt, TelemetryRecorder};
use pgw_types::{CallRecord, Usage};

/// How long a call waits for its record to be safe, at most.
const RECEIPT_LIMIT: Duration = Duration::from_secs(2);

/// How long receipts are not waited for after one was late.
const DEAF_FOR: Duration = Duration::from_secs(30);

/// Writes records and prices usage. Without a recorder it only prices.
#[derive(Debug)]
pub struct Ledger {
    recorder: Option<Arc<dyn TelemetryRecorder>>,
    pricing: Arc<dyn Pricing>,
    clock: Arc<dyn Clock>,
    /// Until when receipts are not waited for, in milliseconds of the clock.
    deaf_until_ms: AtomicU64,
}

impl Ledger {
    /// A ledger over a recorder and a price table.
    #[must_use]
    pub fn new(
        recorder: Option<Arc<dyn TelemetryRecorder>>,
        pricing: Arc<dyn Pricing>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { recorder, pricing, clock, deaf_until_ms: AtomicU64::new(0) }
    }

    /// Whether anybody keeps records. If not, none need be made.
    #[must_use]
    pub const fn is_on(&self) -> bool {
        self.recorder.is_some()
    }

    /// The price of usage: by the model that was asked for, else by the one that answered.
    #[must_use]
    pub fn cost(&self, asked: &str, answered: &str, usage: &Usage) -> Option<f64> {
        let price = self.pricing.cost(asked, usage);
        if price.is_none() && !answered.is_empty() && answered != asked {
            return self.pricing.cost(answered, usage);
        }
        price
    }

    /// Compares sources by price.
    #[must_use]
    pub fn rank(&self, model: &str) -> Option<f64> {
        self.pricing.rank(model)
    }

    /// Hands a record over without waiting. This is the only call of the recorder there is.
    pub(crate) fn offer(&self, record: CallRecord) -> Option<Receipt> {
        self.recorder.as_ref().map(|recorder| recorder.offer(record))
    }

    /// Hands a record over and waits until it is safe, but never long: a store that has gone quiet
    /// must not hold up calls.
    pub(crate) async fn write(&self, record: CallRecord) {
        let Some(receipt) = self.offer(record) else {
            return;
        };
        let now = self.now_ms();
        if now < self.deaf_until_ms.load(Ordering::Relaxed) {
            return;
        }
        if tokio::time::timeout(RECEIPT_LIMIT, receipt).await.is_err() {
            let until = self.now_ms().saturating_add(millis(DEAF_FOR));
            if self.deaf_until_ms.swap(until, Ordering::Relaxed) <= now {
                tracing::warn!(
                    waited_s = RECEIPT_LIMIT.as_secs(),
                    "the telemetry store does not confirm records; calls no longer wait for it"
                );
            }
        }
    }

    fn now_ms(&self) -> u64 {
        millis(self.clock.now())
    }
}

pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
