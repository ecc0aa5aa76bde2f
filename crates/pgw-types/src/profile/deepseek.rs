//! `DeepSeek` (api-docs.deepseek.com error codes, thinking mode; llm-exe/llm-exe#662).

use super::{ErrorRule, ProviderProfile, TokenCapField};
use crate::Fault;

/// What its errors mean.
pub(super) const RULES: &[ErrorRule] = &[
    ErrorRule::texts(&["insufficient balance"], Fault::Quota),
    ErrorRule::texts(&["content exists risk"], Fault::ContentFilter),
    ErrorRule::texts(&["response_format type is unavailable"], Fault::UnsupportedParam),
    ErrorRule::texts(&["reasoning_content", "must be passed back"], Fault::BadRequest),
    ErrorRule::texts(&["missing `reasoning_content`"], Fault::BadRequest),
    ErrorRule::texts(&["failed to deserialize the json body"], Fault::UnsupportedParam),
];

pub(super) fn profile() -> ProviderProfile {
    ProviderProfile {
        thinking_on: Some(r#"{"thinking":{"type":"enabled"}}"#.into()),
        thinking_off: Some(r#"{"thinking":{"type":"disabled"}}"#.into()),
        token_cap: TokenCapField::MaxTokens,
        ..ProviderProfile::plain("deepseek", RULES)
    }
}
