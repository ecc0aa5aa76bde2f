//! The one place that constructs and wires.

use std::sync::Arc;

use pgw_backend_memory::{BreakerSettings, MemoryBreaker, MemoryCache, MemoryLimiter};
use pgw_middleware::{
    CacheLayer, CacheRules, Chat, Gates, GovernedSource, Ledger, OnFull, RandomJitter, RetryLoop,
    RetryPolicy, StructuredLayer, TelemetryLayer, TokioClock, WaitPolicy, selectors,
};
use pgw_ports::{
    Breaker, CacheBackend, Clock, KeepRules, Limiter, Middleware, Pricing, SourceSelector,
    TelemetryRecorder, Transport,
};
use pgw_transport_openai::{OpenAiTransport, ProxyOptions};
use pgw_types::{
    ChatEvent, ChatRequest, ConfigError, ConfigFault, PgwError, Plan, PlannedSource,
    ProviderProfile, SourceConfig, built_in_profiles,
};

use crate::{
    builder::GatewayClientBuilder,
    client::Inner,
    config::{CacheStore, GatewaySettings, ProxyEnvironment, TelemetrySettings},
    life::Life,
};

/// Makes every part that was not handed in, and puts them together.
pub(crate) fn compose(
    settings: GatewaySettings,
    parts: GatewayClientBuilder,
) -> Result<Inner, PgwError> {
    let profiles = Profiles::with(parts.profiles);
    settings.validate_with(&profiles.0)?;
    let scope: Arc<str> = settings.scope.as_str().into();
    let clock: Arc<dyn Clock> = parts.clock.unwrap_or_else(|| Arc::new(TokioClock::default()));
    let pricing = match parts.pricing {
        Some(pricing) => pricing,
        None => default_pricing()?,
    };
    let recorder = match parts.recorder {
        Some(recorder) => Some(recorder),
        None => recorder(&settings.telemetry)?,
    };
    let ledger = Arc::new(Ledger::new(recorder.clone(), pricing, Arc::clone(&clock)));
    let sources = sources(&settings, &profiles, parts.transport.as_ref(), &parts.proxy)?;
    let plan = plan(&settings, &scope, &sources);
    let gates = Gates {
        limiter: parts.limiter.unwrap_or_else(|| limiter(&settings, &sources, &clock)),
        breaker: parts.breaker.unwrap_or_else(|| breaker(&settings, &sources, &clock)),
        selector: match parts.selector {
            Some(selector) => selector,
            None => selector(&settings.selector)?,
        },
        clock: Arc::clone(&clock),
        jitter: parts.jitter.unwrap_or_else(|| Arc::new(RandomJitter)),
        ledger: Arc::clone(&ledger),
        retry: RetryPolicy {
            max_attempts: settings.retry.max_attempts,
            base_delay: settings.retry.base_delay,
            max_delay: settings.retry.max_delay,
            retry_after_cap: settings.retry.retry_after_cap,
            rate_limit_cooldown: settings.retry.rate_limit_cooldown,
        },
        wait: wait_policy(&settings),
        lease_ttl: settings.lease_ttl,
    };
    let telemetry = TelemetryLayer::<Chat>::new(Arc::clone(&ledger), Arc::clone(&clock));
    let mut layers: Vec<Arc<dyn Middleware<Chat>>> = vec![Arc::new(telemetry)];
    layers.extend(parts.layers);
    if let Some(cache) = cache(&settings, parts.cache, &ledger, &clock)? {
        layers.push(Arc::new(cache));
    }
    layers.push(Arc::new(StructuredLayer));
    Ok(Inner {
        plan: Arc::new(plan),
        layers,
        retry: RetryLoop::new(scope, sources, gates),
        clock,
        recorder,
        life: Arc::new(Life::default()),
        settings: Arc::new(settings),
    })
}

/// The profiles of this client: the built-in ones, and what was registered over them.
struct Profiles(Vec<ProviderProfile>);

impl Profiles {
    fn with(registered: Vec<ProviderProfile>) -> Self {
        let mut all = built_in_profiles();
        for profile in registered {
            all.retain(|known| known.name != profile.name);
            all.push(profile);
        }
        Self(all)
    }

