//! The one response type of a chat call.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::{CallTrace, ToolCall, UsageSource};

/// Why the model stopped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum FinishReason {
    /// It was done.
    #[default]
    Stop,
    /// The output limit was reached.
    Length,
    /// It asks for tools to be called.
    ToolCalls,
    /// A content filter cut the answer.
    ContentFilter,
    /// A reason we have no word for, passed on as it came.
    Other(String),
}

impl FinishReason {
    /// The `OpenAI` spelling.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::ToolCalls => "tool_calls",
            Self::ContentFilter => "content_filter",
            Self::Other(word) => word,
        }
    }
}

impl From<&str> for FinishReason {
    fn from(word: &str) -> Self {
        match word {
            "stop" => Self::Stop,
            "length" => Self::Length,
            "tool_calls" => Self::ToolCalls,
            "content_filter" => Self::ContentFilter,
            other => Self::Other(other.to_owned()),
        }
    }
}

impl fmt::Display for FinishReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for FinishReason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for FinishReason {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|word| Self::from(word.as_str()))
    }
}

/// Something odd about an answer that is still an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Warning {
    /// A frame of the stream was damaged and was left out or mended.
    DamagedFrame,
    /// The stream ended without a finish reason, and the source's policy was to keep it.
    MissingDone,
    /// The service sent replacement characters (U+FFFD): it cut a character in two.
    ReplacementChars,
    /// A plain JSON answer came where a stream was asked for.
    JsonInsteadOfStream,
    /// The service did not report usage; it is estimated.
    UsageEstimated,
    /// A keep-alive comment was wrapped in a data line.
    CommentAsData,
}

impl Warning {
    /// The stable spelling.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::DamagedFrame => "damaged_frame",
            Self::MissingDone => "missing_done",
            Self::ReplacementChars => "replacement_chars",
            Self::JsonInsteadOfStream => "json_instead_of_stream",
            Self::UsageEstimated => "usage_estimated",
            Self::CommentAsData => "comment_as_data",
        }
    }
}

/// One of several answers (`n` > 1).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Choice {
    /// The text; empty if there is none.
    pub content: String,
    /// The thinking; empty if there is none.
    pub thinking: String,
    /// The refusal, if the model refused.
    pub refusal: Option<String>,
    /// The tools the model asks for.
    pub tool_calls: Vec<ToolCall>,
    /// Why it stopped.
    pub finish_reason: FinishReason,
    /// The service's own word, where it differs.
    pub raw_finish_reason: Option<String>,
    /// Opaque reasoning items to echo in the next turn.
    pub reasoning_items: Vec<Value>,
    /// Token log-probabilities as the service sent them.
    pub logprobs: Option<Value>,
}

