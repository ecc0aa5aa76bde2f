//! What a transport yields: the events of one answer, in order.
//!
//! Order: [`ChatEvent::MessageStart`] first, [`ChatEvent::Finish`] last, everything else between,
//! [`ChatEvent::Usage`] any number of times. A stream that ends without `Finish` ended in an error.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{FinishReason, UsageReport, Warning};

/// One event of an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum ChatEvent {
    /// The service began to answer.
    MessageStart {
        /// The service's id of the answer; empty if it gave none.
        id: String,
        /// The model that answers, as the service names it; empty if it did not say.
        model: String,
        /// The service's request id (`x-request-id`), for its support.
        request_id: Option<String>,
    },
    /// More text of the answer.
    ContentDelta {
        /// Which of `n` answers.
        choice: u32,
        /// The text.
        text: String,
    },
    /// More thinking.
    ThinkingDelta {
        /// Which of `n` answers.
        choice: u32,
        /// The text.
        text: String,
    },
    /// All content of this answer so far was thinking: its opening tag was missing, and only the
    /// closing one showed it. An assembly moves what it has.
    ContentWasThinking {
        /// Which of `n` answers.
        choice: u32,
    },
    /// More of a refusal.
    RefusalDelta {
        /// Which of `n` answers.
        choice: u32,
        /// The text.
        text: String,
    },
    /// More of a tool call.
    ToolDelta(ToolDelta),
    /// An opaque reasoning item that the caller must echo in the next turn.
    ReasoningItem {
        /// Which of `n` answers.
        choice: u32,
        /// The item as it came.
        item: Value,
    },
    /// Token log-probabilities of the last delta, as the service sent them.
    Logprobs {
        /// Which of `n` answers.
        choice: u32,
        /// The service's object.
        value: Value,
    },
    /// A usage report; later ones override member by member.
    Usage(UsageReport),
    /// The answer is complete.
    Finish(Finish),
}

impl ChatEvent {
    /// Whether the event proves that the model is at work: content, refusal, thinking, tool calls.
    /// Only these feed the watchdog, and the first of them is the commit point of a stream.
    #[must_use]
    pub const fn is_life(&self) -> bool {
        match self {
            Self::ContentDelta { .. }
            | Self::ThinkingDelta { .. }
            | Self::RefusalDelta { .. }
            | Self::ToolDelta(_) => true,
            Self::MessageStart { .. }
            | Self::ContentWasThinking { .. }
            | Self::ReasoningItem { .. }
            | Self::Logprobs { .. }
            | Self::Usage(_)
            | Self::Finish(_) => false,
        }
    }
}

/// A piece of a tool call. `slot` is ours and stable: pieces of one call share it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolDelta {
    /// Which of `n` answers.
    pub choice: u32,
    /// Which call of the answer, from 0, in the order the calls were opened.
    pub slot: u32,
    /// The id of the call, on its first piece (made up when the service gave none).
    pub id: Option<String>,
    /// The function's name, once, when it is known.
    pub name: Option<String>,
    /// More of the arguments' JSON text; may be empty.
    pub arguments: String,
    /// Other members to keep for the echo.
    pub extra: Map<String, Value>,
}

/// How an answer ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Finish {
    /// The reason of each of the `n` answers, by index. Never empty in a complete answer.
    pub reasons: Vec<FinishReason>,
    /// The service's own words for them, where they differ.
    pub raw_reasons: Vec<Option<String>>,
    /// What was odd about the answer.
    pub warnings: Vec<Warning>,
    /// Whether parts of the answer were lost and the source's policy was to keep the rest: usage
    /// is then an estimate and the answer is never cached.
    pub salvaged: bool,
}