    fn get(&self, name: &str) -> Option<&ProviderProfile> {
        self.0.iter().find(|profile| profile.name == name)
    }
}

fn sources(
    settings: &GatewaySettings,
    profiles: &Profiles,
    shared: Option<&Arc<dyn Transport<ChatRequest, ChatEvent>>>,
    proxy: &ProxyEnvironment,
) -> Result<Vec<GovernedSource<Chat>>, PgwError> {
    let mut faults = Vec::new();
    let mut governed = Vec::with_capacity(settings.sources.len());
    for config in &settings.sources {
        let transport = match shared {
            Some(transport) => Ok(Arc::clone(transport)),
            None => transport(config, profiles, proxy),
        };
        match transport {
            Ok(transport) => governed.push(GovernedSource {
                name: config.name.as_str().into(),
                config: Arc::new(config.clone()),
                transport,
            }),
            Err(fault) => faults.push(fault),
        }
    }
    if faults.is_empty() { Ok(governed) } else { Err(ConfigError::new(faults).into()) }
}

fn transport(
    config: &SourceConfig,
    profiles: &Profiles,
    proxy: &ProxyEnvironment,
) -> Result<Arc<dyn Transport<ChatRequest, ChatEvent>>, ConfigFault> {
    let fault = |problem: String, fix: &str| {
        ConfigFault::new(format!("sources[{}]", config.name), problem, fix)
    };
    let Some(profile) = profiles.get(&config.provider) else {
        let problem = format!("has the unknown provider {}", config.provider);
        return Err(fault(problem, "name a built-in provider, or register a profile"));
    };
    let proxy = config.trust_env.then(|| ProxyOptions {
        http: proxy.http.clone(),
        https: proxy.https.clone(),
        all: proxy.all.clone(),
        no_proxy: proxy.no_proxy.clone(),
    });
    OpenAiTransport::new(config, profile.clone(), proxy)
        .map(|transport| Arc::new(transport) as Arc<dyn Transport<_, _>>)
        .map_err(|error| fault(error.to_string(), "mend the certificates or proxies it names"))
}

fn plan(settings: &GatewaySettings, scope: &Arc<str>, sources: &[GovernedSource<Chat>]) -> Plan {
    let candidates = sources.iter().map(|source| PlannedSource {
        name: Arc::clone(&source.name),
        provider: source.config.provider.as_str().into(),
        model: source.config.model.as_str().into(),
    });
    Plan {
        scope: Arc::clone(scope),
        config_checksum: settings.checksum().into(),
        candidates: candidates.collect(),
        exclusions: Vec::new(),
        max_attempts: settings.retry.max_attempts,
        upstream_call_bound: Plan::bound(settings.retry.max_attempts, sources.len()),
        deadline: settings.deadline,
    }
}

fn limiter(
    settings: &GatewaySettings,
    sources: &[GovernedSource<Chat>],
    clock: &Arc<dyn Clock>,
) -> Arc<dyn Limiter> {
    let limits = sources.iter().map(|source| (Arc::clone(&source.name), source.config.limits));
    Arc::new(MemoryLimiter::new(settings.global, limits, settings.lease_ttl, Arc::clone(clock)))
}

fn breaker(
    settings: &GatewaySettings,
    sources: &[GovernedSource<Chat>],
    clock: &Arc<dyn Clock>,
) -> Arc<dyn Breaker> {
    let rules = BreakerSettings {
        threshold: settings.breaker.fail_threshold,
        cooldown: settings.breaker.cooldown,
        dead_cooldown: settings.breaker.dead_cooldown,
        probe_lease: settings.breaker.probe_lease,
    };
    let sources = sources
        .iter()
        .map(|source| (Arc::clone(&source.name), source.config.limits.max_concurrency));
    Arc::new(MemoryBreaker::new(rules, sources, Arc::clone(clock)))
}

