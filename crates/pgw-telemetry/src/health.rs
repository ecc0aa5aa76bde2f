//! The counts of a recorder, and its warnings: one for each change of state.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::{
    queue::Dropped,
    sink::{Failure, Written},
};

/// What became of the records so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecorderStats {
    /// Records that are in the store.
    pub written: u64,
    /// Records that were dropped unwritten: the oldest of a full line, or offered after the end.
    pub dropped: u64,
    /// Records that were known already and ignored.
    pub duplicates: u64,
    /// Records that the store did not take: refused one by one, or still unwritten at the end of a
    /// store that failed.
    pub failed: u64,
    /// Whether the last write, or the opening, went well.
    pub healthy: bool,
}

/// Counts, and warns when the state changes. Never logs what a record says.
#[derive(Debug)]
pub(crate) struct Health {
    /// Where the store is, for the warnings.
    store: String,
    written: AtomicU64,
    dropped: AtomicU64,
    duplicates: AtomicU64,
    failed: AtomicU64,
    healthy: AtomicBool,
    refused_before: AtomicBool,
}

impl Health {
    pub(crate) fn new(store: String) -> Self {
        Self {
            store,
            written: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            duplicates: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            healthy: AtomicBool::new(true),
            refused_before: AtomicBool::new(false),
        }
    }

    pub(crate) fn stats(&self) -> RecorderStats {
        RecorderStats {
            written: self.written.load(Ordering::Relaxed),
            dropped: self.dropped.load(Ordering::Relaxed),
            duplicates: self.duplicates.load(Ordering::Relaxed),
            failed: self.failed.load(Ordering::Relaxed),
            healthy: self.healthy.load(Ordering::Relaxed),
        }
    }

    pub(crate) fn dropped(&self, dropped: Dropped) {
        if dropped.rows == 0 {
            return;
        }
        let before = self.dropped.fetch_add(dropped.rows, Ordering::Relaxed);
        if dropped.first {
            tracing::warn!(
                store = self.store,
                dropped = before + dropped.rows,
                "telemetry can't keep up: the oldest records are dropped"
            );
        }
    }

    /// The line is empty again after it had dropped rows.
    pub(crate) fn caught_up(&self, dropped: u64) {
        if dropped > 0 {
            tracing::warn!(
                store = self.store,
                dropped,
                "telemetry has caught up after dropping records"
            );
        }
    }

    pub(crate) fn wrote(&self, written: Written) {
        self.written.fetch_add(written.new, Ordering::Relaxed);
        self.duplicates.fetch_add(written.duplicates, Ordering::Relaxed);
        if let Some(reason) = written.refused_for {
            self.failed.fetch_add(written.refused, Ordering::Relaxed);
            if !self.refused_before.swap(true, Ordering::Relaxed) {
                tracing::warn!(
                    store = self.store,
                    failed = written.refused,
                    reason,
                    "telemetry records were refused by their store; more are only counted"
                );
            }
        }
        if !self.healthy.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                store = self.store,
                written = written.new,
                dropped = self.dropped.load(Ordering::Relaxed),
                "telemetry is written again"
            );
        }
    }

    pub(crate) fn failing(&self, failure: &Failure, waiting: usize) {
        if self.healthy.swap(false, Ordering::Relaxed) {
            tracing::warn!(
                store = self.store,
                reason = failure.reason,
                waiting,
                "telemetry can't be written; records are kept for later as far as there is room, \
                 and no call waits for them"
            );
        }
    }

    pub(crate) fn unusable(&self, reason: &str) {
        self.healthy.store(false, Ordering::Relaxed);
        tracing::warn!(store = self.store, reason, "telemetry can't be used; records are dropped");
    }

    /// The writer is gone and these rows are not written. After [`unusable`](Self::unusable) that
    /// is no news.
    pub(crate) fn left(&self, count: usize, is_news: bool) {
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        self.failed.fetch_add(count, Ordering::Relaxed);
        if count > 0 && is_news {
            tracing::warn!(
                store = self.store,
                failed = count,
                "telemetry ended with records that could not be written"
            );
        }
    }
}
