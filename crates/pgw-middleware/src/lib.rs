//! The governance of one call: everything that is decided about it, written once.
//!
//! From the outside in: [`TelemetryLayer`] → [`CacheLayer`] → [`StructuredLayer`] → [`RetryLoop`]. The loop makes attempts; one attempt is *choose a source → breaker gate → quota
//! permit → watchdog(transport)*, and ends in *verdict → settle → release → progress → record*.
//!
//! This room knows the ports and nothing behind them: no protocol, no store, no environment. It is
//! generic over the [operation](pgw_ports::Operation); [`Chat`] is the first.
//!
//! - [`RetryLoop`], [`RetryPolicy`], [`WaitPolicy`]: the loop and its rules.
//! - [`selectors`]: the built-in orders of sources.
//! - [`Ledger`]: the one place that writes records.
//! - [`TokioClock`], [`RandomJitter`]: time and chance in production.

mod attempt;
mod backoff;
mod cache;
mod chance;
mod chat;
mod clock;
mod cooling;
#[cfg(test)]
mod doubles;
mod guards;
mod ledger;
mod line;
mod live;
mod retry;
pub mod selectors;
mod structured;
mod telemetry;
mod watchdog;

pub use backoff::{RetryPolicy, backoff_delay};
pub use cache::{CacheLayer, CacheRules};
pub use chance::RandomJitter;
pub use chat::{Chat, ChatAssembly};
pub use clock::TokioClock;
pub use ledger::Ledger;
pub use line::{OnFull, WaitPolicy};
pub use live::collected;
pub use retry::{Gates, GovernedSource, RetryLoop};
pub use structured::StructuredLayer;
pub use telemetry::TelemetryLayer;
