//! What the mock takes: body framings, matching, HEAD, and requests it refuses.

use pgw_mock::{Answer, Endpoint, Match, MockServer, Scenario};
use serde_json::json;

use crate::client::{CHAT, Client, within};

async fn sources() -> MockServer {
    let source = |name: &str, matching| {
        Endpoint::chat().named(name).matching(matching).answer(Answer::text(200, name))
    };
    MockServer::start(
        Scenario::new()
            .endpoint(source("dead key", Match::any().bearer("key-dead")))
            .endpoint(source("stream", Match::any().model("m-fast").stream(true)))
            .endpoint(source("fast", Match::any().model("m-fast")))
            .endpoint(source("plain", Match::any().stream(false).model("m-slow")))
            .endpoint(Endpoint::new("/healthz").method("GET").answer(Answer::text(200, "ok"))),
    )
    .await
    .unwrap()
}

#[tokio::test]
async fn first_fitting_endpoint_answers() {
    let mock = sources().await;
    let mut client = Client::connect(&mock).await;
    let cases = [
        ("", r#"{"model":"m-fast","stream":true}"#, "stream"),
        ("", r#"{"model":"m-fast","stream":false}"#, "fast"),
        ("", r#"{"model":"m-fast"}"#, "fast"),
        ("", r#"{"model":"m-slow"}"#, "plain"),
        ("authorization: bearer key-dead\r\n", r#"{"model":"m-fast"}"#, "dead key"),
        ("Authorization: Bearer key-other\r\n", r#"{"model":"m-fast"}"#, "fast"),
        ("Authorization: Basic key-dead\r\n", r#"{"model":"m-fast"}"#, "fast"),
        ("", r#"{"model":"m-fast","stream":"odd","messages":[]}"#, "fast"),
    ];
    for (headers, body, expected) in cases {
        client.send_post(CHAT, headers, body).await;
        assert_eq!(within(client.response()).await.text(), expected, "{headers}{body}");
    }
    assert_eq!(client.get("/healthz?probe=1").await.text(), "ok");
}

#[tokio::test]
async fn unknown_endpoint_is_told_what_there_is() {
    let mock = sources().await;
    let mut client = Client::connect(&mock).await;
    let answer = client.post("/v1/chat", r#"{"model":"m-other"}"#).await;
    assert_eq!(answer.status, 404);
    let error = answer.json()["error"].clone();
    assert_eq!(error["code"], "mock_unknown_endpoint");
    let message = error["message"].as_str().unwrap();
    for part in [
        "POST /v1/chat (model m-other, stream false)",
        "POST /v1/chat/completions (stream) model=m-fast stream=true",
        "GET /healthz (/healthz)",
        "with a certain bearer key",
    ] {
        assert!(message.contains(part), "{part} in {message}");
    }
    assert!(!message.contains("key-dead"), "a key is not shown");
    // Wrong method and wrong model miss too.
    assert_eq!(client.post("/healthz", "").await.status, 404);
    assert_eq!(client.post(CHAT, "not json").await.status, 404);
    assert_eq!(mock.counters().unmatched, 3);
    assert_eq!(mock.counters().received(), 0);
}

#[tokio::test]
async fn head_gets_the_head_of_get() {
    let endpoint = Endpoint::new("/healthz").answer(Answer::text(200, "fine"));
    let mock = MockServer::start(Scenario::new().endpoint(endpoint)).await.unwrap();
    let mut client = Client::connect(&mock).await;
    client.send(b"HEAD /healthz HTTP/1.1\r\nhost: mock\r\n\r\n").await;
    assert!(client.head().await.ends_with("content-length: 4"));
    assert_eq!(client.get("/healthz").await.text(), "fine");
}

#[tokio::test]
async fn request_bodies_come_in_both_framings_and_any_split() {
    let mock = sources().await;
    let mut client = Client::connect(&mock).await;
    let request = format!(
        "POST {CHAT} HTTP/1.1\r\nhost: mock\r\nTransfer-Encoding: chunked\r\n\r\n\
         a;ext=1\r\n{{\"model\":\"\r\nE\r\nm-slow\",\"x\":1}}\r\n0\r\nx-trailer: 1\r\n\r\n"
    );
    for byte in request.as_bytes() {
        client.send(&[*byte]).await;
        tokio::task::yield_now().await;
    }
    assert_eq!(within(client.response()).await.text(), "plain");
    // In one write, and with the next request right behind it.
    client.send(request.repeat(2).as_bytes()).await;
    for _ in 0..2 {
        assert_eq!(within(client.response()).await.text(), "plain");
    }

    let requests = mock.requests();
    assert_eq!(requests.len(), 3);
    for request in requests {
        assert_eq!(request.json().unwrap(), json!({"model": "m-slow", "x": 1}));
        assert_eq!((request.method(), request.path()), ("POST", CHAT));
        assert_eq!(request.endpoint(), Some("plain"));
        assert_eq!(request.header("HOST"), Some("mock"));
    }
}

#[tokio::test]
async fn expect_100_continue_is_answered_before_the_body() {
    let mock = sources().await;
    let mut client = Client::connect(&mock).await;
    let body = r#"{"model":"m-slow"}"#;
    let head = format!(
        "POST {CHAT} HTTP/1.1\r\nexpect: 100-continue\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    client.send(head.as_bytes()).await;
    assert_eq!(client.head().await, "HTTP/1.1 100 Continue");
    client.send(body.as_bytes()).await;
    assert_eq!(within(client.response()).await.text(), "plain");
    // A client that does not wait is not invited.
    client.send(format!("{head}{body}").as_bytes()).await;
    assert_eq!(within(client.response()).await.status, 200);
}

#[tokio::test]
async fn connection_close_and_http_1_0_are_honoured() {
    let mock = sources().await;
    let mut client = Client::connect(&mock).await;
    client.send(b"GET /healthz HTTP/1.1\r\nConnection: x, Close\r\n\r\n").await;
    let bytes = String::from_utf8(client.rest().await.unwrap()).unwrap();
    assert!(bytes.contains("connection: close\r\n") && bytes.ends_with("\r\n\r\nok"));

    let endpoint = Endpoint::new("/s").answer(Answer::sse([pgw_mock::Step::done()]));
    let mock = MockServer::start(Scenario::new().endpoint(endpoint)).await.unwrap();
    let mut client = Client::connect(&mock).await;
    client.send(b"GET /s HTTP/1.0\r\n\r\n").await;
    let bytes = String::from_utf8(client.rest().await.unwrap()).unwrap();
    assert!(!bytes.contains("chunked") && bytes.ends_with("\r\n\r\ndata: [DONE]\n\n"));
}

#[tokio::test]
async fn malformed_requests_get_4xx_and_the_connection_ends() {
    let mock = sources().await;
    let head = "POST / HTTP/1.1\r\n";
    let long = format!("GET / HTTP/1.1\r\nx: {}", "y".repeat(70_000));
    let cases = [
        ("\x01\x02\r\n\r\n".to_owned(), 400),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(), 400),
        (format!("{head}content-length: 1x\r\n\r\n"), 400),
        (format!("{head}content-length: +1\r\n\r\n"), 400),
        (format!("{head}content-length: 1\r\ncontent-length: 1\r\n\r\n"), 400),
        (format!("{head}content-length: 1\r\ntransfer-encoding: chunked\r\n\r\n"), 400),
        (format!("{head}transfer-encoding: gzip\r\n\r\n"), 400),
        (format!("{head}transfer-encoding: chunked\r\n\r\nzz\r\n"), 400),
        (format!("{head}transfer-encoding: chunked\r\n\r\n1\r\nab\r\n"), 400),
        (format!("{head}transfer-encoding: chunked\r\n\r\nffffffff\r\n"), 413),
        (format!("{head}content-length: 99999999999999999999999\r\n\r\n"), 413),
        (long, 431),
    ];
    let count = cases.len() as u64;
    for (bytes, status) in cases {
        let mut client = Client::connect(&mock).await;
        client.send(bytes.as_bytes()).await;
        let answer = within(client.response()).await;
        assert_eq!(answer.status, status, "{bytes:.60}");
        assert_eq!(answer.json()["error"]["code"], "mock_malformed_request");
        assert!(client.rest().await.unwrap().is_empty());
    }
    assert_eq!(mock.counters().malformed, count);
    assert!(mock.requests().is_empty());
}

#[tokio::test]
async fn client_that_leaves_within_its_request_is_no_request() {
    let mock = sources().await;
    let mut client = Client::connect(&mock).await;
    client.send(b"POST / HTTP/1.1\r\ncontent-length: 9\r\n\r\nhalf").await;
    within(mock.wait_until(|counters| counters.open_connections == 1)).await;
    drop(client);
    let counters = within(mock.wait_until(|counters| counters.open_connections == 0)).await;
    assert_eq!((counters.received(), counters.malformed, counters.unmatched), (0, 0, 0));
}
