//! `OpenRouter` (openrouter.ai docs: errors, reasoning tokens).

use super::{ErrorRule, ProviderProfile};
use crate::Fault;

/// What its errors mean.
pub(super) const RULES: &[ErrorRule] = &[
    ErrorRule::texts(&["insufficient credits"], Fault::Quota),
    ErrorRule::texts(&["requires moderation"], Fault::ContentFilter),
    ErrorRule::texts(&["is not a valid model id"], Fault::ModelNotFound),
];

pub(super) fn profile() -> ProviderProfile {
    ProviderProfile {
        thinking_on: Some(r#"{"reasoning":{"enabled":true}}"#.into()),
        thinking_off: Some(r#"{"reasoning":{"enabled":false}}"#.into()),
        thinking_budget: Some("reasoning.max_tokens".into()),
        native_schema: true,
        ..ProviderProfile::plain("openrouter", RULES)
    }
}
