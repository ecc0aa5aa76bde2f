//! What the gates hand out: leases of the limiter, tickets of the breaker, and their refusals.
//!
//! These are plain data, so a store only has to implement operations on them; the guards that give
//! them back on drop are written once, in the middleware.

use std::{fmt, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};

/// Which of the six quota gates refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gate {
    /// Calls in flight over all sources of the scope.
    GlobalConcurrency,
    /// Calls in flight on one source.
    SourceConcurrency,
    /// Calls a minute over all sources of the scope.
    GlobalRpm,
    /// Calls a minute on one source.
    SourceRpm,
    /// Tokens a minute over all sources of the scope.
    GlobalTpm,
    /// Tokens a minute on one source.
    SourceTpm,
}

impl Gate {
    /// All six, in the order in which they are checked.
    pub const ALL: [Self; 6] = [
        Self::GlobalConcurrency,
        Self::SourceConcurrency,
        Self::GlobalRpm,
        Self::SourceRpm,
        Self::GlobalTpm,
        Self::SourceTpm,
    ];

    /// The stable spelling.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::GlobalConcurrency => "global_concurrency",
            Self::SourceConcurrency => "source_concurrency",
            Self::GlobalRpm => "global_rpm",
            Self::SourceRpm => "source_rpm",
            Self::GlobalTpm => "global_tpm",
            Self::SourceTpm => "source_tpm",
        }
    }

    /// Whether the gate is the scope's, not one source's.
    #[must_use]
    pub const fn is_global(self) -> bool {
        matches!(self, Self::GlobalConcurrency | Self::GlobalRpm | Self::GlobalTpm)
    }
}

impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The right to have one call in flight. It expires by itself if its owner dies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Unique within the backend, for as long as it lives.
    pub id: u64,
    /// The source it admits to.
    pub source_name: Arc<str>,
    /// Tokens charged at the door.
    pub charged_tokens: u64,
}

/// A refusal of a quota gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Denial {
    /// The gate that refused.
    pub gate: Gate,
    /// When it may admit the call at the earliest, as far as can be told: the end of the window
    /// that binds, or `None` if that hangs on another caller's release.
    pub retry_after: Option<Duration>,
    /// If the call can never be admitted because it alone is over the limit: that limit.
    pub never_above: Option<u64>,
}

/// The answer of a limiter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Admission {
    /// Admitted.
    Granted(Lease),
    /// Refused; nothing was charged anywhere.
    Denied(Denial),
}

/// How busy a source is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SourceLoad {
    /// Calls in flight.
    pub in_flight: u32,
    /// Calls admitted over the last 60 s.
    pub calls_in_window: u64,
    /// Tokens charged over the last 60 s.
    pub tokens_in_window: u64,
}

/// The right to have one call judged by the breaker of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BreakerTicket {
    /// The source.
    pub source_name: Arc<str>,
    /// The generation of the breaker that let the call in. A verdict of an older one is void.
    pub epoch: u64,
    /// The probe lease, if the call is the one probe of a half-open breaker.
    pub probe: Option<u64>,
}

/// The answer of a breaker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// Let in.
    Admitted(BreakerTicket),
    /// Open (or half-open with its one probe under way); asking again makes sense after the wait.
    Refused {
        /// Time to the end of the cooldown, or of the probe's lease.
        retry_after: Duration,
    },
}

/// Consecutive failures after which a breaker opens:
/// `max(threshold, 2 × the source's max concurrency)`, so that one burst on a busy source can't
/// open it; with unlimited concurrency the configured threshold.
#[must_use]
pub const fn effective_threshold(threshold: u32, max_concurrency: Option<u32>) -> u32 {
    match max_concurrency {
        Some(concurrency) if concurrency.saturating_mul(2) > threshold => {
            concurrency.saturating_mul(2)
        }
        Some(_) | None => threshold,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// MEM-017, CLI-027.
    #[test]
    fn the_threshold_follows_the_concurrency() {
        assert_eq!(effective_threshold(5, None), 5);
        assert_eq!(effective_threshold(5, Some(2)), 5);
        assert_eq!(effective_threshold(5, Some(10)), 20);
        assert_eq!(effective_threshold(5, Some(u32::MAX)), u32::MAX);
    }
}
