//! The cache layer: an answer that is known already costs nothing.
//!
//! It stands outside the structured layer and the retry loop, so a hit asks no gate, takes no quota
//! and works while every source is down; and only what passed the whole call is kept: finished,
//! whole, of the form that was asked for. A cache that fails is as good as an empty one.
//!
//! With `coalesce`, identical whole calls under way at once are sent once. Live calls are not
//! coalesced: their callers want each token as it comes.

use std::{fmt::Debug, sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use pgw_ports::{
    CacheBackend, Cacheable, CallCx, Clock, Hand, KeepRules, Live, LiveStream, Middleware, Next,
    Reply,
};
use pgw_types::{CacheUse, CallError, CallRecord, Fault, PgwError, SourceConfig};

use crate::{attempt::new_id, ledger::Ledger};

mod flights;
mod key;
mod shelf;

use flights::{Flight, Flights, Landing, Seat};
use key::Identity;
use shelf::Shelf;

/// What the assembly says about the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheRules {
    /// The name space of calls that name none: a project or a tenant. Answers never cross it.
    pub namespace: String,
    /// How long an answer is kept, unless its call says otherwise; more than zero.
    pub ttl: Duration,
    /// Whether identical calls under way at once are sent once.
    pub coalesce: bool,
    /// Which answers are kept.
    pub keep: KeepRules,
}

/// Answers from what is kept, and keeps what is worth it.
#[derive(Debug)]
pub struct CacheLayer<O: Cacheable> {
    parts: Arc<Parts>,
    /// What each source of the scope would answer with.
    identities: Vec<(Arc<str>, Identity)>,
    flights: Flights,
    ledger: Arc<Ledger>,
    clock: Arc<dyn Clock>,
    operation: std::marker::PhantomData<fn() -> O>,
}

/// What a live answer takes along, to be kept at its end.
#[derive(Debug)]
struct Parts {
    shelf: Shelf,
    rules: CacheRules,
}

impl<O: Cacheable> CacheLayer<O> {
    /// A layer over a store, for the sources of a scope.
    #[must_use]
    pub fn new<'a>(
        backend: Arc<dyn CacheBackend>,
        rules: CacheRules,
        sources: impl IntoIterator<Item = &'a SourceConfig>,
        ledger: Arc<Ledger>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let identity = |source: &SourceConfig| (source.name.as_str().into(), Identity::of(source));
        Self {
            parts: Arc::new(Parts { shelf: Shelf::new(backend, Arc::clone(&clock)), rules }),
            identities: sources.into_iter().map(identity).collect(),
            flights: Flights::default(),
            ledger,
            clock,
            operation: std::marker::PhantomData,
        }
    }

    /// A kept answer, made this call's own.
    fn recalled(kept: &[u8], cx: &CallCx) -> Option<Box<O::Response>> {
        let recalled = O::recalled(kept, cx).map(Box::new);
        if recalled.is_none() {
            tracing::warn!(
                request_id = &*cx.request_id,
                "a kept answer can't be used for this call; it is asked for anew"
            );
        }
        recalled
    }

    async fn look_up(&self, key: &str, cx: &CallCx) -> Option<(Box<O::Response>, Bytes)> {
        let kept = self.parts.shelf.get(key).await?;
        Some((Self::recalled(&kept, cx)?, kept))
    }

    /// Hands a kept answer out, and records it.
    async fn hit(
        &self,
        mut response: Box<O::Response>,
        cx: &Arc<CallCx>,
        request: &Arc<O::Request>,
    ) -> Reply<O> {
        let call_id = new_id();
        O::mark_hit(&mut response, &call_id);
        O::set_trace(&mut response, cx.take_trace());
        if self.ledger.is_on() {
            let record = CallRecord {
                call_id: call_id.to_string(),
                parent_call_id: cx.options.parent_call_id.clone(),
                session_id: cx.options.session_id.clone(),
                messages: cx.written::<O>(request).to_string(),
                latency_ms: 0,
                ttft_ms: None,
                max_inter_token_ms: None,
                cache_hit: true,
                error: None,
                cost: Some(0.0),
                request_id: cx.request_id.to_string(),
                attempt: None,
                scope: cx.plan.scope.to_string(),
                operation: O::NAME.to_owned(),
                started_at_ms: self.clock.unix_ms(),
                ..O::hit_record(&response)
            };
            cx.is_recorded();
            Box::pin(self.ledger.write(record)).await;
        }
        match cx.hand {
            Hand::Whole => Reply::Whole(response),
            Hand::Live => {
                let events = O::replayed(&response).into_iter().map(|event| Ok(Live::Event(event)));
                Reply::Live(Box::pin(stream::iter(events.chain([Ok(Live::Done(response))]))))
            }
        }
    }

    /// Makes the call, and keeps its answer if it is one to keep.
    async fn ask(
        &self,
        key: &Arc<str>,
        cx: &Arc<CallCx>,
        request: Arc<O::Request>,
        next: Next<'_, O>,
    ) -> Result<(Reply<O>, Option<Bytes>), PgwError> {
        let reply = next.run(cx, request).await?;
        let writes = writes(cx.options.cache);
        Ok(match reply {
            Reply::Whole(response) => {
                let kept = O::kept(&response, self.parts.rules.keep).map(Bytes::from);
                if let Some(value) = kept.as_ref().filter(|_| writes) {
                    self.parts.keep(key, value.clone(), cx).await;
                }
                (Reply::Whole(response), kept)
            }
            Reply::Live(events) if writes => (self.keeping(Arc::clone(key), cx, events), None),
            live @ Reply::Live(_) => (live, None),
        })
    }

    /// The same live answer; it is kept when it has ended well.
    fn keeping(&self, key: Arc<str>, cx: &Arc<CallCx>, events: LiveStream<O>) -> Reply<O> {
        let (parts, cx) = (Arc::clone(&self.parts), Arc::clone(cx));
        Reply::Live(Box::pin(events.then(move |item| {
            let done = match &item {
                Ok(Live::Done(response)) => O::kept(response, parts.rules.keep),
                Ok(Live::Event(_)) | Err(_) => None,
            };
            let keeping = done.map(|value| {
                let (parts, cx, key) = (Arc::clone(&parts), Arc::clone(&cx), Arc::clone(&key));
                // Boxed: of a thousand events one is the last.
                Box::pin(async move { parts.keep(&key, value.into(), &cx).await })
            });
            async move {
                if let Some(keeping) = keeping {
                    keeping.await;
                }
                item
            }
        })))
    }

    /// One call of several that are the same: the first is made, the others wait for its answer.
    async fn together(
        &self,
        key: &Arc<str>,
        cx: &Arc<CallCx>,
        request: Arc<O::Request>,
        next: Next<'_, O>,
    ) -> Result<Reply<O>, PgwError> {
        loop {
            let flight = match self.flights.join(key) {
                Seat::Follows(flight) => flight,
                Seat::Leads(lead) => {
                    // Looked up with the lead in hand: what landed a moment ago is found here.
                    if let Some((response, kept)) = self.look_up(key, cx).await {
                        lead.land(Landing::Kept(kept));
                        return Ok(self.hit(response, cx, &request).await);
                    }
                    let result = self.ask(key, cx, request, next).await;
                    lead.land(match &result {
                        Ok((_, Some(value))) => Landing::Kept(value.clone()),
                        Ok((_, None)) => Landing::NotKept,
                        Err(error) => Landing::Failed(error.clone(), cx.deadline),
                    });
                    return result.map(|(reply, _)| reply);
                }
            };
            match self.wait(flight, cx).await? {
                Some(Landing::Kept(value)) => {
                    if let Some(response) = Self::recalled(&value, cx) {
                        return Ok(self.hit(response, cx, &request).await);
                    }
                }
                Some(Landing::NotKept) => {}
                // The same question would meet the same fate, unless the one who asked had less
                // time for it.
                Some(Landing::Failed(error, time)) if !has_longer(cx.deadline, time) => {
                    return Err(error.with_trace(cx.take_trace()));
                }
                // Its caller walked away, or ran out of time: the next one asks.
                Some(Landing::Failed(..)) | None => continue,
            }
            return self.ask(key, cx, request, next).await.map(|(reply, _)| reply);
        }
    }

    /// Waits for another call's landing, as long as this call may; `None`: it will never land.
    async fn wait(&self, flight: Flight, cx: &CallCx) -> Result<Option<Landing>, CallError> {
        let Some(deadline) = cx.deadline else {
            return Ok(flight.landing().await);
        };
        let left = deadline.saturating_sub(self.clock.now());
        tokio::time::timeout(left, flight.landing()).await.map_err(|_| {
            let text = "the call's deadline passed while another call asked the same";
            CallError::new(Fault::Deadline, text)
        })
    }
}

