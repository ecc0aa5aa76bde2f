//! In-memory doubles of every port, for the tests of this crate. They are simple and obviously
//! right rather than quick; each counts what it was asked.

mod bench;
mod breaker;
mod cache;
mod drops;
mod limiter;
mod others;
mod upstream;
mod wire;

pub(crate) use bench::{Bench, Setup, consume, ms, secs};
pub(crate) use breaker::FakeBreaker;
pub(crate) use cache::FakeCache;
pub(crate) use drops::DropAfter;
pub(crate) use limiter::FakeLimiter;
pub(crate) use others::{FakeRecorder, Fixed, FlatPrice, Spread};
pub(crate) use upstream::{
    Script, Step, Upstream, begin, done, fault, pause, text, thought, usage,
};
