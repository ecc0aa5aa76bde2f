//! The plan of one call over real HTTP: sources that can't serve it are left out, with the reason.
#![expect(clippy::unwrap_used, reason = "a test that can't be set up should fail there")]

use pgw_client::{
    ChatRequest, GatewayClient, GatewaySettings, LlmResponse, Message, Part, PgwError, Role,
    ScopeReason, SourceConfig,
};
use pgw_mock::{Answer, ChatReply, Endpoint, MockServer, Scenario};
use serde_json::json;

async fn mock() -> MockServer {
    let hello = Answer::chat(ChatReply::new("Hello there").model("m").usage(5, 2));
    let endpoint = Endpoint::chat().answer(hello);
    MockServer::start(Scenario::new().endpoint(endpoint)).await.unwrap()
}

/// Three sources, each of which can't do one thing; the first that can is asked.
fn client(mock: &MockServer) -> GatewayClient {
    let source = |name: &str| SourceConfig::new(name, "generic", mock.base_url(), "key", "m");
    let sources = vec![
        SourceConfig { context_tokens: Some(8_192), ..source("small") },
        SourceConfig { can_use_tools: false, tier: 1, ..source("blunt") },
        SourceConfig { can_see_images: false, tier: 2, ..source("blind") },
    ];
    let mut settings = GatewaySettings::new("LLM", sources);
    settings.selector = "ordered".into();
    GatewayClient::from_settings(settings).unwrap()
}

fn text(bytes: usize) -> ChatRequest {
    ChatRequest::new(vec![Message::user("x".repeat(bytes))])
}

fn left_out(answer: &LlmResponse) -> Vec<(&str, &str)> {
    let exclusions = answer.trace.exclusions.iter();
    exclusions.map(|one| (&*one.source_name, &*one.reason)).collect()
}

/// GWY-082: the reason stands in the trace of the call, and the plan of the next is whole again.
#[tokio::test]
async fn sources_that_cant_serve_are_left_out_with_the_reason() {
    let mock = mock().await;
    let client = client(&mock);
    let plain = client.chat("Hello?").await.unwrap();
    assert_eq!((&*plain.source_name, left_out(&plain).len()), ("small", 0));

    let long = client.chat_request(text(24_000)).max_tokens(1_000).await.unwrap();
    assert_eq!(long.source_name, "blunt");
    assert_eq!(left_out(&long), [("small", "needs about 9004 tokens, its context holds 8192")]);

    let tools = ChatRequest {
        tools: vec![json!({"type": "function", "function": {"name": "f"}})],
        ..text(24_600)
    };
    let tools = client.chat_request(tools).await.unwrap();
    assert_eq!(tools.source_name, "blind");
    assert_eq!(
        left_out(&tools),
        [
            ("small", "needs about 8204 tokens, its context holds 8192"),
            ("blunt", "can't use tools, and the call brings some"),
        ]
    );

    let again = client.chat("Hello?").await.unwrap();
    assert_eq!(again.source_name, "small");
    assert!(client.plan().exclusions.is_empty());
}

/// GWY-082: if nobody can, nothing is sent, and the refusal tells the reason of each.
#[tokio::test]
async fn a_request_that_nobody_can_serve_learns_why() {
    let mock = mock().await;
    let mut request = text(30_000);
    request.tools = vec![json!({"type": "function", "function": {"name": "f"}})];
    let image = Part::image_url("https://a.example/cat.png");
    request.messages.push(Message::parts(Role::User, vec![image]));
    let error: PgwError = client(&mock).chat_request(request).await.unwrap_err();
    assert_eq!(error.unavailable().unwrap().reason(), ScopeReason::NoSources);
    let text = error.to_string();
    assert!(text.contains("small needs about 11008 tokens, its context holds 8192; "), "{text}");
    assert!(text.contains("blunt can't use tools, and the call brings some; "), "{text}");
    assert!(text.contains("blind can't see images, and the call brings some"), "{text}");
    assert_eq!(error.trace().unwrap().exclusions.len(), 3);
    assert_eq!(mock.requests().len(), 0);
}
