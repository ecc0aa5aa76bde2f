//! The mock from the outside: raw TCP clients against each thing a script can ask for.
#![expect(clippy::unwrap_used, reason = "helpers outside of test functions may fail a test too")]

mod answers;
mod client;
mod counting;
mod faults;
mod lifecycle;
mod requests;
mod scenario_file;
