//! Ollama (ollama/ollama `middleware/openai.go`).

use super::{ErrorRule, ProviderProfile};
use crate::Fault;

/// What its errors mean.
pub(super) const RULES: &[ErrorRule] =
    &[ErrorRule::texts(&["try pulling it first"], Fault::ModelNotFound)];

pub(super) fn profile() -> ProviderProfile {
    ProviderProfile { native_schema: true, ..ProviderProfile::plain("ollama", RULES) }
}
