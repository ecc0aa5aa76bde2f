//! The client: one request in, one response head and a body out.

use std::fmt;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, PROXY_AUTHORIZATION};
use http::uri::{Authority, Scheme};
use http::{HeaderMap, Method, Request, StatusCode, Version};
use http_body_util::Full;
use hyper::body::{Body as _, Incoming};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::capture_connection;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::sync::OwnedSemaphorePermit;

use crate::body::Body;
use crate::classify;
use crate::connect::Connector;
use crate::decode::Coding;
use crate::error::{HttpError, HttpErrorKind, HttpSetupError, Reason};
use crate::limit::HostLimits;
use crate::options::HttpOptions;
use crate::proxy::Proxies;
use crate::silence::Silence;
use crate::tls;

/// An HTTP client with a connection pool of its own. Clones share the pool.
///
/// Open connections are driven by tasks on the tokio runtime; they end when their exchange has
/// ended or been dropped and the last clone of the client is gone.
#[derive(Clone)]
pub struct HttpClient {
    shared: Arc<Shared>,
}

struct Shared {
    client: Client<Connector, Full<Bytes>>,
    proxies: Option<Arc<Proxies>>,
    limits: Option<HostLimits>,
    read_timeout: Option<Duration>,
}

/// The head of a response, and its body to come.
pub struct Response {
    /// The status, whatever it is: a 3xx, 4xx or 5xx is no error here.
    pub status: StatusCode,
    /// The HTTP version the server answered in.
    pub version: Version,
    /// The response headers. When the body is decompressed on the way, `Content-Encoding` and
    /// `Content-Length` are gone, since neither describes it any more.
    pub headers: HeaderMap,
    /// The body.
    pub body: Body,
}

impl HttpClient {
    /// Builds a client; connects nowhere yet.
    ///
    /// Loads the trust store unless [`TlsTrust`](crate::TlsTrust) says otherwise, which reads
    /// files and takes some milliseconds: build a client once per source, not per call.
    ///
    /// # Errors
    ///
    /// [`HttpSetupError`] when a proxy URL or a certificate cannot be used, or the system has no
    /// trust store.
    pub fn new(mut options: HttpOptions) -> Result<Self, HttpSetupError> {
        let proxies = options.proxy.take().map(Proxies::new).transpose()?.map(Arc::new);
        let tls = tls::client_config(&options.tls)?;
        let connector = Connector::new(&options, proxies.clone(), tls);
        let mut builder = Client::builder(TokioExecutor::new());
        builder
            .timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(options.pool_idle_timeout)
            .pool_max_idle_per_host(options.pool_max_idle_per_host)
            .http2_only(options.http2_prior_knowledge)
            .http2_keep_alive_interval(options.keepalive);
        Ok(Self {
            shared: Arc::new(Shared {
                client: builder.build(connector),
                proxies,
                limits: options.max_connections_per_host.map(HostLimits::new),
                read_timeout: options.read_timeout,
            }),
        })
    }

