//! A breaker store of one's own: [`FileBreaker`] keeps the circuit breakers of a scope in one file,
//! so that all processes of a machine share them and they outlive a restart.
//!
//! It shows how a store is written that lives outside the process. `docs/writing-a-store.md` tells
//! the rules; here is where each is kept:
//!
//! | rule | file |
//! |---|---|
//! | the decisions: a pure state machine without a clock or I/O | `fuse.rs` |
//! | the place: read, decide and write as one step, under one clock | `shelf.rs` |
//! | the port: nothing blocks a caller, nothing is lost with a caller that leaves | `breaker.rs` |
//! | the proof: the suite of `pgw-contract`, and the hand-over to a client | `tests/it/` |
//!
//! It is an example. It reads the wall clock, so a jump of that clock moves its cooldowns, and one
//! file bears some thousand calls a second, not more.

mod breaker;
mod fuse;
mod shelf;

pub use breaker::FileBreaker;
pub use fuse::Rules;
