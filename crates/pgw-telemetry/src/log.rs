//! Reading what was written.

use std::{
    fmt::{self, Debug, Formatter},
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use pgw_types::{CallRecord, UsageSource};
use rusqlite::{Connection, OpenFlags, Params, Row, types::Type};

use crate::schema;

/// How long a read waits for a writer that has the file for itself.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Why a log can't be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// There is no database, or it can't be opened.
    #[error("the call log can't be opened: {0}")]
    Open(String),
    /// The database holds no call log.
    #[error("the database holds no call log")]
    Empty,
    /// The database is of a later release.
    #[error("the call log is of version {found}; this release reads version {known}")]
    Later {
        /// The version of the database.
        found: i64,
        /// The version this release knows.
        known: i64,
    },
    /// The database could not be read.
    #[error("the call log can't be read: {0}")]
    Read(String),
}

/// What came of one source with one model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SourceTotals {
    /// The source; empty for calls that ended before one was chosen.
    pub source_name: String,
    /// Its provider profile.
    pub provider: String,
    /// The model that was asked for.
    pub model: String,
    /// Records: attempts, cache hits, and calls that ended without an attempt.
    pub calls: u64,
    /// Of these, failures; cancelled ones are not among them.
    pub failures: u64,
    /// Of these, cancelled ones.
    pub cancelled: u64,
    /// Of these, cache hits.
    pub cache_hits: u64,
    /// Tokens of the prompts.
    pub prompt_tokens: u64,
    /// Tokens of the answers.
    pub completion_tokens: u64,
    /// What the records with a known price cost together, US dollars; `None` if none has one.
    pub cost: Option<f64>,
    /// Milliseconds of an attempt, on average over all that were not cache hits; `None` without
    /// any.
    pub average_latency_ms: Option<f64>,
}

/// The call log, for reading.
///
/// All methods read from the disk and block: call them from a thread that may.
#[derive(Clone)]
pub struct CallLog {
    connection: Arc<Mutex<Connection>>,
}

