//! One pooled HTTP client: hyper's connection pool, rustls, proxies and decompression under one
//! small surface.
//!
//! The crate knows no protocol and governs nothing: no retry, no breaker, no quota, no reading of
//! the environment. It turns one [`http::Request`] into one [`Response`] and says precisely what
//! went wrong when it cannot. Transports build on it; one [`HttpClient`] is one pool, so a source
//! that has its own client can neither starve nor poison another source's connections.
//!
//! What it promises:
//!
//! - **No whole-body timeout.** A healthy stream may run for hours. Only connecting
//!   ([`HttpOptions::connect_timeout`]) and silence ([`HttpOptions::read_timeout`]) are bounded.
//! - **A cut is never a clean end.** A body that stops before its chunked end, its
//!   `Content-Length` or the end of its compressed stream yields [`HttpErrorKind::Truncated`].
//! - **Compressed bodies are read as they come**, whether or not compression was asked for: what
//!   the server has flushed is handed out at once, in bounded memory.
//! - **Dropping is cancelling.** A dropped [`HttpClient::send`] future or [`Body`] closes the
//!   HTTP/1.1 connection or resets the HTTP/2 stream.
//! - **At most one send.** Redirects are returned as they are, and nothing that may have reached
//!   the server is sent again (see [`HttpClient::send`]).
//! - **No secrets in messages.** Neither proxy credentials nor any part of a request URL appear in
//!   `Debug` or `Display`.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use bytes::Bytes;
//! use pgw_http::{HttpClient, HttpOptions};
//!
//! let client = HttpClient::new(HttpOptions::default())?;
//! let request = http::Request::get("https://api.example.com/v1/models").body(Bytes::new())?;
//! let response = client.send(request).await?;
//! println!("{}: {:?}", response.status, response.body.collect(1 << 20).await?);
//! # Ok(())
//! # }
//! ```

mod body;
mod classify;
mod client;
mod connect;
mod decode;
mod error;
mod limit;
mod options;
mod proxy;
mod silence;
mod tls;

pub use body::Body;
pub use client::{HttpClient, Response};
pub use error::{HttpError, HttpErrorKind, HttpSetupError};
pub use options::{HttpOptions, ProxySettings, TlsTrust};
