//! How long to wait before trying again.

use std::time::Duration;

/// The rules of the retry loop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RetryPolicy {
    /// Attempts that may end in a transient failure, at least 1. Dead sources cost none.
    pub max_attempts: u32,
    /// The first backoff.
    pub base_delay: Duration,
    /// The longest backoff, before jitter.
    pub max_delay: Duration,
    /// The longest `Retry-After` that is honoured; a longer one counts as this.
    pub retry_after_cap: Duration,
    /// How long a source cools that limited the rate without naming a time.
    pub rate_limit_cooldown: Duration,
}

/// `min(base × 2^attempt, max) × uniform(0.5, 1.5)`, with `unit` in `0.0..1.0` for the chance.
/// Attempts count from 0.
#[must_use]
pub fn backoff_delay(policy: &RetryPolicy, attempt: u32, unit: f64) -> Duration {
    let factor = 1_u32.checked_shl(attempt).unwrap_or(u32::MAX);
    let delay = policy.base_delay.saturating_mul(factor).min(policy.max_delay);
    // A delay near the end of the range must not overflow into a panic.
    Duration::try_from_secs_f64(delay.as_secs_f64() * (0.5 + unit)).unwrap_or(policy.max_delay)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn policy(base_ms: u64, max_ms: u64) -> RetryPolicy {
        RetryPolicy {
            max_attempts: 3,
            base_delay: Duration::from_millis(base_ms),
            max_delay: Duration::from_millis(max_ms),
            retry_after_cap: Duration::from_mins(5),
            rate_limit_cooldown: Duration::from_secs(1),
        }
    }

    /// MID-020.
    #[test]
    fn the_backoff_doubles_up_to_its_cap() {
        let policy = policy(100, 1_000);
        let middle: Vec<_> =
            (0..6).map(|attempt| backoff_delay(&policy, attempt, 0.5).as_millis()).collect();
        assert_eq!(middle, [100, 200, 400, 800, 1_000, 1_000]);
    }

    proptest! {
        /// MID-020: within half and one and a half of the ideal, for any attempt, without overflow.
        #[test]
        fn the_backoff_stays_in_its_bounds(
            base in 0_u32..u32::MAX, attempt: u32, unit in 0.0..1.0_f64,
        ) {
            let cap = u64::from(base) * 1_000;
            let policy = policy(u64::from(base), cap);
            // Doubling ten times is past the cap of a thousandfold.
            let doubled = f64::from(base) * f64::from(1_u32 << attempt.min(10));
            let ideal = doubled.min(f64::from(base) * 1_000.0);
            let got = backoff_delay(&policy, attempt, unit).as_secs_f64() * 1_000.0;
            prop_assert!(got >= ideal * 0.5 - 1.0 && got <= ideal * 1.5 + 1.0, "{got} of {ideal}");
        }
    }
}
