//! The settings of one scope.

use std::{path::PathBuf, time::Duration};

use pgw_types::ExposeSecret as _;
use pgw_types::{ConfigError, Limits, ProviderProfile, SourceConfig, built_in_profiles, digest};
use serde_json::{Value, json};

use super::{cache::CacheSettings, defaults, environment::Environment, grammar, validate};

/// When to try again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetrySettings {
    /// Attempts that may end in a transient failure, at least 1. Dead sources cost none.
    pub max_attempts: u32,
    /// The first backoff.
    pub base_delay: Duration,
    /// The longest backoff, before jitter.
    pub max_delay: Duration,
    /// The longest `Retry-After` that is honoured.
    pub retry_after_cap: Duration,
    /// How long a source cools that limited the rate without naming a time.
    pub rate_limit_cooldown: Duration,
}

/// When a breaker opens, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BreakerRules {
    /// Consecutive failures, raised to twice the source's concurrency.
    pub fail_threshold: u32,
    /// How long it stays open.
    pub cooldown: Duration,
    /// How long it stays open for a dead source.
    pub dead_cooldown: Duration,
    /// How long a probe has the half-open breaker to itself.
    pub probe_lease: Duration,
}

/// What to do when nothing can be admitted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFull {
    /// Stand in line.
    #[default]
    Wait,
    /// Fail at once.
    FailFast,
}

impl OnFull {
    /// The stable spelling.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Wait => "wait",
            Self::FailFast => "fail_fast",
        }
    }
}

/// The rules of waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backpressure {
    /// Wait or fail.
    pub on_full: OnFull,
    /// A call that has waited this long, in a scope where nobody got an answer for this long, is
    /// stalled.
    pub stall_window: Duration,
    /// How often the head of the line asks when nothing wakes it.
    pub poll_interval: Duration,
    /// The longest wait, whatever happens.
    pub max_wait: Duration,
    /// How many calls may stand in line.
    pub max_queue: usize,
}

/// Where records go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TelemetrySettings {
    /// Nowhere.
    #[default]
    Off,
    /// Into a SQLite file.
    Sqlite {
        /// The file; made if it isn't there.
        path: PathBuf,
    },
}

/// The settings of one scope: an immutable value that a client is built from.
#[derive(Clone, Debug)]
pub struct GatewaySettings {
    /// The scope: a role such as `LLM`.
    pub scope: String,
    /// The sources, in order.
    pub sources: Vec<SourceConfig>,
    /// Quotas over all sources.
    pub global: Limits,
    /// When to try again.
    pub retry: RetrySettings,
    /// The breakers.
    pub breaker: BreakerRules,
    /// The waiting.
    pub backpressure: Backpressure,
    /// Which source first: `round_robin`, `least_inflight`, `ordered`, `weighted`, `lowest_cost`.
    pub selector: String,
    /// How long a limiter's lease lives without being renewed.
    pub lease_ttl: Duration,
    /// How long each call may take, unless it says otherwise.
    pub deadline: Option<Duration>,
    /// Where records go.
    pub telemetry: TelemetrySettings,
    /// Which answers are kept; `None`: none.
    pub cache: Option<CacheSettings>,
}

impl GatewaySettings {
    /// Settings with the documented defaults, no telemetry and no cache.
    #[must_use]
    pub fn new(scope: impl Into<String>, sources: Vec<SourceConfig>) -> Self {
        Self {
            scope: scope.into(),
            sources,
            global: Limits::default(),
            retry: RetrySettings::default(),
            breaker: BreakerRules::default(),
            backpressure: Backpressure::default(),
            selector: defaults::SELECTOR.into(),
            lease_ttl: defaults::LEASE_TTL,
            deadline: None,
            telemetry: TelemetrySettings::Off,
            cache: None,
        }
    }

    /// Reads the settings of `scope`. The grammar is in `docs/configuration.md`.
    ///
    /// # Errors
    /// Every fault at once, each with the variable's name and what to write.
    pub fn from_environment(environment: &Environment, scope: &str) -> Result<Self, ConfigError> {
        Self::from_environment_with(environment, scope, &built_in_profiles())
    }

