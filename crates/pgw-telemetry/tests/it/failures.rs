//! A store that can't be used costs records, never a call.

use std::{fs, path::PathBuf, time::Duration};

use pgw_ports::{Receipt, TelemetryRecorder as _};
use pgw_telemetry::{SqliteOptions, SqliteRecorder};
use pgw_types::CallRecord;
use rusqlite::Connection;

use crate::{is_pending, place, record, rows};

fn impatient() -> SqliteOptions {
    SqliteOptions { busy_timeout: Duration::from_millis(20), ..SqliteOptions::default() }
}

/// A folder in which nothing can be made. Permission bits don't bind the superuser, for whom there
/// is the kernel's own folder of processes.
fn unwritable(folder: &std::path::Path) -> PathBuf {
    let mut permissions = fs::metadata(folder).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(folder, permissions).unwrap();
    if fs::write(folder.join("probe"), "").is_ok() {
        return PathBuf::from("/proc");
    }
    folder.to_owned()
}

async fn is_unusable(path: PathBuf) {
    let recorder = SqliteRecorder::open(&path, impatient());
    recorder.offer(record("a")).await;
    recorder.flush().await;
    // The writer has given up or is about to; after the end it has.
    recorder.close().await;
    recorder.offer(record("b")).await;
    recorder.close().await;
    let stats = recorder.stats();
    assert!(!stats.healthy, "{stats:?}");
    assert_eq!(stats.written, 0);
    assert_eq!(stats.failed + stats.dropped, 2, "{stats:?}");
    assert!(recorder.log().is_err());
}

// REQ TEL-006
#[tokio::test]
async fn a_read_only_folder_degrades() {
    let (folder, _) = place();
    is_unusable(unwritable(folder.path()).join("calls.db")).await;
}

// REQ TEL-006
#[tokio::test]
async fn a_folder_in_place_of_the_file_degrades() {
    let (folder, _) = place();
    is_unusable(folder.path().to_owned()).await;
}

// REQ TEL-006
#[tokio::test]
async fn a_file_in_place_of_the_folder_degrades() {
    let (_folder, path) = place();
    fs::write(&path, "").unwrap();
    is_unusable(path.join("calls.db")).await;
}

// REQ TEL-006
#[tokio::test]
async fn a_file_that_is_no_database_degrades_and_is_left_alone() {
    let (_folder, path) = place();
    let text = "no database ".repeat(1_000);
    fs::write(&path, &text).unwrap();
    is_unusable(path.clone()).await;
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
}

// REQ TEL-006
#[tokio::test]
async fn a_database_of_a_later_release_degrades() {
    let (_folder, path) = place();
    let connection = Connection::open(&path).unwrap();
    connection.pragma_update(None, "user_version", 99).unwrap();
    is_unusable(path).await;
}

// REQ TEL-006: the receipts resolve although nothing is written, and nothing is lost.
#[tokio::test]
async fn a_locked_file_lets_calls_go_and_gets_the_records_later() {
    let (_folder, path) = place();
    let recorder = SqliteRecorder::open(&path, impatient());
    recorder.offer(record("before")).await;
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    recorder.offer(record("a")).await;
    assert!(!recorder.stats().healthy);
    recorder.offer(record("b")).await;
    recorder.flush().await;
    other.execute_batch("ROLLBACK").unwrap();
    recorder.close().await;
    let stats = recorder.stats();
    assert_eq!((stats.written, stats.failed), (3, 0));
    assert!(stats.healthy);
    assert_eq!(rows(&path), 3);
}

// REQ TEL-006
#[tokio::test]
async fn a_file_that_is_locked_from_the_start_gets_the_records_later() {
    let (_folder, path) = place();
    let other = Connection::open(&path).unwrap();
    other.execute_batch("CREATE TABLE other (x); BEGIN EXCLUSIVE").unwrap();
    let recorder = SqliteRecorder::open(&path, impatient());
    recorder.offer(record("a")).await;
    assert!(!recorder.stats().healthy);
    other.execute_batch("ROLLBACK").unwrap();
    recorder.close().await;
    assert_eq!(recorder.stats().written, 1);
    assert_eq!(rows(&path), 1);
}

// REQ TEL-006: a full disk, by way of a database that may not grow.
#[tokio::test]
async fn a_full_store_lets_calls_go() {
    let (_folder, path) = place();
    let first = SqliteRecorder::open(&path, SqliteOptions::default());
    first.offer(record("first")).await;
    first.close().await;
    let full = SqliteOptions { max_pages: Some(1), ..impatient() };
    let recorder = SqliteRecorder::open(&path, full);
    for id in ["a", "b"] {
        let large = CallRecord { response: "x".repeat(100_000), ..record(id) };
        recorder.offer(large).await;
    }
    assert!(!recorder.stats().healthy);
    recorder.close().await;
    assert_eq!(recorder.stats().failed, 2);
    assert_eq!(rows(&path), 1);
}

// REQ MID-104 TEL-005: the writer is stuck for as long as the lock is held.
#[tokio::test]
async fn an_offer_returns_while_the_writer_is_blocked() {
    let (_folder, path) = place();
    let patient = SqliteOptions {
        busy_timeout: Duration::from_mins(10),
        queue_records: 10,
        ..SqliteOptions::default()
    };
    let recorder = SqliteRecorder::open(&path, patient);
    recorder.offer(record("before")).await;
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut receipts: Vec<Receipt> =
        (0..100).map(|number| recorder.offer(record(&number.to_string()))).collect();
    // The oldest were dropped, so nobody waits for them; the newest wait for the lock.
    let waiting = receipts.iter_mut().filter_map(|r| is_pending(r).then_some(())).count();
    assert!((10..=20).contains(&waiting), "{waiting}");
    assert_eq!(recorder.stats().written, 1);
    other.execute_batch("ROLLBACK").unwrap();
    recorder.close().await;
    let stats = recorder.stats();
    assert_eq!(stats.written + stats.dropped, 101);
    assert!(stats.dropped >= 80, "{stats:?}");
    assert_eq!(rows(&path), i64::try_from(stats.written).unwrap());
}
