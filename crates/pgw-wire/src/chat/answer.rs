//! One answer, from frames to events.
//!
//! The decoder is fed what the framing found and yields events in the order that
//! [`ChatEvent`](pgw_types::ChatEvent) promises. It decides what counts as the end: a finish reason
//! and a clean end of the body. `[DONE]` alone proves nothing, because relays write it after a cut
//! (songquanpeng/one-api `relay/adaptor/openai/main.go`); its absence alone disproves nothing.

use std::{collections::VecDeque, sync::Arc};

use pgw_types::{
    AnomalyPolicy, CallError, ChatEvent, Fault, Finish, FinishReason, ProviderProfile,
    SecretString, Warning,
};

use super::{think::ThinkSplitter, tools::Tools, twin::Twin};
use crate::sse::SseEvent;

mod chunks;
mod frames;

/// What a decoder must know about the answer it reads.
#[derive(Clone, Debug)]
pub struct AnswerContext {
    /// The manners of the service.
    pub profile: Arc<ProviderProfile>,
    /// A stream that ends without a finish reason.
    pub missing_done: AnomalyPolicy,
    /// A frame that can't be read.
    pub malformed_frame: AnomalyPolicy,
    /// How many answers were asked for (`n`).
    pub wanted: u32,
    /// Our id of the attempt: it goes into the ids of tool calls that come without one.
    pub call_id: Arc<str>,
    /// The service's request id, for the first event.
    pub request_id: Option<String>,
    /// The key that the request carried: never shown, should the service repeat it.
    pub secret: SecretString,
}

/// The state of one answer under way.
#[derive(Debug)]
pub struct ChunkDecoder {
    context: AnswerContext,
    id: String,
    model: String,
    started: bool,
    choices: Vec<ChoiceState>,
    end: End,
    any_life: bool,
    salvaged: bool,
    twin: Twin,
    warnings: Vec<Warning>,
    events: VecDeque<ChatEvent>,
}

/// How far the end of the stream has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Open,
    /// `[DONE]` was seen.
    Done,
    /// The finishing event was given out.
    Finished,
}

#[derive(Debug)]
struct ChoiceState {
    splitter: ThinkSplitter,
    tools: Tools,
    reason: Option<(FinishReason, Option<String>)>,
    /// Whether it came in one piece: then it has an end, said or not.
    whole: bool,
}

impl ChunkDecoder {
    /// A decoder at the start of an answer.
    #[must_use]
    pub fn new(context: AnswerContext) -> Self {
        Self {
            context,
            id: String::new(),
            model: String::new(),
            started: false,
            choices: Vec::new(),
            end: End::Open,
            any_life: false,
            salvaged: false,
            twin: Twin::default(),
            warnings: Vec::new(),
            events: VecDeque::new(),
        }
    }

    /// The next event that is ready.
    pub fn next_event(&mut self) -> Option<ChatEvent> {
        self.events.pop_front()
    }

    /// Whether silence may be taken for the end: every answer that was asked for has its finish
    /// reason, so that only usage and `[DONE]` may follow.
    #[must_use]
    pub fn may_end(&self) -> bool {
        let begun = u32::try_from(self.choices.len()).unwrap_or(u32::MAX);
        self.saw_finish() && begun >= self.context.wanted
    }

    /// Whether `[DONE]` was seen: nothing of interest follows.
    #[must_use]
    pub const fn saw_done(&self) -> bool {
        !matches!(self.end, End::Open)
    }

