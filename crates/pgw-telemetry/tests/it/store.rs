//! What is written, and how it is read.

use pgw_ports::TelemetryRecorder as _;
use pgw_telemetry::{CallLog, LogError, SourceTotals, SqliteOptions, SqliteRecorder};
use pgw_types::{CallRecord, UsageSource};
use rusqlite::{Connection, types::Value};

use crate::{place, record, rows};

fn full() -> CallRecord {
    CallRecord {
        call_id: "id".into(),
        parent_call_id: Some("step".into()),
        session_id: Some("session".into()),
        model: "model".into(),
        provider: "provider".into(),
        source_name: "source".into(),
        messages: "[{}]".into(),
        response: "answer \u{1F600}".into(),
        thinking: "hm".into(),
        prompt_tokens: 11,
        completion_tokens: 12,
        usage_source: UsageSource::Measured,
        latency_ms: 13,
        ttft_ms: Some(1.5),
        max_inter_token_ms: Some(2.5),
        cache_hit: true,
        error: Some("transient/timeout: late".into()),
        cost: Some(0.25),
        request_id: "request".into(),
        attempt: Some(3),
        scope: "scope".into(),
        operation: "chat".into(),
        started_at_ms: 1_700_000_000_123,
    }
}

// REQ TEL-001
#[tokio::test]
async fn the_columns_are_the_fields_of_a_record_in_order() {
    let (_folder, path) = place();
    let recorder = SqliteRecorder::open(&path, SqliteOptions::default());
    recorder.offer(full()).await;
    let connection = Connection::open(&path).unwrap();
    let columns: Vec<String> = connection
        .prepare("SELECT name FROM pragma_table_info('llm_calls') ORDER BY cid")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    assert_eq!(
        columns[..18],
        [
            "call_id",
            "parent_call_id",
            "session_id",
            "model",
            "provider",
            "source_name",
            "messages",
            "response",
            "thinking",
            "prompt_tokens",
            "completion_tokens",
            "usage_source",
            "latency_ms",
            "ttft_ms",
            "max_inter_token_ms",
            "cache_hit",
            "error",
            "cost",
        ]
    );
    let serde_json::Value::Object(fields) = serde_json::to_value(full()).unwrap() else {
        panic!("a record is an object");
    };
    assert_eq!(columns, fields.keys().cloned().collect::<Vec<_>>());
    // The values stand under their names: compared with the record's own JSON.
    for (name, value) in &fields {
        let stored: Value = connection
            .query_one(&format!("SELECT {name} FROM llm_calls"), [], |row| row.get(0))
            .unwrap();
        let stored = match stored {
            Value::Integer(1) if name == "cache_hit" => serde_json::json!(true),
            Value::Integer(number) => serde_json::json!(number),
            Value::Real(number) => serde_json::json!(number),
            Value::Text(text) => serde_json::json!(text),
            other => panic!("{name} is {other:?}"),
        };
        assert_eq!(&stored, value, "{name}");
    }
    let log = recorder.log().unwrap();
    assert_eq!(log.calls_of_session("session").unwrap(), [full()]);
}

// REQ TEL-004
#[tokio::test]
async fn a_known_call_id_is_ignored() {
    let (_folder, path) = place();
    let recorder = SqliteRecorder::open(&path, SqliteOptions::default());
    recorder.offer(record("a")).await;
    let second = CallRecord { model: "other".into(), ..record("a") };
    recorder.offer(second).await;
    recorder.close().await;
    let stats = recorder.stats();
    assert_eq!((stats.written, stats.duplicates), (1, 1));
    let model: String = Connection::open(&path)
        .unwrap()
        .query_one("SELECT model FROM llm_calls", [], |row| row.get(0))
        .unwrap();
    assert_eq!(model, "m");
}

// REQ TEL-015 TEL-016
#[tokio::test]
async fn totals_tell_successes_failures_and_cancellations_apart() {
    let recorder = SqliteRecorder::in_memory(SqliteOptions::default());
    let good = |id: &str| CallRecord {
        prompt_tokens: 10,
        completion_tokens: 5,
        cost: Some(0.5),
        latency_ms: 100,
        ..record(id)
    };
    let failed =
        CallRecord { error: Some("transient/server: 500".into()), latency_ms: 40, ..record("c") };
    let cancelled =
        CallRecord { error: Some(CallRecord::CANCELLED.into()), latency_ms: 40, ..record("d") };
    let hit = CallRecord { cache_hit: true, ..record("e") };
    let refused = CallRecord {
        source_name: String::new(),
        provider: String::new(),
        error: Some("unavailable".into()),
        ..record("f")
    };
    for row in [good("a"), good("b"), failed, cancelled, hit, refused] {
        drop(recorder.offer(row));
    }
    recorder.flush().await;
    let totals = recorder.log().unwrap().totals_by_source().unwrap();
    let expected = [
        SourceTotals {
            model: "m".into(),
            calls: 1,
            failures: 1,
            average_latency_ms: Some(0.0),
            ..SourceTotals::default()
        },
        SourceTotals {
            source_name: "s".into(),
            provider: "p".into(),
            model: "m".into(),
            calls: 5,
            failures: 1,
            cancelled: 1,
            cache_hits: 1,
            prompt_tokens: 20,
            completion_tokens: 10,
            cost: Some(1.0),
            average_latency_ms: Some(70.0),
        },
    ];
    assert_eq!(totals, expected);
}

