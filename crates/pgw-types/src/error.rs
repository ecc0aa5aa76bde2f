//! The errors of a call: one root, three domains.
//!
//! - [`CallError`]: this call failed, in one of four classes.
//! - [`Unavailable`]: the scope as a whole can't serve now. One match arm on it is the complete
//!   "put it back in the queue, charge no failure budget" rule.
//! - [`NotConfigured`] and [`ConfigError`]: the assembly is at fault. Never put such a call back:
//!   it would never end in the dead letters, where somebody sees it.

use std::{collections::BTreeMap, error::Error as StdError, fmt, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{CallTrace, ErrorKind, FailureClass, Fault, Liveness, ToolCall};

/// Seconds after which a call that met a dead governance backend should come back.
///
/// This is a meaning of the error, not a setting, so it has no environment key: when the backend
/// will be back can't be known, and zero would let a whole backlog stampede a store that is already
/// down. A caller with a backoff of its own may ignore it.
pub const GOVERNANCE_BACKEND_RETRY_AFTER_S: f64 = 5.0;

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

/// What had come of an answer when it broke off.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Partial {
    /// The text so far; `None` if no text was ever sent.
    pub content: Option<String>,
    /// The thinking so far; `None` if none was ever sent.
    pub thinking: Option<String>,
    /// The tool calls so far. Their arguments may be cut: never execute them.
    pub tool_calls: Vec<ToolCall>,
}

impl Partial {
    /// Whether nothing had come.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.content.is_none() && self.thinking.is_none() && self.tool_calls.is_empty()
    }
}

/// One failed call, classified where it happened.
#[derive(Clone)]
pub struct CallError(Box<CallErrorParts>);

#[derive(Clone)]
struct CallErrorParts {
    fault: Fault,
    message: String,
    scope: Option<Arc<str>>,
    source_name: Option<Arc<str>>,
    status: Option<u16>,
    code: Option<String>,
    param: Option<String>,
    liveness: Option<Liveness>,
    retry_after: Option<Duration>,
    partial: Option<Partial>,
    trace: Option<CallTrace>,
    cause: Option<Cause>,
}

impl CallError {
    /// A failure of the given kind; `message` says what the service or the network said, without
    /// secrets, headers or more of a body than a short excerpt.
    #[must_use]
    pub fn new(fault: Fault, message: impl Into<String>) -> Self {
        Self(Box::new(CallErrorParts {
            fault,
            message: message.into(),
            scope: None,
            source_name: None,
            status: None,
            code: None,
            param: None,
            liveness: None,
            retry_after: None,
            partial: None,
            trace: None,
            cause: None,
        }))
    }

    /// A timeout of the stream watchdog.
    #[must_use]
    pub fn liveness_timeout(limit: Liveness, after: Duration) -> Self {
        let what = match limit {
            Liveness::Ttft => "no first token",
            Liveness::InterToken => "no further token",
            Liveness::Total => "no complete answer",
        };
        let mut error = Self::new(
            Fault::Timeout,
            format!(
                "{what} within {:.3} s ({} limit)",
                after.as_secs_f64(),
                limit.as_str()
            ),
        );
        error.0.liveness = Some(limit);
        error
    }

    /// Names the scope and the source the attempt ran on.
    #[must_use]
    pub fn at(mut self, scope: Arc<str>, source_name: Arc<str>) -> Self {
        self.0.scope = Some(scope);
        self.0.source_name = Some(source_name);
        self
    }

    /// Keeps the HTTP status.
    #[must_use]
    pub const fn with_status(mut self, status: u16) -> Self {
        self.0.status = Some(status);
        self
    }

    /// Keeps the code or type word of the service's error body.
    #[must_use]
    pub fn with_code(mut self, code: impl Into<String>) -> Self {
        self.0.code = Some(code.into());
        self
    }

    /// Names the request parameter the service complained about.
    #[must_use]
    pub fn with_param(mut self, param: impl Into<String>) -> Self {
        self.0.param = Some(param.into());
        self
    }

    /// Keeps the waiting time the service asked for.
    #[must_use]
    pub const fn with_retry_after(mut self, wait: Duration) -> Self {
        self.0.retry_after = Some(wait);
        self
    }

    /// Keeps what had come of the answer; nothing is kept of an empty one.
    #[must_use]
    pub fn with_partial(mut self, partial: Partial) -> Self {
        self.0.partial = (!partial.is_empty()).then_some(partial);
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

    /// What exactly happened.
    #[must_use]
    pub const fn fault(&self) -> Fault {
        self.0.fault
    }

    /// What to do about it.
    #[must_use]
    pub const fn class(&self) -> FailureClass {
        self.0.fault.class()
    }

    /// What to tell a client about it.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        self.0.fault.kind()
    }

    /// What the service or the network said.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The scope of the call.
    #[must_use]
    pub fn scope(&self) -> Option<&str> {
        self.0.scope.as_deref()
    }

    /// The source the attempt ran on.
    #[must_use]
    pub fn source_name(&self) -> Option<&str> {
        self.0.source_name.as_deref()
    }

    /// The HTTP status, if an answer had one.
    #[must_use]
    pub const fn status(&self) -> Option<u16> {
        self.0.status
    }

