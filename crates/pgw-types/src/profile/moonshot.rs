//! Kimi by Moonshot (platform.moonshot.ai error pages; promptfoo/promptfoo#9672).

use super::{ErrorRule, ProviderProfile, TokenCapField};
use crate::Fault;

/// What its errors mean.
pub(super) const RULES: &[ErrorRule] = &[
    ErrorRule::code("exceeded_current_quota_error", Fault::Quota),
    ErrorRule::code("rate_limit_reached_error", Fault::RateLimit),
    ErrorRule::code("engine_overloaded_error", Fault::Overloaded),
    ErrorRule::code("invalid_authentication_error", Fault::InvalidKey),
    ErrorRule::code("incorrect_api_key_error", Fault::InvalidKey),
    ErrorRule::texts(&["usage limit for this billing cycle"], Fault::Quota),
    ErrorRule::texts(&["not found the model"], Fault::ModelNotFound),
    ErrorRule::texts(&["exceeded model token limit"], Fault::ContextLength),
    ErrorRule::texts(&["input token length too long"], Fault::ContextLength),
    ErrorRule::texts(&["total message size", "exceeds limit"], Fault::ContextLength),
    ErrorRule::texts(&["invalid temperature"], Fault::UnsupportedParam),
    ErrorRule::texts(&["reasoning_content is missing"], Fault::BadRequest),
];

pub(super) fn profile() -> ProviderProfile {
    ProviderProfile {
        thinking_on: Some(r#"{"thinking":{"type":"enabled"}}"#.into()),
        thinking_off: Some(r#"{"thinking":{"type":"disabled"}}"#.into()),
        token_cap: TokenCapField::MaxTokens,
        ..ProviderProfile::plain("moonshot", RULES)
    }
}
