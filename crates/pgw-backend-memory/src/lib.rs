//! Limiter and breaker state in one process.
//!
//! Both stores are a mutex around a pure, synchronous state machine that is told what time it is.
//! The lock is held for one transition and never across an await, so dropping a future at any
//! await leaves nothing behind, and a destructor can give back what it holds.
//!
//! - [`MemoryLimiter`] keeps the six quota gates of one scope, an implementation of
//!   [`Limiter`](pgw_ports::Limiter).
//! - [`MemoryBreaker`], [`BreakerSettings`], [`BreakerState`]: one circuit breaker per source, an
//!   implementation of [`Breaker`](pgw_ports::Breaker).
//!
//! State belongs to the instance. Clients that are handed the same one share its gates; two
//! instances never interact.
//!
//! Inside: `quotas` decides about the six gates, over a `window` of 60 s and the `leases` of the
//! calls in flight; `fuse` is the state machine of one source's breaker.

mod breaker;
#[cfg(test)]
mod doubles;
mod fuse;
mod leases;
mod limiter;
mod quotas;
mod window;

pub use breaker::{BreakerSettings, MemoryBreaker};
pub use fuse::BreakerState;
pub use limiter::MemoryLimiter;
