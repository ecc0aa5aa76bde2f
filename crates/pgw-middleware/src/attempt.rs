//! One attempt: from an open gate to the last line of the account.
//!
//! Everything an attempt holds lives in [`Attempt`]. It ends in `succeed` or `fail`, or by being
//! dropped; each way gives back the permit and the pass and leaves exactly one record.

use std::{future::poll_fn, pin::pin, sync::Arc, task::Poll, time::Duration};

use pgw_ports::{Assembly as _, AttemptCx, AttemptFacts, CallCx, EventStream, Operation, Recorded};
use pgw_types::{AttemptTrace, CallError, CallRecord, FailureClass, Fault, Usage, UsageSource};

use crate::{
    cooling::Cause,
    guards::{Pass, Permit, Verdict},
    ledger::millis,
    retry::{Core, GovernedSource},
    watchdog::Watchdog,
};

/// What the loop gives an attempt at its start.
pub(crate) struct Start<O: Operation> {
    pub(crate) core: Arc<Core<O>>,
    pub(crate) cx: Arc<CallCx>,
    pub(crate) request: Arc<O::Request>,
    pub(crate) source: usize,
    pub(crate) pass: Pass,
    pub(crate) permit: Permit,
    pub(crate) waited: Duration,
}

/// One attempt under way.
pub(crate) struct Attempt<O: Operation> {
    core: Arc<Core<O>>,
    cx: Arc<CallCx>,
    request: Arc<O::Request>,
    source: usize,
    number: u32,
    call_id: Arc<str>,
    started: Duration,
    started_unix_ms: u64,
    waited: Duration,
    next_renewal: Duration,
    stream: Option<EventStream<O::Event>>,
    watchdog: Watchdog,
    assembly: O::Assembly,
    any_event: bool,
    pass: Option<Pass>,
    permit: Option<Permit>,
    /// What is to be recorded, while the books are being kept.
    booking: Option<Booking>,
    /// Since when the caller holds the last event of a live answer.
    handed_over: Option<Duration>,
    recorded: bool,
}

impl<O: Operation> Attempt<O> {
    /// Boxed: an attempt moves into streams and futures, and is large.
    pub(crate) fn new(start: Start<O>) -> Box<Self> {
        let Start { core, cx, request, source, pass, permit, waited } = start;
        let started = core.clock.now();
        let governed = &core.sources[source];
        let config = &governed.config;
        let watchdog = Watchdog::new(
            Arc::clone(&core.clock),
            config.timeouts,
            started,
            cx.deadline,
            wants_stream(&cx, governed),
        );
        let assembly = O::assembly(&request, config);
        Box::new(Self {
            number: cx.begin_attempt(),
            call_id: new_id(),
            started,
            started_unix_ms: if core.ledger.is_on() { core.clock.unix_ms() } else { 0 },
            next_renewal: started.saturating_add(core.lease_ttl / 3),
            watchdog,
            assembly,
            stream: None,
            any_event: false,
            pass: Some(pass),
            permit: Some(permit),
            booking: None,
            handed_over: None,
            recorded: false,
            core,
            cx,
            request,
            source,
            waited,
        })
    }

    fn governed(&self) -> &GovernedSource<O> {
        &self.core.sources[self.source]
    }

    /// Sends the request and waits for the head of the answer.
    pub(crate) async fn open(&mut self) -> Result<(), CallError> {
        let core = Arc::clone(&self.core);
        let governed = &core.sources[self.source];
        let attempt = AttemptCx {
            source: Arc::clone(&governed.config),
            call_id: Arc::clone(&self.call_id),
            stream: wants_stream(&self.cx, governed),
        };
        let request = Arc::clone(&self.request);
        let mut opening = pin!(governed.transport.open(&attempt, &request));
        let stream = poll_fn(|cx| match opening.as_mut().poll(cx) {
            Poll::Ready(result) => Poll::Ready(result),
            Poll::Pending => self.watchdog.poll_expired(cx).map(Err),
        })
        .await?;
        self.stream = Some(stream);
        Ok(())
    }

    /// The next event; `None` at the end of the answer. It isn't part of the answer until it is
    /// [pushed](Self::push) or [absorbed](Self::absorb).
    pub(crate) async fn next(&mut self) -> Option<Result<O::Event, CallError>> {
        let stream = self.stream.as_mut()?;
        let item = poll_fn(|cx| match stream.as_mut().poll_next(cx) {
            Poll::Ready(item) => Poll::Ready(item),
            Poll::Pending => self.watchdog.poll_expired(cx).map(|error| Some(Err(error))),
        })
        .await?;
        if let Ok(event) = &item {
            self.any_event = true;
            if O::is_life(event) {
                let now = self.core.clock.now();
                self.watchdog.saw_life(now);
                if let Some(error) = self.watchdog.overrun(now) {
                    return Some(Err(error));
                }
                if now >= self.next_renewal {
                    self.next_renewal = now.saturating_add(self.core.lease_ttl / 3);
                    if let Some(permit) = &self.permit {
                        permit.renew().await;
                    }
                }
            }
        }
        Some(item)
    }

