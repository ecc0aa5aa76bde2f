//! One chat call: options chained on it, then awaited whole or taken as it comes.

use std::{
    future::IntoFuture,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use futures_core::Stream;
use futures_util::stream;
use pgw_middleware::{Chat, collected};
use pgw_ports::{Cacheable as _, Hand, Live, LiveStream, Reply};
use pgw_types::{CacheUse, CallOptions, ChatEvent, ChatRequest, LlmResponse, PgwError, Thinking};
use serde_json::Value;

#[cfg(not(feature = "structured"))]
use pgw_types::ConfigError;

use crate::{client::GatewayClient, life::CallGuard};

/// A chat call that has not started yet. Await it for the whole answer, or
/// [`stream`](Self::stream) it.
///
/// Nothing is sent before the first poll, and dropping the future at any point ends the call: the
/// connection closes, permit and probe go back, and the record says `cancelled`.
#[derive(Clone, Debug)]
#[must_use = "a call does nothing until it is awaited or streamed"]
pub struct ChatCall {
    client: GatewayClient,
    request: ChatRequest,
    options: CallOptions,
    #[cfg(feature = "structured")]
    pub(crate) structure: crate::structured::Structure,
}

/// The future of a call.
pub type CallFuture<T> = Pin<Box<dyn Future<Output = Result<T, PgwError>> + Send + 'static>>;

impl ChatCall {
    pub(crate) fn new(client: GatewayClient, request: ChatRequest) -> Self {
        Self {
            client,
            request,
            options: CallOptions::default(),
            #[cfg(feature = "structured")]
            structure: crate::structured::Structure::default(),
        }
    }

    /// Asks for another model than the source's own.
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.request.model = Some(model.into());
        self
    }

    /// Sampling temperature.
    pub const fn temperature(mut self, temperature: f64) -> Self {
        self.request.temperature = Some(temperature);
        self
    }

    /// Nucleus sampling.
    pub const fn top_p(mut self, top_p: f64) -> Self {
        self.request.top_p = Some(top_p);
        self
    }

    /// Longest answer, in tokens.
    pub const fn max_tokens(mut self, tokens: u64) -> Self {
        self.request.max_tokens = Some(tokens);
        self
    }

    /// Seed for repeatable sampling.
    pub const fn seed(mut self, seed: i64) -> Self {
        self.request.seed = Some(seed);
        self
    }

    /// Thinking on or off, over the source's setting.
    pub const fn thinking(mut self, thinking: Thinking) -> Self {
        self.request.thinking = Some(thinking);
        self
    }

    /// The tools the model may ask for, as `OpenAI` tool objects.
    pub fn tools(mut self, tools: Vec<Value>) -> Self {
        self.request.tools = tools;
        self
    }

    /// The form of the answer: an object with a `type`.
    pub fn response_format(mut self, format: Value) -> Self {
        self.request.response_format = Some(format);
        self
    }

    /// Sends a member at the top level of the body untouched.
    pub fn provider_option(mut self, name: impl Into<String>, value: Value) -> Self {
        self.request.provider_options.insert(name.into(), value);
        self
    }

    /// The caller's session; stands on every record of the call.
    pub fn session(mut self, id: impl Into<String>) -> Self {
        self.options.session_id = Some(id.into());
        self
    }

    /// The caller's step that makes this call; stands on every record of the call.
    pub fn parent_call(mut self, id: impl Into<String>) -> Self {
        self.options.parent_call_id = Some(id.into());
        self
    }

    /// Another name space for the answer cache than the assembled one: a tenant of this call.
    pub fn namespace(mut self, name: impl Into<String>) -> Self {
        self.options.cache_namespace = Some(name.into());
        self
    }

    /// Names the answer anew in the cache without changing the request, to sample again.
    pub fn salt(mut self, salt: impl Into<String>) -> Self {
        self.options.cache_salt = Some(salt.into());
        self
    }

    /// What the call wants of the answer cache.
    pub const fn cache(mut self, cache: CacheUse) -> Self {
        self.options.cache = cache;
        self
    }

    /// How long its answer is kept, instead of the assembled time; more than zero.
    pub const fn cache_ttl(mut self, ttl: Duration) -> Self {
        self.options.cache_ttl = Some(ttl);
        self
    }

    /// How long the whole call may take: waits, backoff and attempts together.
    pub const fn deadline(mut self, limit: Duration) -> Self {
        self.options.deadline = Some(limit);
        self
    }

    /// The identity of the call, instead of one made up.
    pub fn request_id(mut self, id: impl Into<String>) -> Self {
        self.options.request_id = Some(id.into());
        self
    }

    /// Asks the service for one plain answer instead of a stream: for short calls, and for services
    /// that can't stream. There is no watchdog then, only the total limit.
    pub const fn plain(mut self) -> Self {
        self.options.stream = false;
        self
    }

    /// All options at once.
    pub fn options(mut self, options: CallOptions) -> Self {
        self.options = options;
        self
    }

    /// Takes the answer as it comes. The future is ready when the first token is in; until then
    /// failures are retried, afterwards nothing is. A structured answer is handed out when it has
    /// passed, so its first token is its last.
    #[must_use]
    pub fn stream(self) -> CallFuture<ChatStream> {
        Box::pin(async move {
            let (reply, guard) = self.run(Hand::Live).await?;
            let events = match reply {
                Reply::Live(events) => events,
                Reply::Whole(response) => whole_as_stream(response),
            };
            Ok(ChatStream { events, response: None, guard: Some(guard) })
        })
    }

    #[cfg_attr(not(feature = "structured"), expect(unused_mut, reason = "only a form changes it"))]
    async fn run(mut self, hand: Hand) -> Result<(Reply<Chat>, CallGuard), PgwError> {
        let guard = self.client.begin()?;
        #[cfg(feature = "structured")]
        let structured = self.structure.ready(&mut self.request)?;
        #[cfg(not(feature = "structured"))]
        let structured = match self.request.structured {
            pgw_types::Structured::Raw => None,
            _ => return Err(ConfigError::missing_feature("structured", "structured").into()),
        };
        let reply = self.client.run_chat(self.request, self.options, hand, structured).await?;
        Ok((reply, guard))
    }
}

