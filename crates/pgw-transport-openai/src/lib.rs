//! The transport for services that speak the `OpenAI` chat dialect over HTTP.
//!
//! It puts two rooms together: `pgw-http` moves bytes, `pgw-wire` knows what they mean. What is left
//! here is the order of things: build the body, send it, look at what really came (a stream, a plain
//! answer, a login page), and name every failure once. There is no retry, no limit and no cache
//! here, and no reading of the environment.
//!
//! - [`OpenAiTransport`]: one per source, with a connection pool of its own.
//! - [`ProxyOptions`]: the proxies to go through, handed in by whoever assembles.

mod answer;
mod failure;
mod refusal;
mod transport;

pub use transport::{OpenAiTransport, ProxyOptions, SetupError};
