//! The names: every variable there is, and what it sets.

use super::cache::CacheKey;

/// A field of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Field {
    Name,
    BaseUrl,
    ApiKey,
    ApiKeyFile,
    Model,
    ConnectTimeout,
    TtftTimeout,
    InterTokenTimeout,
    Timeout,
    MaxConcurrency,
    Rpm,
    Tpm,
    EstTokens,
    EnableThinking,
    MissingDone,
    MalformedFrame,
    TrustEnv,
    CaFile,
    Stream,
    ContextTokens,
    Tools,
    Images,
    Tier,
    Weight,
    Provider,
}

/// Fields with their variable's ending and their path in the settings.
pub(super) const FIELDS: [(Field, &str, &str); 25] = [
    (Field::Name, "NAME", "name"),
    (Field::BaseUrl, "BASE_URL", "base_url"),
    (Field::ApiKey, "API_KEY", "api_key"),
    (Field::ApiKeyFile, "API_KEY_FILE", "api_key"),
    (Field::Model, "MODEL", "model"),
    (Field::ConnectTimeout, "CONNECT_TIMEOUT_S", "timeouts.connect"),
    (Field::TtftTimeout, "TTFT_TIMEOUT_S", "timeouts.ttft"),
    (Field::InterTokenTimeout, "INTER_TOKEN_TIMEOUT_S", "timeouts.inter_token"),
    (Field::Timeout, "TIMEOUT_S", "timeouts.total"),
    (Field::MaxConcurrency, "MAX_CONCURRENCY", "limits.max_concurrency"),
    (Field::Rpm, "RPM", "limits.rpm"),
    (Field::Tpm, "TPM", "limits.tpm"),
    (Field::EstTokens, "EST_TOKENS", "est_tokens"),
    (Field::EnableThinking, "ENABLE_THINKING", "enable_thinking"),
    (Field::MissingDone, "MISSING_DONE", "missing_done"),
    (Field::MalformedFrame, "MALFORMED_FRAME", "malformed_frame"),
    (Field::TrustEnv, "TRUST_ENV", "trust_env"),
    (Field::CaFile, "CA_FILE", "ca_pem"),
    (Field::Stream, "STREAM", "can_stream"),
    (Field::ContextTokens, "CONTEXT_TOKENS", "context_tokens"),
    (Field::Tools, "TOOLS", "can_use_tools"),
    (Field::Images, "IMAGES", "can_see_images"),
    (Field::Tier, "TIER", "tier"),
    (Field::Weight, "WEIGHT", "weight"),
    // Part of the name for numbered sources, a variable of its own in the flat form only.
    (Field::Provider, "PROVIDER", "provider"),
];

/// A setting of the whole scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ScopeKey {
    MaxAttempts,
    BaseDelay,
    MaxDelay,
    RetryAfterCap,
    RateLimitCooldown,
    FailThreshold,
    Cooldown,
    DeadCooldown,
    ProbeLease,
    StallWindow,
    PollInterval,
    MaxWait,
    MaxQueue,
    Selector,
    GlobalConcurrency,
    GlobalRpm,
    GlobalTpm,
    LeaseTtl,
    Deadline,
}

/// Scope settings with their variable's ending and their path in the settings.
pub(super) const SCOPE_KEYS: [(ScopeKey, &str, &str); 19] = [
    (ScopeKey::MaxAttempts, "RETRY__MAX_ATTEMPTS", "retry.max_attempts"),
    (ScopeKey::BaseDelay, "RETRY__BASE_DELAY_S", "retry.base_delay"),
    (ScopeKey::MaxDelay, "RETRY__MAX_DELAY_S", "retry.max_delay"),
    (ScopeKey::RetryAfterCap, "RETRY__RETRY_AFTER_CAP_S", "retry.retry_after_cap"),
    (ScopeKey::RateLimitCooldown, "RETRY__RATE_LIMIT_COOLDOWN_S", "retry.rate_limit_cooldown"),
    (ScopeKey::FailThreshold, "BREAKER__FAIL_THRESHOLD", "breaker.fail_threshold"),
    (ScopeKey::Cooldown, "BREAKER__COOLDOWN_S", "breaker.cooldown"),
    (ScopeKey::DeadCooldown, "BREAKER__DEAD_COOLDOWN_S", "breaker.dead_cooldown"),
    (ScopeKey::ProbeLease, "BREAKER__PROBE_LEASE_S", "breaker.probe_lease"),
    (ScopeKey::StallWindow, "BACKPRESSURE__STALL_WINDOW_S", "backpressure.stall_window"),
    (ScopeKey::PollInterval, "BACKPRESSURE__POLL_INTERVAL_S", "backpressure.poll_interval"),
    (ScopeKey::MaxWait, "BACKPRESSURE__MAX_WAIT_S", "backpressure.max_wait"),
    (ScopeKey::MaxQueue, "BACKPRESSURE__MAX_QUEUE", "backpressure.max_queue"),
    (ScopeKey::Selector, "SELECTOR", "selector"),
    (ScopeKey::GlobalConcurrency, "GLOBAL__MAX_CONCURRENCY", "global.max_concurrency"),
    (ScopeKey::GlobalRpm, "GLOBAL__RPM", "global.rpm"),
    (ScopeKey::GlobalTpm, "GLOBAL__TPM", "global.tpm"),
    (ScopeKey::LeaseTtl, "LEASE_TTL_S", "lease_ttl"),
    (ScopeKey::Deadline, "DEADLINE_S", "deadline"),
];

