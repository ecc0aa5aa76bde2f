//! The transport over real sockets, against a provider that plays scripts.

#![expect(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not as it should be"
)]

mod answers;
mod bench;
mod endings;
mod failures;
mod requests;
