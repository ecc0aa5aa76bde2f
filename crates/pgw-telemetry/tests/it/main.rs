//! The recorder over real files.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of the tests are outside the test functions that may"
)]

mod contract;
mod failures;
mod lifecycle;
mod processes;
mod store;
mod usage;

use std::{
    path::Path,
    task::{Context, Waker},
};

use pgw_ports::Receipt;
use pgw_types::CallRecord;
use rusqlite::Connection;
use tempfile::TempDir;

/// A folder and the path of a database in it.
fn place() -> (TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calls.db");
    (folder, path)
}

fn record(call_id: &str) -> CallRecord {
    CallRecord {
        call_id: call_id.to_owned(),
        model: "m".to_owned(),
        source_name: "s".to_owned(),
        provider: "p".to_owned(),
        ..CallRecord::default()
    }
}

fn rows(path: &Path) -> i64 {
    Connection::open(path)
        .unwrap()
        .query_one("SELECT COUNT(*) FROM llm_calls", [], |row| row.get(0))
        .unwrap()
}

fn is_pending(receipt: &mut Receipt) -> bool {
    let mut cx = Context::from_waker(Waker::noop());
    receipt.as_mut().poll(&mut cx).is_pending()
}
