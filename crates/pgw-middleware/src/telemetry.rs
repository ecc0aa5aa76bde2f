//! The outermost layer: nothing that happens to a call goes unrecorded.
//!
//! Attempts record themselves. This layer adds the one record of a call that ended without any
//! (refused, or given up while waiting), or that was dropped while no attempt was under way: in the
//! line, or in a backoff.

use std::{marker::PhantomData, sync::Arc};

use async_trait::async_trait;
use pgw_ports::{CallCx, Clock, Middleware, Next, Operation, Reply};
use pgw_types::{CallRecord, PgwError};

use crate::{attempt::error_text, ledger::Ledger, ledger::millis};

/// Records calls that end without an attempt.
#[derive(Debug)]
pub struct TelemetryLayer<O> {
    ledger: Arc<Ledger>,
    clock: Arc<dyn Clock>,
    operation: PhantomData<fn() -> O>,
}

impl<O: Operation> TelemetryLayer<O> {
    /// A layer that writes to `ledger`.
    #[must_use]
    pub fn new(ledger: Arc<Ledger>, clock: Arc<dyn Clock>) -> Self {
        Self { ledger, clock, operation: PhantomData }
    }
}

#[async_trait]
impl<O: Operation> Middleware<O> for TelemetryLayer<O> {
    fn name(&self) -> &'static str {
        "telemetry"
    }

    async fn handle(
        &self,
        cx: &Arc<CallCx>,
        request: Arc<O::Request>,
        next: Next<'_, O>,
    ) -> Result<Reply<O>, PgwError> {
        if !self.ledger.is_on() {
            return next.run(cx, request).await;
        }
        let mut open = OpenCall::<O> {
            layer: self,
            cx,
            request: &request,
            began_ms: millis(self.clock.now()),
            began_unix_ms: self.clock.unix_ms(),
            closed: false,
        };
        let result = next.run(cx, Arc::clone(&request)).await;
        open.closed = true;
        if let Err(error) = &result
            && cx.attempts() == 0
        {
            let text = match error {
                PgwError::Call(failure) => error_text(failure),
                PgwError::Unavailable(error) => {
                    format!("unavailable/{}: {error}", error.reason().as_str())
                }
                PgwError::SourceNotConfigured(_) | PgwError::Config(_) => {
                    format!("config: {error}")
                }
            };
            Box::pin(self.ledger.write(open.record(text))).await;
        }
        result
    }
}

/// A call that is under way. Dropped while no attempt is, it leaves a record.
struct OpenCall<'a, O: Operation> {
    layer: &'a TelemetryLayer<O>,
    cx: &'a CallCx,
    request: &'a Arc<O::Request>,
    began_ms: u64,
    began_unix_ms: u64,
    closed: bool,
}

impl<O: Operation> OpenCall<'_, O> {
    fn record(&self, error: String) -> CallRecord {
        let model = self.cx.plan.candidates.first();
        CallRecord {
            call_id: uuid::Uuid::now_v7().to_string(),
            parent_call_id: self.cx.options.parent_call_id.clone(),
            session_id: self.cx.options.session_id.clone(),
            model: model.map(|source| source.model.to_string()).unwrap_or_default(),
            messages: self.cx.written::<O>(self.request).to_string(),
            latency_ms: millis(self.layer.clock.now()).saturating_sub(self.began_ms),
            error: Some(error),
            request_id: self.cx.request_id.to_string(),
            scope: self.cx.plan.scope.to_string(),
            operation: O::NAME.to_owned(),
            started_at_ms: self.began_unix_ms,
            ..CallRecord::default()
        }
    }
}

impl<O: Operation> Drop for OpenCall<'_, O> {
    fn drop(&mut self) {
        if !self.closed && self.cx.is_between_attempts() {
            let record = self.record(CallRecord::CANCELLED.to_owned());
            // Nobody is left to wait for the receipt.
            drop(self.layer.ledger.offer(record));
        }
    }
}

#[cfg(test)]
mod tests;
