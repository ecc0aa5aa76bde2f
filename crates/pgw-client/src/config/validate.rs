//! The guards: what must hold between settings. All faults are found, each named where it can be
//! mended.

use std::{collections::BTreeMap, time::Duration};

use pgw_middleware::selectors;
use pgw_types::{ConfigFault, ExposeSecret as _, Limits, ProviderProfile, SourceConfig};

use super::{
    cache::{CacheKey, CacheSettings},
    keys::{FIELDS, Field, SCOPE_KEYS, ScopeKey},
    settings::GatewaySettings,
    values::look,
};

/// Where a fault is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The list of sources.
    Sources,
    /// A field of the source at an index.
    Source(usize, Field),
    /// A setting of the scope.
    Scope(ScopeKey),
    /// A setting of the cache.
    Cache(CacheKey),
}

/// How a setting was come by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// It was written.
    Outright,
    /// Nothing was written.
    ByDefault,
    /// What was written can't be read, and is a fault already.
    Unreadably,
}

/// Places in the words of whoever wrote the settings.
pub(super) trait Places {
    /// What to look for.
    fn name(&self, place: Place) -> String;

    /// How the setting there was come by.
    fn said(&self, place: Place) -> Said;
}

/// Names for settings made by hand: paths such as `sources[qwen-1].timeouts.ttft`.
pub(super) struct ByPath<'a>(pub(super) &'a GatewaySettings);

impl Places for ByPath<'_> {
    fn name(&self, place: Place) -> String {
        match place {
            Place::Sources => "sources".to_owned(),
            Place::Source(index, field) => {
                let source = self.0.sources.get(index).map_or("", |source| &source.name);
                let path = FIELDS.iter().find(|(known, ..)| *known == field).map_or("", |f| f.2);
                format!("sources[{source}].{path}")
            }
            Place::Scope(key) => SCOPE_KEYS
                .iter()
                .find(|(known, ..)| *known == key)
                .map_or_else(String::new, |known| known.2.to_owned()),
            Place::Cache(key) => key.path().to_owned(),
        }
    }

    fn said(&self, _: Place) -> Said {
        Said::Outright
    }
}

/// Every fault of the settings.
pub(super) fn faults(
    settings: &GatewaySettings,
    profiles: &[ProviderProfile],
    places: &dyn Places,
) -> Vec<ConfigFault> {
    let mut guard = Guard { settings, places, faults: Vec::new() };
    guard.scope();
    guard.sources(profiles);
    for (key, problem, fix) in settings.cache.iter().flat_map(CacheSettings::faults) {
        guard.fault(Place::Cache(key), problem, fix);
    }
    guard.faults
}

struct Guard<'a> {
    settings: &'a GatewaySettings,
    places: &'a dyn Places,
    faults: Vec<ConfigFault>,
}

fn s(duration: Duration) -> String {
    format!("{} s", duration.as_secs_f64())
}

