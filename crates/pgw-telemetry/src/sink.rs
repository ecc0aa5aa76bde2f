//! How a batch of rows reaches SQLite.

use std::{
    collections::VecDeque,
    fmt::{self, Debug, Formatter},
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

use pgw_types::CallRecord;
use rusqlite::{Connection, ErrorCode, OpenFlags, Statement, params};

use crate::{
    options::{Durability, SqliteOptions},
    queue::Entry,
    schema,
};

/// What a batch came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Written {
    pub(crate) new: u64,
    pub(crate) duplicates: u64,
    pub(crate) refused: u64,
    /// Why the first of the refused rows was refused.
    pub(crate) refused_for: Option<String>,
}

/// Why the store took nothing of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) reason: String,
    /// Trying again can't help.
    pub(crate) is_final: bool,
    /// Somebody else has the file.
    is_busy: bool,
}

/// Where batches go. Called on the writer's thread only; may block.
pub(crate) trait Sink: Debug + Send {
    /// Gets ready, so that a store that can't be used is known before the first row.
    fn prepare(&mut self) -> Result<(), Failure>;

    /// Writes all rows in one transaction.
    fn write(&mut self, rows: &VecDeque<Entry>) -> Result<Written, Failure>;
}

/// The real one.
pub(crate) struct SqliteSink {
    place: Place,
    options: SqliteOptions,
    insert: String,
}

/// Where the database is.
enum Place {
    File(FileStore),
    /// In memory, set up, shared with its readers.
    Memory(Arc<Mutex<Connection>>),
}

/// A file; opened by the writer, and again after a failure.
struct FileStore {
    path: PathBuf,
    connection: Option<Connection>,
    was_open: bool,
}

impl FileStore {
    fn connect(&mut self, options: SqliteOptions) -> Result<&mut Connection, Failure> {
        let connection = match self.connection.take() {
            Some(connection) => connection,
            // What could be opened once is worth trying again, whatever the reason.
            None => open(&self.path, options).map_err(|failure| Failure {
                is_final: failure.is_final && !self.was_open,
                ..failure
            })?,
        };
        self.was_open = true;
        Ok(self.connection.insert(connection))
    }
}

impl SqliteSink {
    pub(crate) fn file(path: PathBuf, options: SqliteOptions) -> Self {
        Self {
            place: Place::File(FileStore { path, connection: None, was_open: false }),
            options,
            insert: insert_statement(),
        }
    }

    pub(crate) fn memory(connection: Arc<Mutex<Connection>>, options: SqliteOptions) -> Self {
        Self { place: Place::Memory(connection), options, insert: insert_statement() }
    }
}

impl Sink for SqliteSink {
    fn prepare(&mut self) -> Result<(), Failure> {
        match &mut self.place {
            Place::File(file) => file.connect(self.options).map(drop),
            Place::Memory(_) => Ok(()),
        }
    }

    fn write(&mut self, rows: &VecDeque<Entry>) -> Result<Written, Failure> {
        match &mut self.place {
            Place::File(file) => {
                let connection = file.connect(self.options)?;
                write(connection, &self.insert, rows).map_err(|error| {
                    let failure = Failure::while_writing(&error);
                    if !failure.is_busy {
                        // Whatever it was, a fresh connection starts from a known state.
                        file.connection = None;
                    }
                    failure
                })
            }
            Place::Memory(connection) => {
                let connection = connection.lock().unwrap_or_else(PoisonError::into_inner);
                write(&connection, &self.insert, rows)
                    .map_err(|error| Failure::while_writing(&error))
            }
        }
    }
}

impl Debug for SqliteSink {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let path = match &self.place {
            Place::File(file) => Some(&file.path),
            Place::Memory(_) => None,
        };
        f.debug_struct("SqliteSink").field("path", &path).finish_non_exhaustive()
    }
}

/// How often opening is tried. Two processes that make the same file at the same moment block each
/// other in a way that the busy timeout does not cover: the change to WAL needs the file alone, and
/// SQLite does not wait for it (sqlite.org, "Write-Ahead Logging", section 8).
const OPENINGS: u32 = 10;

/// Opens the file for writing, within the busy timeout or little more.
fn open(path: &Path, options: SqliteOptions) -> Result<Connection, Failure> {
    if let Some(folder) = path.parent() {
        // If this fails, the opening below says so.
        drop(fs::create_dir_all(folder));
    }
    let patience = options.busy_timeout / (2 * OPENINGS);
    let mut left = OPENINGS;
    loop {
        left -= 1;
        match open_once(path, options, patience) {
            Err(failure) if failure.is_busy && left > 0 => thread::sleep(patience),
            result => return result,
        }
    }
}

fn open_once(
    path: &Path,
    options: SqliteOptions,
    patience: Duration,
) -> Result<Connection, Failure> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)
        .and_then(|connection| {
            connection.busy_timeout(patience)?;
            Ok(connection)
        })
        .map_err(|error| Failure::while_opening(&error))?;
    set_up(&mut connection, options)?;
    Ok(connection)
}

/// Opens a database in memory.
pub(crate) fn open_in_memory(options: SqliteOptions) -> Result<Connection, Failure> {
    let mut connection =
        Connection::open_in_memory().map_err(|error| Failure::while_opening(&error))?;
    set_up(&mut connection, options)?;
    Ok(connection)
}

