//! Opening one connection: TCP, the proxy's handshake and TLS, within one time limit.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use http::uri::Scheme;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use tokio::net::TcpStream;
use tower_service::Service;

use crate::classify;
use crate::error::{BoxError, HttpErrorKind, Reason};
use crate::options::HttpOptions;
use crate::proxy::{Proxies, Route};

type BoxFuture<T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send>>;

/// A connection to a proxy or a target before TLS to the target: TCP, or TLS to an `https` proxy.
type Transport = MaybeHttpsStream<TokioIo<TcpStream>>;

/// The SOCKS port where a proxy URL names none (RFC 1928 §3).
const SOCKS_PORT: u16 = 1080;

/// Opens connections for the pool. The pool clones it with every request, so it is one pointer.
#[derive(Clone)]
pub(crate) struct Connector(Arc<Opener>);

struct Opener {
    dial: Dial,
    https: Option<HttpsConnector<Dial>>,
    limit: Option<Duration>,
}

impl Connector {
    pub(crate) fn new(
        options: &HttpOptions,
        proxies: Option<Arc<Proxies>>,
        tls: Option<ClientConfig>,
    ) -> Self {
        let mut tcp = HttpConnector::new();
        // `https` targets and proxies are dialled with it too.
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_keepalive(options.keepalive);
        tcp.set_keepalive_interval(options.keepalive);
        // This limit is shared out among the addresses of a name; ours below bounds the whole.
        tcp.set_connect_timeout(options.connect_timeout);
        let dial = Dial {
            tcp,
            proxies,
            // A proxy is always spoken to in HTTP/1.1, so it is offered no ALPN.
            tls_to_proxy: tls.clone().map(Arc::new),
            h2_only: options.http2_prior_knowledge,
        };
        let https = tls.map(|mut tls| {
            tls.alpn_protocols = vec![b"h2".to_vec()];
            if !options.http2_prior_knowledge {
                tls.alpn_protocols.push(b"http/1.1".to_vec());
            }
            HttpsConnector::from((dial.clone(), tls))
        });
        Self(Arc::new(Opener { dial, https, limit: options.connect_timeout }))
    }
}

impl Opener {
    async fn open(&self, target: Uri) -> Result<MaybeHttpsStream<Dialled>, DialError> {
        if target.scheme() != Some(&Scheme::HTTPS) {
            return self.dial.dial(target).await.map(MaybeHttpsStream::Http);
        }
        let Some(https) = &self.https else {
            return Err(DialError::new(
                HttpErrorKind::InvalidRequest,
                Reason("TLS is switched off for this client"),
            ));
        };
        https.clone().call(target).await.map_err(|error| match error.downcast::<DialError>() {
            Ok(dial) => *dial,
            Err(error) => DialError { kind: classify::handshake(&*error), source: error },
        })
    }
}

impl Service<Uri> for Connector {
    type Response = MaybeHttpsStream<Dialled>;
    type Error = DialError;
    type Future = BoxFuture<Self::Response, DialError>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), DialError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, target: Uri) -> Self::Future {
        let opener = Arc::clone(&self.0);
        Box::pin(async move {
            match opener.limit {
                None => opener.open(target).await,
                Some(limit) => {
                    tokio::time::timeout(limit, opener.open(target)).await.unwrap_or_else(|late| {
                        Err(DialError::new(HttpErrorKind::ConnectTimeout, late))
                    })
                }
            }
        })
    }
}

/// Reaches a target, through a proxy where one is set, up to but not including TLS to the target.
#[derive(Clone)]
struct Dial {
    tcp: HttpConnector,
    proxies: Option<Arc<Proxies>>,
    tls_to_proxy: Option<Arc<ClientConfig>>,
    h2_only: bool,
}