    /// Sends one request and waits for the response head.
    ///
    /// The URL must be absolute, `http` or `https`, and without credentials. The version of the
    /// request is ignored: HTTP/2 is spoken where TLS agrees on it, HTTP/1.1 elsewhere. No header
    /// is added except what HTTP itself needs (`Host`, `Content-Length`) and a forward proxy's
    /// credentials; in particular nothing asks for compression.
    ///
    /// A request that was queued on a pooled connection which turned out to be dead, and of which
    /// not one byte was written, goes out on another connection: hyper hands it back untouched.
    /// That is no retry, since no server can have seen it; a request that was begun is never sent
    /// again.
    ///
    /// # Errors
    ///
    /// [`HttpError`]; its [`kind`](HttpError::kind) says whether anything can have reached the
    /// server.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future gives up the exchange: an HTTP/1.1 connection that carries it is
    /// closed, an HTTP/2 stream reset.
    pub async fn send(&self, mut request: Request<Bytes>) -> Result<Response, HttpError> {
        let shared = &*self.shared;
        let (scheme, authority) = target(&request)
            .map_err(|problem| HttpError::new(HttpErrorKind::InvalidRequest, Reason(problem)))?;
        let place = match &shared.limits {
            Some(limits) => Some(limits.acquire(scheme, authority).await?),
            None => None,
        };
        *request.version_mut() = Version::HTTP_11;
        if let Some(proxies) = &shared.proxies
            && !request.headers().contains_key(PROXY_AUTHORIZATION)
            && let Some(credentials) = proxies.forward_credentials(request.uri())
        {
            request.headers_mut().insert(PROXY_AUTHORIZATION, credentials);
        }
        let request = request.map(Full::new);
        let head = match shared.read_timeout {
            None => shared.client.request(request).await.map_err(classify::before_head)?,
            Some(limit) => shared.head_within(limit, request).await?,
        };
        Ok(shared.response(head, place))
    }
}

impl Shared {
    /// Waits for the head, counting silence from the moment a connection takes the request: how
    /// long connecting may take is another limit.
    async fn head_within(
        &self,
        limit: Duration,
        mut request: Request<Full<Bytes>>,
    ) -> Result<http::Response<Incoming>, HttpError> {
        let mut connected = capture_connection(&mut request);
        let mut head = pin!(self.client.request(request));
        let mut too_long = pin!(async move {
            drop(connected.wait_for_connection_metadata().await);
            tokio::time::sleep(limit).await;
        });
        poll_fn(|cx| {
            if let Poll::Ready(head) = head.as_mut().poll(cx) {
                return Poll::Ready(head.map_err(classify::before_head));
            }
            ready!(too_long.as_mut().poll(cx));
            Poll::Ready(Err(HttpError::bare(HttpErrorKind::ReadTimeout)))
        })
        .await
    }

    fn response(
        &self,
        head: http::Response<Incoming>,
        place: Option<OwnedSemaphorePermit>,
    ) -> Response {
        let (parts, incoming) = head.into_parts();
        let mut headers = parts.headers;
        // An empty body (HEAD, 204, 304) keeps the headers that describe what is not there.
        let coding = if incoming.is_end_stream() { None } else { Coding::of(&headers) };
        if coding.is_some() {
            headers.remove(CONTENT_ENCODING);
            headers.remove(CONTENT_LENGTH);
        }
        let silence = self.read_timeout.map(Silence::new);
        Response {
            status: parts.status,
            version: parts.version,
            headers,
            body: Body::new(incoming, coding, silence, place),
        }
    }
}

/// Where a request goes, or why it cannot go anywhere.
fn target(request: &Request<Bytes>) -> Result<(&Scheme, &Authority), &'static str> {
    let uri = request.uri();
    let (Some(scheme), Some(authority)) = (uri.scheme(), uri.authority()) else {
        return Err("the URL is not absolute");
    };
    if authority.host().is_empty() {
        return Err("the URL names no host");
    }
    if authority.as_str().contains('@') {
        return Err("the URL holds credentials; they belong in a header");
    }
    if scheme != &Scheme::HTTPS && scheme != &Scheme::HTTP {
        return Err("the URL is neither `http` nor `https`");
    }
    if request.method() == Method::CONNECT {
        return Err("CONNECT is for proxies, not for requests");
    }
    Ok((scheme, authority))
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpClient")
            .field("proxies", &self.shared.proxies)
            .field("limits", &self.shared.limits)
            .field("read_timeout", &self.shared.read_timeout)
            .finish_non_exhaustive()
    }
}

/// Names the headers but not their values: a `Set-Cookie` is a secret.
impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Response")
            .field("status", &self.status)
            .field("version", &self.version)
            .field("headers", &self.headers.keys().collect::<Vec<_>>())
            .field("body", &self.body)
            .finish()
    }
}
