//! One answer, from frames to events.
//!
//! The decoder is fed what the framing found and yields events in the order that
//! [`ChatEvent`](pgw_types::ChatEvent) promises. It decides what counts as the end: a finish reason
//! and a clean end of the body. `[DONE]` alone proves nothing, because relays write it after a cut
//! (songquanpeng/one-api `relay/adaptor/openai/main.go`); its absence alone disproves nothing.

use std::{borrow::Cow, collections::VecDeque, sync::Arc};

use bytes::Bytes;
use memchr::memmem;
use pgw_types::{
    AnomalyPolicy, CallError, ChatEvent, Fault, Finish, FinishReason, ProviderProfile, Warning,
};
use serde_json::Value;

use super::{
    chunk::{Chunk, ChunkChoice, Delta},
    finish::{Finished, meaning},
    loose::Leaf,
    think::{Piece, ThinkSplitter},
    tools::Tools,
};
use crate::{
    error::{self, ErrorContext},
    sse::SseEvent,
};

/// What a decoder must know about the answer it reads.
#[derive(Clone, Debug)]
pub struct AnswerContext {
    /// The manners of the service.
    pub profile: Arc<ProviderProfile>,
    /// A stream that ends without a finish reason.
    pub missing_done: AnomalyPolicy,
    /// A frame that can't be read.
    pub malformed_frame: AnomalyPolicy,
    /// The service's request id, for the first event.
    pub request_id: Option<String>,
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
}

impl ChunkDecoder {
    /// A decoder at the start of an answer.
    #[must_use]
    pub const fn new(context: AnswerContext) -> Self {
        Self {
            context,
            id: String::new(),
            model: String::new(),
            started: false,
            choices: Vec::new(),
            end: End::Open,
            any_life: false,
            salvaged: false,
            warnings: Vec::new(),
            events: VecDeque::new(),
        }
    }

    /// The next event that is ready.
    pub fn next_event(&mut self) -> Option<ChatEvent> {
        self.events.pop_front()
    }

