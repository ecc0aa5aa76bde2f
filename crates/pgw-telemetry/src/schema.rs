//! The table, and how a database comes to have it.

use rusqlite::{Connection, TransactionBehavior};

/// The columns of `llm_calls`, in order: the fields of a
/// [`CallRecord`](pgw_types::CallRecord).
pub(crate) const COLUMNS: &str = "call_id, parent_call_id, session_id, model, provider, \
    source_name, messages, response, thinking, prompt_tokens, completion_tokens, usage_source, \
    latency_ms, ttft_ms, max_inter_token_ms, cache_hit, error, cost, request_id, attempt, scope, \
    operation, started_at_ms";

/// What leads from each version to the next; a database at version n has had the first n.
/// A step that has shipped is never changed: the next one is appended.
const STEPS: &[&str] = &[V1];

/// A call without a session is not in the index of sessions, so it costs nothing there. There are no
/// further indexes on purpose: one over the time and one over model and source took a lone row from
/// about 18 to 28 µs of processor time and a row in a batch of 32 from 6 to 8.5, while totals read
/// the whole table anyway and the primary key (a UUID of version 7) is in the order of time.
const V1: &str = "
CREATE TABLE llm_calls (
    call_id            TEXT NOT NULL PRIMARY KEY,
    parent_call_id     TEXT,
    session_id         TEXT,
    model              TEXT NOT NULL,
    provider           TEXT NOT NULL,
    source_name        TEXT NOT NULL,
    messages           TEXT NOT NULL,
    response           TEXT NOT NULL,
    thinking           TEXT NOT NULL,
    prompt_tokens      INTEGER NOT NULL,
    completion_tokens  INTEGER NOT NULL,
    usage_source       TEXT NOT NULL,
    latency_ms         INTEGER NOT NULL,
    ttft_ms            REAL,
    max_inter_token_ms REAL,
    cache_hit          INTEGER NOT NULL,
    error              TEXT,
    cost               REAL,
    request_id         TEXT NOT NULL,
    attempt            INTEGER,
    scope              TEXT NOT NULL,
    operation          TEXT NOT NULL,
    started_at_ms      INTEGER NOT NULL
) STRICT;
CREATE INDEX llm_calls_chain ON llm_calls (session_id, parent_call_id)
    WHERE session_id IS NOT NULL;
";

/// The version this program writes and reads.
pub(crate) fn current() -> i64 {
    i64::try_from(STEPS.len()).unwrap_or(i64::MAX)
}

/// The version of a database; 0 if it is new.
pub(crate) fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Brings a database to the current version, in one transaction. One of a later version stays as
/// it is.
pub(crate) fn migrate(connection: &mut Connection) -> rusqlite::Result<()> {
    if version(connection)? >= current() {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have come first.
    let found = version(&transaction)?;
    if found < current() {
        for step in STEPS.iter().skip(usize::try_from(found).unwrap_or(0)) {
            transaction.execute_batch(step)?;
        }
        transaction.pragma_update(None, "user_version", current())?;
    }
    transaction.commit()
}
