//! A clock for the tests of this crate.

use std::time::Duration;

use pgw_ports::Clock;
use tokio::time::Instant;

/// The runtime's clock, virtual when a test has paused it.
#[derive(Debug)]
pub(crate) struct RuntimeClock(Instant);

impl Default for RuntimeClock {
    fn default() -> Self {
        Self(Instant::now())
    }
}

impl Clock for RuntimeClock {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }

    fn unix_ms(&self) -> u64 {
        0
    }
}

/// One nanosecond earlier.
pub(crate) const fn just_before(moment: Duration) -> Duration {
    moment.saturating_sub(Duration::from_nanos(1))
}

pub(crate) const fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}
