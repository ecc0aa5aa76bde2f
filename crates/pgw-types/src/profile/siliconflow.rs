//! `SiliconFlow` (FoundationAgents/OpenManus#438).

use super::{ErrorRule, ProviderProfile, TokenCapField};
use crate::Fault;

/// What its errors mean.
pub(super) const RULES: &[ErrorRule] = &[
    ErrorRule::code("30001", Fault::Quota),
    ErrorRule::code("30011", Fault::Quota),
    ErrorRule::texts(&["balance is insufficient"], Fault::Quota),
];

pub(super) fn profile() -> ProviderProfile {
    ProviderProfile {
        thinking_on: Some(r#"{"enable_thinking":true}"#.into()),
        thinking_off: Some(r#"{"enable_thinking":false}"#.into()),
        thinking_budget: Some("thinking_budget".into()),
        token_cap: TokenCapField::MaxTokens,
        ..ProviderProfile::plain("siliconflow", RULES)
    }
}
