//! The seams of `PolyGateway`: one trait for each thing that may vary.
//!
//! A custom backend, transport, selector or layer needs this crate and `pgw-types`, nothing else;
//! no runtime, HTTP or database crate comes along. The middleware calls these traits; the client
//! chooses who implements them.
//!
//! | seam | what varies | trait |
//! |---|---|---|
//! | operation | chat, embeddings, … | [`Operation`], [`Assembly`] |
//! | transport | which protocol is spoken | [`Transport`] |
//! | layer | what happens around a call | [`Middleware`], [`Terminal`], [`Next`] |
//! | quotas | where the counters live | [`Limiter`] |
//! | breaker | where the state lives | [`Breaker`] |
//! | kept answers | where they are kept, and which | [`CacheBackend`], [`Cacheable`] |
//! | choice | which source first | [`SourceSelector`] |
//! | structured output | how a value is read out of a text | [`StructuredOutput`] |
//! | records | where the account is kept | [`TelemetryRecorder`] |
//! | prices | what tokens cost | [`Pricing`] |
//! | time, chance | for tests | [`Clock`], [`Jitter`] |
//!
//! All traits are object-safe, `Send + Sync + 'static`, and have no default methods: a decorator
//! can't forget one. Nothing here is global; whoever shares a backend hands the same instance on.

mod breaker;
mod cache;
mod chance;
mod clock;
mod context;
mod gate_error;
mod limiter;
mod middleware;
mod operation;
mod pricing;
mod selector;
mod structured;
mod telemetry;
mod transport;

pub use breaker::Breaker;
pub use cache::{CacheBackend, CacheError, Cacheable, KeepRules};
pub use chance::Jitter;
pub use clock::Clock;
pub use context::{CallCx, Hand};
pub use gate_error::GateError;
pub use limiter::Limiter;
pub use middleware::{Live, LiveStream, Middleware, Next, Reply, Terminal};
pub use operation::{Assembly, AttemptFacts, Operation, Recorded};
pub use pricing::Pricing;
pub use selector::{Candidate, Selection, SourceSelector};
pub use structured::{StructuredCall, StructuredOutput};
pub use telemetry::{Receipt, TelemetryRecorder};
pub use transport::{AttemptCx, EventStream, Transport};
