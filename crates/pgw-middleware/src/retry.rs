//! The retry loop: the one place that decides whether, where and when to try again.
//!
//! Each round chooses among the sources that are neither dead for this call nor cooling, asks
//! breaker and limiter of each in the selector's order, and makes one attempt on the first that
//! lets it in. What happens next follows from the failure's class alone:
//!
//! - transient: one of the attempts is spent; back off, then preferably another source;
//! - source dead: leave it for the rest of the call, at once; no attempt is spent;
//! - request rejected, result invalid: the end.
//!
//! So a call makes at most [`Plan::bound`](pgw_types::Plan::bound) upstream calls.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use futures_util::stream;
use pgw_ports::{
    Breaker, CallCx, Clock, Hand, Jitter, Limiter, Live, LiveStream, Operation, Reply,
    SourceSelector, Terminal, Transport,
};
use pgw_types::{
    CallError, FailureClass, PgwError, PlannedSource, ScopeReason, SourceConfig, SourceReason,
    Unavailable,
};

use crate::{
    attempt::{Attempt, Start},
    backoff::{RetryPolicy, backoff_delay},
    cooling::CoolingMemo,
    ledger::Ledger,
    line::{Line, Lines, WaitPolicy},
};

mod admission;
mod patience;

/// A source with the transport that speaks its protocol.
#[derive(Clone, Debug)]
pub struct GovernedSource<O: Operation> {
    /// Its name, shared.
    pub name: Arc<str>,
    /// Its configuration.
    pub config: Arc<SourceConfig>,
    /// How to talk to it.
    pub transport: Arc<dyn Transport<O::Request, O::Event>>,
}

/// The ports and rules that a loop runs on.
#[derive(Clone, Debug)]
pub struct Gates {
    /// The quotas. Share the instance to share the limits.
    pub limiter: Arc<dyn Limiter>,
    /// The breakers. Share the instance to share their state.
    pub breaker: Arc<dyn Breaker>,
    /// Which source first.
    pub selector: Arc<dyn SourceSelector>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Chance.
    pub jitter: Arc<dyn Jitter>,
    /// Where records go.
    pub ledger: Arc<Ledger>,
    /// When to try again.
    pub retry: RetryPolicy,
    /// When to wait.
    pub wait: WaitPolicy,
    /// How long a limiter's lease lives without being renewed.
    pub lease_ttl: Duration,
}

/// What all attempts of a scope share.
#[derive(Debug)]
pub(crate) struct Core<O: Operation> {
    pub(crate) scope: Arc<str>,
    pub(crate) sources: Vec<GovernedSource<O>>,
    pub(crate) limiter: Arc<dyn Limiter>,
    pub(crate) breaker: Arc<dyn Breaker>,
    pub(crate) selector: Arc<dyn SourceSelector>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) jitter: Arc<dyn Jitter>,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) retry: RetryPolicy,
    pub(crate) wait: WaitPolicy,
    pub(crate) lease_ttl: Duration,
    pub(crate) cooling: CoolingMemo,
    pub(crate) lines: Lines,
}

/// The innermost part of the onion: makes attempts until one answers or no more may be made.
#[derive(Debug)]
pub struct RetryLoop<O: Operation> {
    core: Arc<Core<O>>,
}

impl<O: Operation> RetryLoop<O> {
    /// A loop over the sources of a scope.
    #[must_use]
    pub fn new(scope: Arc<str>, sources: Vec<GovernedSource<O>>, gates: Gates) -> Self {
        let cooling = CoolingMemo::new(sources.len());
        let lines = Lines::new(gates.wait.max_queue);
        let Gates { limiter, breaker, selector, clock, jitter, ledger, retry, wait, lease_ttl } =
            gates;
        Self {
            core: Arc::new(Core {
                scope,
                sources,
                limiter,
                breaker,
                selector,
                clock,
                jitter,
                ledger,
                retry,
                wait,
                lease_ttl,
                cooling,
                lines,
            }),
        }
    }
}

/// How one source stands in one call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Standing {
    /// The plan allows it.
    pub(crate) planned: bool,
    /// It turned out dead.
    pub(crate) dead: bool,
    /// Attempts on it that ended in a transient failure.
    pub(crate) failures: u32,
}

/// What one call has been through so far. It is the call's own: calls never share any of it.
pub(crate) struct Progress<O: Operation> {
    pub(crate) cx: Arc<CallCx>,
    pub(crate) request: Arc<O::Request>,
    /// How each source of the scope stands in this call.
    pub(crate) standing: Vec<Standing>,
    /// Where it waits, if it must.
    pub(crate) line: Arc<Line>,
    /// Transient failures all together: the attempts spent.
    pub(crate) spent: u32,
    pub(crate) last_failure: Option<CallError>,
    pub(crate) reasons: BTreeMap<Arc<str>, SourceReason>,
}

