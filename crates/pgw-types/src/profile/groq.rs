//! Groq (console.groq.com error codes; openclaw/openclaw#147644, elizaOS/eliza#4040, vercel/ai#1578).

use super::{ErrorRule, ProviderProfile};
use crate::Fault;

/// What its errors mean.
pub(super) const RULES: &[ErrorRule] = &[
    // One request above the budget of a minute: waiting never helps.
    ErrorRule::status(413, Fault::RequestTooLarge),
    ErrorRule::texts(&["property", "is unsupported"], Fault::UnsupportedParam),
];

pub(super) fn profile() -> ProviderProfile {
    ProviderProfile::plain("groq", RULES)
}
