//! Words of Anthropic, as relays pass them on (platform.claude.com errors).

use super::{ErrorRule, ProviderProfile};
use crate::Fault;

/// What its errors mean.
pub(super) const RULES: &[ErrorRule] = &[
    // The cap of a month or a tier comes as a rate limit without a time.
    ErrorRule::texts(&["spend limit"], Fault::Quota),
    ErrorRule::code("overloaded_error", Fault::Overloaded),
    ErrorRule::code("rate_limit_error", Fault::RateLimit),
    ErrorRule::code("billing_error", Fault::Quota),
    ErrorRule::code("authentication_error", Fault::InvalidKey),
    ErrorRule::code("permission_error", Fault::InvalidKey),
    ErrorRule::code("timeout_error", Fault::Timeout),
    ErrorRule::code("request_too_large", Fault::RequestTooLarge),
    ErrorRule::texts(&["prompt is too long"], Fault::ContextLength),
    ErrorRule::texts(&["credit balance is too low"], Fault::Quota),
];

pub(super) fn profile() -> ProviderProfile {
    ProviderProfile::plain("anthropic", RULES)
}
