//! vLLM (vllm-project/vllm; thinking switch of Qwen3 templates).

use super::{ErrorRule, ProviderProfile};
use crate::Fault;

/// What its errors mean.
pub(super) const RULES: &[ErrorRule] = &[
    ErrorRule::code("NotFoundError", Fault::ModelNotFound),
    ErrorRule::texts(&["maximum context length is"], Fault::ContextLength),
];

pub(super) fn profile() -> ProviderProfile {
    ProviderProfile {
        thinking_on: Some(r#"{"chat_template_kwargs":{"enable_thinking":true}}"#.into()),
        thinking_off: Some(r#"{"chat_template_kwargs":{"enable_thinking":false}}"#.into()),
        native_schema: true,
        ..ProviderProfile::plain("vllm", RULES)
    }
}
