//! The settings of one client: plain values, validated when the client is built.

use std::fmt;
use std::num::NonZeroUsize;
use std::time::Duration;

/// How one [`HttpClient`](crate::HttpClient) connects, waits, trusts and pools.
///
/// Two things are fixed and have no option: `TCP_NODELAY` is always on, because a model call sends
/// small writes that must not wait for each other, and redirects are never followed, because a
/// request with a key in its head must not go where a server says.
#[derive(Debug, Clone)]
pub struct HttpOptions {
    /// The longest that getting a usable connection may take: name resolution, TCP, the proxy's
    /// handshake and TLS together. `None` leaves it to the operating system. Default: 10 s.
    ///
    /// Where a name has several addresses, each gets its share of the time.
    pub connect_timeout: Option<Duration>,
    /// The longest silence of a connected server: from handing it the request until the response
    /// head, and then between two pieces of the body. Default: `None`, no limit.
    ///
    /// Time in which the caller does not poll the body is not silence. Sending a large request
    /// body counts as waiting for the head.
    pub read_timeout: Option<Duration>,
    /// How long an unused connection is kept. Default: 50 s, under the 60 s after which common
    /// load balancers close it. `None` keeps it until the server closes it.
    pub pool_idle_timeout: Option<Duration>,
    /// The most unused connections kept for one host. Default: 256. 0 switches reuse off.
    pub pool_max_idle_per_host: usize,
    /// The most exchanges open to one host at once, the rest waiting in order. Default: `None`, no
    /// limit.
    ///
    /// Over HTTP/1.1, where one connection carries one exchange, this bounds the open connections,
    /// which neither hyper-util nor reqwest does (hyperium/hyper#3785). Over HTTP/2 it bounds the
    /// streams. A place is taken before connecting and given back when the [`Body`](crate::Body)
    /// ends or is dropped.
    pub max_connections_per_host: Option<NonZeroUsize>,
    /// How often a quiet connection is probed, so that a peer that vanished is noticed: TCP
    /// keep-alive, and over HTTP/2 a PING while a stream is open. Default: 30 s. `None` probes
    /// never.
    pub keepalive: Option<Duration>,
    /// Whom to believe when a server shows its certificate. Default: the system.
    pub tls: TlsTrust,
    /// The proxies to use. Default: `None`, connect directly.
    ///
    /// This crate never reads `HTTP_PROXY` and its like; whoever loads the configuration fills
    /// this in, or leaves it `None` for a source that must not trust the environment.
    pub proxy: Option<ProxySettings>,
    /// Speak HTTP/2 from the first byte, without asking (RFC 9113 §3.3). Default: `false`.
    ///
    /// For `http` targets that are known to speak it; over TLS only `h2` is then offered. Without
    /// it `http` targets get HTTP/1.1 and `https` targets get what ALPN agrees on.
    pub http2_prior_knowledge: bool,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            connect_timeout: Some(Duration::from_secs(10)),
            read_timeout: None,
            pool_idle_timeout: Some(Duration::from_secs(50)),
            pool_max_idle_per_host: 256,
            max_connections_per_host: None,
            keepalive: Some(Duration::from_secs(30)),
            tls: TlsTrust::System,
            proxy: None,
            http2_prior_knowledge: false,
        }
    }
}

/// The certificate authorities a client believes.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub enum TlsTrust {
    /// Those of the system. On Linux that is the distribution's bundle, or the one that
    /// `SSL_CERT_FILE` or `SSL_CERT_DIR` names (the TLS library looks at these, not this crate).
    #[default]
    System,
    /// Those of the system and these: PEM text with one or more certificates.
    SystemAnd(Vec<u8>),
    /// These and no others: PEM text with one or more certificates.
    Only(Vec<u8>),
    /// None: `https` targets are refused as invalid requests. For sources whose URL is `http`: the
    /// trust store is not loaded, so it need not exist.
    PlaintextOnly,
}

/// The proxies for a client, in the words of the usual environment variables.
///
/// A proxy URL is `http://`, `https://`, `socks5://` or `socks5h://`, optionally with
/// `user:password@` (special characters percent-encoded); without a scheme it is `http://`. Both
/// SOCKS schemes let the proxy resolve names: resolving here would block the runtime and tell the
/// local resolver what we call.
///
/// An `http` target goes through an HTTP proxy as a forwarded request, an `https` target through a
/// `CONNECT` tunnel.
///
/// Loopback targets (`localhost`, names under it, 127.0.0.0/8, `::1`) never go through a proxy,
/// whatever `no_proxy` says: a proxy on another machine would reach its own loopback, and the
/// usual variables do not exclude local model servers by themselves.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ProxySettings {
    /// The proxy for `http` targets (`HTTP_PROXY`).
    pub http: Option<String>,
    /// The proxy for `https` targets (`HTTPS_PROXY`).
    pub https: Option<String>,
    /// The proxy for targets that the two above leave open (`ALL_PROXY`).
    pub all: Option<String>,
    /// Targets that are reached directly (`NO_PROXY`), separated by commas: domains (with or
    /// without a leading dot, subdomains included), addresses, networks such as `10.0.0.0/8`, or
    /// `*` for all.
    pub no_proxy: Option<String>,
}

/// Proxy URLs may hold credentials, so only their presence is shown.
impl fmt::Debug for ProxySettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let masked = |url: &Option<String>| url.as_ref().map(|_| "***");
        f.debug_struct("ProxySettings")
            .field("http", &masked(&self.http))
            .field("https", &masked(&self.https))
            .field("all", &masked(&self.all))
            .field("no_proxy", &self.no_proxy)
            .finish()
    }
}