impl Parts {
    async fn keep(&self, key: &str, value: Bytes, cx: &CallCx) {
        let ttl = cx.options.cache_ttl.unwrap_or(self.rules.ttl);
        self.shelf.set(key, value, ttl).await;
    }
}

/// Whether somebody with this deadline has more time than somebody with the other.
fn has_longer(deadline: Option<Duration>, other: Option<Duration>) -> bool {
    match (deadline, other) {
        (_, None) => false,
        (None, Some(_)) => true,
        (Some(deadline), Some(other)) => deadline > other,
    }
}

const fn reads(cache: CacheUse) -> bool {
    matches!(cache, CacheUse::Default | CacheUse::ReadOnly)
}

const fn writes(cache: CacheUse) -> bool {
    matches!(cache, CacheUse::Default | CacheUse::Refresh)
}

#[async_trait]
impl<O: Cacheable> Middleware<O> for CacheLayer<O> {
    fn name(&self) -> &'static str {
        "cache"
    }

    async fn handle(
        &self,
        cx: &Arc<CallCx>,
        request: Arc<O::Request>,
        next: Next<'_, O>,
    ) -> Result<Reply<O>, PgwError> {
        let options = &cx.options;
        if options.cache_ttl == Some(Duration::ZERO) {
            let text = "cache_ttl is 0, so the answer would be kept for no time; leave it out, or \
                        write a time above zero";
            return Err(CallError::new(Fault::BadRequest, text).with_param("cache_ttl").into());
        }
        let key = match options.cache {
            CacheUse::Off => None,
            _ => self.key(cx, &request),
        };
        let Some(key) = key else {
            return next.run(cx, request).await;
        };
        if reads(options.cache) {
            if self.parts.rules.coalesce && cx.hand == Hand::Whole {
                return self.together(&key, cx, request, next).await;
            }
            if let Some((response, _)) = self.look_up(&key, cx).await {
                return Ok(self.hit(response, cx, &request).await);
            }
        }
        self.ask(&key, cx, request, next).await.map(|(reply, _)| reply)
    }
}

#[cfg(test)]
mod tests;
