//! The grammar of variables: `{SCOPE}__{PROVIDER}__{N}__{FIELD}`, `{SCOPE}__{SETTING}`, flat
//! shorthands, and the assembly's own.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use pgw_types::{ConfigError, ProviderProfile};

use super::{
    cache, defaults,
    environment::Environment,
    keys::{
        FLAT_SOURCE, Field, Flat, ScopeKey, field_name, numbered_fields, scope_key_name, shorthand,
        source_number,
    },
    names::{self, flat_prefix},
    settings::{GatewaySettings, OnFull, TelemetrySettings},
    sources::{self, SourceKeys},
    validate::{self, Place, Said},
    values::Reader,
};

/// Settings with where they were read from.
pub(super) struct Loaded {
    pub(super) settings: GatewaySettings,
    pub(super) keys: Vec<SourceKeys>,
}

/// Reads and checks the settings of a scope.
pub(super) fn load(
    environment: &Environment,
    scope: &str,
    profiles: &[ProviderProfile],
) -> Result<Loaded, ConfigError> {
    let mut reader = Reader::new(environment);
    if !is_scope(scope) {
        let fix = "write letters, digits and single underscores, such as LLM";
        reader.fault("scope", format!("is `{scope}`"), fix);
        return Err(ConfigError::new(reader.faults));
    }
    let keys = source_keys(&mut reader, scope);
    let mut settings = GatewaySettings::new(scope, Vec::new());
    settings.sources = keys.iter().map(|keys| sources::read(&mut reader, keys)).collect();
    scope_settings(&mut reader, scope, &mut settings);
    let absent = assembly(&mut reader, &mut settings);
    names::judge(&mut reader, scope);
    let places = Variables { scope, sources: &keys, reader: &reader };
    for guard in validate::faults(&settings, profiles, &places) {
        reader.fault(&guard.path, guard.problem, guard.fix);
    }
    match (reader.faults.as_slice(), absent.as_slice()) {
        ([], []) => Ok(Loaded { settings, keys }),
        // Alone it can say which feature; beside others it is one fault of many.
        ([], [only]) => Err(only.clone()),
        (faults, absent) => {
            let absent = absent.iter().flat_map(ConfigError::faults);
            Err(ConfigError::new(faults.iter().chain(absent).cloned().collect()))
        }
    }
}

/// Whether names of its form can be told apart.
fn is_scope(scope: &str) -> bool {
    let letters = scope.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    letters && scope.split('_').all(|part| !part.is_empty())
}

/// Names places by their variables.
struct Variables<'a> {
    scope: &'a str,
    sources: &'a [SourceKeys],
    reader: &'a Reader<'a>,
}

impl Variables<'_> {
    fn is_set(&self, name: &str) -> bool {
        self.reader.environment.get(name).is_some()
    }

    fn of_source(&self, keys: &SourceKeys, field: Field) -> String {
        let file = keys.variable(Field::ApiKeyFile);
        match field {
            // It stands in the name of each of its variables; this is the first to look at.
            Field::Provider if !keys.has(field) => keys.variable(Field::BaseUrl),
            Field::ApiKey if self.is_set(&file) && !self.is_set(&keys.variable(field)) => file,
            _ => keys.variable(field),
        }
    }
}

impl validate::Places for Variables<'_> {
    fn name(&self, place: Place) -> String {
        let (own, short) = match place {
            Place::Sources => (no_source(self.scope), None),
            Place::Source(index, field) => {
                let own = self.sources.get(index).map(|keys| self.of_source(keys, field));
                (own.unwrap_or_default(), shorthand(Flat::Source(field)))
            }
            Place::Scope(key) => {
                let own = format!("{}__{}", self.scope, scope_key_name(key));
                (own, shorthand(Flat::Scope(key)))
            }
            Place::Cache(key) => (key.variable().to_owned(), None),
        };
        match short.filter(|short| self.is_set(short) && !self.is_set(&own)) {
            Some(short) => short.to_owned(),
            None => own,
        }
    }

    fn said(&self, place: Place) -> Said {
        let name = self.name(place);
        if self.reader.unread.contains(&name) {
            Said::Unreadably
        } else if self.is_set(&name) {
            Said::Outright
        } else {
            Said::ByDefault
        }
    }
}

fn no_source(scope: &str) -> String {
    format!("{scope}__{{PROVIDER}}__1__{}", field_name(Field::BaseUrl))
}