    /// Whether a finish reason was seen for every answer that was begun: what may still come is
    /// usage and the end.
    #[must_use]
    pub fn saw_finish(&self) -> bool {
        !self.choices.is_empty() && self.choices.iter().all(|choice| choice.reason.is_some())
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
    /// retry.
    pub fn take(&mut self, event: &SseEvent) -> Result<(), CallError> {
        self.take_event(event, false)
    }

    /// Takes the last event of a body in: it may be cut.
    ///
    /// # Errors
    /// As [`take`](Self::take), but a frame that can't be read is a cut, which
    /// [`finish`](Self::finish) judges.
    pub fn take_last(&mut self, event: &SseEvent) -> Result<(), CallError> {
        self.take_event(event, true)
    }

    /// Takes one JSON document in: a chunk, or a whole answer.
    ///
    /// # Errors
    /// If it is an error report, or no JSON.
    pub fn take_json(&mut self, json: &[u8]) -> Result<(), CallError> {
        let text = self.text_of(json);
        match self.chunk(&text) {
            Ok(result) => result,
            Err(parse) if parse.is_eof() => Err(CallError::new(
                Fault::Truncated,
                "the JSON answer breaks off",
            )
            .with_cause(parse)),
            Err(parse) => Err(CallError::new(
                Fault::BadResponse,
                format!("the answer is no JSON: {}", error::excerpt(&text)),
            )
            .with_cause(parse)),
        }
    }

    /// The body has ended; `clean`: as HTTP says it should.
    ///
    /// # Errors
    /// If the answer is empty or was cut, and the policy is to retry.
    pub fn finish(&mut self, clean: bool) -> Result<(), CallError> {
        if self.end == End::Finished {
            return Ok(());
        }
        let complete = self.saw_finish();
        for index in 0..self.choices.len() {
            let mut pieces = Vec::new();
            self.choices[index].splitter.finish(&mut pieces);
            self.hand_out(choice_number(index), pieces);
        }
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
        self.finish_now();
        Ok(())
    }

    /// A whole answer was read. Without a finish reason it still is one: its JSON was complete.
    ///
    /// # Errors
    /// If there is no answer in it.
    pub fn finish_whole(&mut self) -> Result<(), CallError> {
        if self.choices.is_empty() {
            let text = "the answer has no choices";
            return Err(CallError::new(Fault::EmptyResponse, text));
        }
        for choice in &mut self.choices {
            choice.reason.get_or_insert((FinishReason::Stop, None));
        }
        self.finish(true)
    }

    fn finish_now(&mut self) {
        self.start();
        let mut finish = Finish {
            salvaged: self.salvaged,
            warnings: std::mem::take(&mut self.warnings),
            ..Finish::default()
        };
        for choice in &mut self.choices {
            let (reason, raw) = choice.reason.take().unwrap_or((FinishReason::Stop, None));
            // Ollama, vLLM and once gpt-4o say stop after tool calls (ollama/ollama#7963).
            let (reason, raw) = match reason {
                FinishReason::Stop if choice.tools.any() => (
                    FinishReason::ToolCalls,
                    raw.or_else(|| Some("stop".to_owned())),
                ),
                other => (other, raw),
            };
            finish.reasons.push(reason);
            finish.raw_reasons.push(raw);
        }
        self.end = End::Finished;
        self.events.push_back(ChatEvent::Finish(finish));
    }

    fn take_event(&mut self, event: &SseEvent, last: bool) -> Result<(), CallError> {
        if self.saw_done() {
            return Ok(());
        }
        if let Some(error) = &event.error {
            // llama.cpp reports failures in a field of this name (coddy-project/coddy-agent#106).
            return Err(self.service_error(&String::from_utf8_lossy(error)));
        }
        let named_error = event.name.as_deref() == Some(b"error");
        match event.data.as_slice() {
            [only] => {
                let line = only.clone();
                self.take_line(&line, named_error, last)
            }
            lines => {
                let joined = lines.join(&b'\n');
                let text = self.text_of(&joined).into_owned();
                match self.chunk(&text) {
                    Ok(result) => result,
                    // Each line may be a document of its own: an error is injected into an event
                    // that was not closed (Wei-Shaw/sub2api#1471).
                    Err(_) => self.take_lines(lines, named_error, last),
                }
            }
        }
    }

    fn take_lines(
        &mut self,
        lines: &[Bytes],
        named_error: bool,
        last: bool,
    ) -> Result<(), CallError> {
        let mut damage = Ok(());
        for line in lines {
            match self.take_line(line, named_error, last) {
                Ok(()) => {}
                // An error that the service reports says more than the damage beside it.
                Err(error) if error.fault() == Fault::DamagedFrame => damage = Err(error),
                Err(error) => return Err(error),
            }
        }
        damage
    }

    fn take_line(&mut self, line: &Bytes, named_error: bool, last: bool) -> Result<(), CallError> {
        let line = line.trim_ascii();
        match line {
            b"" => return Ok(()),
            b"[DONE]" => {
                self.end = End::Done;
                return Ok(());
            }
            // A gateway wrapped a comment as data (mnfst/llm-gateway#2053).
            [b':', ..] => {
                self.warn(Warning::CommentAsData);
                return Ok(());
            }
            _ => {}
        }
        let text = self.text_of(line);
        if named_error {
            return Err(self.service_error(&text));
        }
        match self.chunk(&text) {
            Ok(result) => result,
            Err(_) if last => Ok(()),
            Err(parse) => self.damaged(&text, &parse),
        }
    }

    /// A frame that is no JSON: perhaps two glued together, the first of them cut
    /// (anomalyco/opencode#23442).
    fn damaged(&mut self, text: &str, parse: &serde_json::Error) -> Result<(), CallError> {
        if self.context.malformed_frame == AnomalyPolicy::Retry {
            let excerpt = error::excerpt(text);
            let message = format!("a frame of the stream can't be read ({parse}): {excerpt}");
            return Err(CallError::new(Fault::DamagedFrame, message));
        }
        self.warn(Warning::DamagedFrame);
        self.salvaged = true;
        let inner = memmem::rfind(text.as_bytes(), b"data: {")
            .map(|at| at + 6)
            .or_else(|| memmem::rfind(text.as_bytes(), b"data:{").map(|at| at + 5));
        match inner.and_then(|at| text.get(at..)) {
            Some(inner) => self.chunk(inner).unwrap_or(Ok(())),
            None => Ok(()),
        }
    }

    fn text_of<'a>(&mut self, bytes: &'a [u8]) -> Cow<'a, str> {
        let text = String::from_utf8_lossy(bytes);
        if matches!(text, Cow::Owned(_)) {
            self.warn(Warning::ReplacementChars);
        }
        text
    }

    fn service_error(&self, text: &str) -> CallError {
        error::in_band(text, &ErrorContext::bare(&self.context.profile))
    }

    /// Takes one JSON document in. The outer error: it is no JSON.
    fn chunk(&mut self, text: &str) -> Result<Result<(), CallError>, serde_json::Error> {
        if text.trim_start().starts_with('[') {
            // Google reports errors in a list (google-gemini/gemini-cli#6454).
            let _: Value = serde_json::from_str(text)?;
            return Ok(Err(self.service_error(text)));
        }
        let chunk: Chunk<'_> = serde_json::from_str(text)?;
        if chunk.is_error() {
            return Ok(Err(self.service_error(text)));
        }
        Ok(self.good_chunk(chunk))
    }

    fn good_chunk(&mut self, chunk: Chunk<'_>) -> Result<(), CallError> {
        if self.id.is_empty()
            && let Some(id) = chunk.id.text()
        {
            id.clone_into(&mut self.id);
        }
        if self.model.is_empty()
            && let Some(model) = chunk.model.text()
        {
            model.clone_into(&mut self.model);
        }
        if !self.id.is_empty() {
            self.start();
        }
        let mut broke = None;
        let mut inner_usage = None;
        for choice in chunk.choices.0 {
            if let Some(usage) = &choice.usage.0 {
                inner_usage = Some(usage.report());
            }
            broke = self.choice(choice).err().or(broke);
        }
        let usage = chunk.usage.0.map(|usage| usage.report()).or(inner_usage);
        if let Some(report) = usage.filter(|report| !report.is_empty()) {
            self.start();
            self.events.push_back(ChatEvent::Usage(report));
        }
        broke.map_or(Ok(()), Err)
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

    fn choice(&mut self, choice: ChunkChoice<'_>) -> Result<(), CallError> {
        // More answers than anybody asks for is damage, not data; it must not fill the memory.
        const MOST: usize = 1_024;
        let index = choice
            .index
            .count()
            .and_then(|n| usize::try_from(n).ok())
            .unwrap_or(0);
        if index >= MOST {
            let text = format!("the answer has a choice number {index}");
            return Err(CallError::new(Fault::BadResponse, text));
        }
        while self.choices.len() <= index {
            let splitter = if self.context.profile.think_tags {
                ThinkSplitter::default()
            } else {
                ThinkSplitter::off()
            };
            self.choices.push(ChoiceState {
                splitter,
                tools: Tools::default(),
                reason: None,
            });
        }
        // A finishing chunk may still carry text: read that first (vllm-project/vllm#35705).
        if let Some(delta) = choice.delta.0.or(choice.message.0) {
            self.delta(index, delta);
        }
        if !choice.logprobs.is_null() {
            let value = choice.logprobs.into_value();
            self.events.push_back(ChatEvent::Logprobs {
                choice: choice_number(index),
                value,
            });
        }
        match choice
            .finish_reason
            .text()
            .map(|word| (word, meaning(word)))
        {
            None => Ok(()),
            Some((word, Finished::Ended(reason))) => {
                let raw = (reason.as_str() != word).then(|| word.to_owned());
                self.choices[index].reason.get_or_insert((reason, raw));
                Ok(())
            }
            Some((word, Finished::Broke)) => Err(CallError::new(
                Fault::ServerError,
                format!("the service ended the answer with finish_reason {word}"),
            )),
        }
    }

    fn delta(&mut self, index: usize, delta: Delta<'_>) {
        let choice = choice_number(index);
        self.thinking(
            index,
            delta.reasoning_content,
            delta.reasoning,
            delta.reasoning_details,
        );
        match delta.content {
            Leaf::Null => {}
            Leaf::Text(text) => self.content(index, text),
            Leaf::Other(parts) => self.content_parts(index, &parts),
        }
        if let Some(text) = delta.refusal.into_text() {
            self.life(ChatEvent::RefusalDelta {
                choice,
                text: text.into_owned(),
            });
        }
        for piece in delta.tool_calls.0 {
            let delta = self.choices[index].tools.take(choice, &self.id, piece);
            self.life(ChatEvent::ToolDelta(delta));
        }
        if let Some(function) = delta.function_call.0 {
            let delta = self.choices[index]
                .tools
                .take_function(choice, &self.id, function);
            self.life(ChatEvent::ToolDelta(delta));
        }
    }

    /// Thinking under any of its names; the same words may stand under several at once
    /// (AnswerDotAI/fastllm#61), so only the first name that has any counts.
    fn thinking(&mut self, index: usize, a: Leaf<'_>, b: Leaf<'_>, details: Leaf<'_>) {
        let choice = choice_number(index);
        let named = a.into_text().or_else(|| b.into_text()).map(Cow::into_owned);
        let mut text = named.unwrap_or_default();
        let from_details = text.is_empty();
        for item in details.into_value().as_array_mut().into_iter().flatten() {
            let words = item
                .get("text")
                .or_else(|| item.get("summary"))
                .and_then(Value::as_str);
            match words {
                Some(words) if from_details => text.push_str(words),
                Some(_) => {}
                // Encrypted: to be echoed, not read (vellum-ai/vellum-assistant#30953).
                None => {
                    let item = item.take();
                    self.events
                        .push_back(ChatEvent::ReasoningItem { choice, item });
                }
            }
        }
        if !text.is_empty() {
            self.choices[index].splitter.thinking_came_otherwise();
            self.life(ChatEvent::ThinkingDelta { choice, text });
        }
    }

    fn content(&mut self, index: usize, text: Cow<'_, str>) {
        if text.is_empty() {
            return;
        }
        if memmem::find(text.as_bytes(), "\u{fffd}".as_bytes()).is_some() {
            // The service cut a character in two; it can't be mended here (mattn/tensai#110).
            self.warn(Warning::ReplacementChars);
        }
        let choice = choice_number(index);
        let splitter = &mut self.choices[index].splitter;
        if splitter.is_plain() {
            return self.life(ChatEvent::ContentDelta {
                choice,
                text: text.into_owned(),
            });
        }
        let mut pieces = Vec::new();
        splitter.push(&text, &mut pieces);
        self.hand_out(choice, pieces);
    }

    fn hand_out(&mut self, choice: u32, pieces: Vec<Piece>) {
        for piece in pieces {
            match piece {
                Piece::Content(text) => self.life(ChatEvent::ContentDelta { choice, text }),
                Piece::Thinking(text) => self.life(ChatEvent::ThinkingDelta { choice, text }),
                Piece::ContentWasThinking => {
                    self.events
                        .push_back(ChatEvent::ContentWasThinking { choice });
                }
            }
        }
    }

    /// Content as a list of parts: text, and thinking as Mistral sends it.
    fn content_parts(&mut self, index: usize, parts: &Value) {
        for part in parts.as_array().into_iter().flatten() {
            let text = part.get("text").and_then(Value::as_str);
            if let Some(text) = text {
                self.content(index, Cow::Borrowed(text));
            }
            let thinking = part.get("thinking").map(thinking_text).unwrap_or_default();
            if !thinking.is_empty() {
                let choice = choice_number(index);
                self.life(ChatEvent::ThinkingDelta {
                    choice,
                    text: thinking,
                });
            }
        }
    }

    fn life(&mut self, event: ChatEvent) {
        self.any_life = true;
        self.start();
        self.events.push_back(event);
    }
}

fn thinking_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts
            .iter()
            .filter_map(|part| part.get("text")?.as_str())
            .collect(),
        _ => String::new(),
    }
}

fn choice_number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
