//! A failed call, as `--json` prints it and as a person reads it.

use std::{collections::BTreeMap, error::Error, fmt, sync::Arc, time::Duration};

use pgw_client::{
    AttemptTrace, CallError, CallTrace, ConfigFault, FailureClass, Fault, PgwError, RequestFault,
    ScopeReason, SourceReason, Unavailable,
};
use serde::Serialize;

use super::{Steps, one_line, seconds, words};

/// What went wrong, ready to be told.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Failure<'a> {
    error: Report<'a>,
}

/// The members of `error`. Scripts read them: a name that stands here stays.
#[derive(Clone, Debug, Serialize)]
struct Report<'a> {
    kind: &'static str,
    class: &'static str,
    reason: &'static str,
    retryable: bool,
    retry_after_ms: Option<u64>,
    message: String,
    partial_content: Option<&'a str>,
    attempts: &'a [AttemptTrace],
    scope: Option<&'a str>,
    fault: Option<&'static str>,
    unavailable: bool,
    per_source_reasons: BTreeMap<Arc<str>, SourceReason>,
    faults: Faults<'a>,
    #[serde(skip)]
    told: Told<'a>,
}

/// What only people are told.
#[derive(Clone, Debug)]
struct Told<'a> {
    trace: Option<&'a CallTrace>,
    /// What lies at the bottom of it all.
    root: Option<String>,
    advice: String,
}

impl Told<'_> {
    fn only(advice: &str) -> Self {
        Self { trace: None, root: None, advice: advice.into() }
    }
}

/// The faults of an input, each with its place.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(untagged)]
enum Faults<'a> {
    Config(&'a [ConfigFault]),
    Request(&'a [RequestFault]),
}

impl<'a> Failure<'a> {
    /// The failure of a call, or of what was needed for it.
    pub(crate) fn of(error: &'a PgwError) -> Self {
        let report = match error {
            PgwError::Call(call) => of_call(error, call),
            PgwError::Unavailable(scope) => of_scope(error, scope),
            PgwError::SourceNotConfigured(fault) => {
                Report { scope: Some(&fault.scope), ..of_configuration(error, &[]) }
            }
            PgwError::Config(config) => of_configuration(error, config.faults()),
        };
        Self { error: report }
    }

    /// A request body at fault. Nothing was sent.
    pub(crate) fn of_body(scope: &'a str, faults: &'a [RequestFault]) -> Self {
        let fault = Fault::BadRequest;
        let list: Vec<String> = faults.iter().map(ToString::to_string).collect();
        Self {
            error: Report {
                kind: fault.kind().as_str(),
                class: fault.class().as_str(),
                reason: fault.as_str(),
                retryable: false,
                retry_after_ms: None,
                message: format!("the request body is at fault: {}", list.join("; ")),
                partial_content: None,
                attempts: &[],
                scope: Some(scope),
                fault: Some(fault.as_str()),
                unavailable: false,
                per_source_reasons: BTreeMap::new(),
                faults: Faults::Request(faults),
                told: Told::only("nothing was sent; mend the body"),
            },
        }
    }
}

fn of_call<'a>(error: &'a PgwError, call: &'a CallError) -> Report<'a> {
    Report {
        class: call.class().as_str(),
        reason: call.fault().as_str(),
        scope: call.scope(),
        fault: Some(call.fault().as_str()),
        told: Told { trace: call.trace(), root: root(call), advice: advice(call).into() },
        ..common(error)
    }
}

fn of_scope<'a>(error: &'a PgwError, scope: &'a Unavailable) -> Report<'a> {
    let last = scope.last_failure();
    let retryable = match last {
        Some(_) => error.kind().is_retryable(),
        None => scope.reason() != ScopeReason::NoSources,
    };
    Report {
        class: last.map_or("unavailable", |call| call.class().as_str()),
        reason: scope.reason().as_str(),
        retryable,
        scope: Some(scope.scope()),
        fault: last.map(|call| call.fault().as_str()),
        unavailable: true,
        per_source_reasons: scope.per_source_reasons().clone(),
        told: Told {
            trace: scope.trace(),
            root: last.map_or_else(|| root(scope), |call| root(call)),
            advice: scope_advice(scope),
        },
        ..common(error)
    }
}

fn of_configuration<'a>(error: &'a PgwError, faults: &'a [ConfigFault]) -> Report<'a> {
    Report {
        class: "config",
        reason: "config",
        retryable: false,
        faults: Faults::Config(faults),
        told: Told::only(
            "nothing was sent; `pgw check` shows the whole configuration, `pgw --help` how a source \
             is written",
        ),
        ..common(error)
    }
}

/// What all errors tell in the same way.
fn common(error: &PgwError) -> Report<'_> {
    Report {
        kind: error.kind().as_str(),
        class: "",
        reason: "",
        retryable: error.kind().is_retryable(),
        retry_after_ms: error.retry_after().map(milliseconds),
        message: error.to_string(),
        partial_content: error.partial().and_then(|partial| partial.content.as_deref()),
        attempts: error.trace().map_or(&[], |trace| &trace.attempts),
        scope: None,
        fault: None,
        unavailable: false,
        per_source_reasons: BTreeMap::new(),
        faults: Faults::Config(&[]),
        told: Told::only(""),
    }
}

