//! The suites on the plainest stores there can be, and on broken ones, which they must find out.

mod breaker;
mod limiter;
