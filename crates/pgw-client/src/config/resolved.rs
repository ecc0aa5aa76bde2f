//! Every setting in force, under the name of its variable, with its origin.

use std::time::Duration;

use pgw_types::{AnomalyPolicy, ExposeSecret as _, SourceConfig};

use super::{
    cache::CacheKey,
    check::Setting,
    environment::Environment,
    keys::{FIELDS, Field, Flat, SCOPE_KEYS, ScopeKey, shorthand},
    settings::{GatewaySettings, TelemetrySettings},
    sources::SourceKeys,
    values::masked,
};

/// The origin of what nobody set.
pub(super) const DEFAULT: &str = "default";

/// Lists them: the sources' first, then the scope's, then the assembly's.
pub(super) fn list(
    environment: &Environment,
    settings: &GatewaySettings,
    keys: &[SourceKeys],
) -> Vec<Setting> {
    let mut list = Vec::new();
    for (source, keys) in settings.sources.iter().zip(keys) {
        for (field, ..) in FIELDS {
            let name = keys.variable(field);
            let is_set = environment.get(&name).is_some();
            // One of the two holds the key.
            let one_of_two = matches!(field, Field::ApiKey | Field::ApiKeyFile);
            if keys.has(field) && (is_set || !one_of_two) {
                let value = match environment.get(&name) {
                    // The path is masked too: somebody may have put the key itself there.
                    Some(variable) if field == Field::ApiKeyFile => masked(variable.value.trim()),
                    _ => of_source(source, field),
                };
                list.push(setting(environment, name, value, Flat::Source(field)));
            }
        }
    }
    for (key, ending, _) in SCOPE_KEYS {
        let name = format!("{}__{ending}", settings.scope);
        list.push(setting(environment, name, of_scope(settings, key), Flat::Scope(key)));
    }
    let (backend, path) = match &settings.telemetry {
        TelemetrySettings::Off => ("off", None),
        TelemetrySettings::Sqlite { path } => ("sqlite", Some(path)),
    };
    let assembly = [
        ("PGW_QUOTA_FULL", Some(settings.backpressure.on_full.as_str().to_owned())),
        ("PGW_TELEMETRY_BACKEND", Some(backend.to_owned())),
        ("PGW_TELEMETRY_PATH", path.map(|path| path.display().to_string())),
        ("PGW_LIMITER_BACKEND", Some("memory".to_owned())),
    ];
    for (name, value) in assembly {
        if let Some(value) = value {
            let origin = origin(environment, name).unwrap_or_else(|| DEFAULT.to_owned());
            list.push(Setting { name: name.to_owned(), value, origin });
        }
    }
    for (key, name, _) in CacheKey::ALL {
        if let Some(value) = key.value(settings.cache.as_ref()) {
            let origin = origin(environment, name).unwrap_or_else(|| DEFAULT.to_owned());
            list.push(Setting { name: name.to_owned(), value, origin });
        }
    }
    list
}

fn setting(environment: &Environment, name: String, value: String, kind: Flat) -> Setting {
    let short = || {
        let short = shorthand(kind)?;
        Some(format!("{}, {short}", origin(environment, short)?))
    };
    let origin = origin(environment, &name).or_else(short).unwrap_or_else(|| DEFAULT.to_owned());
    Setting { name, value, origin }
}

fn origin(environment: &Environment, name: &str) -> Option<String> {
    environment.get(name).map(|variable| variable.origin.to_string())
}

fn of_source(source: &SourceConfig, field: Field) -> String {
    match field {
        Field::Name => source.name.clone(),
        Field::BaseUrl => source.base_url.clone(),
        Field::ApiKey | Field::ApiKeyFile => masked(source.api_key.expose_secret()),
        Field::Model => source.model.clone(),
        Field::ConnectTimeout => seconds(source.timeouts.connect),
        Field::TtftTimeout => seconds(source.timeouts.ttft),
        Field::InterTokenTimeout => seconds(source.timeouts.inter_token),
        Field::Timeout => seconds(source.timeouts.total),
        Field::MaxConcurrency => limit(source.limits.max_concurrency),
        Field::Rpm => limit(source.limits.rpm),
        Field::Tpm => limit(source.limits.tpm),
        Field::EstTokens => source.est_tokens.to_string(),
        Field::EnableThinking => {
            source.enable_thinking.map_or_else(|| "as the service does".to_owned(), flag)
        }
        Field::MissingDone => anomaly(source.missing_done),
        Field::MalformedFrame => anomaly(source.malformed_frame),
        Field::TrustEnv => flag(source.trust_env),
        Field::CaFile => match &source.ca_pem {
            Some(pem) => format!("read, {} bytes", pem.len()),
            None => "none".to_owned(),
        },
        Field::Stream => flag(source.can_stream),
        Field::ContextTokens => {
            source.context_tokens.map_or_else(|| "not known".to_owned(), |holds| holds.to_string())
        }
        Field::Tools => flag(source.can_use_tools),
        Field::Images => flag(source.can_see_images),
        Field::Tier => source.tier.to_string(),
        Field::Weight => source.weight.to_string(),
        Field::Provider => source.provider.clone(),
    }
}

fn of_scope(settings: &GatewaySettings, key: ScopeKey) -> String {
    let (retry, breaker, line) = (&settings.retry, &settings.breaker, &settings.backpressure);
    match key {
        ScopeKey::MaxAttempts => retry.max_attempts.to_string(),
        ScopeKey::BaseDelay => seconds(retry.base_delay),
        ScopeKey::MaxDelay => seconds(retry.max_delay),
        ScopeKey::RetryAfterCap => seconds(retry.retry_after_cap),
        ScopeKey::RateLimitCooldown => seconds(retry.rate_limit_cooldown),
        ScopeKey::FailThreshold => breaker.fail_threshold.to_string(),
        ScopeKey::Cooldown => seconds(breaker.cooldown),
        ScopeKey::DeadCooldown => seconds(breaker.dead_cooldown),
        ScopeKey::ProbeLease => seconds(breaker.probe_lease),
        ScopeKey::StallWindow => seconds(line.stall_window),
        ScopeKey::PollInterval => seconds(line.poll_interval),
        ScopeKey::MaxWait => seconds(line.max_wait),
        ScopeKey::MaxQueue => line.max_queue.to_string(),
        ScopeKey::Selector => settings.selector.clone(),
        ScopeKey::GlobalConcurrency => limit(settings.global.max_concurrency),
        ScopeKey::GlobalRpm => limit(settings.global.rpm),
        ScopeKey::GlobalTpm => limit(settings.global.tpm),
        ScopeKey::LeaseTtl => seconds(settings.lease_ttl),
        ScopeKey::Deadline => settings.deadline.map_or_else(no_limit, seconds),
    }
}

fn seconds(time: Duration) -> String {
    time.as_secs_f64().to_string()
}

fn limit<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(no_limit, |value| value.to_string())
}

fn no_limit() -> String {
    "no limit".to_owned()
}

fn flag(value: bool) -> String {
    value.to_string()
}

fn anomaly(policy: AnomalyPolicy) -> String {
    match policy {
        AnomalyPolicy::Retry => "retry".to_owned(),
        AnomalyPolicy::Salvage => "salvage".to_owned(),
    }
}
