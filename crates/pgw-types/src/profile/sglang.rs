//! SGLang (sgl-project/sglang; BerriAI/litellm#10793).

use super::{ErrorRule, ProviderProfile};
use crate::Fault;

/// What its errors mean.
pub(super) const RULES: &[ErrorRule] =
    &[ErrorRule::texts(&["longer than the model's context length"], Fault::ContextLength)];

pub(super) fn profile() -> ProviderProfile {
    ProviderProfile {
        thinking_on: Some(r#"{"chat_template_kwargs":{"enable_thinking":true}}"#.into()),
        thinking_off: Some(r#"{"chat_template_kwargs":{"enable_thinking":false}}"#.into()),
        native_schema: true,
        ..ProviderProfile::plain("sglang", RULES)
    }
}
