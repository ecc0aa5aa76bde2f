//! Failures, each named once.

use std::{fmt::Write as _, time::Duration};

use pgw_mock::{Answer, Step};
use pgw_types::{CallError, FailureClass, Fault};
use serde_json::json;
use tokio::time::timeout;

use crate::bench::{Bench, KEY, failure, good, text};

/// OAI-010: what the service says, when to come back, and what its support will ask for.
#[tokio::test]
async fn an_error_keeps_what_the_service_said() {
    let answer = Answer::error(429, "rate_limit_exceeded", "slow down")
        .header("retry-after", "2")
        .header("x-request-id", "req-7");
    let bench = Bench::new([answer]).await;
    for error in [failure(bench.stream().await), failure(bench.plain().await)] {
        assert_eq!((error.fault(), error.class()), (Fault::RateLimit, FailureClass::Transient));
        assert_eq!((error.status(), error.code()), (Some(429), Some("rate_limit_exceeded")));
        assert_eq!(error.retry_after(), Some(Duration::from_secs(2)));
        assert_eq!(error.message(), "slow down (request id: req-7)");
    }
}

/// OAI-027: an error is an error at once; nothing is asked again, and no redirect followed.
#[tokio::test]
async fn nothing_is_sent_twice() {
    for (status, fault) in [
        (307, Fault::BadEndpoint),
        (401, Fault::InvalidKey),
        (500, Fault::ServerError),
        (503, Fault::Overloaded),
    ] {
        let answer = Answer::json(status, &json!({"choices": []}))
            .header("location", "/v1/chat/completions");
        let bench = Bench::new([answer, good()]).await;
        assert_eq!(failure(bench.stream().await).fault(), fault);
        assert_eq!(bench.mock.counters().received(), 1);
    }
}

/// An error body may be endless, broken or never finished: its status is what counts.
#[tokio::test]
async fn an_error_body_is_not_waited_for_to_its_end() {
    let start = || Step::data(r#"{"error":{"message":"slow down"}}"#);
    for (steps, said) in [
        (vec![start(), Step::Stall], "slow down"),
        (vec![start(), Step::Cut], "slow down"),
        (vec![Step::data("slow down"), Step::data(vec![b'.'; 4 << 20])], "slow down......"),
    ] {
        let bench = Bench::new([Answer::chunks(steps).status(429)]).await;
        let outcome = timeout(Duration::from_secs(20), bench.stream()).await.unwrap();
        let error = failure(outcome);
        assert_eq!((error.fault(), error.status()), (Fault::RateLimit, Some(429)));
        assert!(error.message().starts_with(said), "{error}");
        assert!(error.message().len() < 600);
    }
}

/// An error inside a stream goes by its own code, after what came before it.
#[tokio::test]
async fn an_error_in_a_stream_is_classified() {
    let report = json!({"error": {"code": 429, "message": "slow down"}});
    let steps = [Step::event(&text("hello")), Step::event(&report), Step::done()];
    let (events, error) = Bench::new([Answer::sse(steps)]).await.stream().await;
    assert_eq!(events.len(), 2);
    assert_eq!(error.unwrap().fault(), Fault::RateLimit);
}

/// OAI-009: no connection, and a connection that breaks before the head.
#[tokio::test]
async fn a_network_that_fails_is_transient() {
    let bench = Bench::new([Answer::raw_steps([Step::Reset])]).await;
    let error = failure(bench.stream().await);
    assert_eq!((error.fault(), error.class()), (Fault::Network, FailureClass::Transient));
    let Bench { mock, transport, source } = bench;
    mock.shutdown().await;
    let gone = pgw_ports::AttemptCx { source, call_id: "a".into(), stream: true };
    let request = std::sync::Arc::new(crate::bench::hello());
    let opened = pgw_ports::Transport::open(&transport, &gone, &request).await;
    assert_eq!(opened.err().unwrap().fault(), Fault::Network);
}

/// OAI-012, D83: the key is in no error, even if the service repeats it.
#[tokio::test]
async fn a_repeated_key_is_not_shown() {
    let echo = format!("no such key: {KEY}");
    let report = json!({"error": {"message": &echo, "code": KEY, "param": KEY}});
    let bench = Bench::new([
        Answer::json(401, &report),
        Answer::text(502, &*echo).header("x-request-id", "req-7"),
        Answer::text(200, &*echo),
        Answer::text(200, format!("<html>{echo}</html>")),
        Answer::json(200, &report),
        Answer::sse([Step::event(&text("hello")), Step::event(&report)]),
        Answer::sse([Step::event(&text("hello")), Step::data(format!("data: {{{echo}\n\n"))]),
    ])
    .await;
    for _ in 0..7 {
        let error = failure(bench.stream().await);
        let shown = all_of(&error);
        assert!(!shown.contains("canary"), "{shown}");
    }
}

/// Everything that a caller can see of an error.
fn all_of(error: &CallError) -> String {
    let mut shown = format!("{error} {error:?} {:?} {:?}", error.code(), error.param());
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        write!(shown, " {inner} {inner:?}").unwrap();
        cause = inner.source();
    }
    shown
}
