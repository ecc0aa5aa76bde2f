//! The scope as a whole can't serve now.

use std::{collections::BTreeMap, error::Error as StdError, fmt, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};

use super::{CallError, Cause};
use crate::{CallTrace, ErrorKind};

/// Seconds after which a call that met a dead governance backend should come back.
///
/// This is a meaning of the error, not a setting, so it has no environment key: when the backend
/// will be back can't be known, and zero would let a whole backlog stampede a store that is already
/// down. A caller with a backoff of its own may ignore it.
pub const GOVERNANCE_BACKEND_RETRY_AFTER_S: f64 = 5.0;

macro_rules! closed_set {
    ($(#[$doc:meta])* $name:ident { $( $(#[$vdoc:meta])* $variant:ident = $text:literal, )* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum $name { $( $(#[$vdoc])* #[serde(rename = $text)] $variant, )* }

        impl $name {
            /// Every value of the closed set.
            pub const ALL: &'static [Self] = &[$( Self::$variant, )*];

            /// The stable spelling.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $( Self::$variant => $text, )* }
            }
        }
    };
}

closed_set! {
    /// Why a scope can't serve.
    ScopeReason {
        /// The breakers of all sources are open, or all are cooling.
        CircuitOpen = "circuit_open",
        /// Attempts, or sources, are used up.
        RetryExhausted = "retry_exhausted",
        /// This call waited beyond the stall window while nobody else got anything done either.
        Stalled = "stalled",
        /// Our own quota is full.
        QuotaExhausted = "quota_exhausted",
        /// The scope has no source that can serve the request.
        NoSources = "no_sources",
        /// The limiter's or breaker's store can't be reached.
        GovernanceBackendDown = "governance_backend_down",
    }
}

closed_set! {
    /// Why one source did not serve.
    SourceReason {
        /// It failed or could not be reached.
        NetworkError = "network_error",
        /// It took too long.
        Timeout = "timeout",
        /// It, or our own quota for it, limits the rate.
        RateLimited = "rate_limited",
        /// Bad key, no money, or the model isn't served there.
        SourceDead = "source_dead",
        /// Its breaker is open.
        CircuitOpen = "circuit_open",
        /// It cools down after a failure.
        Cooldown = "cooldown",
    }
}

/// The scope as a whole can't serve now.
#[derive(Clone)]
pub struct Unavailable(Box<UnavailableParts>);

#[derive(Clone)]
struct UnavailableParts {
    scope: Arc<str>,
    reason: ScopeReason,
    retry_after: Duration,
    source_name: Option<Arc<str>>,
    message: Option<String>,
    per_source_reasons: BTreeMap<Arc<str>, SourceReason>,
    last_failure: Option<CallError>,
    trace: Option<CallTrace>,
    cause: Option<Cause>,
}

impl Unavailable {
    /// The scope can't serve for `reason`; try again after `retry_after` (zero: at once).
    #[must_use]
    pub fn new(scope: impl Into<Arc<str>>, reason: ScopeReason, retry_after: Duration) -> Self {
        Self(Box::new(UnavailableParts {
            scope: scope.into(),
            reason,
            retry_after,
            source_name: None,
            message: None,
            per_source_reasons: BTreeMap::new(),
            last_failure: None,
            trace: None,
            cause: None,
        }))
    }

    /// The limiter's or breaker's store can't be reached. `message` is kept word for word.
    #[must_use]
    pub fn governance_backend(message: impl Into<String>, scope: impl Into<Arc<str>>) -> Self {
        let wait = Duration::from_secs_f64(GOVERNANCE_BACKEND_RETRY_AFTER_S);
        let mut error = Self::new(scope, ScopeReason::GovernanceBackendDown, wait);
        error.0.message = Some(message.into());
        error
    }

    /// Says more than the general sentence: which gate, which number.
    #[must_use]
    pub fn with_message(mut self, message: impl Into<String>) -> Self {
        self.0.message = Some(message.into());
        self
    }

    /// Names the one source that was asked, when there was one.
    #[must_use]
    pub fn with_source(mut self, source_name: impl Into<Arc<str>>) -> Self {
        self.0.source_name = Some(source_name.into());
        self
    }

