//! The facade over real HTTP: three lines to an answer, sharing only by hand, a life with an end.
#![expect(clippy::unwrap_used, reason = "a test that can't be set up should fail there")]

use std::{sync::Arc, time::Duration};

use pgw_backend_memory::MemoryLimiter;
use pgw_client::{
    Environment, ErrorKind, FailureClass, Fault, GatewayClient, GatewaySettings, LlmResponse,
    Message, PgwError, SourceConfig, TelemetrySettings,
};
use pgw_middleware::TokioClock;
use pgw_mock::{Answer, ChatReply, Endpoint, MockServer, Scenario, Step};
use pgw_types::{CallOptions, Limits};
use serde_json::json;

async fn mock(answers: impl IntoIterator<Item = Answer>) -> MockServer {
    let endpoint = Endpoint::chat().answers(answers);
    MockServer::start(Scenario::new().endpoint(endpoint)).await.unwrap()
}

fn hello() -> Answer {
    Answer::chat(ChatReply::new("Hello there").model("m").usage(5, 2))
}

fn settings(mock: &MockServer) -> GatewaySettings {
    let source = SourceConfig::new("only", "generic", mock.base_url(), "key", "m");
    let mut settings = GatewaySettings::new("LLM", vec![source]);
    settings.retry.base_delay = Duration::from_millis(2);
    settings.retry.max_delay = Duration::from_millis(2);
    settings
}

/// CLI-001, CLI-005, CLI-008, TYP-031, OAI-033, CLI-006: from variables to an answer, with nothing
/// read from anywhere else.
#[tokio::test]
async fn three_lines_to_an_answer() {
    let mock = mock([hello()]).await;
    let base_url = mock.base_url();
    let environment = Environment::from_pairs([
        ("LLM__QWEN__1__BASE_URL", base_url.as_str()),
        ("LLM__QWEN__1__API_KEY", "key"),
        ("LLM__QWEN__1__MODEL", "qwen-plus"),
        ("PGW_TELEMETRY_BACKEND", "off"),
    ]);
    let settings = GatewaySettings::from_environment(&environment, "LLM").unwrap();
    let client = GatewayClient::from_settings(settings).unwrap();
    let answer: LlmResponse = client.chat("Hello?").await.unwrap();
    assert_eq!(answer.content, "Hello there");
    assert_eq!((&*answer.provider, &*answer.source_name), ("qwen", "qwen-1"));
    assert_eq!((answer.prompt_tokens, answer.completion_tokens), (5, 2));
    assert!(answer.ttft_ms.is_some() && !answer.cache_hit);
    assert_eq!(answer.trace.attempts.len(), 1);
    assert_eq!(&*answer.trace.config_checksum, client.settings().checksum());
    assert_eq!(mock.requests()[0].bearer(), Some("key"));
}

/// MID-001, MID-007: the onion can be looked at.
#[tokio::test]
async fn the_onion_describes_itself() {
    let mock = mock([hello()]).await;
    let client = GatewayClient::from_settings(settings(&mock)).unwrap();
    assert_eq!(client.describe(), "telemetry > structured > retry");
    assert_eq!(client.plan().upstream_call_bound, 3);
}

/// CLI-002, CLI-003: everything a call may say, and that it reaches the wire or the record.
#[tokio::test]
async fn options_chain_on_the_call() {
    let mock = mock([hello()]).await;
    let folder = tempfile::tempdir().unwrap();
    let mut settings = settings(&mock);
    settings.telemetry = TelemetrySettings::Sqlite { path: folder.path().join("calls.sqlite") };
    let client = GatewayClient::from_settings(settings).unwrap();
    let options = CallOptions { cache_salt: Some("s".into()), ..CallOptions::default() };
    let answer = client
        .chat([Message::system("be brief"), Message::user("Hello?")])
        .options(options)
        .model("other")
        .temperature(0.25)
        .max_tokens(9)
        .session("session-1")
        .parent_call("step-1")
        .request_id("request-1")
        .deadline(Duration::from_secs(20))
        .plain()
        .await
        .unwrap();
    assert_eq!(&*answer.trace.request_id, "request-1");
    assert!(answer.ttft_ms.is_none(), "a plain answer has no token times");
    let sent = mock.requests()[0].json().unwrap();
    assert_eq!(sent["model"], "other");
    assert_eq!(sent["temperature"], 0.25);
    assert_eq!(sent["max_tokens"], 9);
    assert_eq!(sent["stream"], false);
    client.aclose().await;
    let log = pgw_client::CallLog::open(folder.path().join("calls.sqlite")).unwrap();
    let rows = log.calls_of_session("session-1").unwrap();
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].parent_call_id.as_deref(), Some("step-1"));
}

/// A live answer: events as they come, then the whole with its trace.
#[tokio::test]
async fn a_stream_hands_out_events_and_then_the_whole() {
    let mock = mock([hello()]).await;
    let client = GatewayClient::from_settings(settings(&mock)).unwrap();
    let mut stream = client.chat("Hello?").stream().await.unwrap();
    let mut text = String::new();
    while let Some(event) = stream.next_event().await {
        if let pgw_client::ChatEvent::ContentDelta { text: more, .. } = event.unwrap() {
            text += &more;
        }
    }
    let whole = stream.into_response().unwrap();
    assert_eq!((text.as_str(), whole.content.as_str()), ("Hello there", "Hello there"));
    assert_eq!(whole.trace.attempts.len(), 1);
}

