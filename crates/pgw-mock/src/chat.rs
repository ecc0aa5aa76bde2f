//! `OpenAI` chat answers built from a few words, as JSON or as the matching SSE sequence.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::answer::{EVENT_STREAM, JSON, Step};
use crate::request::Facts;
use crate::scenario::Problem;

/// A fixed creation time (2023-11-14 UTC), so that equal requests get equal bytes.
const CREATED: u64 = 1_700_000_000;

/// How a chat answer breaks off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// The connection closes cleanly.
    Cut,
    /// The connection is reset.
    Reset,
    /// The connection stays open and silent.
    Stall,
}

impl Fault {
    fn step(self) -> Step {
        match self {
            Self::Cut => Step::Cut,
            Self::Reset => Step::Reset,
            Self::Stall => Step::Stall,
        }
    }
}

/// A chat answer in the `OpenAI` format.
///
/// A request with `"stream": true` gets SSE: a role chunk, one chunk per delta (per word when no
/// deltas are given), a finish chunk, a usage chunk if `stream_options.include_usage` was asked, and
/// `[DONE]`. Any other request gets one JSON completion. In a scenario file:
///
/// | field | meaning |
/// |---|---|
/// | `content` | the text; sent word by word in a stream |
/// | `deltas` | the text in chosen pieces, instead of `content` |
/// | `thinking` | sent as `reasoning_content` before the text |
/// | `tool_calls` | list of `{"name", "arguments"}`, arguments as JSON text |
/// | `model` | the request's model when absent |
/// | `usage` | `[prompt tokens, completion tokens]`; 10 and one a delta when absent |
/// | `finish_reason` | `stop`, or `tool_calls` when there are some |
/// | `pause_ms` | pause between the chunks of a stream |
/// | `break` | `{"after": deltas, "with": "cut" \| "reset" \| "stall"}`; a JSON answer breaks in its middle |
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ChatReply {
    content: Option<String>,
    deltas: Option<Vec<String>>,
    thinking: Option<String>,
    tool_calls: Vec<ToolCall>,
    model: Option<String>,
    usage: Option<(u64, u64)>,
    finish_reason: Option<String>,
    pause_ms: Option<u64>,
    #[serde(rename = "break")]
    breaks: Option<Break>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolCall {
    name: String,
    arguments: String,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct Break {
    after: usize,
    with: Fault,
}

impl ChatReply {
    /// An answer with this text.
    #[must_use]
    pub fn new(content: impl Into<String>) -> Self {
        Self { content: Some(content.into()), ..Self::default() }
    }

    /// An answer whose stream has exactly these text pieces.
    #[must_use]
    pub fn from_deltas<T: Into<String>>(deltas: impl IntoIterator<Item = T>) -> Self {
        let deltas = deltas.into_iter().map(Into::into).collect();
        Self { deltas: Some(deltas), ..Self::default() }
    }

    /// Sends thinking before the text, in the field `reasoning_content` (`DeepSeek` API reference).
    #[must_use]
    pub fn thinking(mut self, thinking: impl Into<String>) -> Self {
        self.thinking = Some(thinking.into());
        self
    }

    /// Adds a tool call; `arguments` is sent as it is, valid JSON or not.
    #[must_use]
    pub fn tool_call(mut self, name: impl Into<String>, arguments: impl Into<String>) -> Self {
        self.tool_calls.push(ToolCall { name: name.into(), arguments: arguments.into() });
        self
    }

    /// Names this model instead of the one the request asked for.
    #[must_use]
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// Reports these prompt and completion tokens.
    #[must_use]
    pub fn usage(mut self, prompt_tokens: u64, completion_tokens: u64) -> Self {
        self.usage = Some((prompt_tokens, completion_tokens));
        self
    }

    /// Ends with this `finish_reason`.
    #[must_use]
    pub fn finish_reason(mut self, reason: impl Into<String>) -> Self {
        self.finish_reason = Some(reason.into());
        self
    }

    /// Waits this long between the chunks of a stream.
    #[must_use]
    pub fn pause_ms(mut self, milliseconds: u64) -> Self {
        self.pause_ms = Some(milliseconds);
        self
    }

    /// Breaks a stream off after that many deltas, a JSON answer in its middle.
    #[must_use]
    pub fn breaks(mut self, after: usize, with: Fault) -> Self {
        self.breaks = Some(Break { after, with });
        self
    }

    pub(crate) fn collect_problems(&self, at: &str, problems: &mut Vec<Problem>) {
        if self.content.is_some() && self.deltas.is_some() {
            problems.push(Problem::new(
                format!("{at}.deltas"),
                "stands beside content; keep one of the two",
            ));
        }
        let deltas = self.pieces().len();
        if let Some(fault) = self.breaks.filter(|fault| fault.after > deltas) {
            let message =
                format!("{} is more than the {deltas} deltas; write at most that", fault.after);
            problems.push(Problem::new(format!("{at}.break.after"), message));
        }
    }

    /// Media type and steps of the answer to a request; `serial` makes its id.
    pub(crate) fn render(&self, facts: &Facts, serial: usize) -> (&'static str, Vec<Step>) {
        if facts.stream {
            (EVENT_STREAM, self.stream(facts, serial))
        } else {
            (JSON, self.completion(facts, serial))
        }
    }

    fn completion(&self, facts: &Facts, serial: usize) -> Vec<Step> {
        let mut message = Map::new();
        message.insert("role".into(), "assistant".into());
        message.insert("content".into(), self.text().map_or(Value::Null, Value::from));
        if let Some(thinking) = &self.thinking {
            message.insert("reasoning_content".into(), thinking.as_str().into());
        }
        if !self.tool_calls.is_empty() {
            let calls = self.tool_calls.iter().enumerate().map(|(index, call)| {
                json!({"id": call_id(serial, index), "type": "function",
                       "function": {"name": call.name, "arguments": call.arguments}})
            });
            message.insert("tool_calls".into(), calls.collect());
        }
        let body = json!({
            "id": reply_id(serial), "object": "chat.completion", "created": CREATED,
            "model": self.model_for(facts),
            "choices": [{"index": 0, "message": message, "finish_reason": self.finish()}],
            "usage": self.usage_value(),
        });
        let mut head = bytes::Bytes::from(body.to_string());
        match self.breaks {
            None => vec![Step::Data(head)],
            Some(fault) => {
                // The rest stays in the script: it makes content-length promise the whole body.
                let rest = head.split_off(head.len() / 2);
                vec![Step::Data(head), fault.with.step(), Step::Data(rest)]
            }
        }
    }

    fn stream(&self, facts: &Facts, serial: usize) -> Vec<Step> {
        let chunk = |choices: Value, usage: Option<Value>| {
            let mut body = json!({
                "id": reply_id(serial), "object": "chat.completion.chunk", "created": CREATED,
                "model": self.model_for(facts), "choices": choices,
            });
            if facts.include_usage {
                // With include_usage every chunk has the field, null but in the last one
                // (OpenAI API reference, chat streaming).
                body["usage"] = usage.unwrap_or(Value::Null);
            }
            Step::event(&body)
        };
        let choice = |delta: Value, finish: Option<&str>| {
            chunk(json!([{"index": 0, "delta": delta, "finish_reason": finish}]), None)
        };

        let mut events = vec![choice(json!({"role": "assistant", "content": ""}), None)];
        for piece in self.thinking.iter().flat_map(|text| words(text)) {
            events.push(choice(json!({"reasoning_content": piece}), None));
        }
        let before_text = events.len();
        for piece in self.pieces() {
            events.push(choice(json!({"content": piece}), None));
        }
        for (index, call) in self.tool_calls.iter().enumerate() {
            let start = json!({"index": index, "id": call_id(serial, index), "type": "function",
                               "function": {"name": call.name, "arguments": ""}});
            events.push(choice(json!({"tool_calls": [start]}), None));
            let rest = json!({"index": index, "function": {"arguments": call.arguments}});
            events.push(choice(json!({"tool_calls": [rest]}), None));
        }
        events.push(choice(json!({}), Some(self.finish())));
        if facts.include_usage {
            events.push(chunk(json!([]), Some(self.usage_value())));
        }
        events.push(Step::done());

        let mut steps = Vec::with_capacity(events.len() * 2);
        let fault = self.breaks.map(|fault| (before_text + fault.after, fault.with.step()));
        for (index, event) in events.into_iter().enumerate() {
            if let Some((_, step)) = fault.as_ref().filter(|(after, _)| *after == index) {
                steps.push(step.clone());
            }
            if let Some(pause) = self.pause_ms.filter(|_| index > 0) {
                steps.push(Step::Pause(Duration::from_millis(pause)));
            }
            steps.push(event);
        }
        steps
    }

    /// The whole text; `None` when the answer has none (only tool calls).
    fn text(&self) -> Option<String> {
        self.deltas.as_ref().map(|deltas| deltas.concat()).or_else(|| self.content.clone())
    }

    fn pieces(&self) -> Vec<&str> {
        match (&self.deltas, &self.content) {
            (Some(deltas), _) => deltas.iter().map(String::as_str).collect(),
            (None, Some(content)) => words(content).collect(),
            (None, None) => Vec::new(),
        }
    }

    fn model_for<'a>(&'a self, facts: &'a Facts) -> &'a str {
        self.model.as_deref().or(facts.model.as_deref()).unwrap_or("mock-model")
    }

    fn finish(&self) -> &str {
        match &self.finish_reason {
            Some(reason) => reason,
            None if self.tool_calls.is_empty() => "stop",
            None => "tool_calls",
        }
    }

    fn usage_value(&self) -> Value {
        let (prompt, completion) = self.usage.unwrap_or((10, self.pieces().len() as u64));
        json!({"prompt_tokens": prompt, "completion_tokens": completion,
               "total_tokens": prompt.saturating_add(completion)})
    }
}

/// Words with the space that follows them, so that their concatenation is the text.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(' ')
}

fn reply_id(serial: usize) -> String {
    format!("chatcmpl-mock-{serial}")
}

fn call_id(serial: usize, index: usize) -> String {
    format!("call_mock_{serial}_{index}")
}
