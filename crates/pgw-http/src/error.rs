//! What can go wrong: [`HttpError`] for one exchange, [`HttpSetupError`] for a client that cannot
//! be built.

use std::error::Error as StdError;
use std::fmt;

pub(crate) type BoxError = Box<dyn StdError + Send + Sync>;

/// Why an exchange failed, settled once where the failure was seen.
///
/// The list is exhaustive on purpose: a new kind has to break every `match` that decides what a
/// failure means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HttpErrorKind {
    /// No connection came about: name not resolved, refused, unreachable, or the peer hung up
    /// during the TLS handshake. Nothing was sent.
    Connect,
    /// No connection came about within [`HttpOptions::connect_timeout`]. Nothing was sent.
    ///
    /// [`HttpOptions::connect_timeout`]: crate::HttpOptions::connect_timeout
    ConnectTimeout,
    /// TLS failed: an untrusted or wrong certificate, no common version, or a peer that does not
    /// speak TLS.
    Tls,
    /// The proxy could not be reached, refused us, or would not open a tunnel. Nothing was sent to
    /// the target.
    Proxy,
    /// The peer was silent for [`HttpOptions::read_timeout`], before the response head or between
    /// two pieces of the body.
    ///
    /// [`HttpOptions::read_timeout`]: crate::HttpOptions::read_timeout
    ReadTimeout,
    /// The connection was closed or reset before a response head arrived. The server may have
    /// worked on the request.
    ConnectionClosed,
    /// The body ended early: cut off in a chunk, short of its `Content-Length`, reset, or before
    /// the end of its compressed stream.
    Truncated,
    /// The body is larger than the limit given to [`Body::collect`](crate::Body::collect).
    BodyTooLarge,
    /// The body does not decode as its `Content-Encoding` says.
    Decompression,
    /// The request cannot be sent as it is, for example because its URL is not absolute. Nothing
    /// was sent.
    InvalidRequest,
    /// Anything else, above all a peer whose bytes are not HTTP.
    Other,
}

impl HttpErrorKind {
    /// Every kind, for tables that have to be complete.
    pub const ALL: [Self; 11] = [
        Self::Connect,
        Self::ConnectTimeout,
        Self::Tls,
        Self::Proxy,
        Self::ReadTimeout,
        Self::ConnectionClosed,
        Self::Truncated,
        Self::BodyTooLarge,
        Self::Decompression,
        Self::InvalidRequest,
        Self::Other,
    ];

    /// The stable name of the kind, fit for a metric label.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::ConnectTimeout => "connect_timeout",
            Self::Tls => "tls",
            Self::Proxy => "proxy",
            Self::ReadTimeout => "read_timeout",
            Self::ConnectionClosed => "connection_closed",
            Self::Truncated => "truncated",
            Self::BodyTooLarge => "body_too_large",
            Self::Decompression => "decompression",
            Self::InvalidRequest => "invalid_request",
            Self::Other => "other",
        }
    }

    const fn message(self) -> &'static str {
        match self {
            Self::Connect => "could not connect",
            Self::ConnectTimeout => "could not connect in time",
            Self::Tls => "could not agree on TLS",
            Self::Proxy => "could not get through the proxy",
            Self::ReadTimeout => "the server fell silent",
            Self::ConnectionClosed => "the connection was closed before a response",
            Self::Truncated => "the response body ended early",
            Self::BodyTooLarge => "the response body is too large",
            Self::Decompression => "the response body could not be decompressed",
            Self::InvalidRequest => "the request cannot be sent",
            Self::Other => "the HTTP exchange failed",
        }
    }
}

impl fmt::Display for HttpErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A failed exchange: its kind, and the chain of causes behind [`source`](StdError::source).
///
/// `Display` states this level only. No level names the request URL or a proxy's credentials.
pub struct HttpError {
    kind: HttpErrorKind,
    source: Option<BoxError>,
}

impl HttpError {
    /// What went wrong.
    #[must_use]
    pub fn kind(&self) -> HttpErrorKind {
        self.kind
    }

    pub(crate) fn new(kind: HttpErrorKind, source: impl Into<BoxError>) -> Self {
        Self { kind, source: Some(source.into()) }
    }

    pub(crate) fn bare(kind: HttpErrorKind) -> Self {
        Self { kind, source: None }
    }
}

impl fmt::Display for HttpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.message())
    }
}

impl fmt::Debug for HttpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("HttpError");
        out.field("kind", &self.kind);
        if let Some(source) = &self.source {
            out.field("source", source);
        }
        out.finish()
    }
}

impl StdError for HttpError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

/// Why [`HttpClient::new`](crate::HttpClient::new) refused its options.
///
/// No message repeats a proxy URL: it may hold credentials.
#[derive(Debug, thiserror::Error)]
pub enum HttpSetupError {
    /// A proxy URL cannot be used.
    #[error("the `{setting}` proxy {problem}")]
    Proxy {
        /// Which of the proxy settings: `http`, `https` or `all`.
        setting: &'static str,
        /// What is wrong with it, and what to write instead.
        problem: &'static str,
    },
    /// The extra CA certificates hold no certificate at all, or one that cannot be read.
    #[error("the extra CA certificates cannot be used: {problem}")]
    Certificates {
        /// What is wrong with them.
        problem: &'static str,
        /// The parser's own words, where there are any.
        source: Option<Box<dyn StdError + Send + Sync>>,
    },
    /// The trust store of the system could not be loaded.
    ///
    /// An image without CA certificates has none: install them, name a CA with
    /// [`TlsTrust::Only`](crate::TlsTrust::Only), or switch TLS off with
    /// [`TlsTrust::PlaintextOnly`](crate::TlsTrust::PlaintextOnly).
    #[error("the CA certificates of the system cannot be loaded")]
    SystemTrust(#[source] Box<dyn StdError + Send + Sync>),
    /// The TLS library refused its settings.
    #[error("TLS cannot be set up")]
    Tls(#[source] Box<dyn StdError + Send + Sync>),
}

/// A cause that is only a sentence.
#[derive(Debug)]
pub(crate) struct Reason(pub(crate) &'static str);

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl StdError for Reason {}

#[cfg(test)]
mod tests;
