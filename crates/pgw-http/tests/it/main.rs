//! The client on real sockets, against small servers that send exactly the bytes a case needs.
//!
//! Client and server run as two futures of one task: what is dropped is dropped here, and a panic
//! of either fails the case.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test stops at the first thing that is not as it should be"
)]

mod body;
mod cancel;
mod exchange;
mod failure;
mod peer;
mod proxy;
mod tls;
