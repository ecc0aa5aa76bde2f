//! The failure of one call, in one of four classes.

use std::{error::Error as StdError, fmt, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};

use super::{Cause, SourceReason};
use crate::{CallTrace, ErrorKind, FailureClass, Fault, Liveness, ToolCall, Unreadable};

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
    unreadable: Option<Unreadable>,
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
            unreadable: None,
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
            format!("{what} within {:.3} s ({} limit)", after.as_secs_f64(), limit.as_str()),
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

    /// Keeps why the text was not the value that was asked for.
    #[must_use]
    pub fn with_unreadable(mut self, unreadable: Unreadable) -> Self {
        self.0.unreadable = Some(unreadable);
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

    /// Why the text was not the value that a structured call asked for. The text itself is in
    /// [`partial`](Self::partial).
    #[must_use]
    pub const fn unreadable(&self) -> Option<&Unreadable> {
        self.0.unreadable.as_ref()
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
        self.0.cause.as_deref().map(|cause| cause as &(dyn StdError + 'static))
    }
}
