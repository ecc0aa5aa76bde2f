//! The members of the error object, and the lines that people read.

use std::{collections::BTreeMap, sync::Arc};

use pgw_client::{
    CallError, ConfigError, ConfigFault, Fault, Partial, PgwError, RequestFault, ScopeReason,
    SourceReason, Unavailable,
};
use serde_json::{Value, json};

use super::*;

fn told(failure: &Failure<'_>) -> Value {
    let value = serde_json::to_value(failure).unwrap();
    let Value::Object(mut object) = value else { panic!("{value}") };
    assert_eq!(object.len(), 1);
    object.remove("error").unwrap()
}

fn trace() -> CallTrace {
    CallTrace {
        attempts: vec![AttemptTrace {
            source_name: "north".into(),
            fault: Some(Fault::RateLimit),
            class: Some(Fault::RateLimit.class()),
            status: Some(429),
            message: "slow\n\u{1b}[31mdown".into(),
            retry_after_ms: Some(1_500),
            latency_ms: 12,
            waited_ms: 3,
            ..AttemptTrace::default()
        }],
        ..CallTrace::default()
    }
}

const MEMBERS: [&str; 13] = [
    "kind",
    "class",
    "reason",
    "retryable",
    "retry_after_ms",
    "message",
    "partial_content",
    "attempts",
    "scope",
    "fault",
    "unavailable",
    "per_source_reasons",
    "faults",
];

#[test]
fn every_failure_has_the_same_members() {
    let faults = [RequestFault {
        field: "modle".into(),
        problem: "is unknown".into(),
        fix: "check its spelling".into(),
    }];
    let config = ConfigError::new(vec![ConfigFault::new("A", "is bad", "write b")]);
    let call = CallError::new(Fault::BadRequest, "no").at("LLM".into(), "north".into());
    let errors: [PgwError; 3] = [
        call.into(),
        config.into(),
        Unavailable::new("LLM", ScopeReason::NoSources, Duration::ZERO).into(),
    ];
    let failures = errors.iter().map(Failure::of).chain([Failure::of_body("LLM", &faults)]);
    for failure in failures {
        let error = told(&failure);
        let names: Vec<&str> = error.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(names, MEMBERS);
    }
}

#[test]
fn a_call_error_tells_its_fault_its_partial_and_its_attempts() {
    let partial = Partial { content: Some("half an ans".into()), ..Partial::default() };
    let error = CallError::new(Fault::Truncated, "the stream broke off")
        .at("LLM".into(), "north".into())
        .with_partial(partial)
        .with_retry_after(Duration::from_micros(1_500))
        .with_trace(trace());
    let error = PgwError::from(error);
    let error = told(&Failure::of(&error));
    assert_eq!(error["kind"], "partial_stream");
    assert_eq!(error["class"], "transient");
    assert_eq!(error["reason"], "truncated");
    assert_eq!(error["retryable"], true);
    assert_eq!(error["retry_after_ms"], 2);
    assert_eq!(error["partial_content"], "half an ans");
    assert_eq!(error["attempts"][0]["source_name"], "north");
    assert_eq!(error["attempts"][0]["fault"], "rate_limit");
    assert_eq!((&error["scope"], &error["unavailable"]), (&json!("LLM"), &json!(false)));
}

#[test]
fn an_unavailable_scope_has_the_class_of_its_last_failure() {
    let last = CallError::new(Fault::InvalidKey, "bad key");
    let reasons = BTreeMap::from([(Arc::from("north"), SourceReason::SourceDead)]);
    let error = Unavailable::new("LLM", ScopeReason::RetryExhausted, Duration::from_mins(1))
        .with_reasons(reasons)
        .with_last_failure(last);
    let error = PgwError::from(error);
    let text = Failure::of(&error).to_string();
    assert!(text.contains("look at the sources' keys"), "{text}");
    assert!(text.contains("north: bad key, no money"), "{text}");
    let error = told(&Failure::of(&error));
    assert_eq!(error["kind"], "upstream_auth_error");
    assert_eq!(error["class"], "source_dead");
    assert_eq!(error["reason"], "retry_exhausted");
    assert_eq!(error["retryable"], false);
    assert_eq!(error["retry_after_ms"], 60_000);
    assert_eq!(error["per_source_reasons"], json!({"north": "source_dead"}));
}

