//! What records add up to.

use pgw_ports::TelemetryRecorder as _;
use pgw_telemetry::{
    CallLog, LogError, SqliteOptions, SqliteRecorder, UsageBy, UsageQuery, UsageRow,
};
use pgw_types::{CallRecord, UsageSource};
use rusqlite::Connection;

use crate::{place, record};

/// 2026-11-30, 23:59:59.999 UTC.
const LAST_OF_NOVEMBER: u64 = 1_796_083_199_999;

fn usage(records: Vec<CallRecord>, query: &UsageQuery) -> Vec<UsageRow> {
    let recorder = SqliteRecorder::in_memory(SqliteOptions::default());
    let log = recorder.log().unwrap();
    for record in records {
        drop(recorder.offer(record));
    }
    // A recorder that is dropped writes what it has.
    drop(recorder);
    log.usage(query).unwrap()
}

fn total(records: Vec<CallRecord>) -> UsageRow {
    let mut rows = usage(records, &UsageQuery::default());
    assert_eq!(rows.len(), 1);
    rows.remove(0)
}

/// An attempt of a call, 10 tokens each way, without a price.
fn attempt(call: &str, number: u32) -> CallRecord {
    CallRecord {
        request_id: call.into(),
        attempt: Some(number),
        prompt_tokens: 10,
        completion_tokens: 10,
        usage_source: UsageSource::Measured,
        ..record(&format!("{call}-{number}"))
    }
}

/// A call that ended without an attempt.
fn unasked(call: &str, error: &str) -> CallRecord {
    CallRecord { request_id: call.into(), error: Some(error.into()), ..record(call) }
}

fn same(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
}

/// MID-100, MID-106: a call that failed without an attempt is one more that could have gone well.
#[test]
fn calls_without_an_attempt_are_in_the_error_rate() {
    let row = total(vec![
        attempt("a", 1),
        attempt("b", 1),
        attempt("c", 1),
        unasked("d", "unavailable/circuit_open"),
        unasked("e", CallRecord::CANCELLED),
    ]);
    assert_eq!((row.calls, row.attempts, row.unasked), (5, 3, 2));
    assert_eq!((row.failures, row.cancelled), (1, 1));
    same(row.error_rate(), 0.2);
}

/// Retries are attempts of one call; a hit is a call, costs nothing and has no part in the times.
#[test]
fn retries_hits_and_estimates_are_told_apart() {
    let failed =
        CallRecord { error: Some("transient/upstream_5xx: busy".into()), ..attempt("a", 1) };
    let guessed = CallRecord { usage_source: UsageSource::Estimated, ..attempt("a", 2) };
    let priced =
        CallRecord { cost: Some(0.25), latency_ms: 80, ttft_ms: Some(8.5), ..attempt("b", 1) };
    let hit = CallRecord {
        cache_hit: true,
        attempt: None,
        cost: Some(0.0),
        latency_ms: 0,
        ..attempt("c", 1)
    };
    let row = total(vec![failed, guessed, priced, hit]);
    assert_eq!((row.calls, row.attempts, row.cache_hits), (3, 3, 1));
    assert_eq!((row.prompt_tokens, row.completion_tokens, row.saved_tokens), (30, 30, 20));
    assert_eq!((row.estimated, row.unpriced, row.cost), (1, 2, Some(0.25)));
    same(row.error_rate(), 1.0 / 3.0);
    same(row.cache_share(), 1.0 / 3.0);
    same(row.estimated_share(), 1.0 / 3.0);
    assert_eq!((row.latency_p50_ms, row.latency_p95_ms), (Some(0.0), Some(80.0)));
    assert_eq!((row.ttft_p50_ms, row.ttft_p95_ms), (Some(8.5), Some(8.5)));
}

/// TEL-016: that no price is known is not that nothing is to pay.
#[test]
fn an_unknown_cost_is_not_zero() {
    assert_eq!(total(vec![attempt("a", 1)]).cost, None);
    let free = CallRecord { cost: Some(0.0), ..attempt("a", 1) };
    assert_eq!(total(vec![free]).cost, Some(0.0));
}

/// Days are those of UTC; the first bound belongs to the range, the second does not.
#[test]
fn days_and_bounds_are_exact() {
    let at = |id: &str, started_at_ms| CallRecord { started_at_ms, ..attempt(id, 1) };
    let records =
        || vec![at("a", LAST_OF_NOVEMBER), at("b", LAST_OF_NOVEMBER + 1), at("c", u64::MAX)];
    let query = UsageQuery { by: vec![UsageBy::Day, UsageBy::Model], ..UsageQuery::default() };
    let days: Vec<_> = usage(records(), &query).into_iter().map(|row| row.group).collect();
    // A time that no calendar has is of no day.
    assert_eq!(days, [["", "m"], ["2026-11-30", "m"], ["2026-12-01", "m"]]);
    let december = UsageQuery {
        since_ms: Some(LAST_OF_NOVEMBER + 1),
        until_ms: Some(LAST_OF_NOVEMBER + 2),
        ..query
    };
    let days: Vec<_> = usage(records(), &december).into_iter().map(|row| row.group).collect();
    assert_eq!(days, [["2026-12-01", "m"]]);
}

/// Names are looked up, never made part of the question.
#[test]
fn a_scope_is_only_a_name() {
    let of = |scope: &str| CallRecord { scope: scope.into(), ..attempt(scope, 1) };
    let scope = "x' OR '1'='1";
    let query = UsageQuery { scope: Some(scope.into()), ..UsageQuery::default() };
    assert_eq!(usage(vec![of("LLM"), of("VLM")], &query), []);
    assert_eq!(usage(vec![of("LLM"), of(scope)], &query)[0].calls, 1);
}

/// A file is added up while its writer is at work, even in the middle of a transaction.
#[tokio::test]
async fn a_file_is_added_up_beside_a_writer() {
    let (_folder, path) = place();
    let recorder = SqliteRecorder::open(&path, SqliteOptions::default());
    recorder.offer(attempt("a", 1)).await;
    let writer = Connection::open(&path).unwrap();
    writer.execute_batch("BEGIN IMMEDIATE; UPDATE llm_calls SET model = 'other'").unwrap();
    let query = UsageQuery { by: vec![UsageBy::Model], ..UsageQuery::default() };
    let rows = CallLog::open(&path).unwrap().usage(&query).unwrap();
    assert_eq!((&*rows[0].group[0], rows[0].calls), ("m", 1));
    let foreign = place();
    std::fs::write(
        &foreign.1,
        "no database at all, but long enough to be taken for one ".repeat(20),
    )
    .unwrap();
    assert!(matches!(CallLog::open(&foreign.1), Err(LogError::Open(_))));
}
