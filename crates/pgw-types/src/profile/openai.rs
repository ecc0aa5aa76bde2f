//! `OpenAI` (developers.openai.com error codes; BerriAI/litellm#15968, #18927).

use super::{ErrorRule, ProviderProfile};
use crate::Fault;

/// What its errors mean.
pub(super) const RULES: &[ErrorRule] = &[
    // A request over the budget of a minute is never admitted (openclaw/openclaw#147644).
    ErrorRule::texts(&["request too large for"], Fault::RequestTooLarge),
    ErrorRule::code("insufficient_quota", Fault::Quota),
    ErrorRule::code("billing_hard_limit_reached", Fault::Quota),
    ErrorRule::code("rate_limit_exceeded", Fault::RateLimit),
    ErrorRule::code("invalid_api_key", Fault::InvalidKey),
    ErrorRule::code("invalid_authentication", Fault::InvalidKey),
    ErrorRule::code("context_length_exceeded", Fault::ContextLength),
    ErrorRule::code("content_filter", Fault::ContentFilter),
    ErrorRule::code("content_policy_violation", Fault::ContentFilter),
    ErrorRule::code("model_not_found", Fault::ModelNotFound),
    ErrorRule::code("unsupported_parameter", Fault::UnsupportedParam),
    ErrorRule::code("unsupported_value", Fault::UnsupportedParam),
    ErrorRule::texts(&["input tokens exceed the configured limit"], Fault::ContextLength),
    ErrorRule::texts(&["maximum context length"], Fault::ContextLength),
    ErrorRule::texts(&["incorrect api key"], Fault::InvalidKey),
];

pub(super) fn profile() -> ProviderProfile {
    ProviderProfile { native_schema: true, ..ProviderProfile::plain("openai", RULES) }
}