    /// Notes something odd.
    pub fn warn(&mut self, warning: Warning) {
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    /// Takes one event of the stream in.
    ///
    /// # Errors
    /// If the service reports an error in the stream, or a frame can't be read and the policy is to
    /// retry. What came before is among the events all the same.
    pub fn take(&mut self, event: &SseEvent) -> Result<(), CallError> {
        let taken = self.take_event(event, false);
        self.all_given_out_on_error(taken)
    }

    /// Takes the last event of a body in: it may be cut.
    ///
    /// # Errors
    /// As [`take`](Self::take), but a frame that can't be read is a cut, which
    /// [`finish`](Self::finish) judges.
    pub fn take_last(&mut self, event: &SseEvent) -> Result<(), CallError> {
        let taken = self.take_event(event, true);
        self.all_given_out_on_error(taken)
    }

    /// Takes one JSON document in: a chunk, or a whole answer.
    ///
    /// # Errors
    /// If it is an error report, or no JSON.
    pub fn take_json(&mut self, json: &[u8]) -> Result<(), CallError> {
        let taken = self.take_document(json);
        self.all_given_out_on_error(taken)
    }

    /// The body has ended; `clean`: as HTTP says it should.
    ///
    /// # Errors
    /// If the answer is empty or was cut, and the policy is to retry.
    pub fn finish(&mut self, clean: bool) -> Result<(), CallError> {
        if self.end == End::Finished {
            return Ok(());
        }
        self.give_out_held_text();
        let complete = self.saw_finish();
        if !self.any_life && !complete {
            let text = if self.saw_done() {
                "the stream ended with [DONE] without a single token"
            } else {
                "the answer ended without a single token"
            };
            return Err(CallError::new(Fault::EmptyResponse, text));
        }
        if !complete || !clean {
            if self.context.missing_done == AnomalyPolicy::Retry {
                let text = match (complete, self.saw_done()) {
                    (true, _) => "the body was cut after the finish reason",
                    (false, true) => "the stream ended with [DONE] but without a finish reason",
                    (false, false) => "the stream ended without a finish reason",
                };
                return Err(CallError::new(Fault::Truncated, text));
            }
            self.salvaged = true;
            self.warn(Warning::MissingDone);
        }
        self.give_out_finish();
        Ok(())
    }

    /// A whole answer was read. Without a finish reason it still is one: its JSON was complete. A
    /// chunk of a stream in its place has to have one.
    ///
    /// # Errors
    /// If there is no answer in it, or only the start of one.
    pub fn finish_whole(&mut self) -> Result<(), CallError> {
        if self.choices.is_empty() {
            let text = "the answer has no choices";
            return Err(CallError::new(Fault::EmptyResponse, text));
        }
        for choice in self.choices.iter_mut().filter(|choice| choice.whole) {
            choice.reason.get_or_insert((FinishReason::Stop, None));
        }
        self.finish(true)
    }

    /// Whether every answer that was begun has its finish reason.
    fn saw_finish(&self) -> bool {
        !self.choices.is_empty() && self.choices.iter().all(|choice| choice.reason.is_some())
    }

    fn give_out_finish(&mut self) {
        let mut finish = Finish {
            salvaged: self.salvaged,
            warnings: std::mem::take(&mut self.warnings),
            ..Finish::default()
        };
        for choice in &mut self.choices {
            let (reason, raw) = choice.reason.take().unwrap_or((FinishReason::Stop, None));
            // Ollama, vLLM and once gpt-4o say stop after tool calls (ollama/ollama#7963).
            let (reason, raw) = match reason {
                FinishReason::Stop if choice.tools.any() => {
                    (FinishReason::ToolCalls, raw.or_else(|| Some("stop".to_owned())))
                }
                other => (other, raw),
            };
            finish.reasons.push(reason);
            finish.raw_reasons.push(raw);
        }
        self.end = End::Finished;
        self.give_out(ChatEvent::Finish(finish));
    }

    fn all_given_out_on_error(&mut self, taken: Result<(), CallError>) -> Result<(), CallError> {
        if taken.is_err() {
            self.give_out_held_text();
        }
        taken
    }

    /// Text that was held back because it might have become a tag.
    fn give_out_held_text(&mut self) {
        for index in 0..self.choices.len() {
            let mut pieces = Vec::new();
            self.choices[index].splitter.finish(&mut pieces);
            self.give_out_pieces(choice_number(index), pieces);
        }
    }

    /// Gives out a sign of life.
    fn live(&mut self, event: ChatEvent) {
        self.any_life = true;
        self.give_out(event);
    }

    fn give_out(&mut self, event: ChatEvent) {
        self.start();
        self.events.push_back(event);
    }

    /// The first event, once.
    fn start(&mut self) {
        if !self.started {
            self.started = true;
            self.events.push_back(ChatEvent::MessageStart {
                id: self.id.clone(),
                model: self.model.clone(),
                request_id: self.context.request_id.take(),
            });
        }
    }
}

fn choice_number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
