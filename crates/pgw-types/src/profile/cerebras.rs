//! Cerebras (inference-docs.cerebras.ai).

use super::{ErrorRule, ProviderProfile};
use crate::Fault;

/// What its errors mean.
pub(super) const RULES: &[ErrorRule] =
    &[ErrorRule::texts(&["current length is", "while limit is"], Fault::ContextLength)];

pub(super) fn profile() -> ProviderProfile {
    ProviderProfile::plain("cerebras", RULES)
}
