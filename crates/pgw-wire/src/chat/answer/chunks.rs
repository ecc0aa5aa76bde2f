//! Chunks: text, thinking, tool calls, usage and finish reasons, wherever services put them.

use std::borrow::Cow;

use pgw_types::{CallError, ChatEvent, Fault, FinishReason, Warning};
use serde_json::Value;

use super::{ChoiceState, ChunkDecoder, choice_number};
use crate::chat::{
    chunk::{Chunk, ChunkChoice, Delta, FunctionPiece, ToolPiece},
    finish::{Finished, meaning},
    loose::Leaf,
    think::{Piece, ThinkSplitter},
    tools::{Place, TooMany, Tools},
};

/// More answers than anybody asks for is damage, not data; it must not fill the memory.
const MOST_CHOICES: usize = 1_024;

impl ChunkDecoder {
    pub(super) fn good_chunk(&mut self, chunk: Chunk<'_>) -> Result<(), CallError> {
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
        let mut broke = Ok(());
        let mut inner_usage = None;
        for choice in chunk.choices.0 {
            if let Some(usage) = &choice.usage.0 {
                inner_usage = Some(usage.report());
            }
            broke = broke.and(self.choice(choice));
        }
        let usage = chunk.usage.0.map(|usage| usage.report()).or(inner_usage);
        if let Some(report) = usage.filter(|report| !report.is_empty()) {
            self.give_out(ChatEvent::Usage(report));
        }
        broke
    }

    fn choice(&mut self, choice: ChunkChoice<'_>) -> Result<(), CallError> {
        let index = choice.number();
        if index >= MOST_CHOICES {
            let text = format!("the answer has a choice number {index}");
            return Err(CallError::new(Fault::BadResponse, text));
        }
        while self.choices.len() <= index {
            let splitter = if self.context.profile.think_tags {
                ThinkSplitter::default()
            } else {
                ThinkSplitter::off()
            };
            let tools = Tools::default();
            self.choices.push(ChoiceState { splitter, tools, reason: None, whole: false });
        }
        // A finishing chunk may still carry text: read that first (vllm-project/vllm#35705).
        match (choice.delta.0, choice.message.0) {
            (Some(delta), _) => self.delta(index, delta)?,
            (None, Some(message)) => {
                self.choices[index].whole = true;
                self.delta(index, message)?;
            }
            (None, None) => {}
        }
        if !choice.logprobs.is_null() {
            let value = choice.logprobs.into_value();
            self.give_out(ChatEvent::Logprobs { choice: choice_number(index), value });
        }
        let Some(word) = choice.finish_reason.text() else {
            return Ok(());
        };
        match meaning(word) {
            Finished::Ended(reason) => {
                let raw = (reason.as_str() != word).then(|| word.to_owned());
                let known = &mut self.choices[index].reason;
                // Some write stop on every chunk: any other word says more.
                if known.as_ref().is_none_or(|(known, _)| *known == FinishReason::Stop) {
                    *known = Some((reason, raw));
                }
                Ok(())
            }
            Finished::Broke => Err(CallError::new(
                Fault::ServerError,
                format!("the service ended the answer with finish_reason {word}"),
            )),
        }
    }

    fn delta(&mut self, index: usize, delta: Delta<'_>) -> Result<(), CallError> {
        self.thinking(index, delta.reasoning_content, delta.reasoning, delta.reasoning_details);
        match delta.content {
            Leaf::Null | Leaf::Number(_) => {}
            Leaf::Text(text) => self.content(index, text),
            Leaf::Other(parts) => self.content_parts(index, &parts),
        }
        if let Some(text) = delta.refusal.into_text() {
            let choice = choice_number(index);
            self.live(ChatEvent::RefusalDelta { choice, text: text.into_owned() });
        }
        self.tools(index, delta.tool_calls.0, delta.function_call.0.map(|function| *function))
            .map_err(|TooMany| {
                let text = format!("the answer has more than {} tool calls", Tools::MOST);
                CallError::new(Fault::BadResponse, text)
            })
    }

