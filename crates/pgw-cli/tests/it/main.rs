//! The built command, run as a user runs it: its own process, a directory of its own, an environment
//! that holds nothing but what a test says.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers outside of test functions may fail a test too"
)]

mod chat;
mod check;
mod demo;
mod mock;
mod pgw;
mod repair;
mod usage;
