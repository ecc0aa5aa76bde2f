//! llama.cpp server (ggml-org/llama.cpp; coddy-project/coddy-agent#106).

use super::{ErrorRule, ProviderProfile};
use crate::Fault;

/// What its errors mean.
pub(super) const RULES: &[ErrorRule] = &[
    ErrorRule::code("exceed_context_size_error", Fault::ContextLength),
    ErrorRule::texts(&["exceeds the available context size"], Fault::ContextLength),
];

pub(super) fn profile() -> ProviderProfile {
    ProviderProfile {
        thinking_on: Some(r#"{"chat_template_kwargs":{"enable_thinking":true}}"#.into()),
        thinking_off: Some(r#"{"chat_template_kwargs":{"enable_thinking":false}}"#.into()),
        native_schema: true,
        ..ProviderProfile::plain("llamacpp", RULES)
    }
}
