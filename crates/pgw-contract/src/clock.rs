//! A clock that goes when it is told to.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use pgw_ports::Clock;

/// A clock for tests. It stands still between calls of [`advance`](Self::advance).
#[derive(Debug, Default)]
pub struct ManualClock {
    millis: AtomicU64,
}

impl ManualClock {
    /// What `unix_ms` says at the start: 2026-01-01 UTC.
    pub const UNIX_START_MS: u64 = 1_767_225_600_000;

    /// A clock at zero.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets time pass, in whole milliseconds.
    pub fn advance(&self, by: Duration) {
        let by = u64::try_from(by.as_millis()).unwrap_or(u64::MAX);
        self.millis.fetch_add(by, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Duration {
        Duration::from_millis(self.millis.load(Ordering::SeqCst))
    }

    fn unix_ms(&self) -> u64 {
        Self::UNIX_START_MS.saturating_add(self.millis.load(Ordering::SeqCst))
    }
}
