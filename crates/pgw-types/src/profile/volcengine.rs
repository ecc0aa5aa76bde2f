//! Volcano Engine (clients.md; volcengine.com error codes).

use super::{ErrorRule, ProviderProfile};
use crate::Fault;

/// What its errors mean.
pub(super) const RULES: &[ErrorRule] = &[ErrorRule::code("AccountOverdueError", Fault::Quota)];

pub(super) fn profile() -> ProviderProfile {
    ProviderProfile {
        thinking_on: Some(r#"{"thinking":{"type":"enabled"}}"#.into()),
        thinking_off: Some(r#"{"thinking":{"type":"disabled"}}"#.into()),
        ..ProviderProfile::plain("volcengine", RULES)
    }
}
