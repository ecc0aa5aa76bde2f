//! The grammar of variables: `{SCOPE}__{PROVIDER}__{N}__{FIELD}`, `{SCOPE}__{SETTING}`, flat
//! shorthands, and the assembly's own.

use std::collections::{BTreeMap, BTreeSet};

use pgw_types::{ConfigError, ConfigFault, built_in_profiles};

use super::{
    check::Setting,
    defaults,
    environment::Environment,
    keys::{
        FIELDS, FLAT, FLAT_SOURCE, Field, Flat, PGW, SCOPE_KEYS, ScopeKey, field_name, nearest,
        scope_key_name,
    },
    settings::{GatewaySettings, OnFull, TelemetrySettings},
    sources::{self, SourceKeys},
    validate::{self, Place, PlaceNames},
    values::Reader,
};

/// Settings with what they were read from.
pub(super) struct Loaded {
    pub(super) settings: GatewaySettings,
    pub(super) read: Vec<Setting>,
}

/// Reads and checks the settings of a scope.
pub(super) fn load(environment: &Environment, scope: &str) -> Result<Loaded, ConfigError> {
    let mut reader = Reader::new(environment);
    missing_backend(&mut reader)?;
    let keys = source_keys(&mut reader, scope);
    let mut settings = GatewaySettings::new(scope, Vec::new());
    settings.sources = keys.iter().map(|keys| sources::read(&mut reader, keys)).collect();
    scope_settings(&mut reader, scope, &mut settings);
    assembly(&mut reader, &mut settings);
    unknown_names(&mut reader, scope);
    let names = Variables { scope, sources: &keys };
    let mut guards = validate::faults(&settings, &built_in_profiles(), &names);
    // What is missing has been said; that it is empty says no more.
    guards.retain(|guard| {
        let said = |known: &ConfigFault| {
            let missing = known.path == guard.path && known.problem == "is missing";
            missing || known.path.strip_suffix("_FILE") == Some(&guard.path)
        };
        !reader.faults.iter().any(said)
    });
    reader.faults.extend(guards);
    if reader.faults.is_empty() {
        Ok(Loaded { settings, read: reader.settings.into_values().collect() })
    } else {
        Err(ConfigError::new(reader.faults))
    }
}

/// Names places by their variables.
struct Variables<'a> {
    scope: &'a str,
    sources: &'a [SourceKeys],
}

impl PlaceNames for Variables<'_> {
    fn name(&self, place: Place) -> String {
        match place {
            Place::Sources => format!("{}__{{PROVIDER}}__1__BASE_URL", self.scope),
            Place::Source(index, field) => {
                self.sources.get(index).map_or_else(String::new, |keys| keys.variable(field))
            }
            Place::Scope(key) => format!("{}__{}", self.scope, scope_key_name(key)),
        }
    }
}

/// The prefix of the flat one-source form of a scope.
fn flat_prefix(scope: &str) -> String {
    if scope == "LLM" { "LLM_".to_owned() } else { format!("{scope}_LLM_") }
}

/// Finds the sources of a scope, and faults in how they are numbered.
fn source_keys(reader: &mut Reader<'_>, scope: &str) -> Vec<SourceKeys> {
    let environment = reader.environment;
    let prefix = format!("{scope}__");
    let mut numbers: BTreeMap<&str, BTreeSet<u32>> = BTreeMap::new();
    for name in environment.names() {
        let Some(rest) = name.strip_prefix(&prefix) else { continue };
        if let [provider, number, field] = rest.split("__").collect::<Vec<_>>().as_slice()
            && FIELDS.iter().any(|(known, text, _)| text == field && *known != Field::Provider)
            && let Ok(number) = number.parse()
            && environment.get(name).is_some()
        {
            numbers.entry(provider).or_default().insert(number);
        }
    }
    let mut keys = Vec::new();
    for (provider, numbers) in numbers {
        let lower = provider.to_ascii_lowercase();
        let first =
            |number: u32| format!("{prefix}{provider}__{number}__{}", field_name(Field::BaseUrl));
        if numbers.contains(&0) {
            reader.fault(&first(0), "is numbered 0", "number the sources from 1");
        } else if let Some((gap, number)) = (1..).zip(&numbers).find(|(gap, number)| gap != *number)
        {
            let problem = format!("comes after a gap: there is no {prefix}{provider}__{gap}__…");
            let fix = format!("number the sources of {provider} from 1 without a gap");
            reader.fault(&first(*number), problem, fix);
        }
        keys.extend(numbers.iter().map(|number| SourceKeys {
            prefix: format!("{prefix}{provider}__{number}__"),
            provider: lower.clone(),
            default_name: format!("{lower}-{number}"),
        }));
    }
    flat_source(reader, scope, &mut keys);
    keys
}