impl Guard<'_> {
    fn fault(&mut self, place: Place, problem: impl Into<String>, fix: impl Into<String>) {
        if self.is_readable(place) {
            self.faults.push(ConfigFault::new(self.name(place), problem, fix));
        }
    }

    fn name(&self, place: Place) -> String {
        self.places.name(place)
    }

    fn is_readable(&self, place: Place) -> bool {
        self.places.said(place) != Said::Unreadably
    }

    /// A time, and whether nobody wrote it.
    fn time(&self, place: Place, time: Duration) -> String {
        match self.places.said(place) {
            Said::ByDefault => format!("{} by default", s(time)),
            Said::Outright | Said::Unreadably => s(time),
        }
    }

    fn scope(&mut self) {
        let settings = self.settings;
        let at = Place::Scope;
        if settings.retry.max_attempts == 0 {
            self.fault(at(ScopeKey::MaxAttempts), "is 0", "allow at least 1 attempt");
        }
        let (base, most) = (at(ScopeKey::BaseDelay), at(ScopeKey::MaxDelay));
        if settings.retry.base_delay > settings.retry.max_delay && self.is_readable(most) {
            let problem = format!(
                "is {}, more than the longest delay of {}",
                self.time(base, settings.retry.base_delay),
                self.time(most, settings.retry.max_delay)
            );
            let fix = format!("lower it, or raise {}", self.name(most));
            self.fault(base, problem, fix);
        }
        if settings.breaker.fail_threshold == 0 {
            self.fault(at(ScopeKey::FailThreshold), "is 0", "allow at least 1 failure");
        }
        if settings.backpressure.max_queue == 0 {
            self.fault(at(ScopeKey::MaxQueue), "is 0", "allow at least 1 place in the line");
        }
        for (key, value) in [
            (ScopeKey::BaseDelay, settings.retry.base_delay),
            (ScopeKey::MaxDelay, settings.retry.max_delay),
            (ScopeKey::RetryAfterCap, settings.retry.retry_after_cap),
            (ScopeKey::RateLimitCooldown, settings.retry.rate_limit_cooldown),
            (ScopeKey::Cooldown, settings.breaker.cooldown),
            (ScopeKey::DeadCooldown, settings.breaker.dead_cooldown),
            (ScopeKey::ProbeLease, settings.breaker.probe_lease),
            (ScopeKey::StallWindow, settings.backpressure.stall_window),
            (ScopeKey::PollInterval, settings.backpressure.poll_interval),
            (ScopeKey::MaxWait, settings.backpressure.max_wait),
            (ScopeKey::LeaseTtl, settings.lease_ttl),
            (ScopeKey::Deadline, settings.deadline.unwrap_or(Duration::MAX)),
        ] {
            if value.is_zero() {
                self.fault(at(key), "is 0", "write a time above zero");
            }
        }
        if selectors::by_name(&settings.selector).is_none() {
            let name = self.name(at(ScopeKey::Selector));
            let problem = format!("is {}", look(&name, &settings.selector));
            let fix = format!("write one of {}", selectors::NAMES.join(", "));
            self.fault(at(ScopeKey::Selector), problem, fix);
        }
        let keys = [ScopeKey::GlobalConcurrency, ScopeKey::GlobalRpm, ScopeKey::GlobalTpm];
        self.limits(settings.global, keys.map(at));
        self.spans();
    }

    /// A scope's times that must span what its slowest source may take.
    fn spans(&mut self) {
        let settings = self.settings;
        let sources = || settings.sources.iter().enumerate();
        let at = Place::Scope(ScopeKey::StallWindow);
        if let Some((index, slowest)) = sources().max_by_key(|(_, source)| source.timeouts.ttft)
            && settings.backpressure.stall_window < slowest.timeouts.ttft
            && self.is_readable(Place::Source(index, Field::TtftTimeout))
        {
            let problem = format!(
                "is {}, less than the {} that source {} may take to its first token",
                self.time(at, settings.backpressure.stall_window),
                s(slowest.timeouts.ttft),
                slowest.name
            );
            self.fault(at, problem, format!("raise it to {} at least", s(slowest.timeouts.ttft)));
        }
        let at = Place::Scope(ScopeKey::ProbeLease);
        if let Some((index, slowest)) = sources().max_by_key(|(_, source)| source.timeouts.total)
            && settings.breaker.probe_lease < slowest.timeouts.total
            && self.is_readable(Place::Source(index, Field::Timeout))
        {
            // Else a second probe would be let in beside the first.
            let problem = format!(
                "is {}, less than the {} that a probe of source {} may take",
                self.time(at, settings.breaker.probe_lease),
                s(slowest.timeouts.total),
                slowest.name
            );
            self.fault(at, problem, format!("raise it to {} at least", s(slowest.timeouts.total)));
        }
        let at = Place::Scope(ScopeKey::GlobalTpm);
        if let Some((index, largest)) = sources().max_by_key(|(_, source)| source.est_tokens) {
            self.tokens(at, settings.global.tpm, index, largest.est_tokens);
        }
    }

    /// A limit that no call could ever pass.
    fn tokens(&mut self, place: Place, limit: Option<u64>, source: usize, needed: u64) {
        let charge = Place::Source(source, Field::EstTokens);
        if let Some(limit) = limit.filter(|limit| *limit > 0 && *limit < needed)
            && self.is_readable(charge)
        {
            let problem = format!("is {limit}, less than the {needed} tokens each call is charged");
            let fix = format!("raise it to {needed} at least, or lower {}", self.name(charge));
            self.fault(place, problem, fix);
        }
    }

    fn limits(&mut self, limits: Limits, places: [Place; 3]) {
        let values = [limits.max_concurrency.map(u64::from), limits.rpm.map(u64::from), limits.tpm];
        for (place, value) in places.into_iter().zip(values) {
            if value == Some(0) {
                self.fault(place, "is 0", "write a limit above zero, or none for no limit");
            }
        }
    }

    fn sources(&mut self, profiles: &[ProviderProfile]) {
        if self.settings.sources.is_empty() {
            self.fault(Place::Sources, "there is no source", "configure at least one source");
        }
        let mut known: BTreeMap<&str, usize> = BTreeMap::new();
        for (index, source) in self.settings.sources.iter().enumerate() {
            if let Some(first) = known.insert(&source.name, index) {
                let first = self.name(Place::Source(first, Field::Name));
                let own = Place::Source(index, Field::Name);
                let shown = look(&self.name(own), &source.name);
                let problem = format!("is {shown}, the name of another source ({first})");
                self.fault(own, problem, "give each its own name");
            }
            self.source(index, source, profiles);
        }
    }

    fn source(&mut self, index: usize, source: &SourceConfig, profiles: &[ProviderProfile]) {
        let at = |field| Place::Source(index, field);
        self.url(at(Field::BaseUrl), &source.base_url);
        let key = source.api_key.expose_secret();
        if key.is_empty() {
            self.fault(at(Field::ApiKey), "is empty", "set the account's key");
        } else if key.chars().any(|c| c.is_whitespace() || c.is_control() || !c.is_ascii()) {
            let problem = "has a blank, a control character or a letter that no key has inside";
            self.fault(at(Field::ApiKey), problem, "copy the key again, on one line");
        }
        if source.model.trim().is_empty() {
            self.fault(at(Field::Model), "is empty", "set the model to ask for");
        }
        self.timeouts(index, source);
        let fields = [Field::MaxConcurrency, Field::Rpm, Field::Tpm];
        self.limits(source.limits, fields.map(at));
        self.tokens(at(Field::Tpm), source.limits.tpm, index, source.est_tokens);
        if source.est_tokens == 0 {
            self.fault(at(Field::EstTokens), "is 0", "write what a call uses at most");
        }
        if source.context_tokens == Some(0) {
            let fix = "write how many tokens it holds, or leave it out if that isn't known";
            self.fault(at(Field::ContextTokens), "is 0", fix);
        }
        if source.weight == 0 {
            self.fault(at(Field::Weight), "is 0", "write a weight from 1");
        }
        match profiles.iter().find(|profile| profile.name == source.provider) {
            None => {
                let names: Vec<_> = profiles.iter().map(|profile| &*profile.name).collect();
                let place = self.name(at(Field::Provider));
                let problem =
                    format!("names an unknown provider: {}", look(&place, &source.provider));
                let fix = format!("name one of {}", names.join(", "));
                self.fault(at(Field::Provider), problem, fix);
            }
            Some(profile) => {
                let (word, member) = match source.enable_thinking {
                    Some(true) => ("on", &profile.thinking_on),
                    Some(false) => ("off", &profile.thinking_off),
                    None => return,
                };
                if member.is_none() {
                    let name = &profile.name;
                    let problem = format!("is set, but {name} has no word for thinking {word}");
                    let fix = "leave it out, or name the provider whose model it is";
                    self.fault(at(Field::EnableThinking), problem, fix);
                }
            }
        }
    }

    fn url(&mut self, place: Place, text: &str) {
        let fix = "write the API root, such as https://api.example.com/v1";
        match url::Url::parse(text) {
            // The text may hold a password, so it isn't repeated.
            Err(error) => self.fault(place, format!("is no URL: {error}"), fix),
            // `user:password@host` reads as a scheme: the word before the colon isn't repeated.
            Ok(_) if !text.contains("://") => self.fault(place, "has no http:// or https://", fix),
            Ok(url) if !matches!(url.scheme(), "http" | "https") => {
                let problem = format!("has the scheme {}", url.scheme());
                self.fault(place, problem, "begin it with https:// or http://");
            }
            Ok(url) if url.host_str().is_none_or(str::is_empty) => {
                self.fault(place, "has no host", fix);
            }
            Ok(url) if !url.username().is_empty() || url.password().is_some() => {
                let problem = "holds a user name or password, which would show in messages";
                self.fault(place, problem, "leave it out; the key goes into API_KEY");
            }
            Ok(url) if url.fragment().is_some() => {
                self.fault(place, "has a part after #, which is never sent", "leave it out");
            }
            Ok(url) => {
                if let Some((name, _)) = url.query_pairs().find(|(name, _)| names_a_secret(name)) {
                    let problem = format!(
                        "holds a secret in its query ({name}), which would show in messages"
                    );
                    self.fault(place, problem, "leave it out; the key goes into API_KEY");
                }
            }
        }
    }

    /// `0 < inter_token < ttft < total`, and a lease that outlives the attempt.
    fn timeouts(&mut self, index: usize, source: &SourceConfig) {
        let at = |field| Place::Source(index, field);
        let limits = source.timeouts;
        for (field, value) in [
            (Field::ConnectTimeout, limits.connect),
            (Field::InterTokenTimeout, limits.inter_token),
        ] {
            if value.is_zero() {
                self.fault(at(field), "is 0", "write a time above zero");
            }
        }
        for (small, short, large, long) in [
            (Field::InterTokenTimeout, limits.inter_token, Field::TtftTimeout, limits.ttft),
            (Field::TtftTimeout, limits.ttft, Field::Timeout, limits.total),
        ] {
            if short >= long && self.is_readable(at(large)) {
                let (other, long) = (self.name(at(large)), self.time(at(large), long));
                let short = self.time(at(small), short);
                let problem = format!("is {short}, not less than {other} ({long})");
                self.fault(at(small), problem, format!("lower it, or raise {other}"));
            }
        }
        let lease = Place::Scope(ScopeKey::LeaseTtl);
        if limits.total > self.settings.lease_ttl && self.is_readable(lease) {
            let problem = format!(
                "is {}, longer than a permit's lease of {}",
                self.time(at(Field::Timeout), limits.total),
                self.time(lease, self.settings.lease_ttl)
            );
            let needed = s(limits.total);
            let fix = format!("lower it, or raise {} to {needed} at least", self.name(lease));
            self.fault(at(Field::Timeout), problem, fix);
        }
    }
}

/// Whether a query parameter of this name holds a secret, as far as its name tells.
fn names_a_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["key", "token", "secret", "password", "signature", "sig"]
        .iter()
        .any(|word| name.ends_with(word))
}

#[cfg(test)]
mod tests;
