//! Time in production, and in tests with the runtime's virtual time.

use std::time::{Duration, UNIX_EPOCH};

use pgw_ports::Clock;
use tokio::time::Instant;

/// The runtime's clock: real time, or virtual time when a test has paused it.
#[derive(Clone, Copy, Debug)]
pub struct TokioClock {
    origin: Instant,
}

impl Default for TokioClock {
    fn default() -> Self {
        Self { origin: Instant::now() }
    }
}

impl Clock for TokioClock {
    fn now(&self) -> Duration {
        self.origin.elapsed()
    }

    fn unix_ms(&self) -> u64 {
        #[expect(clippy::disallowed_methods, reason = "this is the injected clock")]
        let now = std::time::SystemTime::now();
        let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }
}
