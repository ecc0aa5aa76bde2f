//! The client: cheap to clone, shared by any number of callers.

use std::{path::Path, sync::Arc, time::Duration};

use pgw_middleware::{Chat, RetryLoop};
use pgw_ports::{
    CallCx, Clock, Hand, Middleware, Next, Operation as _, Reply, StructuredCall,
    TelemetryRecorder, Terminal as _,
};
use pgw_types::{
    CallOptions, ChatRequest, ConfigError, ConfigFault, Exclusion, PgwError, Plan, SourceConfig,
};

use crate::{
    builder::GatewayClientBuilder,
    chat::ChatCall,
    config::{Environment, GatewaySettings},
    life::{CallGuard, Life},
    messages::Messages,
};

/// Governed model calls.
///
/// Cloning is cheap and shares everything: pools, limits, breakers, records. Two clients that were
/// built apart share nothing, unless the same backend was handed to both.
#[derive(Clone, Debug)]
pub struct GatewayClient {
    inner: Arc<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) settings: Arc<GatewaySettings>,
    pub(crate) plan: Arc<Plan>,
    pub(crate) layers: Vec<Arc<dyn Middleware<Chat>>>,
    pub(crate) retry: RetryLoop<Chat>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) recorder: Option<Arc<dyn TelemetryRecorder>>,
    pub(crate) life: Arc<Life>,
}

impl Inner {
    /// The plan of one call that asks up to `asks` times: all share one, unless a source can't serve
    /// this request, the call is limited in time, or it may ask again.
    fn plan_for(&self, request: &ChatRequest, deadline: Option<Duration>, asks: u32) -> Arc<Plan> {
        let unfit = |source: &SourceConfig| {
            let reason = Chat::unfit(request, source)?;
            Some(Exclusion { source_name: source.name.as_str().into(), reason })
        };
        // Nothing is allocated while there are none.
        let exclusions: Vec<_> = self.settings.sources.iter().filter_map(unfit).collect();
        if exclusions.is_empty() && deadline.is_none() && asks == 1 {
            return Arc::clone(&self.plan);
        }
        let plan = self.plan.without(exclusions);
        // Each question may take all that one call may.
        let upstream_call_bound = plan.upstream_call_bound.saturating_mul(asks);
        Arc::new(Plan { deadline, upstream_call_bound, ..plan })
    }
}

impl GatewayClient {
    /// A client for the scope `LLM`, configured by `.env` in the working directory and the process
    /// environment. The grammar is in `docs/configuration.md`.
    ///
    /// # Errors
    /// Every fault of the configuration at once, each with its variable and what to write.
    pub fn from_env() -> Result<Self, PgwError> {
        Self::from_env_scope("LLM")
    }

    /// A client for another scope (a role), such as `VLM` or `SEARCH`. Each call makes a client of
    /// its own: roles share limits only if the same backend is handed to both.
    ///
    /// # Errors
    /// As [`from_env`](Self::from_env).
    pub fn from_env_scope(scope: &str) -> Result<Self, PgwError> {
        let dotenv = Path::new(".env");
        let environment = Environment::from_process(dotenv.exists().then_some(dotenv))?;
        let settings = GatewaySettings::from_environment(&environment, scope)?;
        Self::builder().proxy(environment.proxy()).build(settings)
    }

    /// A client for settings made by hand.
    ///
    /// # Errors
    /// Every fault of the settings at once.
    pub fn from_settings(settings: GatewaySettings) -> Result<Self, PgwError> {
        Self::builder().build(settings)
    }

    /// A client with parts of the caller's own.
    pub fn builder() -> GatewayClientBuilder {
        GatewayClientBuilder::default()
    }

    pub(crate) fn from_inner(inner: Inner) -> Self {
        Self { inner: Arc::new(inner) }
    }

    /// A chat call: await it for the whole answer, or `.stream()` it.
    pub fn chat(&self, messages: impl Into<Messages>) -> ChatCall {
        self.chat_request(ChatRequest::new(messages.into().0))
    }

    /// A chat call with a whole request.
    pub fn chat_request(&self, request: ChatRequest) -> ChatCall {
        ChatCall::new(self.clone(), request)
    }

    /// The settings this client runs on.
    #[must_use]
    pub fn settings(&self) -> &GatewaySettings {
        &self.inner.settings
    }

    /// What a call of this client may do. A call that some source can't serve has a narrower plan of
    /// its own; its trace tells what was left out and why.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.inner.plan
    }

    /// The onion, from the outside in: `telemetry > cache > structured > retry`.
    #[must_use]
    pub fn describe(&self) -> String {
        let names = self.inner.layers.iter().map(|layer| layer.name());
        names.chain([self.inner.retry.name()]).collect::<Vec<_>>().join(" > ")
    }

    /// Ends the client: new calls are refused, calls under way may finish, then the records are
    /// flushed. Idempotent. Dropping the last clone without it loses no more than the wait.
    ///
    /// # Cancel safety
    /// May be dropped and called again.
    pub async fn aclose(&self) {
        self.inner.life.close().await;
        if let Some(recorder) = &self.inner.recorder {
            recorder.close().await;
        }
    }

    pub(crate) fn begin(&self) -> Result<CallGuard, PgwError> {
        self.inner.life.begin().ok_or_else(|| {
            let fault = ConfigFault::new("client", "is closed", "make calls before aclose()");
            ConfigError::new(vec![fault]).into()
        })
    }

    pub(crate) async fn run_chat(
        &self,
        request: ChatRequest,
        options: CallOptions,
        hand: Hand,
        structured: Option<StructuredCall>,
    ) -> Result<Reply<Chat>, PgwError> {
        let inner = &self.inner;
        let request_id = match &options.request_id {
            Some(id) => Arc::from(id.as_str()),
            None => Arc::from(uuid::Uuid::now_v7().to_string()),
        };
        let limit = options.deadline.or(inner.settings.deadline);
        let asks = structured.as_ref().map_or(1, |call| call.reasks.saturating_add(1));
        let plan = inner.plan_for(&request, limit, asks);
        // What is to be read first is not handed out before.
        let hand = if structured.is_some() { Hand::Whole } else { hand };
        let deadline = limit.map(|limit| inner.clock.now().saturating_add(limit));
        let mut cx = CallCx::new(request_id, options, plan, hand, deadline);
        if let Some(call) = structured {
            cx = cx.with_structured(call);
        }
        let cx = Arc::new(cx);
        Next::new(&inner.layers, &inner.retry).run(&cx, Arc::new(request)).await
    }
}
