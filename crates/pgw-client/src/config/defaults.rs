//! Every default there is, in one place. What a call can't do without (URL, key, model) has none.

use std::time::Duration;

use super::settings::{Backpressure, BreakerRules, OnFull, RetrySettings};

/// The selector.
pub(super) const SELECTOR: &str = "round_robin";

/// How long a limiter's lease lives: longer than any attempt may take.
pub(super) const LEASE_TTL: Duration = Duration::from_mins(15);

/// Where records go when the environment does not say.
pub(super) const TELEMETRY_PATH: &str = "pgw-telemetry.sqlite";

/// How many bytes a cache in memory may hold.
pub(super) const CACHE_BYTES: usize = 256 << 20;

/// The provider of a source that names none.
pub(super) const PROVIDER: &str = "generic";

impl Default for RetrySettings {
    fn default() -> Self {
        Self {
            max_attempts: 3,
            base_delay: Duration::from_secs(1),
            max_delay: Duration::from_secs(30),
            retry_after_cap: Duration::from_mins(5),
            rate_limit_cooldown: Duration::from_secs(1),
        }
    }
}

impl Default for BreakerRules {
    fn default() -> Self {
        Self {
            fail_threshold: 5,
            cooldown: Duration::from_secs(30),
            dead_cooldown: Duration::from_mins(5),
            probe_lease: Duration::from_mins(15),
        }
    }
}

impl Default for Backpressure {
    fn default() -> Self {
        Self {
            on_full: OnFull::Wait,
            stall_window: Duration::from_mins(3),
            poll_interval: Duration::from_millis(500),
            max_wait: Duration::from_mins(10),
            max_queue: 10_000,
        }
    }
}
