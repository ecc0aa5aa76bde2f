//! A transport that plays scripts, and knows which of its futures and streams are still alive.

use std::{
    collections::{HashMap, VecDeque},
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use async_trait::async_trait;
use futures_core::Stream;
use pgw_ports::{AttemptCx, Clock, EventStream, Transport};
use pgw_types::{
    CallError, ChatEvent, ChatRequest, Fault, Finish, FinishReason, UsageReport, Warning,
};
use tokio::time::Sleep;

/// One step of an answer.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Silence.
    Wait(Duration),
    /// An event.
    Event(ChatEvent),
    /// The stream breaks.
    Fail(CallError),
    /// Silence without end.
    Never,
}

#[derive(Clone, Debug)]
enum Head {
    Good,
    Bad(CallError),
    Never,
}

/// What one upstream call does.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    wait: Duration,
    head: Head,
    steps: Vec<Step>,
}

impl Script {
    /// A good head, then these steps.
    pub(crate) fn steps(steps: impl IntoIterator<Item = Step>) -> Self {
        Self { wait: Duration::ZERO, head: Head::Good, steps: steps.into_iter().collect() }
    }

    /// A whole answer.
    pub(crate) fn answer(words: &str) -> Self {
        Self::steps([begin(), text(words), usage(10, 5), done(FinishReason::Stop)])
    }

    /// The head is an error.
    pub(crate) fn refuse(error: CallError) -> Self {
        Self { head: Head::Bad(error), ..Self::steps([]) }
    }

    /// The head is an error of this kind.
    pub(crate) fn fault(kind: Fault) -> Self {
        Self::refuse(fault(kind))
    }

    /// A 429, with the seconds of its `Retry-After` if it names any.
    pub(crate) fn rate_limited(retry_after: Option<u64>) -> Self {
        let error = fault(Fault::RateLimit).with_status(429);
        Self::refuse(match retry_after {
            Some(seconds) => error.with_retry_after(Duration::from_secs(seconds)),
            None => error,
        })
    }

    /// The head never comes.
    pub(crate) fn silent() -> Self {
        Self { head: Head::Never, ..Self::steps([]) }
    }

    /// The same, later.
    pub(crate) fn after(mut self, wait: Duration) -> Self {
        self.wait = wait;
        self
    }
}

/// An error of this kind, with its name as the message.
pub(crate) fn fault(kind: Fault) -> CallError {
    CallError::new(kind, kind.as_str())
}

/// The service begins to answer.
pub(crate) fn begin() -> Step {
    Step::Event(ChatEvent::MessageStart {
        id: "answer-1".into(),
        model: "served-model".into(),
        request_id: Some("upstream-1".into()),
    })
}

/// Text of the first choice.
pub(crate) fn text(words: &str) -> Step {
    Step::Event(ChatEvent::ContentDelta { choice: 0, text: words.into() })
}

/// Thinking of the first choice.
pub(crate) fn thought(words: &str) -> Step {
    Step::Event(ChatEvent::ThinkingDelta { choice: 0, text: words.into() })
}

/// A usage report.
pub(crate) fn usage(prompt: u64, completion: u64) -> Step {
    Step::Event(ChatEvent::Usage(UsageReport {
        prompt_tokens: Some(prompt),
        completion_tokens: Some(completion),
        ..UsageReport::default()
    }))
}

/// The end, without anything odd.
pub(crate) fn done(reason: FinishReason) -> Step {
    Step::Event(ChatEvent::Finish(Finish {
        reasons: vec![reason],
        raw_reasons: vec![None],
        warnings: Vec::<Warning>::new(),
        salvaged: false,
    }))
}

/// A silence of milliseconds.
pub(crate) fn pause(ms: u64) -> Step {
    Step::Wait(Duration::from_millis(ms))
}

/// One upstream call that was made.
#[derive(Clone, Debug)]
pub(crate) struct Made {
    pub(crate) source: String,
    pub(crate) request: Arc<ChatRequest>,
    pub(crate) call_id: String,
    pub(crate) at: Duration,
}

#[derive(Debug, Default)]
struct State {
    by_source: HashMap<String, VecDeque<Script>>,
    by_model: HashMap<String, VecDeque<Script>>,
    otherwise: Option<Script>,
    made: Vec<Made>,
}