    /// The code or type word of the service's error body.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        self.0.code.as_deref()
    }

    /// The request parameter the service complained about.
    #[must_use]
    pub fn param(&self) -> Option<&str> {
        self.0.param.as_deref()
    }

    /// Which limit of the watchdog fired, if one did.
    #[must_use]
    pub const fn liveness(&self) -> Option<Liveness> {
        self.0.liveness
    }

    /// The waiting time the service asked for.
    #[must_use]
    pub const fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// What had come of the answer.
    #[must_use]
    pub const fn partial(&self) -> Option<&Partial> {
        self.0.partial.as_ref()
    }

    /// What became of each attempt of the call, this one included.
    #[must_use]
    pub const fn trace(&self) -> Option<&CallTrace> {
        self.0.trace.as_ref()
    }

    /// How this failure reads in a scope's per-source reasons.
    #[must_use]
    pub const fn source_reason(&self) -> SourceReason {
        match self.0.fault.class() {
            FailureClass::SourceDead => SourceReason::SourceDead,
            FailureClass::Transient
            | FailureClass::RequestRejected
            | FailureClass::ResultInvalid => match self.0.fault {
                Fault::RateLimit => SourceReason::RateLimited,
                Fault::Timeout | Fault::Deadline => SourceReason::Timeout,
                _ => SourceReason::NetworkError,
            },
        }
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.fault.as_str())?;
        if let Some(name) = &self.0.source_name {
            write!(f, " at source {name}")?;
        }
        if let Some(status) = self.0.status {
            write!(f, " (HTTP {status})")?;
        }
        write!(f, ": {}", self.0.message)
    }
}

impl fmt::Debug for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallError")
            .field("fault", &self.0.fault)
            .field("message", &self.0.message)
            .field("scope", &self.0.scope)
            .field("source_name", &self.0.source_name)
            .field("status", &self.0.status)
            .field("retry_after", &self.0.retry_after)
            .field("cause", &self.0.cause)
            .finish_non_exhaustive()
    }
}

impl StdError for CallError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0
            .cause
            .as_deref()
            .map(|cause| cause as &(dyn StdError + 'static))
    }
}

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
            ScopeReason::RetryExhausted => self
                .0
                .last_failure
                .as_ref()
                .map_or(ErrorKind::NoAvailableSource, CallError::kind),
        }
    }
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_governance_backend() {
            // The diagnostic of the backend is the main lead; nothing may bury it.
            return f.write_str(
                self.0
                    .message
                    .as_deref()
                    .unwrap_or("governance backend down"),
            );
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
        self.0
            .cause
            .as_deref()
            .map(|cause| cause as &(dyn StdError + 'static))
    }
}

/// A gate was asked for a source it does not know: the assembly is at fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "source {source_name} of scope {scope} is not configured in the {gate}: assemble the gate with \
     the same sources as the client"
)]
pub struct NotConfigured {
    /// The scope of the call.
    pub scope: String,
    /// The source that the gate does not know.
    pub source_name: String,
    /// Which gate: `limiter` or `breaker`.
    pub gate: String,
}

/// One fault of a configuration: where it is, what is wrong, what to write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ConfigFault {
    /// Where: a variable's name, or a path such as `sources[2].timeouts.ttft`.
    pub path: String,
    /// What is wrong, with the value's shape but never a secret's text.
    pub problem: String,
    /// What to write instead.
    pub fix: String,
}

impl ConfigFault {
    /// A fault with its place, problem and fix.
    #[must_use]
    pub fn new(
        path: impl Into<String>,
        problem: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        Self {
            path: path.into(),
            problem: problem.into(),
            fix: fix.into(),
        }
    }
}

impl fmt::Display for ConfigFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.path, self.problem, self.fix)
    }
}

/// The configuration is at fault. All faults are reported at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    faults: Vec<ConfigFault>,
    missing_feature: Option<&'static str>,
}

impl ConfigError {
    /// All the faults found.
    #[must_use]
    pub const fn new(faults: Vec<ConfigFault>) -> Self {
        Self {
            faults,
            missing_feature: None,
        }
    }

    /// Something was asked for at run time that was not compiled in.
    #[must_use]
    pub fn missing_feature(path: impl Into<String>, feature: &'static str) -> Self {
        let fault = ConfigFault::new(
            path,
            format!("needs the feature {feature}, which this build does not have"),
            format!("build pgw-client with the feature {feature}"),
        );
        Self {
            faults: vec![fault],
            missing_feature: Some(feature),
        }
    }

    /// The faults, in the order they were found.
    #[must_use]
    pub fn faults(&self) -> &[ConfigFault] {
        &self.faults
    }

    /// The feature that is not compiled in, if that is the fault.
    #[must_use]
    pub const fn feature(&self) -> Option<&'static str> {
        self.missing_feature
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.faults.as_slice() {
            [only] => write!(f, "configuration: {only}"),
            faults => {
                write!(f, "configuration: {} faults", faults.len())?;
                for fault in faults {
                    write!(f, "\n  {fault}")?;
                }
                Ok(())
            }
        }
    }
}

impl StdError for ConfigError {}

#[cfg(test)]
mod tests;
