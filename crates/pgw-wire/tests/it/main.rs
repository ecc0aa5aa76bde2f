//! The codec, rule by rule, and on what nobody should send. What services really send is in the
//! corpus (`tests/corpus`, run by `tests/tests/corpus`).

#![expect(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not as it should be"
)]

mod answer;
mod errors;
mod fold;
mod hostile;
mod kinds;
mod requests;
mod twins;