/// Rounded up: whoever waits that long has waited long enough.
fn milliseconds(wait: Duration) -> u64 {
    u64::try_from(wait.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

/// The lowest of the errors that an error stands on. Those between say the same in other words.
fn root(error: &dyn Error) -> Option<String> {
    let below = std::iter::successors(error.source(), |above| (*above).source());
    below.last().map(ToString::to_string)
}

/// What to do about a failed call.
fn advice(call: &CallError) -> &'static str {
    match (call.fault(), call.class()) {
        (Fault::Deadline, _) => "give it more time (--deadline), or ask for a shorter answer",
        (_, FailureClass::Transient) => "try again; nothing is wrong with the request",
        (_, FailureClass::SourceDead) => "look at the source's key, balance and model name",
        (_, FailureClass::RequestRejected) => "change the request: sent again, it fails again",
        (Fault::ThinkingOnly, FailureClass::ResultInvalid) => {
            "allow a longer answer (--max-tokens), or switch thinking off (--thinking off)"
        }
        (_, FailureClass::ResultInvalid) => "change the request or the model",
    }
}

/// What to do about a scope that can't serve.
fn scope_advice(scope: &Unavailable) -> String {
    let dead = scope.last_failure().is_some_and(|call| call.class() == FailureClass::SourceDead);
    let wait = scope.retry_after();
    match scope.reason() {
        ScopeReason::NoSources => "configure a source that can serve this request".into(),
        _ if dead => {
            "look at the sources' keys, balances and model names; until then waiting won't help"
                .into()
        }
        _ if wait.is_zero() => "try again later; nothing is wrong with the request".into(),
        _ => format!("try again in {}; nothing is wrong with the request", seconds(wait)),
    }
}

impl fmt::Display for Failure<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let report = &self.error;
        match report.faults {
            Faults::Config([]) => writeln!(f, "pgw: {}", one_line(&report.message))?,
            Faults::Config(faults) => {
                writeln!(f, "pgw: the configuration is at fault:")?;
                for fault in faults {
                    writeln!(f, "  {}", one_line(&fault.to_string()))?;
                }
            }
            Faults::Request(faults) => {
                writeln!(f, "pgw: the request body is at fault:")?;
                for fault in faults {
                    writeln!(f, "  {}", one_line(&fault.to_string()))?;
                }
            }
        }
        if let Some(trace) = report.told.trace {
            Steps(trace).fmt(f)?;
        }
        for (name, reason) in &report.per_source_reasons {
            if !report.told.trace.is_some_and(|trace| has_line(trace, name)) {
                writeln!(f, "  {name}: {}", words::source_reason(*reason))?;
            }
        }
        if let Some(cause) = &report.told.root {
            writeln!(f, "because: {}", one_line(cause))?;
        }
        writeln!(f, "what to do: {}", report.told.advice)
    }
}

/// Whether the trace has a line for a source already.
fn has_line(trace: &CallTrace, name: &str) -> bool {
    trace.attempts.iter().any(|attempt| &*attempt.source_name == name)
        || trace.skips.iter().any(|skip| &*skip.source_name == name)
}