/// Finds the sources of a scope, and faults in how they are numbered.
fn source_keys(reader: &mut Reader<'_>, scope: &str) -> Vec<SourceKeys> {
    let environment = reader.environment;
    let prefix = format!("{scope}__");
    // By provider in small letters: its numbers, and how it is spelt.
    let mut found: BTreeMap<String, (BTreeSet<u32>, BTreeSet<&str>)> = BTreeMap::new();
    for name in environment.names() {
        let Some(rest) = name.strip_prefix(&prefix) else { continue };
        if let [provider, number, field] = rest.split("__").collect::<Vec<_>>().as_slice()
            && numbered_fields().any(|(_, known)| known == *field)
            && let Some(number) = source_number(number)
        {
            let (numbers, spellings) = found.entry(provider.to_ascii_lowercase()).or_default();
            numbers.insert(number);
            spellings.insert(provider);
        }
    }
    let mut keys = Vec::new();
    for (provider, (numbers, spellings)) in found {
        let Some(spelling) = spellings.first() else { continue };
        let variable =
            |number: u32| format!("{prefix}{spelling}__{number}__{}", field_name(Field::BaseUrl));
        if let Some(other) = spellings.iter().nth(1) {
            let problem = format!("is of a provider that is also written {other}");
            reader.fault(&variable(1), problem, "write it in one way");
        }
        if numbers.contains(&0) {
            reader.fault(&variable(0), "is numbered 0", "number the sources from 1");
        } else if let Some((gap, number)) = (1..).zip(&numbers).find(|(gap, number)| gap != *number)
        {
            let problem = format!("comes after a gap: there is no {prefix}{spelling}__{gap}__…");
            let fix = format!("number the sources of {spelling} from 1 without a gap");
            reader.fault(&variable(*number), problem, fix);
        }
        keys.extend(numbers.iter().map(|number| SourceKeys {
            prefix: format!("{prefix}{spelling}__{number}__"),
            flat: None,
            provider: provider.clone(),
            default_name: format!("{provider}-{number}"),
        }));
    }
    flat_source(reader, scope, &mut keys);
    if keys.is_empty() {
        let fix = match environment.scopes() {
            scopes if scopes.is_empty() => {
                "set it for at least one source, with API_KEY and MODEL beside it".to_owned()
            }
            scopes => format!("set it, or read a scope that has sources: {}", scopes.join(", ")),
        };
        reader.bad(&no_source(scope), "is missing: there is no source", fix);
    }
    keys
}

/// The flat one-source form; beside numbered sources it would be one source too many, unseen.
fn flat_source(reader: &mut Reader<'_>, scope: &str, keys: &mut Vec<SourceKeys>) {
    let flat = flat_prefix(scope);
    let set: Vec<String> = FLAT_SOURCE
        .iter()
        .map(|field| format!("{flat}{}", field_name(*field)))
        .filter(|name| reader.environment.get(name).is_some())
        .collect();
    let Some(first) = set.first() else { return };
    if !keys.is_empty() {
        let problem = format!("stands beside numbered sources of the scope {scope}");
        return reader.fault(first, problem, "keep one of the two forms");
    }
    let provider = sources::flat_provider(reader, &flat);
    let prefix = format!("{scope}__{}__1__", provider.to_ascii_uppercase());
    let default_name = format!("{provider}-1");
    keys.push(SourceKeys { prefix, flat: Some(flat), provider, default_name });
}

fn scope_settings(reader: &mut Reader<'_>, scope: &str, settings: &mut GatewaySettings) {
    let name = |key: ScopeKey| format!("{scope}__{}", scope_key_name(key));
    let mut seconds = |key: ScopeKey, slot: &mut Duration| {
        let own = reader.seconds(&name(key));
        let short = shorthand(Flat::Scope(key)).and_then(|name| reader.seconds(name));
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

    let mut count = |key: ScopeKey| {
        let own = reader.whole(&name(key));
        let short = shorthand(Flat::Scope(key)).and_then(|name| reader.whole::<u32>(name));
        (own, short)
    };
    let (attempts, retries) = count(ScopeKey::MaxAttempts);
    if let Some(attempts) = attempts.or(retries.map(|retries| retries.saturating_add(1))) {
        settings.retry.max_attempts = attempts;
    }
    let (own, short) = count(ScopeKey::FailThreshold);
    if let Some(threshold) = own.or(short) {
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

/// Reads the assembly's variables; hands back the backends that are asked for and not built in.
fn assembly(reader: &mut Reader<'_>, settings: &mut GatewaySettings) -> Vec<ConfigError> {
    let mut absent = Vec::new();
    let name = "PGW_LIMITER_BACKEND";
    if reader.one_of(name, &[("memory", false), ("redis", true)]) == Some(true) {
        absent.push(ConfigError::missing_feature(name, "redis"));
    }
    let words = [("wait", OnFull::Wait), ("fail_fast", OnFull::FailFast)];
    if let Some(on_full) = reader.one_of("PGW_QUOTA_FULL", &words) {
        settings.backpressure.on_full = on_full;
    }
    let name = "PGW_TELEMETRY_BACKEND";
    let path = reader.text("PGW_TELEMETRY_PATH").unwrap_or_else(|| defaults::TELEMETRY_PATH.into());
    settings.telemetry = TelemetrySettings::Sqlite { path: path.into() };
    match reader.one_of(name, &[("sqlite", "sqlite"), ("postgres", "postgres"), ("off", "off")]) {
        Some("off") => settings.telemetry = TelemetrySettings::Off,
        Some("postgres") => {
            absent.push(ConfigError::missing_feature(name, "telemetry-postgres"));
        }
        Some(_) | None => {}
    }
    settings.cache = cache::read(reader, &mut absent);
    absent
}

#[cfg(test)]
mod tests;