/// CLI-004: closing waits for calls under way, refuses new ones, and may be said twice.
#[tokio::test]
async fn closing_lets_calls_finish_and_refuses_new_ones() {
    let mock = mock([hello().delay(Duration::from_millis(50))]).await;
    let client = GatewayClient::from_settings(settings(&mock)).unwrap();
    let call = client.chat("Hello?").into_future();
    let closing = async {
        mock.wait_until(|counters| counters.received() == 1).await;
        client.aclose().await;
    };
    let (answer, ()) = tokio::join!(call, closing);
    assert_eq!(answer.unwrap().content, "Hello there");
    let error = client.chat("again").await.unwrap_err();
    assert_eq!(error.to_string(), "configuration: client: is closed; make calls before aclose()");
    client.aclose().await;
}

/// CLI-020, CLI-021, CLI-035, MEM-015, MEM-016: two clients share a limit only when handed the same
/// backend.
#[tokio::test]
async fn clients_share_limits_only_by_hand() {
    let mock = mock([hello()]).await;
    let limits = Limits { rpm: Some(1), ..Limits::default() };
    let mut settings = settings(&mock);
    settings.sources[0].limits = limits;
    settings.backpressure.on_full = pgw_client::OnFull::FailFast;

    let apart = [0; 2].map(|_| GatewayClient::from_settings(settings.clone()).unwrap());
    for client in &apart {
        client.chat("Hello?").await.unwrap();
    }

    let shared = Arc::new(MemoryLimiter::new(
        Limits::default(),
        [("only".into(), limits)],
        Duration::from_mins(15),
        Arc::new(TokioClock::default()),
    ));
    let build = || GatewayClient::builder().limiter(shared.clone()).build(settings.clone());
    let together = [build().unwrap(), build().unwrap()];
    together[0].chat("Hello?").await.unwrap();
    let error = together[1].chat("Hello?").await.unwrap_err();
    let unavailable = error.unavailable().unwrap();
    assert_eq!(unavailable.reason().as_str(), "quota_exhausted");
    assert!(unavailable.retry_after() > Duration::from_secs(50), "{unavailable:?}");
    assert!(error.to_string().contains("source_rpm"), "{error}");
}

/// GWY-124: a used-up call is told as what its last attempt died of, and the next call succeeds.
#[tokio::test]
async fn a_rate_limit_is_told_as_one_and_passes() {
    let limited = Answer::error(429, "rate_limit_exceeded", "slow down");
    let mock = mock([limited, hello()]).await;
    let mut settings = settings(&mock);
    settings.retry.max_attempts = 1;
    settings.retry.rate_limit_cooldown = Duration::from_millis(1);
    let client = GatewayClient::from_settings(settings).unwrap();
    let error = client.chat("Hello?").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UpstreamRateLimit);
    assert_eq!(error.trace().unwrap().attempts[0].class, Some(FailureClass::Transient));
    assert_eq!(client.chat("Hello?").await.unwrap().content, "Hello there");
}

/// OAI-024, OAI-015: what the service did not say is estimated, and an empty answer is none.
#[tokio::test]
async fn missing_usage_is_estimated_and_empty_answers_are_tried_again() {
    let chunk = |delta: &str, finish: serde_json::Value| {
        Step::event(&json!({"id": "c", "choices": [
            {"index": 0, "delta": {"content": delta}, "finish_reason": finish}
        ]}))
    };
    let empty = Answer::sse([chunk("", "stop".into()), Step::done()]);
    let silent = Answer::sse([
        chunk("Hello there", serde_json::Value::Null),
        chunk("", "stop".into()),
        Step::done(),
    ]);
    let mock = mock([empty, silent]).await;
    let client = GatewayClient::from_settings(settings(&mock)).unwrap();
    let answer = client.chat("Hello?").await.unwrap();
    assert_eq!(answer.usage_source.as_str(), "estimated");
    assert!(answer.prompt_tokens + answer.completion_tokens >= 1_000);
    let attempts = &answer.trace.attempts;
    assert_eq!(attempts[0].fault, Some(Fault::EmptyResponse));
    assert_eq!(attempts.len(), 2);
}

/// D51: a refused request is final; nothing is sent twice.
#[tokio::test]
async fn a_refused_request_is_sent_once() {
    let mock = mock([Answer::error(400, "invalid_value", "no such thing")]).await;
    let client = GatewayClient::from_settings(settings(&mock)).unwrap();
    let error = client.chat("Hello?").await.unwrap_err();
    assert!(matches!(&error, PgwError::Call(call) if call.fault() == Fault::BadRequest));
    assert_eq!(mock.counters().received(), 1);
}

/// CLI-029, MID-025: a spawned call and a joined call are the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_spawned_call_is_a_call_like_any_other() {
    let mock = mock([hello()]).await;
    let client = GatewayClient::from_settings(settings(&mock)).unwrap();
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..50 {
        tasks.spawn(client.chat("Hello?").into_future());
    }
    while let Some(result) = tasks.join_next().await {
        assert_eq!(result.unwrap().unwrap().content, "Hello there");
    }
    assert_eq!(mock.counters().received(), 50);
}
