//! What is written down of each attempt, hit and refusal.

use serde::{Deserialize, Serialize};

use crate::UsageSource;

/// One row of telemetry.
///
/// There is one per attempt, one per cache hit, and one for a call that ended without any attempt;
/// never two for one fact. The first eighteen fields are the contract (TEL-001); the rest place the
/// row in its call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CallRecord {
    /// The id (a UUID) of the attempt; the primary key.
    pub call_id: String,
    /// The caller's step.
    pub parent_call_id: Option<String>,
    /// The caller's session.
    pub session_id: Option<String>,
    /// The model that was asked for.
    pub model: String,
    /// The provider profile; empty if no source was chosen.
    pub provider: String,
    /// The source; empty if none was chosen.
    pub source_name: String,
    /// The messages as JSON, with digests in place of binary parts.
    pub messages: String,
    /// The text of the answer as far as it came.
    pub response: String,
    /// The thinking as far as it came.
    pub thinking: String,
    /// Tokens of the prompt; 0 if nothing was sent.
    pub prompt_tokens: u64,
    /// Tokens of the answer.
    pub completion_tokens: u64,
    /// Whether the counts were reported or estimated.
    pub usage_source: UsageSource,
    /// Milliseconds of the attempt; 0 for a hit.
    pub latency_ms: u64,
    /// Milliseconds to the first token.
    pub ttft_ms: Option<f64>,
    /// Milliseconds of the longest silence between two tokens.
    pub max_inter_token_ms: Option<f64>,
    /// Whether this is a cache hit.
    pub cache_hit: bool,
    /// `None` for a success, else the class, fault and message, or `cancelled`.
    pub error: Option<String>,
    /// What it cost; `None` if no price is known.
    pub cost: Option<f64>,
    /// The identity of the call that the attempt belongs to.
    pub request_id: String,
    /// The attempt, from 0; `None` for a row without an attempt.
    pub attempt: Option<u32>,
    /// The scope.
    pub scope: String,
    /// The operation: `chat`, …
    pub operation: String,
    /// Start of the attempt, milliseconds since 1970-01-01 UTC.
    pub started_at_ms: u64,
}

impl CallRecord {
    /// The value of `error` for a call that was dropped before its end.
    pub const CANCELLED: &'static str = "cancelled";
}