impl<O: Operation> Progress<O> {
    fn new(core: &Core<O>, cx: &Arc<CallCx>, request: Arc<O::Request>) -> Self {
        let standing: Vec<_> = core
            .sources
            .iter()
            .map(|source| {
                let named = |planned: &PlannedSource| planned.name == source.name;
                let planned = cx.plan.candidates.iter().any(named);
                Standing { planned, dead: false, failures: 0 }
            })
            .collect();
        let line = if standing.iter().all(|standing| standing.planned) {
            core.lines.whole()
        } else {
            let places = (0..).zip(&standing).filter(|(_, standing)| standing.planned);
            core.lines.narrow(places.map(|(place, _)| place).collect())
        };
        Self {
            cx: Arc::clone(cx),
            request,
            standing,
            line,
            spent: 0,
            last_failure: None,
            reasons: BTreeMap::new(),
        }
    }

    /// The sources that may still serve this call.
    pub(crate) fn usable(&self) -> impl Iterator<Item = usize> + '_ {
        let usable = |(_, standing): &(usize, &Standing)| standing.planned && !standing.dead;
        self.standing.iter().enumerate().filter(usable).map(|(index, _)| index)
    }

    /// The scope-level error for the state the call is in.
    pub(crate) fn unavailable(
        &self,
        core: &Core<O>,
        reason: ScopeReason,
        retry_after: Duration,
    ) -> Unavailable {
        let error = Unavailable::new(Arc::clone(&core.scope), reason, retry_after)
            .with_reasons(self.reasons.clone());
        match &self.last_failure {
            Some(failure) => error.with_last_failure(failure.clone()),
            None => error,
        }
    }
}

#[async_trait]
impl<O: Operation> Terminal<O> for RetryLoop<O> {
    fn name(&self) -> &'static str {
        "retry"
    }

    async fn call(&self, cx: &Arc<CallCx>, request: Arc<O::Request>) -> Result<Reply<O>, PgwError> {
        let mut progress = Progress::new(&self.core, cx, request);
        self.run(&mut progress).await.map_err(|error| error.with_trace(cx.take_trace()))
    }
}

impl<O: Operation> RetryLoop<O> {
    async fn run(&self, progress: &mut Progress<O>) -> Result<Reply<O>, PgwError> {
        let core = &self.core;
        let mut waited = Duration::ZERO;
        loop {
            let admitted = core.admit(progress).await?;
            let attempt = Attempt::new(Start {
                core: Arc::clone(core),
                cx: Arc::clone(&progress.cx),
                request: Arc::clone(&progress.request),
                source: admitted.source,
                pass: admitted.pass,
                permit: admitted.permit,
                waited: waited.saturating_add(admitted.waited),
            });
            let failure = match serve(attempt, progress.cx.hand).await {
                Ok(reply) => return Ok(with_trace(reply, &progress.cx)),
                Err(failure) => failure,
            };
            // Boxed, like the waits of the admission: what is rarely needed must not make the
            // future of every call large.
            waited = Box::pin(self.after(failure, admitted.source, progress)).await?;
        }
    }

    /// Decides what follows a failed attempt. Returns how long it backed off if the call goes on.
    async fn after(
        &self,
        failure: CallError,
        source: usize,
        progress: &mut Progress<O>,
    ) -> Result<Duration, PgwError> {
        let core = &self.core;
        if failure.fault().is_local() {
            return Err(failure.into());
        }
        let name = Arc::clone(&core.sources[source].name);
        progress.reasons.insert(name, failure.source_reason());
        match failure.class() {
            FailureClass::RequestRejected | FailureClass::ResultInvalid => Err(failure.into()),
            FailureClass::SourceDead => {
                progress.standing[source].dead = true;
                progress.last_failure = Some(failure);
                // If it was the last one, the admission says so with all reasons.
                Ok(Duration::ZERO)
            }
            FailureClass::Transient => {
                progress.standing[source].failures += 1;
                progress.spent += 1;
                progress.last_failure = Some(failure);
                if progress.spent >= core.retry.max_attempts {
                    let wait = core.time_to_first(progress);
                    let error = progress.unavailable(core, ScopeReason::RetryExhausted, wait);
                    return Err(error.into());
                }
                let attempt = progress.spent - 1;
                let delay = backoff_delay(&core.retry, attempt, core.jitter.unit());
                core.pause(progress, delay).await?;
                Ok(delay)
            }
        }
    }
}

