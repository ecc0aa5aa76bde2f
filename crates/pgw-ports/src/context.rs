//! What travels with one call through the onion.

use std::{
    any::Any,
    fmt::Debug,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

use pgw_types::{CallOptions, CallTrace, Plan};

use crate::{Operation, StructuredCall};

/// How the caller wants the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hand {
    /// Whole. A stream that dies half-way is then retried without the caller noticing.
    Whole,
    /// As it comes. Nothing is retried once the first token was handed out.
    Live,
}

/// One call on its way.
#[derive(Debug)]
pub struct CallCx {
    /// The identity of the call.
    pub request_id: Arc<str>,
    /// What the caller said about it.
    pub options: CallOptions,
    /// What it may do.
    pub plan: Arc<Plan>,
    /// How the caller wants the answer.
    pub hand: Hand,
    /// When the call must be over, on the assembly's clock.
    pub deadline: Option<Duration>,
    /// How it wants the answer structured; `None`: not at all.
    pub structured: Option<StructuredCall>,
    trace: Mutex<CallTrace>,
    attempts: AtomicU32,
    between: AtomicBool,
    written: OnceLock<Written>,
}

/// A request as it is written down. It is kept, so that no other can come to lie where it lies.
struct Written {
    request: Arc<dyn Any + Send + Sync>,
    text: Arc<str>,
}

impl Debug for Written {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Written(..)")
    }
}

impl CallCx {
    /// A call at its start.
    #[must_use]
    pub fn new(
        request_id: Arc<str>,
        options: CallOptions,
        plan: Arc<Plan>,
        hand: Hand,
        deadline: Option<Duration>,
    ) -> Self {
        let trace = CallTrace {
            request_id: Arc::clone(&request_id),
            scope: Arc::clone(&plan.scope),
            config_checksum: Arc::clone(&plan.config_checksum),
            exclusions: plan.exclusions.clone(),
            ..CallTrace::default()
        };
        Self {
            request_id,
            options,
            plan,
            hand,
            deadline,
            structured: None,
            trace: Mutex::new(trace),
            attempts: AtomicU32::new(0),
            between: AtomicBool::new(true),
            written: OnceLock::new(),
        }
    }

    /// The same call, with its answer structured.
    #[must_use]
    pub fn with_structured(mut self, structured: StructuredCall) -> Self {
        self.structured = Some(structured);
        self
    }

    /// The request as it is written down ([`Operation::recorded_request`]). Cache key, record and
    /// attempts share one: a picture of megabytes is hashed once per call. Only a request that a
    /// layer made anew is written anew.
    pub fn written<O: Operation>(&self, request: &Arc<O::Request>) -> Arc<str> {
        let write = || Arc::from(O::recorded_request(request));
        let known = self
            .written
            .get_or_init(|| Written { request: Arc::clone(request) as _, text: write() });
        let same = std::ptr::addr_eq(Arc::as_ptr(&known.request), Arc::as_ptr(request));
        if same { Arc::clone(&known.text) } else { write() }
    }

    /// Adds to the trace.
    pub fn note(&self, add: impl FnOnce(&mut CallTrace)) {
        // A panic elsewhere can't leave the trace half-written in a way that matters.
        add(&mut self.trace.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Counts an attempt that starts; returns its number, from 0.
    pub fn begin_attempt(&self) -> u32 {
        self.between.store(false, Ordering::Relaxed);
        self.attempts.fetch_add(1, Ordering::Relaxed)
    }

    /// Notes that an attempt has failed, and been recorded, and that the call goes on without one.
    pub fn between_attempts(&self) {
        self.between.store(true, Ordering::Relaxed);
    }

    /// Notes that the call has the one record it needs: dropped from here on, it leaves no other.
    pub fn is_recorded(&self) {
        self.between.store(false, Ordering::Relaxed);
    }

    /// Whether the call is before its first attempt or between two: no attempt would record it if it
    /// were dropped now.
    #[must_use]
    pub fn is_between_attempts(&self) -> bool {
        self.between.load(Ordering::Relaxed)
    }

    /// How many attempts were started.
    #[must_use]
    pub fn attempts(&self) -> u32 {
        self.attempts.load(Ordering::Relaxed)
    }

    /// Puts a trace that was taken back, before the call goes on after all.
    pub fn resume_trace(&self, taken: CallTrace) {
        self.note(|trace| *trace = taken);
    }

    /// The trace of the call, at its end: what is left behind is empty.
    #[must_use]
    pub fn take_trace(&self) -> CallTrace {
        std::mem::take(&mut self.trace.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
