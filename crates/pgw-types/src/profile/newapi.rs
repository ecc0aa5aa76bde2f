//! new-api, one-api, their forks and other relays with words of their own (QuantumNous/new-api
//! `types/error.go`; songquanpeng/one-api#1048; TiaraBasori/OpenCode2API#5; BerriAI/litellm#9916).

use super::{ErrorRule, ProviderProfile};
use crate::Fault;

/// What its errors mean.
pub(super) const RULES: &[ErrorRule] = &[
    ErrorRule::code("insufficient_user_quota", Fault::Quota),
    ErrorRule::code("pre_consume_token_quota_failed", Fault::Quota),
    ErrorRule::code("entitlement_*_limit_exceeded", Fault::Quota),
    ErrorRule::code("CreditsError", Fault::Quota),
    ErrorRule::code("sensitive_words_detected", Fault::ContentFilter),
    ErrorRule::code("prompt_blocked", Fault::ContentFilter),
    // No channel for the model: the key is fine, another source may serve it.
    ErrorRule::texts(&["no available channel"], Fault::ModelUnavailable),
    ErrorRule::texts(&["无可用渠道"], Fault::ModelUnavailable),
    ErrorRule::code_and_status("model_not_found", 503, Fault::ModelUnavailable),
    // Bedrock behind a gateway, under status 500.
    ErrorRule::texts(&["extraneous key", "is not permitted"], Fault::UnsupportedParam),
];

pub(super) fn profile() -> ProviderProfile {
    ProviderProfile::plain("newapi", RULES)
}