impl<O: Operation> Core<O> {
    /// Waits for a time that is known, unless the call's deadline comes first: then there is no
    /// point in waiting at all.
    pub(crate) async fn pause(
        &self,
        progress: &Progress<O>,
        delay: Duration,
    ) -> Result<(), PgwError> {
        let now = self.clock.now();
        if progress.cx.deadline.is_some_and(|deadline| now.saturating_add(delay) >= deadline) {
            let error = progress
                .unavailable(self, ScopeReason::RetryExhausted, delay)
                .with_message("the call's deadline comes before the next attempt could start");
            return Err(error.into());
        }
        tokio::time::sleep(delay).await;
        Ok(())
    }

    /// The time until the first source of the call stops cooling; zero if one isn't.
    pub(crate) fn time_to_first(&self, progress: &Progress<O>) -> Duration {
        let now = self.clock.now();
        (0..self.sources.len())
            .filter(|&index| progress.standing[index].planned)
            .map(|index| {
                let until = self.cooling.until(index, now);
                until.map_or(Duration::ZERO, |(until, _)| until.saturating_sub(now))
            })
            .min()
            .unwrap_or_default()
    }
}

/// Runs one attempt: to its end, or to its first token if the caller wants the answer live.
async fn serve<O: Operation>(
    mut attempt: Box<Attempt<O>>,
    hand: Hand,
) -> Result<Reply<O>, CallError> {
    if let Err(error) = attempt.open().await {
        return Err(attempt.fail(error).await);
    }
    // Events before the first token: nothing is committed while these are held back.
    let mut early = VecDeque::new();
    loop {
        match attempt.next().await {
            Some(Ok(event)) if hand == Hand::Live => {
                attempt.push(&event);
                let committed = O::is_life(&event);
                early.push_back(event);
                if committed {
                    attempt.hand_over();
                    return Ok(Reply::Live(live(early, Some(attempt))));
                }
            }
            Some(Ok(event)) => attempt.absorb(event),
            Some(Err(error)) => return Err(attempt.fail(error).await),
            None => {
                let response = attempt.succeed().await?;
                return Ok(match hand {
                    Hand::Whole => Reply::Whole(response),
                    Hand::Live => Reply::Live(finished(early, response)),
                });
            }
        }
    }
}

/// An answer that is complete before its first token: a handful of events and the response.
fn finished<O: Operation>(early: VecDeque<O::Event>, response: Box<O::Response>) -> LiveStream<O> {
    let events = early.into_iter().map(|event| Ok(Live::Event(event)));
    Box::pin(stream::iter(events.chain([Ok(Live::Done(response))])))
}

/// The rest of a committed answer. The attempt travels inside and settles at the end or on drop.
fn live<O: Operation>(
    early: VecDeque<O::Event>,
    attempt: Option<Box<Attempt<O>>>,
) -> LiveStream<O> {
    Box::pin(stream::unfold((early, attempt), |(mut early, attempt)| async move {
        if let Some(event) = early.pop_front() {
            return Some((Ok(Live::Event(event)), (early, attempt)));
        }
        let mut attempt = attempt?;
        attempt.resume();
        let item = match attempt.next().await {
            Some(Ok(event)) => {
                attempt.push(&event);
                attempt.hand_over();
                return Some((Ok(Live::Event(event)), (early, Some(attempt))));
            }
            Some(Err(error)) => Err(attempt.fail(error).await.into()),
            None => attempt.succeed().await.map(Live::Done).map_err(Into::into),
        };
        Some((item, (early, None)))
    }))
}

/// Puts the trace of the whole call on the response, now or when it is done.
fn with_trace<O: Operation>(reply: Reply<O>, cx: &Arc<CallCx>) -> Reply<O> {
    use futures_util::StreamExt as _;

    match reply {
        Reply::Whole(mut response) => {
            O::set_trace(&mut response, cx.take_trace());
            Reply::Whole(response)
        }
        Reply::Live(events) => {
            let cx = Arc::clone(cx);
            Reply::Live(Box::pin(events.map(move |item| match item {
                Ok(Live::Done(mut response)) => {
                    O::set_trace(&mut response, cx.take_trace());
                    Ok(Live::Done(response))
                }
                Ok(event @ Live::Event(_)) => Ok(event),
                Err(error) => Err(error.with_trace(cx.take_trace())),
            })))
        }
    }
}

#[cfg(test)]
mod tests;
