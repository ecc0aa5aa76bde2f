//! The suites on the plainest stores there can be, and on broken ones, which they must find out.

#![expect(clippy::unwrap_used, reason = "what can't happen fails the test")]

mod breaker;
mod cache;
mod limiter;
mod telemetry;