/// The cache layer; `None` if no answers are kept.
fn cache(
    settings: &GatewaySettings,
    backend: Option<Arc<dyn CacheBackend>>,
    ledger: &Arc<Ledger>,
    clock: &Arc<dyn Clock>,
) -> Result<Option<CacheLayer<Chat>>, PgwError> {
    let Some(cache) = &settings.cache else {
        if backend.is_none() {
            return Ok(None);
        }
        let fix = "set its name space and its time in the settings, or hand in no backend";
        let fault = ConfigFault::new("cache", "has a backend but no settings", fix);
        return Err(ConfigError::new(vec![fault]).into());
    };
    let CacheStore::Memory { max_bytes } = cache.store;
    let backend =
        backend.unwrap_or_else(|| Arc::new(MemoryCache::new(max_bytes, Arc::clone(clock))));
    let rules = CacheRules {
        namespace: cache.namespace.clone(),
        ttl: cache.ttl,
        coalesce: cache.coalesce,
        keep: KeepRules { keep_cut: cache.keep_cut },
    };
    let (ledger, clock) = (Arc::clone(ledger), Arc::clone(clock));
    Ok(Some(CacheLayer::new(backend, rules, &settings.sources, ledger, clock)))
}

fn selector(name: &str) -> Result<Arc<dyn SourceSelector>, PgwError> {
    if let Some(selector) = selectors::by_name(name) {
        return Ok(Arc::from(selector));
    }
    let fix = format!("write one of {}", selectors::NAMES.join(", "));
    let fault = ConfigFault::new("selector", format!("is unknown: {name}"), fix);
    Err(ConfigError::new(vec![fault]).into())
}

fn wait_policy(settings: &GatewaySettings) -> WaitPolicy {
    WaitPolicy {
        on_full: match settings.backpressure.on_full {
            crate::config::OnFull::Wait => OnFull::Wait,
            crate::config::OnFull::FailFast => OnFull::FailFast,
        },
        stall_window: settings.backpressure.stall_window,
        poll_interval: settings.backpressure.poll_interval,
        max_wait: settings.backpressure.max_wait,
        max_queue: settings.backpressure.max_queue,
    }
}

#[cfg(feature = "telemetry-sqlite")]
#[expect(clippy::unnecessary_wraps, reason = "without the feature it fails")]
fn recorder(settings: &TelemetrySettings) -> Result<Option<Arc<dyn TelemetryRecorder>>, PgwError> {
    use pgw_telemetry::{SqliteOptions, SqliteRecorder};

    match settings {
        TelemetrySettings::Off => Ok(None),
        TelemetrySettings::Sqlite { path } => {
            Ok(Some(Arc::new(SqliteRecorder::open(path, SqliteOptions::default()))))
        }
    }
}

#[cfg(not(feature = "telemetry-sqlite"))]
fn recorder(settings: &TelemetrySettings) -> Result<Option<Arc<dyn TelemetryRecorder>>, PgwError> {
    match settings {
        TelemetrySettings::Off => Ok(None),
        TelemetrySettings::Sqlite { .. } => {
            Err(ConfigError::missing_feature("PGW_TELEMETRY_BACKEND", "telemetry-sqlite").into())
        }
    }
}

#[cfg(feature = "telemetry-sqlite")]
fn default_pricing() -> Result<Arc<dyn Pricing>, PgwError> {
    match pgw_telemetry::PriceTable::built_in() {
        Ok(table) => Ok(Arc::new(table)),
        Err(error) => {
            let fault = ConfigFault::new("prices", error.to_string(), "mend the price table");
            Err(ConfigError::new(vec![fault]).into())
        }
    }
}

#[cfg(not(feature = "telemetry-sqlite"))]
#[expect(clippy::unnecessary_wraps, reason = "with the feature it may fail")]
fn default_pricing() -> Result<Arc<dyn Pricing>, PgwError> {
    Ok(Arc::new(NoPrices))
}

/// Without the telemetry room there is no price table: no cost is known.
#[cfg(not(feature = "telemetry-sqlite"))]
#[derive(Debug)]
struct NoPrices;

#[cfg(not(feature = "telemetry-sqlite"))]
impl Pricing for NoPrices {
    fn cost(&self, _: &str, _: &pgw_types::Usage) -> Option<f64> {
        None
    }

    fn rank(&self, _: &str) -> Option<f64> {
        None
    }
}