/// The answer of a governed chat call.
///
/// Fields are only ever added, each with a default; none is removed or renamed (TYP-013). Build one
/// with `LlmResponse { content: …, ..Default::default() }`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LlmResponse {
    /// The text of the answer; empty if there is none (tool calls, refusal).
    pub content: String,
    /// The thinking, from a reasoning field or from think tags; empty if there is none.
    pub thinking: String,
    /// The model that answered, as the service names it.
    pub model: String,
    /// The provider profile of the source.
    pub provider: String,
    /// Tokens of the prompt; see `usage_source`.
    pub prompt_tokens: u64,
    /// Tokens of the answer; see `usage_source`.
    pub completion_tokens: u64,
    /// Milliseconds of the attempt that succeeded; 0 for a cache hit.
    pub latency_ms: u64,
    /// Milliseconds to the first token of either kind; `None` for a plain answer.
    pub ttft_ms: Option<f64>,
    /// Milliseconds of the longest silence between two tokens; `None` for a plain answer.
    pub max_inter_token_ms: Option<f64>,
    /// Whether the answer came from the cache.
    pub cache_hit: bool,
    /// The id (a UUID) of the attempt that succeeded.
    pub call_id: String,
    /// The source that answered.
    pub source_name: String,
    /// What the call cost, in the price table's currency (US dollars in the built-in one); `None`
    /// if no price is known.
    pub cost: Option<f64>,
    /// Whether the token counts were reported or estimated.
    pub usage_source: UsageSource,
    /// The value that a structured call asked for. Never serialized: a cache hit rebuilds it.
    #[serde(skip)]
    pub structured_data: Option<Value>,
    /// Why the model stopped.
    pub finish_reason: FinishReason,
    /// The service's own word for it, where it differs.
    pub raw_finish_reason: Option<String>,
    /// The refusal, if the model refused.
    pub refusal: Option<String>,
    /// The tools the model asks for.
    pub tool_calls: Vec<ToolCall>,
    /// Prompt tokens served from the provider's cache (part of the prompt tokens).
    pub cached_tokens: Option<u64>,
    /// Tokens spent on reasoning (part of the completion tokens).
    pub reasoning_tokens: Option<u64>,
    /// Answers 1 to n−1 of a request for several; answer 0 is this response itself.
    pub other_choices: Vec<Choice>,
    /// Opaque reasoning items to echo in the next turn.
    pub reasoning_items: Vec<Value>,
    /// Token log-probabilities as the service sent them.
    pub logprobs: Option<Value>,
    /// What was odd about the answer.
    pub warnings: Vec<Warning>,
    /// Whether parts of the answer were lost and the rest was kept by the source's policy.
    pub salvaged: bool,
    /// The service's id of the answer.
    pub response_id: String,
    /// The service's request id, for its support.
    pub upstream_request_id: Option<String>,
    /// What became of each attempt of the call.
    pub trace: CallTrace,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// TYP-001 … TYP-013: the fields that callers read, named one by one, and their JSON names.
    #[test]
    fn the_contract_fields_stand() {
        let LlmResponse {
            content,
            thinking,
            model,
            provider,
            prompt_tokens,
            completion_tokens,
            latency_ms,
            ttft_ms,
            max_inter_token_ms,
            cache_hit,
            call_id,
            ..
        } = LlmResponse::default();
        let (_, _, _, _): (String, String, String, String) = (content, thinking, model, provider);
        let (_, _, _): (u64, u64, u64) = (prompt_tokens, completion_tokens, latency_ms);
        let (_, _, _): (Option<f64>, Option<f64>, bool) = (ttft_ms, max_inter_token_ms, cache_hit);
        let _: String = call_id;
        let golden = json!({
            "content": "", "thinking": "", "model": "", "provider": "", "prompt_tokens": 0,
            "completion_tokens": 0, "latency_ms": 0, "ttft_ms": null, "max_inter_token_ms": null,
            "cache_hit": false, "call_id": "", "source_name": "", "cost": null,
            "usage_source": "estimated", "finish_reason": "stop", "raw_finish_reason": null,
            "refusal": null, "tool_calls": [], "cached_tokens": null, "reasoning_tokens": null,
            "other_choices": [], "reasoning_items": [], "logprobs": null, "warnings": [],
            "salvaged": false, "response_id": "", "upstream_request_id": null,
            "trace": {"request_id": "", "scope": "", "config_checksum": "", "attempts": [],
                      "skips": [], "exclusions": [], "waited_ms": 0}
        });
        assert_eq!(serde_json::to_value(LlmResponse::default()).unwrap(), golden);
    }

    /// TYP-014 … TYP-016, TYP-019: an answer stored before a field existed still reads.
    #[test]
    fn old_json_without_newer_fields_still_reads() {
        let old = json!({"content": "hi", "model": "m", "prompt_tokens": 3});
        let response: LlmResponse = serde_json::from_value(old).unwrap();
        assert_eq!((response.content.as_str(), response.prompt_tokens), ("hi", 3));
        assert_eq!(response.source_name, "");
        assert_eq!(response.usage_source, UsageSource::Estimated);
    }

    /// TYP-017, TYP-018.
    #[test]
    fn structured_data_takes_no_part_in_serialization() {
        let response =
            LlmResponse { structured_data: Some(json!({"a": 1})), ..LlmResponse::default() };
        let stored = serde_json::to_value(&response).unwrap();
        assert!(stored.get("structured_data").is_none());
    }
}
