//! The contracts of the ports as tests that anybody can run on a store of their own.
//!
//! A store tells the suite two things: how to make a fresh instance, and how to let time pass. That
//! is a harness. A macro then writes one named test for each case:
//!
//! ```
//! use std::{sync::Arc, time::Duration};
//!
//! use async_trait::async_trait;
//! use pgw_contract::{LimiterHarness, LimiterSpec, ManualClock};
//! use pgw_ports::Limiter;
//! # use std::fmt::Debug;
//! # use pgw_ports::Clock;
//! # #[derive(Debug)]
//! # struct MyLimiter;
//! # impl MyLimiter {
//! #     fn new(_spec: &LimiterSpec, _clock: Arc<dyn Clock>) -> Self { Self }
//! # }
//! # #[async_trait]
//! # impl Limiter for MyLimiter {
//! #     async fn try_acquire(&self, name: &Arc<str>, _: u64)
//! #         -> Result<pgw_types::Admission, pgw_ports::GateError> {
//! #         Err(pgw_ports::GateError::SourceNotConfigured { source_name: name.to_string() })
//! #     }
//! #     async fn settle(&self, _: &pgw_types::Lease, _: u64)
//! #         -> Result<(), pgw_ports::GateError> { Ok(()) }
//! #     async fn release(&self, _: &pgw_types::Lease) -> Result<(), pgw_ports::GateError> { Ok(()) }
//! #     async fn renew(&self, _: &pgw_types::Lease) -> Result<(), pgw_ports::GateError> { Ok(()) }
//! #     fn abandon(&self, _: &pgw_types::Lease) {}
//! #     async fn mark_progress(&self) -> Result<(), pgw_ports::GateError> { Ok(()) }
//! #     async fn progress_age(&self) -> Result<Option<Duration>, pgw_ports::GateError> { Ok(None) }
//! #     async fn source_load(&self, _: &Arc<str>)
//! #         -> Result<pgw_types::SourceLoad, pgw_ports::GateError> { Ok(Default::default()) }
//! #     fn version(&self) -> u64 { 0 }
//! #     async fn changed(&self, _: u64) { std::future::pending().await }
//! # }
//!
//! #[derive(Default)]
//! struct MyHarness(Arc<ManualClock>);
//!
//! #[async_trait]
//! impl LimiterHarness for MyHarness {
//!     async fn fresh(&self, spec: LimiterSpec) -> Arc<dyn Limiter> {
//!         Arc::new(MyLimiter::new(&spec, self.0.clone()))
//!     }
//!
//!     async fn advance(&self, by: Duration) {
//!         self.0.advance(by);
//!     }
//! }
//!
//! mod my_limiter {
//!     pgw_contract::limiter_suite!(super::MyHarness::default());
//! }
//! # fn main() {}
//! ```
//!
//! | port | cases | reference model | macro |
//! |---|---|---|---|
//! | `Limiter` | [`limiter`] | [`LimiterModel`] | [`limiter_suite!`] |
//! | `Breaker` | [`breaker`] | [`BreakerModel`] | [`breaker_suite!`] |
//! | `CacheBackend` | [`cache`] | a map | [`cache_suite!`] |
//! | `TelemetryRecorder` | [`telemetry`] | – | [`telemetry_suite!`] |
//!
//! The last case of the first three replays random histories on the store and on the reference model,
//! a plain and slow reading of the contract, and compares every answer. A history that fails is
//! cut down to what is needed and printed with its seed; `replay_seed` of
//! the same module runs it again. Who prefers to generate histories otherwise hands them
//! to [`LimiterHistory::replay`] and [`BreakerHistory::replay`].
//!
//! The macros write `#[tokio::test]`: the crate that uses them needs tokio with the features
//! `macros`, `rt` and `rt-multi-thread`. All times are whole milliseconds, and answers must be exact
//! while a window holds fewer than 200 admissions: only above that may a store merge what it counts,
//! on the safe side. A store over the network gives each instance a name space of its own and, in
//! tests, takes the time from its harness.

#![expect(
    clippy::panic,
    clippy::missing_panics_doc,
    reason = "a contract is checked by assertions: a case that fails panics"
)]

pub mod breaker;
pub mod cache;
mod clock;
pub mod limiter;
mod random;
mod shrink;
mod suites;
pub mod telemetry;

pub use breaker::{BreakerHarness, BreakerSpec};
pub use breaker::{
    history::{BreakerHistory, BreakerStep},
    model::BreakerModel,
};
pub use cache::CacheHarness;
pub use clock::ManualClock;
pub use limiter::{LimiterHarness, LimiterSpec};
pub use limiter::{
    history::{LimiterHistory, LimiterStep},
    model::LimiterModel,
};
pub use telemetry::TelemetryHarness;
