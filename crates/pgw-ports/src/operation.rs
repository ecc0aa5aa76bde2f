//! The seam of operations: what the onion must know about a kind of call.

use std::fmt::Debug;

use pgw_types::{CallError, Partial, SourceConfig, Usage, UsageReport, UsageSource};

/// One kind of model call. The onion is written once, generic over this.
pub trait Operation: Debug + Send + Sync + Sized + 'static {
    /// The stable name, for records: `chat`, …
    const NAME: &'static str;

    /// What the caller brings.
    type Request: Debug + Send + Sync + 'static;
    /// What a transport yields.
    type Event: Debug + Send + Sync + 'static;
    /// What the caller gets.
    type Response: Debug + Clone + Send + 'static;
    /// Puts a response together from events.
    type Assembly: Assembly<Self>;

    /// The model that will be asked for at a source.
    fn model<'a>(request: &'a Self::Request, source: &'a SourceConfig) -> &'a str;

    /// Tokens to charge at the door: prompt and answer together, rather too many than too few.
    fn estimate_tokens(request: &Self::Request, source: &SourceConfig) -> u64;

    /// Why a source can't serve a request, by what the source declares of itself: in plain words
    /// that follow its name, such as `can't use tools`. `None`: nothing speaks against it.
    fn unfit(request: &Self::Request, source: &SourceConfig) -> Option<String>;

    /// The request as it is written down: JSON with digests in place of binary parts.
    fn recorded_request(request: &Self::Request) -> String;

    /// Whether an event proves that the model is at work.
    fn is_life(event: &Self::Event) -> bool;

    /// An empty assembly for an answer of `source` to `request`.
    fn assembly(request: &Self::Request, source: &SourceConfig) -> Self::Assembly;

    /// Puts what became of the whole call on a response.
    fn set_trace(response: &mut Self::Response, trace: pgw_types::CallTrace);
}

/// Puts one response together, event by event.
pub trait Assembly<O: Operation>: Send + 'static {
    /// Takes an event in that is handed on to the caller as well.
    fn push(&mut self, event: &O::Event);

    /// Takes an event in that nobody else wants: its text need not be copied.
    fn absorb(&mut self, event: O::Event);

    /// Whether the finishing event was taken in.
    fn is_finished(&self) -> bool;

    /// What the service said about usage so far.
    fn usage(&self) -> UsageReport;

    /// Usage to book: what was reported, or an estimate from what came.
    fn booked_usage(&self) -> (Usage, UsageSource);

    /// The model that answers, as the service names it; empty if it did not say.
    fn answered_model(&self) -> &str;

    /// What came so far, for errors.
    fn partial(&self) -> Partial;

    /// What came so far, for the record.
    fn recorded(&self) -> Recorded;

    /// The response, boxed where it is made: it is large, and many hands pass it on. Leaves the
    /// assembly empty.
    ///
    /// # Errors
    /// If the answer is complete but of no use: empty, or all of it thinking. The error keeps what
    /// came.
    fn finish(&mut self, facts: AttemptFacts) -> Result<Box<O::Response>, CallError>;
}

/// The text of an answer as it is written down.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// The answer.
    pub response: String,
    /// The thinking.
    pub thinking: String,
}

/// What the loop knows about an attempt when its answer is complete.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AttemptFacts {
    /// The id of the attempt.
    pub call_id: String,
    /// Its latency in milliseconds.
    pub latency_ms: u64,
    /// Milliseconds to the first token.
    pub ttft_ms: Option<f64>,
    /// Milliseconds of the longest silence.
    pub max_inter_token_ms: Option<f64>,
    /// What it cost.
    pub cost: Option<f64>,
}
