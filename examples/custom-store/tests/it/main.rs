//! The file's breakers against the contract of their port, and in a client's hands.
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that can't be set up should fail there"
)]

mod client;
mod processes;

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use custom_store::{FileBreaker, Rules};
use pgw_contract::{BreakerHarness, BreakerSpec, ManualClock};
use pgw_ports::Breaker;
use tempfile::TempDir;

/// Files in a folder of their own, on a clock that goes when it is told to.
struct Files {
    folder: TempDir,
    opened: AtomicU32,
    clock: Arc<ManualClock>,
}

impl Files {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            opened: AtomicU32::new(0),
            clock: Arc::default(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn open(&self, name: &str, spec: BreakerSpec) -> FileBreaker {
        let rules = Rules {
            threshold: spec.threshold,
            cooldown: spec.cooldown,
            dead_cooldown: spec.dead_cooldown,
            probe_lease: spec.probe_lease,
        };
        let clock = Arc::clone(&self.clock);
        FileBreaker::open(&self.path(name), rules, spec.sources, clock).unwrap()
    }
}

#[async_trait]
impl BreakerHarness for Files {
    async fn fresh(&self, spec: BreakerSpec) -> Arc<dyn Breaker> {
        let number = self.opened.fetch_add(1, Ordering::Relaxed);
        Arc::new(self.open(&format!("{number}.json"), spec))
    }

    async fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }
}

/// PRT-024, PRT-025, PRT-010, PRT-011: what anybody's store must do.
mod breaker {
    pgw_contract::breaker_suite!(super::Files::new());
}
