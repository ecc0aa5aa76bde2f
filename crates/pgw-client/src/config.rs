//! Settings, and where they come from.
//!
//! [`GatewaySettings`] is the one validated value that a client is built from. It is made by hand, or
//! read from an [`Environment`]: the process environment over an optional `.env` file. Reading is
//! strict: every fault is reported at once, each with the variable's name and what to write, and no
//! secret is ever repeated.

mod cache;
mod check;
mod defaults;
mod dotenv;
mod environment;
mod grammar;
mod keys;
mod names;
mod resolved;
mod settings;
mod sources;
mod validate;
mod values;

pub use cache::{CacheSettings, CacheStore};
pub use check::{CheckReport, CheckedSource, Setting};
pub use environment::{Environment, ProxyEnvironment};
pub use settings::{
    Backpressure, BreakerRules, GatewaySettings, OnFull, RetrySettings, TelemetrySettings,
};
