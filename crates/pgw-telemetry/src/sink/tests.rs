//! Tests of the way to SQLite.

use tempfile::TempDir;

use super::*;
use crate::doubles::{entries, record};

impl Failure {
    pub(crate) fn for_tests(reason: &str, is_final: bool) -> Self {
        Self { reason: reason.to_owned(), is_final, is_busy: false }
    }
}

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn number(connection: &Connection, pragma: &str) -> i64 {
    connection.pragma_query_value(None, pragma, |row| row.get(0)).unwrap()
}

// REQ TEL-003
#[test]
fn a_database_is_in_wal_mode_and_waits_for_others() {
    let folder = folder();
    let options =
        SqliteOptions { busy_timeout: Duration::from_millis(1_234), ..SqliteOptions::default() };
    let connection = open(&folder.path().join("new/calls.db"), options).unwrap();
    let mode: String =
        connection.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
    assert_eq!(mode, "wal");
    assert_eq!(number(&connection, "busy_timeout"), 1_234);
    assert_eq!(number(&connection, "synchronous"), 1);
    assert_eq!(number(&connection, "user_version"), 1);
    let options = SqliteOptions { durability: Durability::Full, ..options };
    let connection = open(&folder.path().join("new/calls.db"), options).unwrap();
    assert_eq!(number(&connection, "synchronous"), 2);
}

#[test]
fn a_database_of_a_later_release_is_left_alone() {
    let folder = folder();
    let path = folder.path().join("calls.db");
    let connection = Connection::open(&path).unwrap();
    connection.pragma_update(None, "user_version", 7).unwrap();
    let failure = open(&path, SqliteOptions::default()).unwrap_err();
    assert!(failure.is_final);
    assert!(failure.reason.contains("version 7"), "{}", failure.reason);
    assert_eq!(number(&connection, "user_version"), 7);
    let mode: String =
        connection.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
    assert_eq!(mode, "delete");
}

#[test]
fn a_table_of_that_name_that_is_not_ours_is_left_alone() {
    let folder = folder();
    let path = folder.path().join("calls.db");
    let theirs = Connection::open(&path).unwrap();
    theirs.execute_batch("CREATE TABLE llm_calls (mine)").unwrap();
    let failure = open(&path, SqliteOptions::default()).unwrap_err();
    assert!(failure.is_final, "{failure:?}");
    assert_eq!(number(&theirs, "user_version"), 0);
}

#[test]
fn a_row_that_is_refused_does_not_hold_up_the_others() {
    let folder = folder();
    let path = folder.path().join("calls.db");
    open(&path, SqliteOptions::default())
        .unwrap()
        .execute_batch(
            "CREATE TRIGGER t BEFORE INSERT ON llm_calls WHEN NEW.call_id = 'bad'
             BEGIN SELECT RAISE(ABORT, 'not this one'); END",
        )
        .unwrap();
    let mut sink = SqliteSink::file(path, SqliteOptions::default());
    let rows = entries(["a", "bad", "b", "a"].map(record));
    let written = sink.write(&rows).unwrap();
    assert_eq!((written.new, written.duplicates, written.refused), (2, 1, 1));
    assert!(written.refused_for.unwrap().contains("not this one"));
}

// REQ TEL-006: a full disk, by way of a database that may not grow.
#[test]
fn a_full_database_takes_nothing_of_the_batch_and_stays_usable() {
    let options = SqliteOptions { max_pages: Some(8), ..SqliteOptions::default() };
    let connection = Arc::new(Mutex::new(open_in_memory(options).unwrap()));
    let mut sink = SqliteSink::memory(Arc::clone(&connection), options);
    assert_eq!(sink.write(&entries([record("small")])).unwrap().new, 1);
    let large = CallRecord { response: "x".repeat(100_000), ..record("large") };
    let failure = sink.write(&entries([record("other"), large])).unwrap_err();
    assert!(!failure.is_final, "{failure:?}");
    let count = |connection: &Connection| -> i64 {
        connection.query_one("SELECT COUNT(*) FROM llm_calls", [], |row| row.get(0)).unwrap()
    };
    assert_eq!(count(&connection.lock().unwrap()), 1);
    assert_eq!(sink.write(&entries([record("other")])).unwrap().new, 1);
    assert_eq!(count(&connection.lock().unwrap()), 2);
}

#[test]
fn numbers_beyond_sqlite_are_held_at_the_largest() {
    let folder = folder();
    let path = folder.path().join("calls.db");
    let mut sink = SqliteSink::file(path, SqliteOptions::default());
    let odd = CallRecord { prompt_tokens: u64::MAX, ttft_ms: Some(f64::NAN), ..record("odd") };
    assert_eq!(sink.write(&entries([odd])).unwrap().new, 1);
}