impl Dial {
    async fn dial(&self, target: Uri) -> Result<Dialled, DialError> {
        let route = self.proxies.as_ref().map_or(Route::Direct, |proxies| proxies.route(&target));
        match route {
            Route::Direct => {
                let tcp = self.tcp.clone().call(target).await;
                let tcp = tcp.map_err(|error| DialError::new(classify::tcp(&error), error))?;
                Ok(Dialled { stream: MaybeHttpsStream::Http(tcp), forwarded: false })
            }
            Route::Forward(_) if self.h2_only => Err(DialError::proxy(Reason(
                "HTTP/2 with prior knowledge cannot pass through a forward proxy",
            ))),
            Route::Forward(proxy) => {
                let stream = self.to_proxy().reach(proxy.uri().clone()).await;
                Ok(Dialled { stream: stream.map_err(DialError::proxy)?, forwarded: true })
            }
            Route::Tunnel(proxy) => {
                let mut tunnel = Tunnel::new(proxy.uri().clone(), self.to_proxy());
                if let Some(credentials) = proxy.basic_auth() {
                    tunnel = tunnel.with_auth(credentials.clone());
                }
                let stream = tunnel.call(target).await.map_err(DialError::proxy)?;
                Ok(Dialled { stream, forwarded: false })
            }
            Route::Socks(proxy) => {
                let address = with_port(proxy.uri().clone(), SOCKS_PORT);
                let default = if target.scheme() == Some(&Scheme::HTTP) { 80 } else { 443 };
                let target = with_port(target, default).map_err(DialError::proxy)?;
                let mut socks = SocksV5::new(address.map_err(DialError::proxy)?, self.tcp.clone());
                if let Some((user, password)) = proxy.raw_auth() {
                    socks = socks.with_auth(user.to_owned(), password.to_owned());
                }
                let tcp = socks.call(target).await.map_err(DialError::proxy)?;
                Ok(Dialled { stream: MaybeHttpsStream::Http(tcp), forwarded: false })
            }
        }
    }

    fn to_proxy(&self) -> ToProxy {
        ToProxy { tcp: self.tcp.clone(), tls: self.tls_to_proxy.clone() }
    }
}

impl Service<Uri> for Dial {
    type Response = Dialled;
    type Error = DialError;
    type Future = BoxFuture<Dialled, DialError>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), DialError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, target: Uri) -> Self::Future {
        let dial = self.clone();
        Box::pin(async move { dial.dial(target).await })
    }
}

/// The URI with its port written out: hyper-util's SOCKS connector takes 443 for every target and
/// 80 for the proxy where none is.
fn with_port(uri: Uri, default: u16) -> Result<Uri, BoxError> {
    if uri.port().is_some() {
        return Ok(uri);
    }
    let host = uri.host().unwrap_or_default();
    let authority = format!("{host}:{default}").parse()?;
    let mut parts = uri.into_parts();
    parts.authority = Some(authority);
    Ok(Uri::from_parts(parts)?)
}

/// The connection to an HTTP proxy itself, with TLS when its URL is `https`.
struct ToProxy {
    tcp: HttpConnector,
    tls: Option<Arc<ClientConfig>>,
}

impl ToProxy {
    fn reach(mut self, proxy: Uri) -> BoxFuture<Transport, BoxError> {
        if proxy.scheme() != Some(&Scheme::HTTPS) {
            let connecting = self.tcp.call(proxy);
            return Box::pin(async move { Ok(MaybeHttpsStream::Http(connecting.await?)) });
        }
        match self.tls {
            Some(tls) => Box::pin(HttpsConnector::from((self.tcp, tls)).call(proxy)),
            None => Box::pin(async {
                Err(Reason("the proxy wants TLS, which is switched off for this client").into())
            }),
        }
    }
}

impl Service<Uri> for ToProxy {
    type Response = Transport;
    type Error = BoxError;
    type Future = BoxFuture<Transport, BoxError>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, proxy: Uri) -> Self::Future {
        Self { tcp: self.tcp.clone(), tls: self.tls.clone() }.reach(proxy)
    }
}

/// An open connection, and whether requests on it are written in absolute form.
pub(crate) struct Dialled {
    stream: Transport,
    forwarded: bool,
}

impl Connection for Dialled {
    // The peer's address, which the TCP stream would add here, is left out: hyper-util would copy
    // it into the extensions of every response.
    fn connected(&self) -> Connected {
        Connected::new().proxy(self.forwarded)
    }
}

impl Read for Dialled {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_read(cx, buf)
    }
}

impl Write for Dialled {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(cx, buf)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write_vectored(cx, bufs)
    }
}

/// A connection that did not come about, classified where it failed.
#[derive(Debug)]
pub(crate) struct DialError {
    kind: HttpErrorKind,
    source: BoxError,
}

impl DialError {
    fn new(kind: HttpErrorKind, source: impl Into<BoxError>) -> Self {
        Self { kind, source: source.into() }
    }

    fn proxy(source: impl Into<BoxError>) -> Self {
        Self::new(HttpErrorKind::Proxy, source)
    }

    pub(crate) fn kind(&self) -> HttpErrorKind {
        self.kind
    }
}

impl fmt::Display for DialError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no connection to the server")
    }
}

impl StdError for DialError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&*self.source)
    }
}
