//! GLM by Zhipu (docs.bigmodel.cn, API error codes; anthropics/claude-code#9201).

use super::{ErrorRule, ProviderProfile, TokenCapField};
use crate::Fault;

/// What its errors mean.
pub(super) const RULES: &[ErrorRule] = &[
    // Under 401 only: MiniMax says rate limit and timeout with the same numbers
    // (platform.minimax.io, error codes).
    ErrorRule::code_and_status("1000", 401, Fault::InvalidKey),
    ErrorRule::code_and_status("1001", 401, Fault::InvalidKey),
    ErrorRule::code_and_status("1002", 401, Fault::InvalidKey),
    ErrorRule::code_and_status("1003", 401, Fault::InvalidKey),
    ErrorRule::code_and_status("1004", 401, Fault::InvalidKey),
    ErrorRule::code("1113", Fault::Quota),
    // Allowances of a day, five hours, a week or a month: hours away, not seconds.
    ErrorRule::code("1304", Fault::Quota),
    ErrorRule::code("1308", Fault::Quota),
    ErrorRule::code("1309", Fault::Quota),
    ErrorRule::code("1310", Fault::Quota),
    ErrorRule::code("1302", Fault::RateLimit),
    ErrorRule::code("1303", Fault::RateLimit),
    ErrorRule::code("1313", Fault::RateLimit),
    ErrorRule::code("1305", Fault::Overloaded),
    ErrorRule::code("1312", Fault::Overloaded),
    ErrorRule::code("1211", Fault::ModelNotFound),
    ErrorRule::code("1311", Fault::ModelNotFound),
    ErrorRule::code("1261", Fault::ContextLength),
    ErrorRule::code("1301", Fault::ContentFilter),
];

pub(super) fn profile() -> ProviderProfile {
    ProviderProfile {
        thinking_on: Some(r#"{"thinking":{"type":"enabled"}}"#.into()),
        thinking_off: Some(r#"{"thinking":{"type":"disabled"}}"#.into()),
        token_cap: TokenCapField::MaxTokens,
        ..ProviderProfile::plain("glm", RULES)
    }
}