    /// The caller has the last event now; until it asks for the next, nobody waits for the source.
    pub(crate) fn hand_over(&mut self) {
        self.handed_over = Some(self.core.clock.now());
    }

    /// The caller asks for the next event.
    pub(crate) fn resume(&mut self) {
        if let Some(since) = self.handed_over.take() {
            let held = self.core.clock.now().saturating_sub(since);
            self.watchdog.forgive(held);
        }
    }

    /// Takes an event in that is handed on to the caller.
    pub(crate) fn push(&mut self, event: &O::Event) {
        self.assembly.push(event);
    }

    /// Takes an event in for good.
    pub(crate) fn absorb(&mut self, event: O::Event) {
        self.assembly.absorb(event);
    }

    /// The answer is in: makes the response of it and settles.
    pub(crate) async fn succeed(&mut self) -> Result<Box<O::Response>, CallError> {
        if !self.assembly.is_finished() {
            let error = CallError::new(Fault::Truncated, "the answer ended without an ending");
            return Err(self.fail(error).await);
        }
        let ended = self.core.clock.now();
        let booking = self.book();
        let facts = AttemptFacts {
            call_id: self.call_id.to_string(),
            latency_ms: millis(ended.saturating_sub(self.started)),
            ttft_ms: self.watchdog.ttft_ms(),
            max_inter_token_ms: self.watchdog.longest_gap_ms(),
            cost: booking.cost,
        };
        let result = self.assembly.finish(facts).map_err(|error| self.placed(error));
        self.conclude(result.as_ref().err(), booking, ended).await;
        result
    }

    /// The attempt failed: settles, and returns the error with its place and what had come.
    pub(crate) async fn fail(&mut self, error: CallError) -> CallError {
        let error = match error.partial() {
            Some(_) => error,
            None => error.with_partial(self.assembly.partial()),
        };
        let error = self.placed(error);
        let booking = self.booking_so_far();
        let ended = self.core.clock.now();
        self.conclude(Some(&error), booking, ended).await;
        error
    }

    fn placed(&self, error: CallError) -> CallError {
        error.at(Arc::clone(&self.core.scope), Arc::clone(&self.governed().name))
    }

    /// What a failed or dropped attempt is booked at: what was reported; an estimate if part of an
    /// answer came; else nothing (error texts are never counted as output).
    fn booking_so_far(&self) -> Booking {
        let came = self.any_event && !self.assembly.partial().is_empty();
        if came || !self.assembly.usage().is_empty() { self.book() } else { Booking::default() }
    }

    fn book(&self) -> Booking {
        let (usage, usage_source) = self.assembly.booked_usage();
        let ledger = &self.core.ledger;
        let asked = O::model(&self.request, &self.governed().config);
        let cost = ledger.cost(asked, self.assembly.answered_model(), &usage);
        let recorded = if ledger.is_on() { self.assembly.recorded() } else { Recorded::default() };
        Booking { usage, usage_source, cost, recorded }
    }

    /// Verdict, settle, release, progress, trace, record, in this order.
    async fn conclude(&mut self, error: Option<&CallError>, booking: Booking, ended: Duration) {
        // The connection goes back to its pool, or closes, before the permit is free.
        self.stream = None;
        let used_tokens = used_tokens(error, &booking);
        // The answer has left the assembly. Who drops the call from here on still has it recorded.
        self.booking = Some(booking);
        match error {
            None => self.core.cooling.clear(self.source, self.started),
            Some(error) => self.cool_by_hint(error, ended),
        }
        let verdict = verdict(error);
        if let Some(pass) = self.pass.take()
            && let Some(cooldown) = pass.judge(verdict).await
        {
            self.cool(ended, cooldown, Cause::Open);
        }
        if let Some(permit) = self.permit.take() {
            permit.finish(used_tokens).await;
        }
        // A useless answer is an answer: the service is at work.
        if verdict == Verdict::Success
            && let Err(failure) = self.core.limiter.mark_progress().await
        {
            tracing::warn!(operation = "mark_progress", error = %failure, "accounting failed");
        }
        let latency_ms = millis(ended.saturating_sub(self.started));
        self.trace(error, latency_ms);
        if self.core.ledger.is_on() {
            let booking = self.booking.take().unwrap_or_default();
            let record = self.record(booking, error.map(error_text), latency_ms);
            self.recorded = true;
            if error.is_some() {
                self.cx.between_attempts();
            }
            // Boxed: without records, calls need not carry the room for writing one.
            Box::pin(self.core.ledger.write(record)).await;
        } else {
            self.recorded = true;
        }
    }

    fn cool(&self, now: Duration, wait: Duration, cause: Cause) {
        self.core.cooling.cool(self.source, now, now.saturating_add(wait), cause);
    }

