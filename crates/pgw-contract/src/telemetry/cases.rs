//! The cases.

use std::{
    sync::{Arc, mpsc},
    thread,
    time::Duration,
};

use pgw_types::{CallRecord, UsageSource};

use super::{Subject, TelemetryHarness, record, telling};

/// TEL-001: every member comes back as it was.
pub async fn every_field_survives(harness: &dyn TelemetryHarness) {
    let subject = Subject::new(harness).await;
    let other = CallRecord {
        call_id: "01890a5d-ac96-774b-bcce-b302099a8058".into(),
        usage_source: UsageSource::Estimated,
        cache_hit: false,
        error: Some(CallRecord::CANCELLED.into()),
        ..telling()
    };
    subject.round_trip(&[telling(), other]).await;
}

/// TEL-016: what a record does not say is not made up: no error, no price, no parent.
pub async fn absent_fields_stay_absent(harness: &dyn TelemetryHarness) {
    let subject = Subject::new(harness).await;
    let free = CallRecord { cost: Some(0.0), ttft_ms: Some(0.0), ..record("b") };
    let first = CallRecord { attempt: Some(0), ..record("c") };
    subject.round_trip(&[record("a"), free, first]).await;
}

/// Texts come back letter by letter, whatever they hold and however long they are.
pub async fn odd_texts_survive(harness: &dyn TelemetryHarness) {
    let subject = Subject::new(harness).await;
    let texts = [
        "a\0b".to_owned(),
        "'; DROP TABLE llm_calls; --".to_owned(),
        "\"\\\r\n\t\u{1}".to_owned(),
        "你好 🦀 \u{fffd} e\u{301}".to_owned(),
        String::new(),
        "x".repeat(1 << 20),
    ];
    let odd = |(number, text): (usize, String)| CallRecord {
        response: text.clone(),
        session_id: Some(text.clone()),
        error: Some(text),
        ..record(format!("id-{number}"))
    };
    let records: Vec<_> = texts.into_iter().enumerate().map(odd).collect();
    subject.round_trip(&records).await;
}

/// TEL-003, TEL-004: a record whose id is known is ignored; the first stands.
pub async fn a_known_id_is_ignored(harness: &dyn TelemetryHarness) {
    let subject = Subject::new(harness).await;
    let first = CallRecord { response: "first".into(), ..record("a") };
    let second = CallRecord { response: "second".into(), ..record("a") };
    drop(subject.recorder.offer(first.clone()));
    drop(subject.recorder.offer(second.clone()));
    assert_eq!(subject.kept().await, std::slice::from_ref(&first));
    subject.recorder.offer(second).await;
    subject.recorder.offer(record("b")).await;
    assert_eq!(subject.kept().await, [first, record("b")], "and it stops nothing after it");
}

/// TEL-012: when the receipt is there, so is the record.
pub async fn a_receipt_comes(harness: &dyn TelemetryHarness) {
    let subject = Subject::new(harness).await;
    for number in 0..3 {
        subject.recorder.offer(record(format!("id-{number}"))).await;
        assert_eq!(subject.kept_now().await.len(), number + 1);
    }
}

/// MID-103: a record whose receipt is dropped is kept all the same.
pub async fn a_receipt_that_nobody_reads_changes_nothing(harness: &dyn TelemetryHarness) {
    let subject = Subject::new(harness).await;
    drop(subject.recorder.offer(record("a")));
    let mut looked_at = subject.recorder.offer(record("b"));
    std::future::poll_fn(|cx| {
        let _ = looked_at.as_mut().poll(cx);
        std::task::Poll::Ready(())
    })
    .await;
    drop(looked_at);
    assert_eq!(subject.kept().await, [record("a"), record("b")]);
}

/// MID-102: after a flush everything that was offered is there; an idle recorder flushes at once.
pub async fn flushing_waits_for_everything_offered(harness: &dyn TelemetryHarness) {
    let subject = Subject::new(harness).await;
    subject.recorder.flush().await;
    for number in 0..500 {
        drop(subject.recorder.offer(record(format!("id-{number:03}"))));
    }
    assert_eq!(subject.kept().await.len(), 500);
    assert_eq!(subject.kept().await.len(), 500, "and a second flush adds none");
}

/// Closing keeps what was offered and drops what comes after; nobody waits for that.
pub async fn closing_is_idempotent_and_final(harness: &dyn TelemetryHarness) {
    let subject = Subject::new(harness).await;
    drop(subject.recorder.offer(record("a")));
    subject.recorder.close().await;
    subject.recorder.offer(record("b")).await;
    subject.recorder.flush().await;
    subject.recorder.close().await;
    assert_eq!(subject.kept_now().await, [record("a")]);
}

/// MID-103: records are offered by destructors, which run on any thread.
pub async fn offers_from_outside_a_runtime_are_taken(harness: &dyn TelemetryHarness) {
    let subject = Subject::new(harness).await;
    let recorder = Arc::clone(&subject.recorder);
    let offered = thread::spawn(move || drop(recorder.offer(record("a")))).join();
    assert!(offered.is_ok(), "an offer must not need a runtime");
    assert_eq!(subject.kept().await, [record("a")]);
}

/// How long an offer that never waits may take at the very most, on the slowest of machines.
const NEVER: Duration = Duration::from_secs(5);

/// MID-104: an offer takes a record over while the store stands still, and all are kept when it goes
/// on.
pub async fn offers_never_wait_for_the_store(harness: &dyn TelemetryHarness) {
    let subject = Subject::new(harness).await;
    subject.recorder.offer(record("id-000")).await;
    harness.stall(&subject.recorder).await;
    let recorder = Arc::clone(&subject.recorder);
    let (done, all) = mpsc::channel();
    thread::spawn(move || {
        for number in 1..500 {
            drop(recorder.offer(record(format!("id-{number:03}"))));
        }
        done.send(())
    });
    let waited = all.recv_timeout(NEVER);
    harness.resume(&subject.recorder).await;
    assert!(waited.is_ok(), "an offer must not wait for the store");
    assert_eq!(subject.kept().await.len(), 500);
}

/// TEL-017: many callers at once lose nothing.
pub async fn racing_offers_lose_nothing(harness: &dyn TelemetryHarness) {
    let subject = Subject::new(harness).await;
    let mut tasks = tokio::task::JoinSet::new();
    for task in 0..8 {
        let recorder = Arc::clone(&subject.recorder);
        tasks.spawn(async move {
            for number in 0..50 {
                let receipt = recorder.offer(record(format!("id-{task}-{number:02}")));
                if number % 5 == 0 {
                    receipt.await;
                }
            }
        });
    }
    while let Some(result) = tasks.join_next().await {
        if let Err(failure) = result {
            std::panic::resume_unwind(failure.into_panic());
        }
    }
    let kept = subject.kept().await;
    let ids: std::collections::BTreeSet<_> = kept.iter().map(|record| &record.call_id).collect();
    assert_eq!((kept.len(), ids.len()), (400, 400));
}
