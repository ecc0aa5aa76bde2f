//! Parts of the caller's own, for a client built by hand.

use std::sync::Arc;

use pgw_middleware::Chat;
use pgw_ports::{
    Breaker, CacheBackend, Clock, Jitter, Limiter, Middleware, Pricing, SourceSelector,
    TelemetryRecorder, Transport,
};
use pgw_types::{ChatEvent, ChatRequest, PgwError, ProviderProfile};

use crate::{
    client::GatewayClient,
    compose::compose,
    config::{GatewaySettings, ProxyEnvironment},
};

/// Builds a client, with any part replaced. Whatever isn't handed in is made from the settings.
///
/// Handing the same backend to two builders is how clients share limits and breakers; there is no
/// other way.
#[derive(Debug, Default)]
#[must_use]
pub struct GatewayClientBuilder {
    pub(crate) limiter: Option<Arc<dyn Limiter>>,
    pub(crate) breaker: Option<Arc<dyn Breaker>>,
    pub(crate) cache: Option<Arc<dyn CacheBackend>>,
    pub(crate) selector: Option<Arc<dyn SourceSelector>>,
    pub(crate) recorder: Option<Arc<dyn TelemetryRecorder>>,
    pub(crate) pricing: Option<Arc<dyn Pricing>>,
    pub(crate) clock: Option<Arc<dyn Clock>>,
    pub(crate) jitter: Option<Arc<dyn Jitter>>,
    pub(crate) transport: Option<Arc<dyn Transport<ChatRequest, ChatEvent>>>,
    pub(crate) layers: Vec<Arc<dyn Middleware<Chat>>>,
    pub(crate) profiles: Vec<ProviderProfile>,
    pub(crate) proxy: ProxyEnvironment,
}

impl GatewayClientBuilder {
    /// Quotas kept elsewhere, or shared with another client.
    pub fn limiter(mut self, limiter: Arc<dyn Limiter>) -> Self {
        self.limiter = Some(limiter);
        self
    }

    /// Breakers kept elsewhere, or shared with another client.
    pub fn breaker(mut self, breaker: Arc<dyn Breaker>) -> Self {
        self.breaker = Some(breaker);
        self
    }

    /// Answers kept elsewhere, or shared with another client. The settings' `cache` says which
    /// answers, and for how long; it has to be there.
    pub fn cache(mut self, cache: Arc<dyn CacheBackend>) -> Self {
        self.cache = Some(cache);
        self
    }

    /// Another order of sources.
    pub fn selector(mut self, selector: Arc<dyn SourceSelector>) -> Self {
        self.selector = Some(selector);
        self
    }

    /// Records go here, whatever the settings say.
    pub fn recorder(mut self, recorder: Arc<dyn TelemetryRecorder>) -> Self {
        self.recorder = Some(recorder);
        self
    }

    /// Another price table.
    pub fn pricing(mut self, pricing: Arc<dyn Pricing>) -> Self {
        self.pricing = Some(pricing);
        self
    }

    /// Another clock, for tests.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Another source of chance, for tests.
    pub fn jitter(mut self, jitter: Arc<dyn Jitter>) -> Self {
        self.jitter = Some(jitter);
        self
    }

    /// One transport for all sources instead of the `OpenAI` dialect over HTTP.
    pub fn transport(mut self, transport: Arc<dyn Transport<ChatRequest, ChatEvent>>) -> Self {
        self.transport = Some(transport);
        self
    }

    /// One more layer of the onion, inside telemetry and outside the cache: it sees hits too. Layers
    /// that are added first are further out.
    pub fn layer(mut self, layer: Arc<dyn Middleware<Chat>>) -> Self {
        self.layers.push(layer);
        self
    }

    /// One more provider profile, or a built-in one replaced.
    pub fn profile(mut self, profile: ProviderProfile) -> Self {
        self.profiles.push(profile);
        self
    }

    /// The proxies that sources with `trust_env` go through.
    pub fn proxy(mut self, proxy: ProxyEnvironment) -> Self {
        self.proxy = proxy;
        self
    }

    /// Checks the settings and builds the client.
    ///
    /// # Errors
    /// Every fault of the settings at once.
    pub fn build(self, settings: GatewaySettings) -> Result<GatewayClient, PgwError> {
        compose(settings, self).map(GatewayClient::from_inner)
    }
}