    /// `Retry-After` binds the source that sent it; a rate limit without a time binds it for the
    /// default (agentgateway/agentgateway#1500).
    fn cool_by_hint(&self, error: &CallError, now: Duration) {
        let policy = &self.core.retry;
        match (error.retry_after(), error.fault()) {
            (Some(wait), _) => self.cool(now, wait.min(policy.retry_after_cap), Cause::Hint),
            (None, Fault::RateLimit) => self.cool(now, policy.rate_limit_cooldown, Cause::Hint),
            (None, _) => {}
        }
    }

    fn trace(&self, error: Option<&CallError>, latency_ms: u64) {
        let entry = AttemptTrace {
            attempt: self.number,
            call_id: Arc::clone(&self.call_id),
            source_name: Arc::clone(&self.governed().name),
            fault: error.map(CallError::fault),
            class: error.map(CallError::class),
            status: error.and_then(CallError::status),
            message: error.map(|error| error.message().to_owned()).unwrap_or_default(),
            retry_after_ms: error.and_then(CallError::retry_after).map(millis),
            latency_ms,
            waited_ms: millis(self.waited),
        };
        self.cx.note(|trace| {
            trace.waited_ms = trace.waited_ms.saturating_add(entry.waited_ms);
            trace.attempts.push(entry);
        });
    }

    fn record(&self, booking: Booking, error: Option<String>, latency_ms: u64) -> CallRecord {
        let governed = self.governed();
        CallRecord {
            call_id: self.call_id.to_string(),
            parent_call_id: self.cx.options.parent_call_id.clone(),
            session_id: self.cx.options.session_id.clone(),
            model: O::model(&self.request, &governed.config).to_owned(),
            provider: governed.config.provider.clone(),
            source_name: governed.name.to_string(),
            messages: self.cx.written::<O>(&self.request).to_string(),
            response: booking.recorded.response,
            thinking: booking.recorded.thinking,
            prompt_tokens: booking.usage.prompt_tokens,
            completion_tokens: booking.usage.completion_tokens,
            usage_source: booking.usage_source,
            latency_ms,
            ttft_ms: self.watchdog.ttft_ms(),
            max_inter_token_ms: self.watchdog.longest_gap_ms(),
            cache_hit: false,
            error,
            cost: booking.cost,
            request_id: self.cx.request_id.to_string(),
            attempt: Some(self.number),
            scope: self.core.scope.to_string(),
            operation: O::NAME.to_owned(),
            started_at_ms: self.started_unix_ms,
        }
    }
}

impl<O: Operation> Drop for Attempt<O> {
    fn drop(&mut self) {
        // Close the connection first; the guards of permit and pass follow by themselves.
        self.stream = None;
        if !self.recorded && self.core.ledger.is_on() {
            let latency_ms = millis(self.core.clock.now().saturating_sub(self.started));
            let error = Some(CallRecord::CANCELLED.to_owned());
            let booking = self.booking.take();
            let booking = booking.unwrap_or_else(|| self.booking_so_far());
            let record = self.record(booking, error, latency_ms);
            // Nobody is left to wait for the receipt.
            drop(self.core.ledger.offer(record));
        }
    }
}

/// A fresh UUID (version 7: ids sort by time).
pub(crate) fn new_id() -> Arc<str> {
    let mut buffer = uuid::Uuid::encode_buffer();
    Arc::from(&*uuid::Uuid::now_v7().as_hyphenated().encode_lower(&mut buffer))
}

/// What goes into the books for one attempt.
#[derive(Default)]
struct Booking {
    usage: Usage,
    usage_source: UsageSource,
    cost: Option<f64>,
    recorded: Recorded,
}

fn wants_stream<O: Operation>(cx: &CallCx, governed: &GovernedSource<O>) -> bool {
    cx.options.stream && governed.config.can_stream
}

fn verdict(error: Option<&CallError>) -> Verdict {
    match error.map(|error| (error.class(), error.fault().is_local())) {
        None | Some((FailureClass::ResultInvalid, _)) => Verdict::Success,
        Some((_, true) | (FailureClass::RequestRejected, _)) => Verdict::Neutral,
        Some((FailureClass::SourceDead, false)) => Verdict::Dead,
        Some((FailureClass::Transient, false)) => Verdict::Failure,
    }
}

/// Tokens to settle by; `None` keeps the charge of the door, because nobody knows what was used.
fn used_tokens(error: Option<&CallError>, booking: &Booking) -> Option<u64> {
    match error {
        None => Some(booking.usage.total_tokens()),
        // Refused before any work was done.
        Some(error) if error.status().is_some_and(|status| status >= 400) => Some(0),
        Some(error) if error.fault() == Fault::Network => Some(0),
        Some(_) if booking.usage_source == UsageSource::Measured => {
            Some(booking.usage.total_tokens())
        }
        Some(_) => None,
    }
}

/// How a failure stands in its record: class, fault, message.
pub(crate) fn error_text(error: &CallError) -> String {
    format!("{}/{}: {}", error.class().as_str(), error.fault().as_str(), error.message())
}
