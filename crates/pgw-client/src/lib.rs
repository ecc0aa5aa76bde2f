//! Governed model calls in three lines:
//!
//! ```no_run
//! # async fn example() -> Result<(), pgw_client::PgwError> {
//! use pgw_client::GatewayClient;
//!
//! let client = GatewayClient::from_env()?;
//! let answer = client.chat("Why is the sky blue?").await?;
//! println!("{}", answer.content);
//! # Ok(())
//! # }
//! ```
//!
//! The client picks a source, passes its circuit breaker and its quotas, sends, watches the stream
//! for life, names what went wrong, tries again elsewhere, keeps the account, and hands back one
//! response type. Options chain on the call:
//!
//! ```no_run
//! # async fn example(client: pgw_client::GatewayClient) -> Result<(), pgw_client::PgwError> {
//! use std::time::Duration;
//!
//! let mut stream = client
//!     .chat("Tell me a story.")
//!     .session("run-7")
//!     .max_tokens(500)
//!     .deadline(Duration::from_secs(90))
//!     .stream()
//!     .await?;
//! while let Some(event) = stream.next_event().await {
//!     println!("{:?}", event?);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! An answer can be a value of a Rust type. It is mended, checked, and asked for again once if it is
//! wrong:
//!
//! ```no_run
//! # async fn example(client: pgw_client::GatewayClient) -> Result<(), pgw_client::PgwError> {
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct City {
//!     name: String,
//!     inhabitants: u64,
//! }
//!
//! let answer = client.chat("Norway's capital, as JSON?").structured::<City>().await?;
//! println!("{} has {} inhabitants", answer.value.name, answer.value.inhabitants);
//! # Ok(())
//! # }
//! ```
//!
//! # What can go wrong
//! One match arm on [`PgwError::Unavailable`] is the complete "put it back in the queue" rule:
//!
//! ```
//! # use pgw_client::PgwError;
//! fn requeue_in_seconds(error: &PgwError) -> Option<f64> {
//!     error.unavailable().map(|scope| scope.retry_after_s())
//! }
//! ```
//!
//! # Its room in the house
//! This is the only crate that constructs and wires (`compose.rs`), and the only one that reads the
//! environment (`config/environment.rs`). Everything else is handed in: see
//! [`GatewayClient::builder`] for parts of your own.

mod builder;
mod chat;
mod client;
mod compose;
mod config;
mod gather;
mod life;
mod messages;
#[cfg(feature = "structured")]
mod structured;

pub use builder::GatewayClientBuilder;
pub use chat::{CallFuture, ChatCall, ChatStream};
pub use client::GatewayClient;
pub use config::{
    Backpressure, BreakerRules, CacheSettings, CacheStore, CheckReport, CheckedSource, Environment,
    GatewaySettings, OnFull, ProxyEnvironment, RetrySettings, Setting, TelemetrySettings,
};
pub use gather::{Gather, gather_bounded};
pub use messages::Messages;
#[cfg(feature = "structured")]
pub use pgw_structured::{Extracted, NoValue, extract, read_arguments};
#[cfg(feature = "telemetry-sqlite")]
pub use pgw_telemetry::{CallLog, LogError, SourceTotals, UsageBy, UsageQuery, UsageRow};
pub use pgw_types::{
    AttemptTrace, CacheUse, CallError, CallOptions, CallTrace, ChatEvent, ChatRequest, ConfigError,
    ConfigFault, Content, ErrorKind, Exclusion, FailureClass, Fault, FinishReason, Limits,
    LlmResponse, Message, NotConfigured, Part, Partial, PgwError, Plan, RequestFault, Role,
    ScopeReason, SourceConfig, SourceReason, Structured, StructuredSpec, Thinking, Timeouts,
    ToolCall, Unavailable, UsageSource, Warning,
};
#[cfg(feature = "structured")]
pub use structured::{Answer, TypedCall};
