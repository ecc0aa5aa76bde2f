//! Tests of the error model: domains, spellings, messages.

use std::{collections::BTreeMap, error::Error as _};

use super::*;
use crate::{Fault, Liveness};

fn spellings<T: Copy>(all: &[T], name: fn(T) -> &'static str) -> Vec<&'static str> {
    all.iter().map(|value| name(*value)).collect()
}

/// TYP-040 … TYP-043.
#[test]
fn reasons_are_two_closed_sets_with_exact_spellings() {
    assert_eq!(
        spellings(ScopeReason::ALL, ScopeReason::as_str),
        [
            "circuit_open",
            "retry_exhausted",
            "stalled",
            "quota_exhausted",
            "no_sources",
            "governance_backend_down"
        ]
    );
    assert_eq!(
        spellings(SourceReason::ALL, SourceReason::as_str),
        ["network_error", "timeout", "rate_limited", "source_dead", "circuit_open", "cooldown"]
    );
}

/// TYP-046, TYP-047, TYP-050, TYP-052, TYP-056.
#[test]
fn a_dead_governance_backend_is_unavailable_and_keeps_its_words() {
    let error: PgwError =
        Unavailable::governance_backend("limiter try_acquire failed: refused", "LLM").into();
    let unavailable = error.unavailable().unwrap();
    assert!(unavailable.is_governance_backend());
    assert_eq!(unavailable.reason().as_str(), "governance_backend_down");
    assert_eq!(unavailable.scope(), "LLM");
    assert!((unavailable.retry_after_s() - GOVERNANCE_BACKEND_RETRY_AFTER_S).abs() < 1e-9);
    assert_eq!(error.to_string(), "limiter try_acquire failed: refused");
}

/// TYP-036 … TYP-039, TYP-045, TYP-053.
#[test]
fn scope_errors_carry_scope_reason_wait_and_reasons() {
    let reasons = BTreeMap::from([(Arc::from("a"), SourceReason::CircuitOpen)]);
    let error = Unavailable::new("LLM", ScopeReason::CircuitOpen, Duration::from_millis(1500))
        .with_source("a")
        .with_reasons(reasons);
    assert_eq!(error.to_string(), "scope LLM is unavailable for now: circuit_open");
    assert!((error.retry_after_s() - 1.5).abs() < 1e-9);
    assert_eq!(error.per_source_reasons()["a"], SourceReason::CircuitOpen);
    assert_eq!(error.source_name(), Some("a"));
}

/// TYP-054, TYP-055, CLI-032.
#[test]
fn assembly_faults_are_neither_unavailable_nor_of_a_class() {
    let faults: [PgwError; 2] = [
        NotConfigured { scope: "LLM".into(), source_name: "x".into(), gate: "limiter".into() }
            .into(),
        ConfigError::new(vec![ConfigFault::new("LLM__X__1__MODEL", "is missing", "set it")]).into(),
    ];
    for error in faults {
        assert!(error.unavailable().is_none());
        assert!(error.class().is_none());
        assert_eq!(error.kind(), ErrorKind::InternalError);
    }
}

/// TYP-058.
#[test]
fn a_liveness_timeout_is_transient_and_names_its_limit() {
    let error = CallError::liveness_timeout(Liveness::InterToken, Duration::from_secs(2));
    assert_eq!(error.class(), FailureClass::Transient);
    assert_eq!(error.liveness(), Some(Liveness::InterToken));
    assert_eq!(error.to_string(), "timeout: no further token within 2.000 s (inter_token limit)");
}

/// TYP-059, and the chain: a message and a cause survive cloning.
#[test]
fn a_call_error_keeps_source_hint_partial_and_cause() {
    let error = CallError::new(Fault::RateLimit, "slow down")
        .at("LLM".into(), "a".into())
        .with_status(429)
        .with_retry_after(Duration::from_secs(2))
        .with_partial(Partial::default())
        .with_cause(std::io::Error::other("beneath"))
        .clone();
    assert_eq!(error.retry_after(), Some(Duration::from_secs(2)));
    assert_eq!(error.to_string(), "rate_limit at source a (HTTP 429): slow down");
    assert_eq!(error.source().unwrap().to_string(), "beneath");
    assert!(error.partial().is_none(), "an empty partial answer is none");
}

/// GWY-124: what the last attempt died of is what a client is told.
#[test]
fn used_up_attempts_are_told_as_the_last_failure() {
    let last = CallError::new(Fault::RateLimit, "slow down");
    let error = Unavailable::new("LLM", ScopeReason::RetryExhausted, Duration::ZERO)
        .with_last_failure(last);
    assert_eq!(error.kind(), ErrorKind::UpstreamRateLimit);
}

#[test]
fn errors_stay_small() {
    assert!(size_of::<PgwError>() <= 80, "{}", size_of::<PgwError>());
    assert_eq!(size_of::<CallError>(), size_of::<usize>());
}

/// CLI-031.
#[test]
fn a_missing_feature_is_named() {
    let error = ConfigError::missing_feature("PGW_LIMITER_BACKEND", "redis");
    assert_eq!(error.feature(), Some("redis"));
    assert!(error.to_string().contains("build pgw-client with the feature redis"));
}
