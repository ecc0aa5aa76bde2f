//! GWY-122, GWY-125: exact counters, their reset, recorded requests, control endpoints.

use std::sync::Arc;

use pgw_mock::{Answer, Endpoint, Match, MockServer, Scenario, Step};
use serde_json::json;
use tokio::task::JoinSet;

use crate::client::{CHAT, Client, within};

async fn two_models() -> MockServer {
    let model = |name: &str| Endpoint::chat().named(name).matching(Match::any().model(name));
    MockServer::start(
        Scenario::new()
            .endpoint(model("a").answer(Answer::text(500, "a1")).answer(Answer::text(200, "a2")))
            .endpoint(model("b").answer(Answer::sse([Step::data("b"), Step::done()]))),
    )
    .await
    .unwrap()
}

// GWY-125
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn counters_are_exact_under_concurrent_requests() {
    let mock = Arc::new(two_models().await);
    let mut clients = JoinSet::new();
    for number in 0..50 {
        let mock = Arc::clone(&mock);
        clients.spawn(async move {
            let mut client = Client::connect(&mock).await;
            let model = if number % 2 == 0 { "a" } else { "b" };
            let body = json!({"model": model}).to_string();
            let mut first_answers = 0;
            for _ in 0..20 {
                first_answers += usize::from(client.post(CHAT, &body).await.status == 500);
            }
            first_answers
        });
    }
    let first_answers: usize = within(clients.join_all()).await.into_iter().sum();
    assert_eq!(first_answers, 1, "one request of all gets the first answer of the script");

    // No waiting: an answer that a client has is counted.
    let counters = mock.counters();
    for name in ["a", "b"] {
        let endpoint = counters.endpoint(name).unwrap();
        assert_eq!(endpoint.path, CHAT);
        assert_eq!((endpoint.received, endpoint.answered), (500, 500));
        assert_eq!((endpoint.cut_short, endpoint.closed_by_client), (0, 0));
        assert_eq!(endpoint.in_progress, 0);
        assert!((1..=25).contains(&endpoint.most_in_progress), "{endpoint:?}");
    }
    assert_eq!((counters.received(), counters.answered()), (1_000, 1_000));
    assert_eq!(counters.accepted_connections, 50);
    assert_eq!(mock.requests().len(), 1_000);
    within(mock.wait_until(|counters| counters.open_connections == 0)).await;
}

// GWY-122
#[tokio::test]
async fn reset_starts_script_and_counters_again() {
    let mock = two_models().await;
    let mut client = Client::connect(&mock).await;
    let body = r#"{"model":"a"}"#;
    assert_eq!(client.post(CHAT, body).await.text(), "a1");
    assert_eq!(client.post(CHAT, body).await.text(), "a2");
    mock.reset();
    let counters = mock.counters();
    assert_eq!((counters.received(), counters.answered()), (0, 0));
    assert_eq!((counters.open_connections, counters.accepted_connections), (1, 0));
    assert!(mock.requests().is_empty());
    assert_eq!(client.post(CHAT, body).await.text(), "a1");
    assert_eq!(mock.counters().endpoint("a").unwrap().answered, 1);
}

// GWY-122
#[tokio::test]
async fn answer_in_progress_at_a_reset_is_not_counted_when_it_ends() {
    let endpoint = Endpoint::chat().answer(Answer::raw_steps([Step::Stall]));
    let mock = MockServer::start(Scenario::new().endpoint(endpoint)).await.unwrap();
    let mut client = Client::connect(&mock).await;
    client.send_post(CHAT, "", "{}").await;
    within(mock.wait_until(|counters| counters.in_progress() == 1)).await;
    mock.reset();
    drop(client);
    let counters = within(mock.wait_until(|counters| counters.open_connections == 0)).await;
    assert_eq!((counters.in_progress(), counters.closed_by_client()), (0, 0));
}

// GWY-122
#[tokio::test]
async fn control_endpoints_show_and_reset_the_counters() {
    let mock = two_models().await;
    let mut client = Client::connect(&mock).await;
    client.post(CHAT, r#"{"model":"b"}"#).await;
    client.post("/nowhere", "").await;

    let shown = client.get("/__mock/counters").await.json();
    assert_eq!(shown, serde_json::to_value(mock.counters()).unwrap());
    assert_eq!(
        shown["endpoints"][1],
        json!({"path": CHAT, "name": "b", "received": 1, "answered": 1, "cut_short": 0,
               "closed_by_client": 0, "in_progress": 0, "most_in_progress": 1})
    );
    assert_eq!(shown["unmatched"], 1);

    let reset = client.post("/__mock/reset", "").await;
    assert_eq!(reset.status, 200);
    assert_eq!(reset.json()["endpoints"][1]["received"], 0);
    assert_eq!(mock.counters().received(), 0);
    let unknown = client.get("/__mock/reset").await;
    assert_eq!(unknown.status, 404);
    assert!(unknown.text().contains("POST /__mock/reset"));
    assert!(mock.requests().is_empty(), "control requests are not recorded");
}

#[tokio::test]
async fn last_thousand_requests_are_kept_and_their_keys_hidden_in_debug() {
    let mock = two_models().await;
    let mut client = Client::connect(&mock).await;
    for number in 0..1_005 {
        let headers = format!("Authorization: Bearer key-secret\r\nx-number: {number}\r\n");
        client.send_post("/nowhere?key=key-secret", &headers, "private words").await;
        client.response().await;
    }
    let requests = mock.requests();
    assert_eq!(requests.len(), 1_000);
    assert_eq!(requests[0].header("x-number"), Some("5"));
    assert_eq!(requests[999].header("x-number"), Some("1004"));
    assert_eq!(requests[0].bearer(), Some("key-secret"));
    assert_eq!(requests[0].body(), b"private words");
    assert_eq!(requests[0].endpoint(), None);
    let shown = format!("{:?}", requests[0]);
    assert!(!shown.contains("key-secret") && !shown.contains("private"), "{shown}");
    assert!(shown.contains("x-number"));
}
