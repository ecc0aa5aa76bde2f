//! Perplexity (BerriAI/litellm#21647).

use super::{ErrorRule, ProviderProfile};
use crate::Fault;

/// What its errors mean.
pub(super) const RULES: &[ErrorRule] =
    &[ErrorRule::texts(&["length of all messages is too long"], Fault::ContextLength)];

pub(super) fn profile() -> ProviderProfile {
    ProviderProfile::plain("perplexity", RULES)
}