    /// As [`from_environment`](Self::from_environment), for the given provider profiles: hand in the
    /// ones that the client will be built with.
    ///
    /// # Errors
    /// Every fault at once.
    pub fn from_environment_with(
        environment: &Environment,
        scope: &str,
        profiles: &[ProviderProfile],
    ) -> Result<Self, ConfigError> {
        grammar::load(environment, scope, profiles).map(|loaded| loaded.settings)
    }

    /// Checks the settings against the built-in provider profiles.
    ///
    /// # Errors
    /// Every fault at once.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.validate_with(&built_in_profiles())
    }

    /// Checks the settings against the given provider profiles.
    ///
    /// # Errors
    /// Every fault at once.
    pub fn validate_with(&self, profiles: &[ProviderProfile]) -> Result<(), ConfigError> {
        let faults = validate::faults(self, profiles, &validate::ByPath(self));
        if faults.is_empty() { Ok(()) } else { Err(ConfigError::new(faults)) }
    }

    /// Names this configuration: the first 16 hex digits of a sha256 over the resolved picture.
    /// A secret takes part as its own digest.
    #[must_use]
    pub fn checksum(&self) -> String {
        let sources: Vec<Value> = self.sources.iter().map(source_picture).collect();
        let (retry, breaker, line) = (&self.retry, &self.breaker, &self.backpressure);
        let picture = json!({
            "scope": self.scope,
            "sources": sources,
            "global": self.global,
            "retry": {
                "max_attempts": retry.max_attempts,
                "base_delay": seconds(retry.base_delay),
                "max_delay": seconds(retry.max_delay),
                "retry_after_cap": seconds(retry.retry_after_cap),
                "rate_limit_cooldown": seconds(retry.rate_limit_cooldown),
            },
            "breaker": {
                "fail_threshold": breaker.fail_threshold,
                "cooldown": seconds(breaker.cooldown),
                "dead_cooldown": seconds(breaker.dead_cooldown),
                "probe_lease": seconds(breaker.probe_lease),
            },
            "backpressure": {
                "on_full": line.on_full.as_str(),
                "stall_window": seconds(line.stall_window),
                "poll_interval": seconds(line.poll_interval),
                "max_wait": seconds(line.max_wait),
                "max_queue": line.max_queue,
            },
            "selector": self.selector,
            "lease_ttl": seconds(self.lease_ttl),
            "deadline": self.deadline.map(seconds),
            "cache": self.cache.as_ref().map(CacheSettings::picture),
            "telemetry": match &self.telemetry {
                TelemetrySettings::Off => Value::Null,
                TelemetrySettings::Sqlite { path } => json!({"sqlite": path.to_string_lossy()}),
            },
        });
        let mut name = digest::sha256_hex(digest::canonical_json(&picture).as_bytes());
        name.truncate(16);
        name
    }
}

const fn seconds(time: Duration) -> f64 {
    time.as_secs_f64()
}

fn source_picture(source: &SourceConfig) -> Value {
    json!({
        "name": source.name,
        "provider": source.provider,
        "base_url": source.base_url,
        "key": digest::sha256_hex(source.api_key.expose_secret().as_bytes()),
        "model": source.model,
        "connect": seconds(source.timeouts.connect),
        "ttft": seconds(source.timeouts.ttft),
        "inter_token": seconds(source.timeouts.inter_token),
        "total": seconds(source.timeouts.total),
        "limits": source.limits,
        "est_tokens": source.est_tokens,
        "enable_thinking": source.enable_thinking,
        "missing_done": source.missing_done,
        "malformed_frame": source.malformed_frame,
        "trust_env": source.trust_env,
        "ca": source.ca_pem.as_deref().map(digest::sha256_hex),
        "can_stream": source.can_stream,
        "context_tokens": source.context_tokens,
        "can_use_tools": source.can_use_tools,
        "can_see_images": source.can_see_images,
        "tier": source.tier,
        "weight": source.weight,
    })
}
