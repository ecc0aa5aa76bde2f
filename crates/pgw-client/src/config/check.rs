//! What `pgw check` shows: the resolved configuration, secrets masked.

use std::fmt;

use pgw_types::{ConfigError, Plan, SourceConfig, built_in_profiles, effective_threshold};
use serde::Serialize;

use super::{
    cache::CacheStore,
    environment::Environment,
    grammar, resolved,
    settings::{GatewaySettings, TelemetrySettings},
};

/// One setting, and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Setting {
    /// The variable that sets it, or would.
    pub name: String,
    /// The value in force; for a secret only that it is set, and how long it is.
    pub value: String,
    /// Where it comes from: `environment`, `.env line 12`, `given`; with the shorthand's name, if
    /// one set it; or `default`.
    pub origin: String,
}

impl Setting {
    /// Whether nobody set it.
    #[must_use]
    pub fn is_default(&self) -> bool {
        self.origin == resolved::DEFAULT
    }
}

/// One source as it was resolved.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckedSource {
    /// Its name.
    pub name: String,
    /// Its provider profile.
    pub provider: String,
    /// The API root.
    pub base_url: String,
    /// The model.
    pub model: String,
    /// Whether streams are asked for.
    pub stream: bool,
    /// Seconds to connect.
    pub connect_timeout_s: f64,
    /// Seconds to the first token.
    pub ttft_timeout_s: f64,
    /// Seconds between tokens.
    pub inter_token_timeout_s: f64,
    /// Seconds for the whole answer.
    pub timeout_s: f64,
    /// Calls in flight at once; `None`: no limit.
    pub max_concurrency: Option<u32>,
    /// Calls a minute.
    pub rpm: Option<u32>,
    /// Tokens a minute.
    pub tpm: Option<u64>,
    /// Tokens charged at the door at least.
    pub est_tokens: u64,
    /// Consecutive failures that open its breaker.
    pub breaker_threshold: u32,
}

/// The resolved configuration of a scope.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckReport {
    /// The scope.
    pub scope: String,
    /// The checksum of the configuration.
    pub checksum: String,
    /// The sources.
    pub sources: Vec<CheckedSource>,
    /// The selector.
    pub selector: String,
    /// Attempts that may end in a transient failure.
    pub max_attempts: u32,
    /// Upstream calls that one call can make at most.
    pub upstream_call_bound: u32,
    /// `wait` or `fail_fast`.
    pub on_full: String,
    /// Seconds that a call waits for admission at most.
    pub max_wait_s: f64,
    /// Seconds that each call may take; `None`: no limit of its own.
    pub deadline_s: Option<f64>,
    /// Where records go.
    pub telemetry: String,
    /// Which answers are kept.
    pub cache: String,
    /// Every setting, in the order of the documentation.
    pub settings: Vec<Setting>,
}

impl CheckReport {
    /// Resolves the configuration of a scope.
    ///
    /// # Errors
    /// Every fault at once.
    pub fn load(environment: &Environment, scope: &str) -> Result<Self, ConfigError> {
        let loaded = grammar::load(environment, scope, &built_in_profiles())?;
        let list = resolved::list(environment, &loaded.settings, &loaded.keys);
        Ok(Self::of(&loaded.settings, list))
    }

    fn of(settings: &GatewaySettings, list: Vec<Setting>) -> Self {
        let attempts = settings.retry.max_attempts;
        let source = |source: &SourceConfig| CheckedSource {
            name: source.name.clone(),
            provider: source.provider.clone(),
            base_url: source.base_url.clone(),
            model: source.model.clone(),
            stream: source.can_stream,
            connect_timeout_s: source.timeouts.connect.as_secs_f64(),
            ttft_timeout_s: source.timeouts.ttft.as_secs_f64(),
            inter_token_timeout_s: source.timeouts.inter_token.as_secs_f64(),
            timeout_s: source.timeouts.total.as_secs_f64(),
            max_concurrency: source.limits.max_concurrency,
            rpm: source.limits.rpm,
            tpm: source.limits.tpm,
            est_tokens: source.est_tokens,
            breaker_threshold: effective_threshold(
                settings.breaker.fail_threshold,
                source.limits.max_concurrency,
            ),
        };
        Self {
            scope: settings.scope.clone(),
            checksum: settings.checksum(),
            sources: settings.sources.iter().map(source).collect(),
            selector: settings.selector.clone(),
            max_attempts: attempts,
            upstream_call_bound: Plan::bound(attempts, settings.sources.len()),
            on_full: settings.backpressure.on_full.as_str().to_owned(),
            max_wait_s: settings.backpressure.max_wait.as_secs_f64(),
            deadline_s: settings.deadline.map(|limit| limit.as_secs_f64()),
            telemetry: match &settings.telemetry {
                TelemetrySettings::Off => "off".to_owned(),
                TelemetrySettings::Sqlite { path } => format!("sqlite at {}", path.display()),
            },
            cache: match &settings.cache {
                None => "off".to_owned(),
                Some(cache) => {
                    let CacheStore::Memory { max_bytes } = cache.store;
                    format!(
                        "in memory, {max_bytes} bytes at most, name space {}, for {} s",
                        cache.namespace,
                        cache.ttl.as_secs_f64()
                    )
                }
            },
            settings: list,
        }
    }
}

impl fmt::Display for CheckReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limit = |value: Option<u64>| value.map_or_else(|| "no limit".into(), |v| v.to_string());
        writeln!(f, "scope {}, configuration {}", self.scope, self.checksum)?;
        for source in &self.sources {
            writeln!(f, "  source {}", source.name)?;
            writeln!(f, "    {} at {}", source.provider, source.base_url)?;
            writeln!(f, "    model {}", source.model)?;
            writeln!(
                f,
                "    limits: first token {} s, between tokens {} s, whole answer {} s, connect {} s",
                source.ttft_timeout_s,
                source.inter_token_timeout_s,
                source.timeout_s,
                source.connect_timeout_s
            )?;
            writeln!(
                f,
                "    quotas: in flight {}, calls a minute {}, tokens a minute {}",
                limit(source.max_concurrency.map(u64::from)),
                limit(source.rpm.map(u64::from)),
                limit(source.tpm)
            )?;
            writeln!(
                f,
                "    breaker opens after {} failures in a row; {} tokens charged a call",
                source.breaker_threshold, source.est_tokens
            )?;
        }
        writeln!(f, "  selector {}", self.selector)?;
        writeln!(
            f,
            "  attempts {}; one call makes at most {} upstream calls",
            self.max_attempts, self.upstream_call_bound
        )?;
        writeln!(f, "  when nothing is admitted: {}, at most {} s", self.on_full, self.max_wait_s)?;
        if let Some(deadline) = self.deadline_s {
            writeln!(f, "  each call may take {deadline} s")?;
        }
        writeln!(f, "  telemetry {}", self.telemetry)?;
        writeln!(f, "  cache {}", self.cache)?;
        writeln!(f, "  set:")?;
        for setting in self.settings.iter().filter(|setting| !setting.is_default()) {
            writeln!(f, "    {} = {} ({})", setting.name, setting.value, setting.origin)?;
        }
        writeln!(f, "  by default:")?;
        for setting in self.settings.iter().filter(|setting| setting.is_default()) {
            writeln!(f, "    {} = {}", setting.name, setting.value)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