// REQ TEL-016
#[tokio::test]
async fn a_success_has_no_error() {
    let (_folder, path) = place();
    let recorder = SqliteRecorder::open(&path, SqliteOptions::default());
    recorder.offer(record("a")).await;
    let nulls: i64 = Connection::open(&path)
        .unwrap()
        .query_one(
            "SELECT COUNT(*) FROM llm_calls WHERE error IS NULL AND cost IS NULL
             AND session_id IS NULL AND attempt IS NULL AND ttft_ms IS NULL",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(nulls, 1);
}

// REQ TEL-013
#[tokio::test]
async fn a_session_leads_to_its_steps_and_their_calls() {
    let (_folder, path) = place();
    let recorder = SqliteRecorder::open(&path, SqliteOptions::default());
    let row = |id: &str, session: &str, step: &str, at| CallRecord {
        session_id: Some(session.to_owned()),
        parent_call_id: Some(step.to_owned()),
        started_at_ms: at,
        ..record(id)
    };
    for row in [
        row("late", "one", "plan", 30),
        row("early", "one", "plan", 10),
        row("middle", "one", "act", 20),
        row("foreign", "two", "plan", 15),
        record("alone"),
    ] {
        drop(recorder.offer(row));
    }
    recorder.flush().await;
    let calls = recorder.log().unwrap().calls_of_session("one").unwrap();
    let chain: Vec<_> = calls
        .iter()
        .map(|call| (call.parent_call_id.as_deref().unwrap(), &*call.call_id))
        .collect();
    assert_eq!(chain, [("plan", "early"), ("act", "middle"), ("plan", "late")]);
    // The index of sessions serves it.
    let plan: String = Connection::open(&path)
        .unwrap()
        .query_one(
            "EXPLAIN QUERY PLAN SELECT * FROM llm_calls
             WHERE session_id = 'one' AND parent_call_id = 'plan'",
            [],
            |row| row.get("detail"),
        )
        .unwrap();
    assert!(plan.contains("llm_calls_chain"), "{plan}");
}

#[tokio::test]
async fn a_log_is_read_beside_its_writer_and_after_it() {
    let (_folder, path) = place();
    assert!(matches!(CallLog::open(&path), Err(LogError::Open(_))));
    let recorder = SqliteRecorder::open(&path, SqliteOptions::default());
    recorder.offer(record("a")).await;
    let beside = CallLog::open(&path).unwrap();
    assert_eq!(beside.totals_by_source().unwrap()[0].calls, 1);
    recorder.offer(record("b")).await;
    assert_eq!(beside.totals_by_source().unwrap()[0].calls, 2);
    recorder.close().await;
    drop(beside);
    let after = CallLog::open(&path).unwrap();
    assert_eq!(after.totals_by_source().unwrap()[0].calls, 2);
    assert_eq!(rows(&path), 2);
}

#[test]
fn a_database_without_a_log_or_of_a_later_release_is_refused() {
    let (_folder, path) = place();
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch("CREATE TABLE other (x)").unwrap();
    assert_eq!(CallLog::open(&path).unwrap_err(), LogError::Empty);
    connection.pragma_update(None, "user_version", 9).unwrap();
    assert_eq!(CallLog::open(&path).unwrap_err(), LogError::Later { found: 9, known: 1 });
}

/// A value that no release writes is told with its column; it is not read as a likely one.
#[tokio::test]
async fn a_value_that_is_not_ours_is_an_error() {
    let (_folder, path) = place();
    let recorder = SqliteRecorder::open(&path, SqliteOptions::default());
    for (column, wrong) in [
        ("prompt_tokens", "-1"),
        ("completion_tokens", "-1"),
        ("usage_source", "'guessed'"),
        ("latency_ms", "-1"),
        ("started_at_ms", "-1"),
    ] {
        recorder.offer(CallRecord { session_id: Some(column.into()), ..record(column) }).await;
        let log = recorder.log().unwrap();
        assert_eq!(log.calls_of_session(column).unwrap().len(), 1);
        let update = format!("UPDATE llm_calls SET {column} = {wrong} WHERE call_id = '{column}'");
        assert_eq!(Connection::open(&path).unwrap().execute(&update, []), Ok(1));
        let error = log.calls_of_session(column).expect_err(column);
        assert!(matches!(&error, LogError::Read(text) if text.contains(column)), "{error}");
    }
}
