//! GWY-120: the JSON form: it plays like the builders, and each fault is named with its fix.

use pgw_mock::{MockServer, Scenario};
use serde_json::json;

use crate::client::{CHAT, Client, within};

// GWY-120, GWY-121
#[tokio::test]
async fn file_plays_every_kind_of_answer() {
    let text = r#"{"endpoints": [
      {"path": "/v1/chat/completions", "method": "POST", "name": "chat",
       "match": {"model": "m", "stream": false, "bearer": "key-a"},
       "answers": [
         {"error": {"status": 401, "code": "invalid_api_key", "message": "no", "type": "t", "param": "p"}},
         {"status": 202, "headers": {"x-one": "1", "x-two": ["2", "3"]}, "delay_ms": 1,
          "body": {"json": {"b": 1, "a": null}}},
         {"body": {"text": "plain"}, "framing": "chunked", "split": {"every_n": 2}},
         {"body": {"base64": "/wA="}},
         {"body": {"chunks": [{"json": [1]}, {"text": "x"}, {"base64": "eQ=="}, {"pause_ms": 1}]}},
         {"sse": [{"json": null}, {"text": "data: [DONE]\n\n"}]},
         {"chat": {"content": "Hi you", "usage": [1, 2], "finish_reason": "length"}},
         {"close": true},
         {"raw": {"text": "HTTP/1.1 200 OK\r\n\r\nx"}, "split": "every_byte"},
         {"raw": {"chunks": [{"text": "HTTP/1.1"}, "reset"]}}
       ], "then": "404"},
      {"path": "/v1/chat/completions", "answers": [{"sse": [{"json": 1}, "stall"]}]}
    ]}"#;
    let mock = MockServer::start(Scenario::from_json(text).unwrap()).await.unwrap();
    let key = "authorization: Bearer key-a\r\n";
    let body = r#"{"model":"m"}"#;
    let mut client = Client::connect(&mock).await;
    let mut answers = Vec::new();
    for _ in 0..8 {
        client.send_post(CHAT, key, body).await;
        answers.push(within(client.response()).await);
    }
    assert_eq!(answers[0].status, 401);
    assert_eq!(
        answers[0].json()["error"],
        json!({"message": "no", "type": "t", "param": "p", "code": "invalid_api_key"})
    );
    assert_eq!(answers[1].status, 202);
    assert!(answers[1].head.contains("\r\nx-one: 1\r\nx-two: 2\r\nx-two: 3\r\n"));
    assert_eq!(answers[1].text(), r#"{"b":1,"a":null}"#);
    assert_eq!(answers[2].chunks, [b"pl".to_vec(), b"ai".to_vec(), b"n".to_vec()]);
    assert_eq!(answers[3].body(), [0xff, 0]);
    assert_eq!(answers[4].text(), "[1]xy");
    assert_eq!(answers[5].text(), "data: null\n\ndata: [DONE]\n\n");
    assert_eq!(answers[6].json()["choices"][0]["message"]["content"], "Hi you");
    assert_eq!(answers[6].json()["choices"][0]["finish_reason"], "length");
    assert_eq!((answers[7].status, answers[7].text().as_str()), (200, ""));
    assert!(client.rest().await.unwrap().is_empty(), "closed after the answer that says so");

    let mut client = Client::connect(&mock).await;
    client.send_post(CHAT, key, body).await;
    assert_eq!(client.rest().await.unwrap(), b"HTTP/1.1 200 OK\r\n\r\nx");
    let mut client = Client::connect(&mock).await;
    client.send_post(CHAT, key, body).await;
    assert_eq!(client.until_broken().await.0, b"HTTP/1.1");
    let mut client = Client::connect(&mock).await;
    client.send_post(CHAT, key, body).await;
    assert_eq!(within(client.response()).await.status, 404);

    let mut client = Client::connect(&mock).await;
    client.send_post(CHAT, "", body).await;
    client.head().await;
    assert_eq!(client.chunk().await.unwrap(), b"data: 1\n\n");
    assert_eq!(mock.counters().endpoint(CHAT).unwrap().in_progress, 1);
}