impl IntoFuture for ChatCall {
    type Output = Result<LlmResponse, PgwError>;
    type IntoFuture = CallFuture<LlmResponse>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            match self.run(Hand::Whole).await? {
                (Reply::Whole(response), _guard) => Ok(*response),
                // A layer may answer live although the whole was asked for.
                (Reply::Live(events), _guard) => collected(events).await.map(|response| *response),
            }
        })
    }
}

/// A layer may answer whole although a stream was asked for, as the structured one does: then the
/// events are those of the whole.
fn whole_as_stream(response: Box<LlmResponse>) -> LiveStream<Chat> {
    let events = Chat::replayed(&response).into_iter().map(|event| Ok(Live::Event(event)));
    Box::pin(stream::iter(events.chain([Ok(Live::Done(response))])))
}

/// An answer as it comes: a stream of events. After its end [`response`](Self::response) has the
/// whole answer with usage, cost and trace.
///
/// Dropping it ends the call.
pub struct ChatStream {
    events: LiveStream<Chat>,
    response: Option<Box<LlmResponse>>,
    guard: Option<CallGuard>,
}

impl std::fmt::Debug for ChatStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChatStream").field("response", &self.response).finish_non_exhaustive()
    }
}

impl ChatStream {
    /// The next event; `None` at the end.
    pub async fn next_event(&mut self) -> Option<Result<ChatEvent, PgwError>> {
        std::future::poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }

    /// The whole answer, once the stream has ended well.
    #[must_use]
    pub fn response(&self) -> Option<&LlmResponse> {
        self.response.as_deref()
    }

    /// The whole answer, once the stream has ended well.
    #[must_use]
    pub fn into_response(self) -> Option<LlmResponse> {
        self.response.map(|response| *response)
    }
}

impl Stream for ChatStream {
    type Item = Result<ChatEvent, PgwError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.guard.is_none() {
            return Poll::Ready(None);
        }
        let item = match std::task::ready!(self.events.as_mut().poll_next(cx)) {
            Some(Ok(Live::Event(event))) => return Poll::Ready(Some(Ok(event))),
            Some(Ok(Live::Done(response))) => {
                self.response = Some(response);
                None
            }
            Some(Err(error)) => Some(Err(error)),
            None => None,
        };
        self.guard = None;
        Poll::Ready(item)
    }
}
