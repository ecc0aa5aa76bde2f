//! Qwen on `DashScope` (alibabacloud.com error-code page; QwenLM/qwen-code#3145).

use super::{ErrorRule, ProviderProfile, TokenCapField};
use crate::Fault;

/// What its errors mean.
pub(super) const RULES: &[ErrorRule] = &[
    // A throttle by tokens a minute, although the compatible code may read insufficient_quota.
    ErrorRule::texts(&["allocated quota exceeded"], Fault::RateLimit),
    ErrorRule::code("Throttling", Fault::RateLimit),
    ErrorRule::code("Throttling.*", Fault::RateLimit),
    ErrorRule::code("Arrearage", Fault::Quota),
    ErrorRule::code("InvalidApiKey", Fault::InvalidKey),
    ErrorRule::code("data_inspection_failed", Fault::ContentFilter),
    ErrorRule::code("DataInspectionFailed", Fault::ContentFilter),
    ErrorRule::texts(&["datainspectionfailed"], Fault::ContentFilter),
    ErrorRule::texts(&["range of input length should be"], Fault::ContextLength),
    ErrorRule::texts(&["must be set to false for non-streaming"], Fault::UnsupportedParam),
    ErrorRule::texts(&["only support stream mode"], Fault::UnsupportedParam),
];

pub(super) fn profile() -> ProviderProfile {
    ProviderProfile {
        thinking_on: Some(r#"{"enable_thinking":true}"#.into()),
        thinking_off: Some(r#"{"enable_thinking":false}"#.into()),
        thinking_budget: Some("thinking_budget".into()),
        token_cap: TokenCapField::MaxTokens,
        ..ProviderProfile::plain("qwen", RULES)
    }
}