#[tokio::test]
async fn file_breaks_a_chat_reply() {
    let text = r#"{"endpoints": [{"path": "/v1/chat/completions", "answers": [
        {"chat": {"deltas": ["a", "b"], "thinking": "t", "model": "m", "pause_ms": 1,
                  "tool_calls": [{"name": "f", "arguments": "{}"}],
                  "break": {"after": 1, "with": "reset"}}}]}]}"#;
    let mock = MockServer::start(Scenario::from_json(text).unwrap()).await.unwrap();
    let mut client = Client::connect(&mock).await;
    client.send_post(CHAT, "", r#"{"stream":true}"#).await;
    let (bytes, error) = client.until_broken().await;
    assert_eq!(error, Some(std::io::ErrorKind::ConnectionReset));
    let text = String::from_utf8(bytes).unwrap();
    assert!(text.contains(r#""content":"a""#) && !text.contains(r#""content":"b""#));
}

/// The problems of a scenario whose one endpoint has these answers.
fn problems_of(answers: &str) -> String {
    let text = format!(r#"{{"endpoints": [{{"path": "/x", "answers": [{answers}]}}]}}"#);
    Scenario::from_json(&text).unwrap_err().to_string()
}

#[test]
fn faults_of_shape_name_field_and_choices() {
    for (answers, path, message) in [
        (r#"{"statsu": 1}"#, "endpoints[0].answers[0]", "unknown field `statsu`, expected one of"),
        (r#"{"status": "200"}"#, "endpoints[0].answers[0].status", "expected u16"),
        (r#"{"split": "every"}"#, "endpoints[0].answers[0].split", "expected one of `one`"),
        (r#"{"split": {"every_n": 0}}"#, "endpoints[0].answers[0].split", "nonzero"),
        (r#"{"sse": [{"txt": "x"}]}"#, "endpoints[0].answers[0].sse[0]", "`text`"),
        (r#"{"chat": {"break": {"after": 1, "with": "x"}}}"#, ".chat.break.with", "`stall`"),
        (r#"{"error": {"code": "c"}}"#, "endpoints[0].answers[0].error", "missing field `status`"),
    ] {
        let text = problems_of(answers);
        assert!(text.contains(path) && text.contains(message), "{answers}: {text}");
    }
    let trailing = Scenario::from_json(r#"{"endpoints": []} x"#).unwrap_err().to_string();
    assert!(trailing.contains("trailing characters at line 1"), "{trailing}");
}

#[test]
fn faults_of_meaning_are_reported_together_with_their_fix() {
    let text = r#"{"endpoints": [
      {"path": "no-slash", "name": "twin", "answers": []},
      {"path": "/__mock/x", "name": "twin", "answers": [
        {"status": 99},
        {"body": {"text": ""}, "chat": {}},
        {"sse": [{"text": "ok"}, {"base64": "?"}]},
        {"headers": {"x-n": 1, "bad name": "v", "x-line": ["a\r\nb"]}},
        {"status": 200, "error": {"status": 42}},
        {"chat": {"content": "a", "deltas": ["a"]}},
        {"chat": {"content": "a b", "break": {"after": 3, "with": "cut"}}},
        {"raw": {"text": ""}, "framing": "chunked"}
      ]}]}"#;
    let error = Scenario::from_json(text).unwrap_err();
    let found: Vec<String> = error.problems().iter().map(ToString::to_string).collect();
    for expected in [
        r#"endpoints[0].path: "no-slash" is not a path; start it with /"#,
        "endpoints[0].answers: is empty; give at least one answer",
        "endpoints[1].path: /__mock/ is kept for the mock's own endpoints; choose another path",
        r#"endpoints[1].name: "twin" is already the name of endpoints[0]; give each"#,
        "endpoints[1].answers[0].status: 99 is not a final HTTP status; write a number from 200",
        "endpoints[1].answers[1]: has body, chat at once; keep one of them",
        "endpoints[1].answers[2].sse[1].base64: is not base64",
        "endpoints[1].answers[3].headers.x-n: must be text or a list of texts; add quotes",
        "endpoints[1].answers[3].headers.bad name: is not a header name",
        "endpoints[1].answers[3].headers.x-line: holds a line break; use raw",
        "endpoints[1].answers[4].status: belongs into raw or error here; remove this one",
        "endpoints[1].answers[5].chat.deltas: stands beside content; keep one of the two",
        "endpoints[1].answers[6].chat.break.after: 3 is more than the 2 deltas",
        "endpoints[1].answers[7].raw: is the whole response",
    ] {
        assert!(found.iter().any(|text| text.starts_with(expected)), "{expected} in {found:#?}");
    }
    assert_eq!(found.len(), 14, "{found:#?}");
}