#[test]
fn an_unavailable_scope_without_attempts_is_retryable_unless_it_has_no_sources() {
    for (reason, retryable) in [
        (ScopeReason::CircuitOpen, true),
        (ScopeReason::QuotaExhausted, true),
        (ScopeReason::NoSources, false),
    ] {
        let error = PgwError::from(Unavailable::new("LLM", reason, Duration::ZERO));
        let error = told(&Failure::of(&error));
        assert_eq!(error["class"], "unavailable");
        assert_eq!(error["retryable"], retryable);
        assert_eq!(error["attempts"], json!([]));
    }
}

#[test]
fn a_faulty_configuration_lists_its_faults() {
    let fault = ConfigFault::new("LLM__A__1__RPM", "is no number", "write a whole number");
    let error = PgwError::from(ConfigError::new(vec![fault]));
    let text = Failure::of(&error).to_string();
    assert!(text.contains("  LLM__A__1__RPM: is no number; write a whole number\n"), "{text}");
    let error = told(&Failure::of(&error));
    assert_eq!((&error["class"], &error["reason"]), (&json!("config"), &json!("config")));
    assert_eq!(error["retry_after_ms"], Value::Null);
    assert_eq!(error["faults"][0]["path"], "LLM__A__1__RPM");
}

#[test]
fn a_faulty_body_is_rejected_before_anything_is_sent() {
    let faults = [RequestFault {
        field: "modle".into(),
        problem: "is unknown".into(),
        fix: "check its spelling".into(),
    }];
    let failure = Failure::of_body("LLM", &faults);
    assert!(failure.to_string().contains("nothing was sent"));
    let error = told(&failure);
    assert_eq!(error["kind"], "invalid_request");
    assert_eq!(error["class"], "request_rejected");
    assert_eq!(error["reason"], "bad_request");
    assert_eq!(error["faults"][0]["field"], "modle");
}

#[test]
fn people_read_one_line_an_attempt_without_control_characters() {
    let error = CallError::new(Fault::RateLimit, "slow down").with_trace(trace());
    let text = Failure::of(&PgwError::from(error)).to_string();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines,
        [
            "pgw: rate_limit: slow down",
            "  waited 3 ms",
            "  north: limits our rate (HTTP 429), asks to wait 1.5 s, 12 ms: slow  [31mdown",
            "what to do: try again; nothing is wrong with the request",
        ]
    );
}

#[test]
fn people_are_told_what_lies_beneath() {
    let last = CallError::new(Fault::Network, "could not connect")
        .with_cause(io::Error::other("connection refused"));
    let scope = Unavailable::new("LLM", ScopeReason::RetryExhausted, Duration::ZERO);
    let text = Failure::of(&scope.with_last_failure(last).into()).to_string();
    assert!(text.contains("because: connection refused\n"), "{text}");
}

#[test]
fn a_story_ends_with_source_tokens_and_cost() {
    let response = LlmResponse {
        source_name: "south".into(),
        model: "m".into(),
        prompt_tokens: 9,
        completion_tokens: 4,
        cost: Some(0.000_12),
        ttft_ms: Some(20.4),
        trace: trace(),
        ..LlmResponse::default()
    };
    let text = story(&response);
    assert!(
        text.contains(
            "answer from south (m), finish stop, 9 + 4 tokens (estimated), cost 0.000120"
        ),
        "{text}"
    );
    assert!(text.contains("first token after 20 ms"), "{text}");
}
