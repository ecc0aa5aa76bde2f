//! Token counts of a call: what a service reported, and what is booked.

use serde::{Deserialize, Serialize};

/// Where the token counts of a response come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UsageSource {
    /// The service reported them.
    Measured,
    /// The service reported none; they are a conservative estimate.
    #[default]
    Estimated,
}

impl UsageSource {
    /// The stable spelling: `measured` or `estimated`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Estimated => "estimated",
        }
    }
}

/// Usage of one call as it is booked: tokens and elapsed time.
///
/// In the `OpenAI` shape, which is ours, cached tokens are part of the prompt tokens and reasoning
/// tokens are part of the completion tokens (openai-python `completion_usage.py`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Tokens of the prompt, cached ones included.
    pub prompt_tokens: u64,
    /// Tokens of the answer, reasoning included.
    pub completion_tokens: u64,
    /// Prompt tokens served from the provider's cache; `None` when it did not say.
    pub cached_tokens: Option<u64>,
    /// Completion tokens spent on reasoning; `None` when the provider did not say.
    pub reasoning_tokens: Option<u64>,
    /// Milliseconds from the start of the attempt to its end.
    pub elapsed_ms: u64,
}

impl Usage {
    /// Prompt and completion tokens together: what a tokens-per-minute limit counts.
    #[must_use]
    pub const fn total_tokens(&self) -> u64 {
        self.prompt_tokens.saturating_add(self.completion_tokens)
    }
}

/// A usage report as it came over the wire: any member may be missing.
///
/// Services send usage in one frame, in every frame, cumulatively or in pieces. Within one answer
/// the last value that is not null wins, member by member, and nothing is ever added
/// (ccusage/ccusage#938, camel-ai/camel#4217).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct UsageReport {
    /// Tokens of the prompt.
    pub prompt_tokens: Option<u64>,
    /// Tokens of the answer.
    pub completion_tokens: Option<u64>,
    /// Prompt tokens served from the provider's cache.
    pub cached_tokens: Option<u64>,
    /// Completion tokens spent on reasoning.
    pub reasoning_tokens: Option<u64>,
}

impl UsageReport {
    /// Takes over every member that `later` has.
    pub const fn merge(&mut self, later: &Self) {
        if later.prompt_tokens.is_some() {
            self.prompt_tokens = later.prompt_tokens;
        }
        if later.completion_tokens.is_some() {
            self.completion_tokens = later.completion_tokens;
        }
        if later.cached_tokens.is_some() {
            self.cached_tokens = later.cached_tokens;
        }
        if later.reasoning_tokens.is_some() {
            self.reasoning_tokens = later.reasoning_tokens;
        }
    }

    /// Whether the service said how long prompt and answer were.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        self.prompt_tokens.is_some() && self.completion_tokens.is_some()
    }

    /// Whether nothing at all was reported.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.prompt_tokens.is_none()
            && self.completion_tokens.is_none()
            && self.cached_tokens.is_none()
            && self.reasoning_tokens.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_reported_member_wins_and_nothing_is_added() {
        let mut seen = UsageReport {
            prompt_tokens: Some(4),
            completion_tokens: Some(2),
            ..Default::default()
        };
        seen.merge(&UsageReport {
            completion_tokens: Some(4),
            cached_tokens: Some(3),
            ..Default::default()
        });
        assert_eq!(
            seen,
            UsageReport {
                prompt_tokens: Some(4),
                completion_tokens: Some(4),
                cached_tokens: Some(3),
                reasoning_tokens: None,
            }
        );
        assert!(seen.is_complete());
    }
}