    fn tools(
        &mut self,
        index: usize,
        pieces: Vec<ToolPiece<'_>>,
        function: Option<FunctionPiece<'_>>,
    ) -> Result<(), TooMany> {
        let choice = choice_number(index);
        let whole = self.choices[index].whole;
        for piece in pieces {
            let place =
                Place { answer_id: &self.id, call_id: &self.context.call_id, choice, whole };
            if let Some(delta) = self.choices[index].tools.take(place, piece)? {
                self.live(ChatEvent::ToolDelta(delta));
            }
        }
        if let Some(function) = function {
            let place =
                Place { answer_id: &self.id, call_id: &self.context.call_id, choice, whole };
            let delta = self.choices[index].tools.take_function(place, function)?;
            self.live(ChatEvent::ToolDelta(delta));
        }
        Ok(())
    }

    /// Thinking under any of its names; the same words may stand under several at once
    /// (AnswerDotAI/fastllm#61), so only the first name that has any counts.
    fn thinking(&mut self, index: usize, a: Leaf<'_>, b: Leaf<'_>, details: Leaf<'_>) {
        let choice = choice_number(index);
        let named = a.into_text().or_else(|| b.into_text()).map(Cow::into_owned);
        let mut text = named.unwrap_or_default();
        let from_details = text.is_empty();
        if let Value::Array(items) = details.into_value() {
            for item in items {
                let words =
                    item.get("text").or_else(|| item.get("summary")).and_then(Value::as_str);
                if let Some(words) = words.filter(|_| from_details) {
                    text.push_str(words);
                }
                // Encrypted or signed: to be echoed (vellum-ai/vellum-assistant#30953).
                if words.is_none() || item.get("signature").is_some_and(Value::is_string) {
                    self.give_out(ChatEvent::ReasoningItem { choice, item });
                }
            }
        }
        self.think(index, text);
    }

    pub(super) fn think(&mut self, index: usize, text: String) {
        if !text.is_empty() {
            self.choices[index].splitter.thinking_came_otherwise();
            self.live(ChatEvent::ThinkingDelta { choice: choice_number(index), text });
        }
    }

    pub(super) fn content(&mut self, index: usize, text: Cow<'_, str>) {
        if text.is_empty() {
            return;
        }
        if text.contains('\u{fffd}') {
            // The service cut a character in two; it can't be mended here (mattn/tensai#110).
            self.warn(Warning::ReplacementChars);
        }
        let choice = choice_number(index);
        let splitter = &mut self.choices[index].splitter;
        if splitter.passes(&text) {
            return self.live(ChatEvent::ContentDelta { choice, text: text.into_owned() });
        }
        let mut pieces = Vec::new();
        splitter.push(&text, &mut pieces);
        self.give_out_pieces(choice, pieces);
    }

    pub(super) fn give_out_pieces(&mut self, choice: u32, pieces: Vec<Piece>) {
        for piece in pieces {
            match piece {
                Piece::Content(text) => self.live(ChatEvent::ContentDelta { choice, text }),
                Piece::Thinking(text) => self.live(ChatEvent::ThinkingDelta { choice, text }),
                Piece::ContentWasThinking => {
                    self.give_out(ChatEvent::ContentWasThinking { choice });
                }
            }
        }
    }

    /// Content as a list of parts: text, and thinking as Mistral sends it.
    fn content_parts(&mut self, index: usize, parts: &Value) {
        for part in parts.as_array().into_iter().flatten() {
            let kind = part.get("type").and_then(Value::as_str).unwrap_or_default();
            if let Some(text) = part.as_str().or_else(|| part.get("text")?.as_str()) {
                match kind {
                    "thinking" | "reasoning" => self.think(index, text.to_owned()),
                    _ => self.content(index, Cow::Borrowed(text)),
                }
            }
            if let Some(thinking) = part.get("thinking") {
                self.think(index, thinking_text(thinking));
            }
        }
    }
}

fn thinking_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part.get("text")?.as_str()).collect(),
        _ => String::new(),
    }
}
