//! The hand-over: clients that keep their breakers in the file.

use std::{fs, sync::Arc};

use pgw_client::{GatewayClient, GatewaySettings, OnFull, ScopeReason, SourceConfig, Unavailable};
use pgw_mock::{Answer, Endpoint, MockServer, Scenario};

use super::{Files, processes::spec};

/// A client as another process would build it: nothing but the file is shared.
fn client(mock: &MockServer, files: &Files) -> GatewayClient {
    let source = SourceConfig::new("one", "generic", mock.base_url(), "key", "m");
    let mut settings = GatewaySettings::new("LLM", vec![source]);
    settings.retry.max_attempts = 1;
    settings.backpressure.on_full = OnFull::FailFast;
    let breaker = Arc::new(files.open("breakers.json", spec()));
    GatewayClient::builder().breaker(breaker).build(settings).unwrap()
}

async fn refusal(client: &GatewayClient) -> Unavailable {
    client.chat("Hello?").await.unwrap_err().unavailable().unwrap().clone()
}

/// PRT-024, MEM-015: a failure that one client sees keeps another away, and a store that fails lets
/// nobody pass: the caller is told by word what is wrong and when to come back.
#[tokio::test]
async fn clients_share_the_breakers_they_are_handed() {
    let endpoint = Endpoint::chat().answers([Answer::error(503, "overloaded", "come back later")]);
    let mock = MockServer::start(Scenario::new().endpoint(endpoint)).await.unwrap();
    let files = Files::new();
    let error = refusal(&client(&mock, &files)).await;
    assert_eq!(error.reason(), ScopeReason::RetryExhausted);
    let error = refusal(&client(&mock, &files)).await;
    assert_eq!(error.reason(), ScopeReason::CircuitOpen);
    assert_eq!(mock.requests().len(), 1, "the second client stayed away");

    fs::write(files.path("breakers.json"), "spoilt").unwrap();
    let error = refusal(&client(&mock, &files)).await;
    assert_eq!(error.reason(), ScopeReason::GovernanceBackendDown);
    assert!(error.retry_after_s() > 0.0);
    let text = error.to_string();
    assert!(text.contains("breaker try_enter failed: the file of breakers is of no use"), "{text}");
    assert_eq!(mock.requests().len(), 1);
}
