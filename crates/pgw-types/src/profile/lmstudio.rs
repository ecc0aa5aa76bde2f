//! LM Studio (lmstudio-ai/lmstudio-bug-tracker#618, #2085).

use super::{ErrorRule, ProviderProfile};
use crate::Fault;

/// What its errors mean.
pub(super) const RULES: &[ErrorRule] =
    &[ErrorRule::texts(&["unexpected endpoint or method"], Fault::BadEndpoint)];

pub(super) fn profile() -> ProviderProfile {
    ProviderProfile { native_schema: true, ..ProviderProfile::plain("lmstudio", RULES) }
}