/// What a flat `LLM_…` variable is short for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flat {
    /// A field of every source that doesn't set it itself.
    Source(Field),
    /// A setting of the scope, unless its own variable sets it.
    Scope(ScopeKey),
}

/// The flat shorthands; they serve every scope.
pub(super) const FLAT: [(&str, Flat); 8] = [
    ("LLM_TIMEOUT", Flat::Source(Field::Timeout)),
    ("LLM_TTFT_TIMEOUT", Flat::Source(Field::TtftTimeout)),
    ("LLM_INTER_TOKEN_TIMEOUT", Flat::Source(Field::InterTokenTimeout)),
    // One less than the attempts: a retry is what follows the first attempt.
    ("LLM_MAX_RETRIES", Flat::Scope(ScopeKey::MaxAttempts)),
    ("LLM_RETRY_BASE_DELAY", Flat::Scope(ScopeKey::BaseDelay)),
    ("LLM_RETRY_MAX_DELAY", Flat::Scope(ScopeKey::MaxDelay)),
    ("LLM_CIRCUIT_BREAKER_THRESHOLD", Flat::Scope(ScopeKey::FailThreshold)),
    ("LLM_CIRCUIT_BREAKER_COOLDOWN", Flat::Scope(ScopeKey::Cooldown)),
];

/// The fields of the flat one-source form.
pub(super) const FLAT_SOURCE: [Field; 5] =
    [Field::BaseUrl, Field::ApiKey, Field::ApiKeyFile, Field::Model, Field::Provider];

/// The variables of the assembly.
pub(super) const PGW: [&str; 10] = [
    "PGW_LIMITER_BACKEND",
    "PGW_TELEMETRY_BACKEND",
    "PGW_TELEMETRY_PATH",
    "PGW_QUOTA_FULL",
    CacheKey::ALL[0].1,
    CacheKey::ALL[1].1,
    CacheKey::ALL[2].1,
    CacheKey::ALL[3].1,
    CacheKey::ALL[4].1,
    CacheKey::ALL[5].1,
];

/// The ending of a field's variable.
pub(super) fn field_name(field: Field) -> &'static str {
    FIELDS.iter().find(|(known, ..)| *known == field).map_or("", |(_, name, _)| name)
}

/// The ending of a scope setting's variable.
pub(super) fn scope_key_name(key: ScopeKey) -> &'static str {
    SCOPE_KEYS.iter().find(|(known, ..)| *known == key).map_or("", |(_, name, _)| name)
}

/// The shorthand for a setting, if it has one.
pub(super) fn shorthand(setting: Flat) -> Option<&'static str> {
    FLAT.iter().find(|(_, known)| *known == setting).map(|(name, _)| *name)
}

/// The fields that a numbered source may have.
pub(super) fn numbered_fields() -> impl Iterator<Item = (Field, &'static str)> + Clone {
    let numbered = FIELDS.iter().filter(|(field, ..)| *field != Field::Provider);
    numbered.map(|(field, name, _)| (*field, *name))
}

/// A source's number: digits from 1, without a sign or a leading zero, so that there is one way to
/// write it.
pub(super) fn source_number(text: &str) -> Option<u32> {
    text.parse::<u32>().ok().filter(|number| number.to_string() == text)
}

/// The name that `word` most likely was meant to be.
pub(super) fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_ascii_uppercase();
    let near = names.into_iter().map(|name| (distance(&word, name), name)).min()?;
    // A third of the letters: more is another word.
    (near.0 <= (word.len() / 3).clamp(1, 3)).then_some(near.1)
}

/// Letters to change, add or leave out to make one of the other (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let cost = if x == y { diagonal } else { 1 + diagonal.min(row[j]).min(row[j + 1]) };
            diagonal = row[j + 1];
            row[j + 1] = cost;
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_found_and_a_far_one_is_not() {
        let names = || FIELDS.iter().map(|(_, name, _)| *name);
        assert_eq!(nearest("API_KY", names()), Some("API_KEY"));
        assert_eq!(nearest("api_key", names()), Some("API_KEY"));
        assert_eq!(nearest("TIMEOUTS", names()), Some("TIMEOUT_S"));
        assert_eq!(nearest("COLOUR", names()), None);
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
