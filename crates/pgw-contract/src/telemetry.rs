//! The contract of the store of records, case by case.
//!
//! Every case makes a recorder of its own and reads back what it keeps.

mod cases;

use std::sync::Arc;

use async_trait::async_trait;
use pgw_ports::TelemetryRecorder;
use pgw_types::CallRecord;

pub use cases::*;

/// What the suite must know about a store to test it.
#[async_trait]
pub trait TelemetryHarness: Send + Sync {
    /// A recorder over an empty store that shares nothing with earlier ones. Its line has room for
    /// a thousand records.
    async fn fresh(&self) -> Arc<dyn TelemetryRecorder>;

    /// Everything that the store of this recorder keeps, in any order. Asked for after a flush, and
    /// after the recorder was closed.
    async fn kept(&self, recorder: &Arc<dyn TelemetryRecorder>) -> Vec<CallRecord>;

    /// Makes the store of this recorder stand still, as a locked file or a silent service does, until
    /// [`resume`](Self::resume). Left out for a store that can't be stopped: the case that asks for it
    /// then runs over the store as it is.
    async fn stall(&self, recorder: &Arc<dyn TelemetryRecorder>) {
        let _ = recorder;
    }

    /// Lets the store go on.
    async fn resume(&self, recorder: &Arc<dyn TelemetryRecorder>) {
        let _ = recorder;
    }
}

/// A recorder under test.
struct Subject<'a> {
    harness: &'a dyn TelemetryHarness,
    recorder: Arc<dyn TelemetryRecorder>,
}

impl<'a> Subject<'a> {
    async fn new(harness: &'a dyn TelemetryHarness) -> Self {
        Self { harness, recorder: harness.fresh().await }
    }

    /// Everything kept, by id.
    async fn kept(&self) -> Vec<CallRecord> {
        self.recorder.flush().await;
        self.kept_now().await
    }

    async fn kept_now(&self) -> Vec<CallRecord> {
        let mut records = self.harness.kept(&self.recorder).await;
        records.sort_by(|a, b| a.call_id.cmp(&b.call_id));
        records
    }

    /// Offers records and expects them back as they are.
    async fn round_trip(&self, records: &[CallRecord]) {
        for record in records {
            drop(self.recorder.offer(record.clone()));
        }
        let kept = self.kept().await;
        assert_eq!(kept.len(), records.len(), "as many records as were offered");
        for (found, offered) in kept.iter().zip(records) {
            assert_eq!(found, offered, "record {}", offered.call_id);
        }
    }
}

/// A record with this id and nothing else.
fn record(id: impl Into<String>) -> CallRecord {
    CallRecord { call_id: id.into(), ..CallRecord::default() }
}

/// A record in which every member says something that no other does.
fn telling() -> CallRecord {
    CallRecord {
        call_id: "01890a5d-ac96-774b-bcce-b302099a8057".into(),
        parent_call_id: Some("parent".into()),
        session_id: Some("session".into()),
        model: "model".into(),
        provider: "provider".into(),
        source_name: "source".into(),
        messages: r#"[{"role":"user","content":"sha256:00;bytes=1"}]"#.into(),
        response: "response".into(),
        thinking: "thinking".into(),
        prompt_tokens: 11,
        completion_tokens: 12,
        usage_source: pgw_types::UsageSource::Measured,
        latency_ms: 13,
        ttft_ms: Some(14.25),
        max_inter_token_ms: Some(15.75),
        cache_hit: true,
        error: Some("transient/timeout: error".into()),
        cost: Some(0.000_016),
        request_id: "request".into(),
        attempt: Some(17),
        scope: "scope".into(),
        operation: "chat".into(),
        started_at_ms: 1_767_225_600_018,
    }
}
