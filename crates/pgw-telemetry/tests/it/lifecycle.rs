//! The ends of a recorder.

use std::{path::Path, sync::Arc, thread};

use pgw_ports::TelemetryRecorder;
use pgw_telemetry::{CallLog, SqliteOptions, SqliteRecorder};

use crate::{place, record, rows};

#[tokio::test]
async fn closing_writes_what_was_offered_and_takes_nothing_more() {
    let (_folder, path) = place();
    let recorder = SqliteRecorder::open(&path, SqliteOptions::default());
    for number in 0..2_000 {
        drop(recorder.offer(record(&number.to_string())));
    }
    recorder.close().await;
    assert_eq!(rows(&path), 2_000);
    recorder.offer(record("late")).await;
    recorder.flush().await;
    recorder.close().await;
    let stats = recorder.stats();
    assert_eq!((stats.written, stats.dropped), (2_000, 1));
    assert!(stats.healthy);
}

#[tokio::test]
async fn several_may_close_at_once() {
    let recorder = Arc::new(SqliteRecorder::in_memory(SqliteOptions::default()));
    drop(recorder.offer(record("a")));
    let (one, two) = (Arc::clone(&recorder), Arc::clone(&recorder));
    tokio::join!(one.close(), two.close());
    assert_eq!(recorder.stats().written, 1);
}

#[tokio::test]
async fn a_flush_covers_what_was_offered_before_it() {
    let (_folder, path) = place();
    let recorder = SqliteRecorder::open(&path, SqliteOptions::default());
    recorder.flush().await;
    for number in 0..1_000 {
        drop(recorder.offer(record(&number.to_string())));
    }
    recorder.flush().await;
    assert_eq!(rows(&path), 1_000);
}

#[test]
fn dropping_writes_what_was_offered() {
    let (_folder, path) = place();
    let recorder = SqliteRecorder::open(&path, SqliteOptions::default());
    for number in 0..100 {
        drop(recorder.offer(record(&number.to_string())));
    }
    drop(recorder);
    // On a busy machine the thread may outlive the drop by a moment; it ends by itself.
    while count(&path) < 100 {
        thread::yield_now();
    }
}

fn count(path: &Path) -> u64 {
    CallLog::open(path)
        .and_then(|log| log.totals_by_source())
        .map_or(0, |totals| totals.iter().map(|source| source.calls).sum())
}

#[tokio::test]
async fn the_name_of_memory_is_no_file() {
    let recorder = SqliteRecorder::open(":memory:", SqliteOptions::default());
    recorder.offer(record("a")).await;
    let log = recorder.log().unwrap();
    recorder.close().await;
    assert_eq!(log.totals_by_source().unwrap()[0].calls, 1);
    assert!(!Path::new(":memory:").exists());
}

// REQ TEL-017: threads.
#[tokio::test]
async fn several_recorders_share_a_file() {
    let (_folder, path) = place();
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let path = path.clone();
            thread::spawn(move || {
                let recorder = SqliteRecorder::open(&path, SqliteOptions::default());
                for number in 0..250 {
                    drop(recorder.offer(record(&format!("{writer}-{number}"))));
                }
                recorder
            })
        })
        .collect();
    for writer in writers {
        let recorder = writer.join().unwrap();
        recorder.close().await;
        assert_eq!(recorder.stats().written, 250);
    }
    assert_eq!(rows(&path), 1_000);
}