/// The flat one-source form; beside numbered sources it would be one source too many, unseen.
fn flat_source(reader: &mut Reader<'_>, scope: &str, keys: &mut Vec<SourceKeys>) {
    let prefix = flat_prefix(scope);
    let set: Vec<String> = FLAT_SOURCE
        .iter()
        .map(|field| format!("{prefix}{}", field_name(*field)))
        .filter(|name| reader.environment.get(name).is_some())
        .collect();
    let Some(first) = set.first() else { return };
    if !keys.is_empty() {
        let problem = format!("stands beside numbered sources of the scope {scope}");
        return reader.fault(first, problem, "keep one of the two forms");
    }
    let provider = sources::flat_provider(reader, &prefix);
    let default_name = format!("{provider}-1");
    keys.push(SourceKeys { prefix, provider, default_name });
}

fn scope_settings(reader: &mut Reader<'_>, scope: &str, settings: &mut GatewaySettings) {
    let name = |key: ScopeKey| format!("{scope}__{}", scope_key_name(key));
    let flat = |key: ScopeKey| FLAT.iter().find(|(_, flat)| *flat == Flat::Scope(key)).map(|f| f.0);
    let mut seconds = |key: ScopeKey, slot: &mut std::time::Duration| {
        let own = reader.seconds(&name(key));
        let short = flat(key).and_then(|name| reader.seconds(name));
        if let Some(value) = own.or(short) {
            *slot = value;
        }
    };
    seconds(ScopeKey::BaseDelay, &mut settings.retry.base_delay);
    seconds(ScopeKey::MaxDelay, &mut settings.retry.max_delay);
    seconds(ScopeKey::RetryAfterCap, &mut settings.retry.retry_after_cap);
    seconds(ScopeKey::RateLimitCooldown, &mut settings.retry.rate_limit_cooldown);
    seconds(ScopeKey::Cooldown, &mut settings.breaker.cooldown);
    seconds(ScopeKey::DeadCooldown, &mut settings.breaker.dead_cooldown);
    seconds(ScopeKey::ProbeLease, &mut settings.breaker.probe_lease);
    seconds(ScopeKey::StallWindow, &mut settings.backpressure.stall_window);
    seconds(ScopeKey::PollInterval, &mut settings.backpressure.poll_interval);
    seconds(ScopeKey::MaxWait, &mut settings.backpressure.max_wait);
    seconds(ScopeKey::LeaseTtl, &mut settings.lease_ttl);
    settings.deadline = reader.seconds(&name(ScopeKey::Deadline));

    let retries = reader.whole::<u32>("LLM_MAX_RETRIES").map(|retries| retries.saturating_add(1));
    if let Some(attempts) = reader.whole(&name(ScopeKey::MaxAttempts)).or(retries) {
        settings.retry.max_attempts = attempts;
    }
    let short = flat(ScopeKey::FailThreshold).and_then(|name| reader.whole(name));
    if let Some(threshold) = reader.whole(&name(ScopeKey::FailThreshold)).or(short) {
        settings.breaker.fail_threshold = threshold;
    }
    if let Some(places) = reader.whole(&name(ScopeKey::MaxQueue)) {
        settings.backpressure.max_queue = places;
    }
    settings.global.max_concurrency = reader.whole(&name(ScopeKey::GlobalConcurrency));
    settings.global.rpm = reader.whole(&name(ScopeKey::GlobalRpm));
    settings.global.tpm = reader.whole(&name(ScopeKey::GlobalTpm));
    if let Some(selector) = reader.text(&name(ScopeKey::Selector)) {
        settings.selector = selector.to_ascii_lowercase();
    }
}

