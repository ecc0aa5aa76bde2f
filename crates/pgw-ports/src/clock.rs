//! The seam of time.

use std::{fmt::Debug, time::Duration};

/// Time, so that tests can decide what time it is.
///
/// Decisions (deadlines, windows, cooldowns) read this clock; waits use the runtime's timer. An
/// implementation must keep the two in step, as a clock over the runtime's own instants does.
pub trait Clock: Debug + Send + Sync + 'static {
    /// Time since some fixed moment; never goes back.
    fn now(&self) -> Duration;

    /// Milliseconds since 1970-01-01 UTC, for records. May jump.
    fn unix_ms(&self) -> u64;
}

const _: fn(&dyn Clock) = |_| {};
