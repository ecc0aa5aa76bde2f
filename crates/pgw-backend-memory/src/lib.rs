//! Limiter, breaker and cache state in one process.
//!
//! Each store is a mutex around a synchronous state machine that is told what time it is.
//! The lock is held for one transition and never across an await, so dropping a future at any
//! await leaves nothing behind, and a destructor can give back what it holds.
//!
//! - [`MemoryLimiter`] keeps the six quota gates of one scope, an implementation of
//!   [`Limiter`](pgw_ports::Limiter).
//! - [`MemoryBreaker`], [`BreakerSettings`], [`BreakerState`]: one circuit breaker per source, an
//!   implementation of [`Breaker`](pgw_ports::Breaker).
//!
//! - [`MemoryCache`]: kept answers, bounded in bytes, an implementation of
//!   [`CacheBackend`](pgw_ports::CacheBackend).
//!
//! State belongs to the instance. Clients that are handed the same one share its gates; two
//! instances never interact.
//!
//! Inside: `quotas` decides about the six gates, over a `window` of 60 s and the `leases` of the
//! calls in flight; `fuse` is the state machine of one source's breaker.

mod breaker;
mod cache;
#[cfg(test)]
mod doubles;
mod fuse;
mod leases;
mod limiter;
mod quotas;
mod window;

pub use breaker::{BreakerSettings, MemoryBreaker};
pub use cache::MemoryCache;
pub use fuse::BreakerState;
pub use limiter::MemoryLimiter;
