//! The SQLite store against the contract of its port, on a file and in memory.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use pgw_contract::TelemetryHarness;
use pgw_ports::TelemetryRecorder;
use pgw_telemetry::{CallLog, SqliteOptions, SqliteRecorder};
use pgw_types::CallRecord;
use rusqlite::Connection;
use tempfile::TempDir;

use crate::place;

/// Recorders over files of their own.
#[derive(Default)]
struct Files {
    places: Mutex<Vec<(TempDir, std::path::PathBuf)>>,
    /// Has the file for itself.
    lock: Mutex<Option<Connection>>,
}

impl Files {
    /// Each case makes one recorder.
    fn path(&self) -> std::path::PathBuf {
        self.places.lock().unwrap().last().unwrap().1.clone()
    }
}

#[async_trait]
impl TelemetryHarness for Files {
    async fn fresh(&self) -> Arc<dyn TelemetryRecorder> {
        let (folder, path) = place();
        // A file that is locked is waited for, not given up.
        let busy_timeout = Duration::from_mins(1);
        let options = SqliteOptions { busy_timeout, ..SqliteOptions::default() };
        let recorder = SqliteRecorder::open(&path, options);
        self.places.lock().unwrap().push((folder, path));
        Arc::new(recorder)
    }

    async fn kept(&self, _: &Arc<dyn TelemetryRecorder>) -> Vec<CallRecord> {
        CallLog::open(self.path()).unwrap().calls().unwrap()
    }

    async fn stall(&self, _: &Arc<dyn TelemetryRecorder>) {
        let lock = Connection::open(self.path()).unwrap();
        lock.execute_batch("BEGIN IMMEDIATE").unwrap();
        *self.lock.lock().unwrap() = Some(lock);
    }

    async fn resume(&self, _: &Arc<dyn TelemetryRecorder>) {
        *self.lock.lock().unwrap() = None;
    }
}

/// Recorders over databases in memory.
#[derive(Default)]
struct InMemory(Mutex<Option<CallLog>>);

#[async_trait]
impl TelemetryHarness for InMemory {
    async fn fresh(&self) -> Arc<dyn TelemetryRecorder> {
        let recorder = SqliteRecorder::in_memory(SqliteOptions::default());
        *self.0.lock().unwrap() = Some(recorder.log().unwrap());
        Arc::new(recorder)
    }

    async fn kept(&self, _: &Arc<dyn TelemetryRecorder>) -> Vec<CallRecord> {
        let log = self.0.lock().unwrap().clone();
        log.unwrap().calls().unwrap()
    }
}

/// TEL-001, TEL-003, TEL-004, TEL-012, TEL-016, TEL-017, PRT-016, PRT-025, MID-102, MID-103,
/// MID-104.
mod on_a_file {
    pgw_contract::telemetry_suite!(super::Files::default());
}

/// The same.
mod in_memory {
    pgw_contract::telemetry_suite!(super::InMemory::default());
}
