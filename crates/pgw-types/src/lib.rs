//! Plain data of `PolyGateway`: what a call is made of, what comes back, and what can go wrong.
//!
//! This is the ground of the house. Every other crate may depend on it; it depends on none of ours
//! and on no runtime, HTTP, TLS or database crate, so a custom backend, a binding or a server can
//! share these types without taking anything else along.
//!
//! - What the caller brings: [`ChatRequest`], [`Message`], [`CallOptions`].
//! - What a transport yields: [`ChatEvent`]; what the caller gets: [`LlmResponse`].
//! - What went wrong: [`Fault`] (exactly what), [`FailureClass`] (what to do about it),
//!   [`ErrorKind`] (what to tell a client), and the errors that carry them, [`PgwError`] at the root.
//! - Where calls go: [`SourceConfig`], [`ProviderProfile`]; how one call was planned and what
//!   became of it: [`Plan`], [`CallTrace`].
//! - What gates hand out: [`Lease`], [`BreakerTicket`]; what is written down: [`CallRecord`].
//! - [`digest`]: the one function that names messages for cache keys and telemetry.

mod call;
pub mod digest;
mod error;
mod event;
mod fault;
mod gates;
mod message;
mod plan;
mod profile;
mod record;
mod request;
mod response;
mod source;
mod structured;
mod usage;

pub use call::{CacheUse, CallOptions};
pub use error::{
    CallError, ConfigError, ConfigFault, GOVERNANCE_BACKEND_RETRY_AFTER_S, NotConfigured, Partial,
    PgwError, ScopeReason, SourceReason, Unavailable,
};
pub use event::{ChatEvent, Finish, ToolDelta};
pub use fault::{ErrorKind, FailureClass, Fault, Liveness};
pub use gates::{
    Admission, BreakerTicket, Denial, Entry, Gate, Lease, SourceLoad, effective_threshold,
};
pub use message::{Content, Message, Part, Role, ToolCall};
pub use plan::{AttemptTrace, CallTrace, Exclusion, Plan, PlannedSource, Skip};
pub use profile::{
    Auth, ErrorRule, ProviderProfile, TokenCapField, built_in_profiles, known_error_rules,
};
pub use record::CallRecord;
pub use request::{ChatRequest, Delivery, RequestFault, Thinking};
pub use response::{Choice, FinishReason, LlmResponse, Warning};
pub use secrecy::{ExposeSecret, SecretString};
pub use source::{AnomalyPolicy, Limits, SourceConfig, Timeouts};
pub use structured::{Structured, StructuredSpec, Unreadable};
pub use usage::{Usage, UsageReport, UsageSource};