    /// Keeps why each source did not serve.
    #[must_use]
    pub fn with_reasons(mut self, reasons: BTreeMap<Arc<str>, SourceReason>) -> Self {
        self.0.per_source_reasons = reasons;
        self
    }

    /// Keeps the last failed attempt.
    #[must_use]
    pub fn with_last_failure(mut self, failure: CallError) -> Self {
        self.0.last_failure = Some(failure);
        self
    }

    /// Keeps what became of each attempt.
    #[must_use]
    pub fn with_trace(mut self, trace: CallTrace) -> Self {
        self.0.trace = Some(trace);
        self
    }

    /// Keeps the error that lies beneath.
    #[must_use]
    pub fn with_cause(mut self, cause: impl StdError + Send + Sync + 'static) -> Self {
        self.0.cause = Some(Arc::new(cause));
        self
    }

    /// The scope.
    #[must_use]
    pub fn scope(&self) -> &str {
        &self.0.scope
    }

    /// Why it can't serve.
    #[must_use]
    pub const fn reason(&self) -> ScopeReason {
        self.0.reason
    }

    /// How long to wait: the least over the sources' cooldowns and hints; zero means at once.
    #[must_use]
    pub const fn retry_after(&self) -> Duration {
        self.0.retry_after
    }

    /// [`Self::retry_after`] in seconds.
    #[must_use]
    pub const fn retry_after_s(&self) -> f64 {
        self.0.retry_after.as_secs_f64()
    }

    /// The one source that was asked, when there was one.
    #[must_use]
    pub fn source_name(&self) -> Option<&str> {
        self.0.source_name.as_deref()
    }

    /// Why each source did not serve.
    #[must_use]
    pub const fn per_source_reasons(&self) -> &BTreeMap<Arc<str>, SourceReason> {
        &self.0.per_source_reasons
    }

    /// The last failed attempt, if any was made.
    #[must_use]
    pub const fn last_failure(&self) -> Option<&CallError> {
        self.0.last_failure.as_ref()
    }

    /// What became of each attempt.
    #[must_use]
    pub const fn trace(&self) -> Option<&CallTrace> {
        self.0.trace.as_ref()
    }

    /// Whether the store of a gate is down, as against a scope that is truly unable to serve.
    #[must_use]
    pub const fn is_governance_backend(&self) -> bool {
        matches!(self.0.reason, ScopeReason::GovernanceBackendDown)
    }

    /// What to tell a client. Used-up attempts are told as what the last one died of.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self.0.reason {
            ScopeReason::QuotaExhausted => ErrorKind::RateLimited,
            ScopeReason::Stalled => ErrorKind::GatewayOverloaded,
            ScopeReason::CircuitOpen
            | ScopeReason::NoSources
            | ScopeReason::GovernanceBackendDown => ErrorKind::NoAvailableSource,
            ScopeReason::RetryExhausted => {
                self.0.last_failure.as_ref().map_or(ErrorKind::NoAvailableSource, CallError::kind)
            }
        }
    }
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_governance_backend() {
            // The diagnostic of the backend is the main lead; nothing may bury it.
            return f.write_str(self.0.message.as_deref().unwrap_or("governance backend down"));
        }
        let (scope, reason) = (&self.0.scope, self.0.reason.as_str());
        write!(f, "scope {scope} is unavailable for now: {reason}")?;
        if let Some(message) = &self.0.message {
            write!(f, " ({message})")?;
        }
        if let Some(last) = &self.0.last_failure {
            write!(f, "; last failure: {last}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unavailable")
            .field("scope", &self.0.scope)
            .field("reason", &self.0.reason)
            .field("retry_after", &self.0.retry_after)
            .field("message", &self.0.message)
            .field("per_source_reasons", &self.0.per_source_reasons)
            .field("last_failure", &self.0.last_failure)
            .finish_non_exhaustive()
    }
}

impl StdError for Unavailable {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        // The last failure is part of Display already, so it isn't a source as well.
        self.0.cause.as_deref().map(|cause| cause as &(dyn StdError + 'static))
    }
}
