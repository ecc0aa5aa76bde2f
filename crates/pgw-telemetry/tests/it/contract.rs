//! The SQLite store against the contract of its port, on a file and in memory.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use pgw_contract::TelemetryHarness;
use pgw_ports::TelemetryRecorder;
use pgw_telemetry::{CallLog, SqliteOptions, SqliteRecorder};
use pgw_types::CallRecord;
use tempfile::TempDir;

use crate::place;

/// Recorders over files of their own.
#[derive(Default)]
struct Files(Mutex<Vec<(TempDir, std::path::PathBuf)>>);

#[async_trait]
impl TelemetryHarness for Files {
    async fn fresh(&self) -> Arc<dyn TelemetryRecorder> {
        let (folder, path) = place();
        let recorder = SqliteRecorder::open(&path, SqliteOptions::default());
        self.0.lock().unwrap().push((folder, path));
        Arc::new(recorder)
    }

    async fn kept(&self, _: &Arc<dyn TelemetryRecorder>) -> Vec<CallRecord> {
        // Each case makes one recorder.
        let path = self.0.lock().unwrap().last().unwrap().1.clone();
        CallLog::open(path).unwrap().calls().unwrap()
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

/// TEL-001, TEL-003, TEL-004, TEL-012, TEL-016, TEL-017, PRT-016, PRT-025, MID-102, MID-103.
mod on_a_file {
    pgw_contract::telemetry_suite!(super::Files::default());
}

/// The same.
mod in_memory {
    pgw_contract::telemetry_suite!(super::InMemory::default());
}