/// Makes the database fit: its mode, its table. Leaves the busy timeout of the options behind.
fn set_up(connection: &mut Connection, options: SqliteOptions) -> Result<(), Failure> {
    let found = schema::version(connection).map_err(|error| Failure::while_opening(&error))?;
    if found > schema::current() {
        return Err(Failure {
            reason: format!(
                "the database is of version {found}, of a later release; this one knows version {}",
                schema::current()
            ),
            is_final: true,
            is_busy: false,
        });
    }
    settings(connection, options)
        .and_then(|()| schema::migrate(connection))
        .and_then(|()| connection.busy_timeout(options.busy_timeout))
        .map_err(|error| Failure::while_opening(&error))
}

fn settings(connection: &Connection, options: SqliteOptions) -> rusqlite::Result<()> {
    connection.pragma_update(None, "journal_mode", "WAL")?;
    let synchronous = match options.durability {
        Durability::Normal => "NORMAL",
        Durability::Full => "FULL",
    };
    connection.pragma_update(None, "synchronous", synchronous)?;
    connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
    if let Some(pages) = options.max_pages {
        connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))?;
    }
    Ok(())
}

/// After how many pages the write-ahead log goes into the database. With SQLite's own 1000 the same
/// pages are carried over more often, which costs small batches a tenth to a fifth more processor
/// time; with more the log only grows.
const CHECKPOINT_PAGES: u32 = 4_000;

const BEGIN: &str = "BEGIN IMMEDIATE";
const COMMIT: &str = "COMMIT";
const ROLLBACK: &str = "ROLLBACK";

fn write(
    connection: &Connection,
    insert: &str,
    rows: &VecDeque<Entry>,
) -> rusqlite::Result<Written> {
    // A lone row is a transaction of its own anyway.
    if rows.len() < 2 {
        return insert_all(connection, insert, rows);
    }
    connection.prepare_cached(BEGIN)?.execute([])?;
    let written = insert_all(connection, insert, rows).and_then(|written| {
        connection.prepare_cached(COMMIT)?.execute([])?;
        Ok(written)
    });
    if written.is_err() && !connection.is_autocommit() {
        // It can only fail if there is nothing to roll back.
        drop(connection.execute_batch(ROLLBACK));
    }
    written
}

fn insert_all(
    connection: &Connection,
    insert: &str,
    rows: &VecDeque<Entry>,
) -> rusqlite::Result<Written> {
    let mut statement = connection.prepare_cached(insert)?;
    let mut written = Written::default();
    for row in rows {
        match insert_one(&mut statement, &row.record) {
            Ok(0) => written.duplicates += 1,
            Ok(_) => written.new += 1,
            Err(error) if is_of_the_row(&error) => {
                written.refused += 1;
                written.refused_for.get_or_insert(error.to_string());
            }
            Err(error) => return Err(error),
        }
    }
    Ok(written)
}

fn insert_one(statement: &mut Statement<'_>, record: &CallRecord) -> rusqlite::Result<usize> {
    statement.execute(params![
        record.call_id,
        record.parent_call_id,
        record.session_id,
        record.model,
        record.provider,
        record.source_name,
        record.messages,
        record.response,
        record.thinking,
        integer(record.prompt_tokens),
        integer(record.completion_tokens),
        record.usage_source.as_str(),
        integer(record.latency_ms),
        record.ttft_ms,
        record.max_inter_token_ms,
        record.cache_hit,
        record.error,
        record.cost,
        record.request_id,
        record.attempt,
        record.scope,
        record.operation,
        integer(record.started_at_ms),
    ])
}

/// The statement that writes one row; a known `call_id` is ignored (TEL-004).
fn insert_statement() -> String {
    let places = vec!["?"; schema::COLUMNS.split(',').count()].join(", ");
    format!("INSERT OR IGNORE INTO llm_calls ({}) VALUES ({places})", schema::COLUMNS)
}

/// SQLite has signed numbers only; what does not fit is held at the largest.
fn integer(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// Whether this row is at fault, not the store: it must not hold up the others for ever.
fn is_of_the_row(error: &rusqlite::Error) -> bool {
    match error.sqlite_error_code() {
        Some(code) => matches!(
            code,
            ErrorCode::TooBig | ErrorCode::ConstraintViolation | ErrorCode::TypeMismatch
        ),
        // It was refused before SQLite saw it.
        None => true,
    }
}

impl Failure {
    /// The store takes nothing now.
    fn while_writing(error: &rusqlite::Error) -> Self {
        let code = error.sqlite_error_code();
        Self {
            reason: error.to_string(),
            is_final: matches!(code, Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)),
            is_busy: code == Some(ErrorCode::DatabaseBusy),
        }
    }

    /// The store can't be had. Trying again helps only if it is a matter of others or of space.
    fn while_opening(error: &rusqlite::Error) -> Self {
        let code = error.sqlite_error_code();
        Self {
            reason: error.to_string(),
            is_final: !matches!(
                code,
                Some(
                    ErrorCode::DatabaseBusy
                        | ErrorCode::DatabaseLocked
                        | ErrorCode::DiskFull
                        | ErrorCode::FileLockingProtocolFailed
                        | ErrorCode::OutOfMemory
                        | ErrorCode::SystemIoFailure
                )
            ),
            is_busy: code == Some(ErrorCode::DatabaseBusy),
        }
    }
}

#[cfg(test)]
mod tests;