impl CallLog {
    /// Opens the log in a file, for reading only.
    ///
    /// # Errors
    /// If there is no database that can be read, or none of ours.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, LogError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)
            .and_then(|connection| {
                connection.busy_timeout(BUSY_TIMEOUT)?;
                Ok(connection)
            })
            .map_err(|error| LogError::Open(error.to_string()))?;
        let found =
            schema::version(&connection).map_err(|error| LogError::Open(error.to_string()))?;
        let known = schema::current();
        if found > known {
            return Err(LogError::Later { found, known });
        }
        if found == 0 {
            return Err(LogError::Empty);
        }
        Ok(Self { connection: Arc::new(Mutex::new(connection)) })
    }

    /// The log of a database in memory.
    pub(crate) fn shared(connection: Arc<Mutex<Connection>>) -> Self {
        Self { connection }
    }

    /// Totals by source and model, in the order of their names.
    ///
    /// # Errors
    /// If the database can't be read.
    pub fn totals_by_source(&self) -> Result<Vec<SourceTotals>, LogError> {
        self.read(
            "SELECT source_name, provider, model, COUNT(*),
                    COUNT(*) FILTER (WHERE error <> ?1),
                    COUNT(*) FILTER (WHERE error = ?1),
                    COUNT(*) FILTER (WHERE cache_hit),
                    SUM(prompt_tokens), SUM(completion_tokens), SUM(cost),
                    AVG(latency_ms) FILTER (WHERE NOT cache_hit)
             FROM llm_calls
             GROUP BY source_name, provider, model
             ORDER BY source_name, provider, model",
            [CallRecord::CANCELLED],
            |row| {
                Ok(SourceTotals {
                    source_name: row.get(0)?,
                    provider: row.get(1)?,
                    model: row.get(2)?,
                    calls: count(row, 3)?,
                    failures: count(row, 4)?,
                    cancelled: count(row, 5)?,
                    cache_hits: count(row, 6)?,
                    prompt_tokens: count(row, 7)?,
                    completion_tokens: count(row, 8)?,
                    cost: row.get(9)?,
                    average_latency_ms: row.get(10)?,
                })
            },
        )
    }

    /// All records of a session, oldest first. The caller's step that a record belongs to is in its
    /// `parent_call_id`, the call in its `request_id`.
    ///
    /// # Errors
    /// If the database can't be read.
    pub fn calls_of_session(&self, session_id: &str) -> Result<Vec<CallRecord>, LogError> {
        let columns = schema::COLUMNS;
        self.read(
            &format!(
                "SELECT {columns} FROM llm_calls WHERE session_id = ?1
                 ORDER BY started_at_ms, rowid"
            ),
            [session_id],
            record,
        )
    }

    /// Every record, oldest first. They are all held in memory at once.
    ///
    /// # Errors
    /// If the database can't be read.
    pub fn calls(&self) -> Result<Vec<CallRecord>, LogError> {
        let columns = schema::COLUMNS;
        let query = format!("SELECT {columns} FROM llm_calls ORDER BY started_at_ms, rowid");
        self.read(&query, [], record)
    }

    fn read<T>(
        &self,
        query: &str,
        parameters: impl Params,
        map: fn(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, LogError> {
        self.lock()
            .prepare_cached(query)
            .and_then(|mut statement| statement.query_map(parameters, map)?.collect())
            .map_err(|error| LogError::Read(error.to_string()))
    }

    /// Hands each row of a query over.
    pub(crate) fn each(
        &self,
        query: &str,
        parameters: impl Params,
        mut take: impl FnMut(&Row<'_>) -> rusqlite::Result<()>,
    ) -> Result<(), LogError> {
        let connection = self.lock();
        let read = || -> rusqlite::Result<()> {
            let mut statement = connection.prepare_cached(query)?;
            let mut rows = statement.query(parameters)?;
            while let Some(row) = rows.next()? {
                take(row)?;
            }
            Ok(())
        };
        read().map_err(|error| LogError::Read(error.to_string()))
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Debug for CallLog {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallLog").finish_non_exhaustive()
    }
}

/// A row with the columns of [`schema::COLUMNS`].
fn record(row: &Row<'_>) -> rusqlite::Result<CallRecord> {
    let usage_source = match row.get_ref(11)?.as_str()? {
        "measured" => UsageSource::Measured,
        "estimated" => UsageSource::Estimated,
        other => return Err(foreign(row, 11, Type::Text, &format!("{other:?}"))),
    };
    Ok(CallRecord {
        call_id: row.get(0)?,
        parent_call_id: row.get(1)?,
        session_id: row.get(2)?,
        model: row.get(3)?,
        provider: row.get(4)?,
        source_name: row.get(5)?,
        messages: row.get(6)?,
        response: row.get(7)?,
        thinking: row.get(8)?,
        prompt_tokens: count(row, 9)?,
        completion_tokens: count(row, 10)?,
        usage_source,
        latency_ms: count(row, 12)?,
        ttft_ms: row.get(13)?,
        max_inter_token_ms: row.get(14)?,
        cache_hit: row.get(15)?,
        error: row.get(16)?,
        cost: row.get(17)?,
        request_id: row.get(18)?,
        attempt: row.get(19)?,
        scope: row.get(20)?,
        operation: row.get(21)?,
        started_at_ms: count(row, 22)?,
    })
}

/// A count; SQLite's numbers are signed, ours never negative.
pub(crate) fn count(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    let value: i64 = row.get(column)?;
    u64::try_from(value).map_err(|_| foreign(row, column, Type::Integer, &value.to_string()))
}

/// A value that no release of ours writes: another program was at the file, or it is damaged.
fn foreign(row: &Row<'_>, column: usize, kind: Type, value: &str) -> rusqlite::Error {
    let name = row.as_ref().column_name(column).unwrap_or("a column");
    rusqlite::Error::FromSqlConversionFailure(
        column,
        kind,
        format!("{name} can't be {value}").into(),
    )
}
