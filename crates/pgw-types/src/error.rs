//! The errors of a call: one root, three domains.
//!
//! - [`CallError`]: this call failed, in one of four classes.
//! - [`Unavailable`]: the scope as a whole can't serve now. One match arm on it is the complete
//!   "put it back in the queue, charge no failure budget" rule.
//! - [`NotConfigured`] and [`ConfigError`]: the assembly is at fault. Never put such a call back:
//!   it would never end in the dead letters, where somebody sees it.

use std::{error::Error as StdError, sync::Arc, time::Duration};

use crate::{CallTrace, ErrorKind, FailureClass};

mod call;
mod config;
mod unavailable;

pub use call::{CallError, Partial};
pub use config::{ConfigError, ConfigFault, NotConfigured};
pub use unavailable::{GOVERNANCE_BACKEND_RETRY_AFTER_S, ScopeReason, SourceReason, Unavailable};

/// An error beneath, shared so that errors can be cloned.
type Cause = Arc<dyn StdError + Send + Sync + 'static>;

/// The root error of a governed call.
#[derive(Clone, Debug, thiserror::Error)]
pub enum PgwError {
    /// The call failed, in one of four classes.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The scope as a whole can't serve now: come back later.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// A gate does not know a source of the plan: the assembly is at fault.
    #[error(transparent)]
    SourceNotConfigured(#[from] NotConfigured),
    /// The configuration is at fault.
    #[error(transparent)]
    Config(#[from] ConfigError),
}

impl PgwError {
    /// The scope-level error, if this is one: put the call back in the queue.
    #[must_use]
    pub const fn unavailable(&self) -> Option<&Unavailable> {
        match self {
            Self::Unavailable(error) => Some(error),
            Self::Call(_) | Self::SourceNotConfigured(_) | Self::Config(_) => None,
        }
    }

    /// The failure of this one call, if it is one.
    #[must_use]
    pub const fn call(&self) -> Option<&CallError> {
        match self {
            Self::Call(error) => Some(error),
            Self::Unavailable(_) | Self::SourceNotConfigured(_) | Self::Config(_) => None,
        }
    }

    /// The class, if the call itself failed.
    #[must_use]
    pub fn class(&self) -> Option<FailureClass> {
        self.call().map(CallError::class)
    }

    /// The stable category, as a client of the server would see it.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Call(error) => error.kind(),
            Self::Unavailable(error) => error.kind(),
            Self::SourceNotConfigured(_) | Self::Config(_) => ErrorKind::InternalError,
        }
    }

    /// How long to wait before the same call may succeed; `None` when nobody said.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Call(error) => error.retry_after(),
            Self::Unavailable(error) => Some(error.retry_after()),
            Self::SourceNotConfigured(_) | Self::Config(_) => None,
        }
    }

    /// What became of each attempt; empty for assembly faults.
    #[must_use]
    pub fn trace(&self) -> Option<&CallTrace> {
        match self {
            Self::Call(error) => error.trace(),
            Self::Unavailable(error) => error.trace(),
            Self::SourceNotConfigured(_) | Self::Config(_) => None,
        }
    }

    /// Puts the trace of the whole call on the error, where it can carry one.
    #[must_use]
    pub fn with_trace(self, trace: CallTrace) -> Self {
        match self {
            Self::Call(error) => Self::Call(error.with_trace(trace)),
            Self::Unavailable(error) => Self::Unavailable(error.with_trace(trace)),
            other @ (Self::SourceNotConfigured(_) | Self::Config(_)) => other,
        }
    }

    /// The answer as far as it came before the failure, if any of it came.
    #[must_use]
    pub fn partial(&self) -> Option<&Partial> {
        match self {
            Self::Call(error) => error.partial(),
            Self::Unavailable(error) => error.last_failure().and_then(CallError::partial),
            Self::SourceNotConfigured(_) | Self::Config(_) => None,
        }
    }
}

#[cfg(test)]
mod tests;
