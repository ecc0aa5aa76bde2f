//! Mistral (docs.mistral.ai; vybestack/llxprt-code#114: `stream_options` is refused).

use super::{ErrorRule, ProviderProfile};
use crate::Fault;

/// What its errors mean.
pub(super) const RULES: &[ErrorRule] = &[
    ErrorRule::texts(&["too large for model", "maximum context length"], Fault::ContextLength),
    // FastAPI's words for a field that it doesn't know.
    ErrorRule::texts(&["extra inputs are not permitted"], Fault::UnsupportedParam),
];

pub(super) fn profile() -> ProviderProfile {
    ProviderProfile {
        stream_usage: false,
        native_schema: true,
        ..ProviderProfile::plain("mistral", RULES)
    }
}