/// The transport of all sources. A source without a script answers "ok".
#[derive(Debug)]
pub(crate) struct Upstream {
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
    alive: Arc<AtomicUsize>,
}

impl Upstream {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, state: Mutex::default(), alive: Arc::default() }
    }

    /// What the next calls of a source do.
    pub(crate) fn script(&self, source: &str, scripts: impl IntoIterator<Item = Script>) {
        let mut state = self.state.lock().unwrap();
        state.by_source.entry(source.into()).or_default().extend(scripts);
    }

    /// What the calls for a model do, at whatever source.
    pub(crate) fn script_model(&self, model: &str, scripts: impl IntoIterator<Item = Script>) {
        let mut state = self.state.lock().unwrap();
        state.by_model.entry(model.into()).or_default().extend(scripts);
    }

    /// What every call without a script does.
    pub(crate) fn otherwise(&self, script: Script) {
        self.state.lock().unwrap().otherwise = Some(script);
    }

    /// Forgets all scripts.
    pub(crate) fn heal(&self) {
        let mut state = self.state.lock().unwrap();
        state.by_source.clear();
        state.by_model.clear();
        state.otherwise = None;
    }

    /// The calls made so far.
    pub(crate) fn made(&self) -> Vec<Made> {
        self.state.lock().unwrap().made.clone()
    }

    /// The sources of the calls made so far.
    pub(crate) fn sources(&self) -> Vec<String> {
        self.made().into_iter().map(|made| made.source).collect()
    }

    /// When the calls were made, in milliseconds since `began`.
    pub(crate) fn times(&self, began: Duration) -> Vec<u128> {
        let made = self.made();
        made.iter().map(|made| made.at.saturating_sub(began).as_millis()).collect()
    }

    /// How many of its futures and streams are alive.
    pub(crate) fn alive(&self) -> usize {
        self.alive.load(Ordering::SeqCst)
    }

    fn next(&self, attempt: &AttemptCx, request: &Arc<ChatRequest>) -> Script {
        let mut state = self.state.lock().unwrap();
        state.made.push(Made {
            source: attempt.source.name.clone(),
            request: Arc::clone(request),
            call_id: attempt.call_id.to_string(),
            at: self.clock.now(),
        });
        let of_model =
            request.model.as_ref().and_then(|model| state.by_model.get_mut(model)?.pop_front());
        of_model
            .or_else(|| state.by_source.get_mut(&attempt.source.name).and_then(VecDeque::pop_front))
            .or_else(|| state.otherwise.clone())
            .unwrap_or_else(|| Script::answer("ok"))
    }
}

#[async_trait]
impl Transport<ChatRequest, ChatEvent> for Upstream {
    async fn open(
        &self,
        attempt: &AttemptCx,
        request: &Arc<ChatRequest>,
    ) -> Result<EventStream<ChatEvent>, CallError> {
        let alive = Alive::new(&self.alive);
        let script = self.next(attempt, request);
        if !script.wait.is_zero() {
            tokio::time::sleep(script.wait).await;
        }
        match script.head {
            Head::Good => {
                Ok(Box::pin(Playing { steps: script.steps.into(), nap: None, _alive: alive }))
            }
            Head::Bad(error) => Err(error),
            Head::Never => std::future::pending().await,
        }
    }
}

#[derive(Debug)]
struct Alive(Arc<AtomicUsize>);

impl Alive {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(count))
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[derive(Debug)]
struct Playing {
    steps: VecDeque<Step>,
    nap: Option<Pin<Box<Sleep>>>,
    _alive: Alive,
}

impl Stream for Playing {
    type Item = Result<ChatEvent, CallError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(nap) = &mut self.nap {
                ready!(nap.as_mut().poll(cx));
                self.nap = None;
            }
            match self.steps.pop_front() {
                None => return Poll::Ready(None),
                Some(Step::Event(event)) => return Poll::Ready(Some(Ok(event))),
                Some(Step::Wait(wait)) => self.nap = Some(Box::pin(tokio::time::sleep(wait))),
                Some(Step::Fail(error)) => {
                    self.steps.clear();
                    return Poll::Ready(Some(Err(error)));
                }
                Some(Step::Never) => {
                    self.steps.push_front(Step::Never);
                    return Poll::Pending;
                }
            }
        }
    }
}
