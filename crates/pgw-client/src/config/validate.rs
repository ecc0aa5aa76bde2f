//! The guards: what must hold between settings. All faults are found, each named where it can be
//! mended.

use std::{collections::BTreeMap, time::Duration};

use pgw_middleware::selectors;
use pgw_types::{ConfigFault, ExposeSecret as _, Limits, ProviderProfile, SourceConfig};

use super::{
    keys::{FIELDS, Field, SCOPE_KEYS, ScopeKey},
    settings::GatewaySettings,
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
}

/// Names places in the words of whoever wrote the settings.
pub(super) trait PlaceNames {
    fn name(&self, place: Place) -> String;
}

/// Names for settings made by hand: paths such as `sources[qwen-1].timeouts.ttft`.
pub(super) struct ByPath<'a>(pub(super) &'a GatewaySettings);

impl PlaceNames for ByPath<'_> {
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
        }
    }
}

/// Every fault of the settings.
pub(super) fn faults(
    settings: &GatewaySettings,
    profiles: &[ProviderProfile],
    names: &dyn PlaceNames,
) -> Vec<ConfigFault> {
    let mut guard = Guard { settings, names, faults: Vec::new() };
    guard.scope();
    guard.sources(profiles);
    guard.faults
}

struct Guard<'a> {
    settings: &'a GatewaySettings,
    names: &'a dyn PlaceNames,
    faults: Vec<ConfigFault>,
}

fn s(duration: Duration) -> String {
    format!("{} s", duration.as_secs_f64())
}

impl Guard<'_> {
    fn fault(&mut self, place: Place, problem: impl Into<String>, fix: impl Into<String>) {
        self.faults.push(ConfigFault::new(self.names.name(place), problem, fix));
    }

    fn scope(&mut self) {
        let settings = self.settings;
        let at = Place::Scope;
        if settings.retry.max_attempts == 0 {
            self.fault(at(ScopeKey::MaxAttempts), "is 0", "allow at least 1 attempt");
        }
        if settings.retry.base_delay > settings.retry.max_delay {
            let problem = format!(
                "is {}, more than the longest delay of {}",
                s(settings.retry.base_delay),
                s(settings.retry.max_delay)
            );
            let fix = format!("lower it, or raise {}", self.names.name(at(ScopeKey::MaxDelay)));
            self.fault(at(ScopeKey::BaseDelay), problem, fix);
        }
        if settings.breaker.fail_threshold == 0 {
            self.fault(at(ScopeKey::FailThreshold), "is 0", "allow at least 1 failure");
        }
        if settings.backpressure.max_queue == 0 {
            self.fault(at(ScopeKey::MaxQueue), "is 0", "allow at least 1 place in the line");
        }
        for (key, value) in [
            (ScopeKey::MaxDelay, settings.retry.max_delay),
            (ScopeKey::RetryAfterCap, settings.retry.retry_after_cap),
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
            let problem = format!("is `{}`", settings.selector);
            let fix = format!("write one of {}", selectors::NAMES.join(", "));
            self.fault(at(ScopeKey::Selector), problem, fix);
        }
        let keys = [ScopeKey::GlobalConcurrency, ScopeKey::GlobalRpm, ScopeKey::GlobalTpm];
        self.limits(settings.global, keys.map(at));
        if let Some(slowest) = settings.sources.iter().max_by_key(|source| source.timeouts.ttft)
            && settings.backpressure.stall_window < slowest.timeouts.ttft
        {
            let problem = format!(
                "is {}, less than the {} that source {} may take to its first token",
                s(settings.backpressure.stall_window),
                s(slowest.timeouts.ttft),
                slowest.name
            );
            let fix = format!("raise it to {} at least", s(slowest.timeouts.ttft));
            self.fault(at(ScopeKey::StallWindow), problem, fix);
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
                let first = self.names.name(Place::Source(first, Field::Name));
                let problem = format!("is `{}`, the name of another source ({first})", source.name);
                self.fault(Place::Source(index, Field::Name), problem, "give each its own name");
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
        for (limit, place) in [
            (source.limits.tpm, at(Field::Tpm)),
            (self.settings.global.tpm, Place::Scope(ScopeKey::GlobalTpm)),
        ] {
            if let Some(limit) = limit.filter(|limit| *limit > 0 && *limit < source.est_tokens) {
                let needed = source.est_tokens;
                let problem =
                    format!("is {limit}, less than the {needed} tokens each call is charged");
                let fix = format!(
                    "raise it to {needed} at least, or lower {}",
                    self.names.name(at(Field::EstTokens))
                );
                self.fault(place, problem, fix);
            }
        }
        if source.est_tokens == 0 {
            self.fault(at(Field::EstTokens), "is 0", "write what a call uses at most");
        }
        if source.weight == 0 {
            self.fault(at(Field::Weight), "is 0", "write a weight from 1");
        }
        match profiles.iter().find(|profile| profile.name == source.provider) {
            None => {
                let names: Vec<_> = profiles.iter().map(|profile| &*profile.name).collect();
                let problem = format!("names the unknown provider {}", source.provider);
                let fix = format!("name one of {}", names.join(", "));
                self.fault(at(Field::BaseUrl), problem, fix);
            }
            Some(profile) if source.enable_thinking.is_some() && profile.thinking_on.is_none() => {
                let problem = format!("is set, but {} has no thinking switch", profile.name);
                let fix = "leave it out, or name the provider whose model it is";
                self.fault(at(Field::EnableThinking), problem, fix);
            }
            Some(_) => {}
        }
    }

    fn url(&mut self, place: Place, text: &str) {
        let fix = "write the API root, such as https://api.example.com/v1";
        match url::Url::parse(text) {
            // The text may hold a password, so it isn't repeated.
            Err(error) => self.fault(place, format!("is no URL: {error}"), fix),
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
            Ok(_) => {}
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
            if short >= long {
                let other = self.names.name(at(large));
                let problem = format!("is {}, not less than {other} ({})", s(short), s(long));
                self.fault(at(small), problem, format!("lower it, or raise {other}"));
            }
        }
        if limits.total > self.settings.lease_ttl {
            let lease = self.names.name(Place::Scope(ScopeKey::LeaseTtl));
            let problem = format!(
                "is {}, longer than a permit's lease of {}",
                s(limits.total),
                s(self.settings.lease_ttl)
            );
            let fix = format!("lower it, or raise {lease} to {} at least", s(limits.total));
            self.fault(at(Field::Timeout), problem, fix);
        }
    }
}

#[cfg(test)]
mod tests;
