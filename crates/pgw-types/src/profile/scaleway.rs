//! Scaleway (LibreChat-AI/agents#358: its label says quota, its text says concurrency).

use super::{ErrorRule, ProviderProfile};
use crate::Fault;

/// What its errors mean.
pub(super) const RULES: &[ErrorRule] =
    &[ErrorRule::texts(&["limit of concurrent requests"], Fault::RateLimit)];

pub(super) fn profile() -> ProviderProfile {
    ProviderProfile::plain("scaleway", RULES)
}
