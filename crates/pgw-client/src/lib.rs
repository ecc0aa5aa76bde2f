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

pub use builder::GatewayClientBuilder;
pub use chat::{CallFuture, ChatCall, ChatStream};
pub use client::GatewayClient;
pub use config::{
    Backpressure, BreakerRules, CacheSettings, CacheStore, CheckReport, CheckedSource, Environment,
    GatewaySettings, OnFull, ProxyEnvironment, RetrySettings, Setting, TelemetrySettings,
};
pub use gather::{Gather, gather_bounded};
pub use messages::Messages;
#[cfg(feature = "telemetry-sqlite")]
pub use pgw_telemetry::{CallLog, LogError, SourceTotals};
pub use pgw_types::{
    AttemptTrace, CacheUse, CallError, CallOptions, CallTrace, ChatEvent, ChatRequest, ConfigError,
    ConfigFault, Content, ErrorKind, Exclusion, FailureClass, Fault, FinishReason, Limits,
    LlmResponse, Message, NotConfigured, Part, Partial, PgwError, Plan, RequestFault, Role,
    ScopeReason, SourceConfig, SourceReason, Thinking, Timeouts, ToolCall, Unavailable,
    UsageSource, Warning,
};
