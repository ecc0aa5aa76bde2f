//! Gemini by its `OpenAI`-compatible endpoint (ai.google.dev; google-gemini/gemini-cli#6454).

use super::{ErrorRule, ProviderProfile};
use crate::Fault;

/// What its errors mean.
pub(super) const RULES: &[ErrorRule] = &[
    ErrorRule::texts(&["api key not valid"], Fault::InvalidKey),
    // A day's quota is not a minute's.
    ErrorRule::texts(&["perday"], Fault::Quota),
    ErrorRule::code("RESOURCE_EXHAUSTED", Fault::RateLimit),
    ErrorRule::code("UNAVAILABLE", Fault::Overloaded),
    ErrorRule::code("DEADLINE_EXCEEDED", Fault::Timeout),
    ErrorRule::code("UNAUTHENTICATED", Fault::InvalidKey),
    ErrorRule::code("PERMISSION_DENIED", Fault::InvalidKey),
    ErrorRule::texts(&["exceeds the maximum number of tokens allowed"], Fault::ContextLength),
];

pub(super) fn profile() -> ProviderProfile {
    ProviderProfile { native_schema: true, ..ProviderProfile::plain("gemini", RULES) }
}