/// Backends that this build does not have, told by their feature.
fn missing_backend(reader: &mut Reader<'_>) -> Result<(), ConfigError> {
    for (name, word, feature) in [
        ("PGW_LIMITER_BACKEND", "redis", "redis"),
        ("PGW_TELEMETRY_BACKEND", "postgres", "telemetry-postgres"),
    ] {
        if reader.environment.get(name).is_some_and(|v| v.value.trim().eq_ignore_ascii_case(word)) {
            return Err(ConfigError::missing_feature(name, feature));
        }
    }
    Ok(())
}

fn assembly(reader: &mut Reader<'_>, settings: &mut GatewaySettings) {
    let _ = reader.one_of("PGW_LIMITER_BACKEND", &[("memory", ()), ("redis", ())]);
    let words = [("wait", OnFull::Wait), ("fail_fast", OnFull::FailFast)];
    if let Some(on_full) = reader.one_of("PGW_QUOTA_FULL", &words) {
        settings.backpressure.on_full = on_full;
    }
    let words = [("sqlite", true), ("postgres", true), ("off", false)];
    let on = reader.one_of("PGW_TELEMETRY_BACKEND", &words).unwrap_or(true);
    let path = reader.text("PGW_TELEMETRY_PATH");
    if on {
        let path = path.unwrap_or_else(|| defaults::TELEMETRY_PATH.to_owned()).into();
        settings.telemetry = TelemetrySettings::Sqlite { path };
    }
}

/// Names that look like ours but aren't: misspelt, or of no form. Other scopes are left alone.
fn unknown_names(reader: &mut Reader<'_>, scope: &str) {
    let environment = reader.environment;
    let prefix = format!("{scope}__");
    let flat = flat_prefix(scope);
    let flat_source: Vec<String> =
        FLAT_SOURCE.iter().map(|field| format!("{flat}{}", field_name(*field))).collect();
    for name in environment.names() {
        if let Some(rest) = name.strip_prefix(&prefix) {
            scoped_name(reader, name, rest);
        } else if name.starts_with("PGW_") {
            if !PGW.contains(&name) {
                let fix = suggestion(name, PGW, "is not one of ours; leave it out");
                reader.fault(name, "is not a known variable", fix);
            }
        } else if name.starts_with("LLM_") && !name.starts_with("LLM__") {
            let known = FLAT.iter().map(|(known, _)| *known);
            let known = known.chain(flat_source.iter().map(String::as_str));
            // Others may have variables that begin like ours; only what is nearly ours is a slip.
            if !known.clone().any(|known| known == name)
                && !FLAT_SOURCE.iter().any(|field| name == format!("LLM_{}", field_name(*field)))
                && let Some(meant) = nearest(name, known)
            {
                reader.fault(name, "is not a known variable", format!("did you mean {meant}?"));
            }
        }
    }
}

fn scoped_name(reader: &mut Reader<'_>, name: &str, rest: &str) {
    if SCOPE_KEYS.iter().any(|(_, known, _)| *known == rest) {
        return;
    }
    let parts: Vec<_> = rest.split("__").collect();
    let fields = || {
        let numbered = FIELDS.iter().filter(|(field, ..)| *field != Field::Provider);
        numbered.map(|(_, name, _)| *name)
    };
    match parts.as_slice() {
        [_, number, field] if number.parse::<u32>().is_ok() => {
            if !fields().any(|known| known == *field) {
                let fix =
                    suggestion(field, fields(), "use one of the fields in docs/configuration.md");
                reader.fault(name, format!("has the unknown field {field}"), fix);
            }
        }
        [_, number, field] if fields().any(|known| known == *field) => {
            let problem = format!("has `{number}` where a source's number belongs");
            reader.fault(name, problem, "number the sources from 1");
        }
        _ => {
            let fix = suggestion(
                rest,
                SCOPE_KEYS.iter().map(|(_, name, _)| *name),
                "write {SCOPE}__{PROVIDER}__{N}__{FIELD}, or a setting in docs/configuration.md",
            );
            reader.fault(name, "is no setting of this scope", fix);
        }
    }
}

fn suggestion<'a>(word: &str, names: impl IntoIterator<Item = &'a str>, otherwise: &str) -> String {
    match nearest(word, names) {
        Some(meant) => format!("did you mean {meant}?"),
        None => otherwise.to_owned(),
    }
}

#[cfg(test)]
mod tests;
