//! The chat request: what the caller wants of the model.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Message, Structured};

mod openai;

/// Whether the model should think before it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Thinking {
    /// It should, with at most this many tokens if a number is given.
    On {
        /// The budget in tokens.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        budget: Option<u64>,
    },
    /// It should not; this is said to the service explicitly where it has a word for it.
    Off,
}

/// A chat request.
///
/// `None` and empty mean "not said": nothing of the kind goes over the wire, no default is filled
/// in (D65). Build one with [`ChatRequest::new`], or read a whole `OpenAI`-format body with
/// [`ChatRequest::from_openai`].
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ChatRequest {
    /// The model; `None`: the source's own.
    pub model: Option<String>,
    /// The conversation, ready to send.
    pub messages: Vec<Message>,
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// Nucleus sampling.
    pub top_p: Option<f64>,
    /// How many answers.
    pub n: Option<u32>,
    /// Texts at which to stop: a string or a list, as the caller wrote it.
    pub stop: Option<Value>,
    /// Longest answer in tokens. Mutually exclusive with `max_completion_tokens`.
    pub max_tokens: Option<u64>,
    /// Longest answer in tokens, reasoning included (newer name).
    pub max_completion_tokens: Option<u64>,
    /// Seed for repeatable sampling.
    pub seed: Option<i64>,
    /// The tools the model may ask for, as `OpenAI` tool objects.
    pub tools: Vec<Value>,
    /// Which tool to call: a word or an object.
    pub tool_choice: Option<Value>,
    /// Whether several tools may be asked for at once.
    pub parallel_tool_calls: Option<bool>,
    /// The form of the answer: an object with a `type`.
    pub response_format: Option<Value>,
    /// The form in which the text is to be read. It goes over the wire only as `native_format`.
    pub structured: Structured,
    /// The `response_format` for sources whose provider takes schemas, made from `structured`; the
    /// caller's own `response_format` counts over it.
    #[serde(skip)]
    pub native_format: Option<Value>,
    /// How hard to think, in the service's words (`low`, `medium`, …).
    pub reasoning_effort: Option<String>,
    /// Thinking on or off; `None` leaves it to the source's setting.
    pub thinking: Option<Thinking>,
    /// Published `OpenAI` fields that need no understanding here, sent as they are
    /// (see [`ChatRequest::PASSED_ON`]).
    pub options: Map<String, Value>,
    /// The controlled extension name space: members go to the top level of the body untouched, and
    /// override what this library would write there.
    pub provider_options: Map<String, Value>,
}

impl ChatRequest {
    /// A request with nothing but its messages.
    #[must_use]
    pub fn new(messages: Vec<Message>) -> Self {
        Self { messages, ..Self::default() }
    }

    /// The longest answer that was asked for, by either name.
    #[must_use]
    pub const fn token_cap(&self) -> Option<u64> {
        match self.max_tokens {
            Some(cap) => Some(cap),
            None => self.max_completion_tokens,
        }
    }
}

/// What an `OpenAI`-format body says about delivery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delivery {
    /// Whether the caller wants to see the answer as it comes.
    pub stream: bool,
    /// Whether it wants a usage frame at the end of the stream.
    pub include_usage: bool,
}

/// One fault of a request body: which field, what is wrong, what to write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RequestFault {
    /// The field, such as `messages[2].role`.
    pub field: String,
    /// What is wrong, with the shape of the value.
    pub problem: String,
    /// What to write instead.
    pub fix: String,
}

impl std::fmt::Display for RequestFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}; {}", self.field, self.problem, self.fix)
    }
}

#[cfg(test)]
mod tests;
