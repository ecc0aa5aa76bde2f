//! One source's way to its service.

use std::sync::Arc;

use async_trait::async_trait;
use http::{HeaderName, HeaderValue, Method, Request, header};
use pgw_http::{HttpClient, HttpOptions, HttpSetupError, ProxySettings, TlsTrust};
use pgw_ports::{AttemptCx, EventStream, Transport};
use pgw_types::{
    Auth, CallError, ChatEvent, ChatRequest, ExposeSecret as _, ProviderProfile, SourceConfig,
};
use pgw_wire::chat;

use crate::{answer, failure::translate, refusal::refusal};

/// The proxies to go through, as URLs; `no_proxy` is the usual comma-separated list.
///
/// They are handed in: a transport reads no environment.
#[derive(Clone, Default)]
pub struct ProxyOptions {
    /// For `http://` targets.
    pub http: Option<String>,
    /// For `https://` targets.
    pub https: Option<String>,
    /// For all targets without a proxy of their own.
    pub all: Option<String>,
    /// Hosts to reach directly.
    pub no_proxy: Option<String>,
}

impl std::fmt::Debug for ProxyOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Proxy URLs may hold credentials.
        f.debug_struct("ProxyOptions").finish_non_exhaustive()
    }
}

/// A transport could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// Certificates, system trust or proxies are at fault.
    #[error("the HTTP client can't be set up: {0}")]
    Http(#[from] HttpSetupError),
    /// The key can't stand in a header.
    #[error("the key has characters that can't stand in a header")]
    Key,
    /// The profile's name of the key header is no header name.
    #[error("the profile's key header is no header name")]
    KeyHeader,
    /// The URL can't be used.
    #[error("the base URL can't be used: {0}")]
    Url(String),
}

/// Speaks the `OpenAI` chat dialect with one source, over a connection pool of its own.
#[derive(Debug)]
pub struct OpenAiTransport {
    client: HttpClient,
    profile: Arc<ProviderProfile>,
    url: http::Uri,
    key_header: HeaderName,
    /// None for a source without a key: a local server wants none, and an empty one may be refused.
    key: Option<HeaderValue>,
}

impl OpenAiTransport {
    /// A transport for `source`, with the manners of `profile`.
    ///
    /// # Errors
    /// If the URL, the key, the certificates or the proxies can't be used. No message holds a
    /// secret.
    pub fn new(
        source: &SourceConfig,
        profile: ProviderProfile,
        proxy: Option<ProxyOptions>,
    ) -> Result<Self, SetupError> {
        let url: http::Uri = chat::url(&source.base_url)
            .parse()
            .map_err(|error: http::uri::InvalidUri| SetupError::Url(error.to_string()))?;
        let plain = url.scheme_str() == Some("http");
        let tls = match &source.ca_pem {
            Some(pem) => TlsTrust::SystemAnd(pem.to_vec()),
            None if plain => TlsTrust::PlaintextOnly,
            None => TlsTrust::System,
        };
        let client = HttpClient::new(HttpOptions {
            connect_timeout: Some(source.timeouts.connect),
            tls,
            proxy: proxy.map(|proxy| ProxySettings {
                http: proxy.http,
                https: proxy.https,
                all: proxy.all,
                no_proxy: proxy.no_proxy,
            }),
            ..HttpOptions::default()
        })?;
        let key_header = match &profile.auth {
            Auth::Bearer => header::AUTHORIZATION,
            Auth::Header(name) => {
                HeaderName::try_from(&**name).map_err(|_| SetupError::KeyHeader)?
            }
        };
        let key = match (source.api_key.expose_secret(), &profile.auth) {
            ("", _) => None,
            (key, Auth::Bearer) => Some(HeaderValue::try_from(format!("Bearer {key}"))),
            (key, Auth::Header(_)) => Some(HeaderValue::try_from(key)),
        };
        let mut key = key.transpose().map_err(|_| SetupError::Key)?;
        if let Some(key) = &mut key {
            key.set_sensitive(true);
        }
        Ok(Self { client, profile: Arc::new(profile), url, key_header, key })
    }

    fn request(&self, body: bytes::Bytes, stream: bool) -> Request<bytes::Bytes> {
        let mut request = Request::new(body);
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.url.clone();
        let headers = request.headers_mut();
        if let Some(key) = &self.key {
            headers.insert(self.key_header.clone(), key.clone());
        }
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let accept = if stream { "text/event-stream" } else { "application/json" };
        headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
        // A proxy that compresses an event stream delivers it in bursts (nexu-io/open-design#99).
        headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        request
    }
}

#[async_trait]
impl Transport<ChatRequest, ChatEvent> for OpenAiTransport {
    async fn open(
        &self,
        attempt: &AttemptCx,
        request: &Arc<ChatRequest>,
    ) -> Result<EventStream<ChatEvent>, CallError> {
        let source = &attempt.source;
        let body = chat::encode_request(request, source, &self.profile, attempt.stream)?;
        let response =
            self.client.send(self.request(body, attempt.stream)).await.map_err(translate)?;
        if !response.status.is_success() {
            return Err(refusal(response, source, &self.profile).await);
        }
        Ok(answer::read(response, attempt, request, &self.profile))
    }
}
