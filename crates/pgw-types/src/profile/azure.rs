//! Azure `OpenAI` (learn.microsoft.com, Azure `OpenAI` error codes; microsoft/autogen#6465).

use super::{Auth, ErrorRule, ProviderProfile};
use crate::Fault;

/// What its errors mean.
pub(super) const RULES: &[ErrorRule] = &[
    ErrorRule::code("DeploymentNotFound", Fault::ModelNotFound),
    ErrorRule::code("ResponsibleAIPolicyViolation", Fault::ContentFilter),
    ErrorRule::texts(&["content management policy"], Fault::ContentFilter),
];

pub(super) fn profile() -> ProviderProfile {
    ProviderProfile {
        auth: Auth::Header("api-key".into()),
        native_schema: true,
        ..ProviderProfile::plain("azure", RULES)
    }
}
