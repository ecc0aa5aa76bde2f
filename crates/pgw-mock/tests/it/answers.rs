//! GWY-120, GWY-121, GWY-123: sequences, framing, splitting, raw replay, and the chat shortcuts.

use std::num::NonZeroUsize;

use pgw_mock::{
    AfterLast, Answer, ChatReply, Endpoint, Framing, MockServer, Scenario, Split, Step,
};
use serde_json::json;

use crate::client::{CHAT, Client};

async fn chat(answers: impl IntoIterator<Item = Answer>) -> MockServer {
    let endpoint = Endpoint::chat().answers(answers);
    MockServer::start(Scenario::new().endpoint(endpoint)).await.unwrap()
}

// GWY-120, GWY-124
#[tokio::test]
async fn sequence_plays_in_order_and_repeats_its_last_answer() {
    let mock = chat([
        Answer::error(429, "rate_limit_exceeded", "slow down").header("retry-after", "1"),
        Answer::json(200, &json!({"n": 2})),
        Answer::json(200, &json!({"n": 3})),
    ])
    .await;
    let mut client = Client::connect(&mock).await;

    let first = client.post(CHAT, "{}").await;
    assert_eq!(first.status, 429);
    assert!(first.head.starts_with("HTTP/1.1 429 Too Many Requests\r\n"));
    assert_eq!(first.header("retry-after"), Some("1"));
    assert_eq!(first.header("content-type"), Some("application/json"));
    assert_eq!(
        first.json(),
        json!({"error": {"message": "slow down", "type": "rate_limit_error", "param": null,
                         "code": "rate_limit_exceeded"}})
    );
    for n in [2, 3, 3, 3] {
        assert_eq!(client.post(CHAT, "{}").await.json(), json!({"n": n}));
    }
    assert_eq!(mock.counters().accepted_connections, 1, "answers keep the connection alive");
}

#[tokio::test]
async fn used_up_script_cycles_or_answers_404() {
    let two = [Answer::text(200, "a"), Answer::text(200, "b")];
    let mock = MockServer::start(
        Scenario::new()
            .endpoint(Endpoint::new("/cycle").answers(two.clone()).then(AfterLast::Cycle))
            .endpoint(Endpoint::new("/once").answers(two).then(AfterLast::NotFound)),
    )
    .await
    .unwrap();
    let mut client = Client::connect(&mock).await;
    for text in ["a", "b", "a", "b", "a"] {
        assert_eq!(client.get("/cycle").await.text(), text);
    }
    for text in ["a", "b"] {
        assert_eq!(client.get("/once").await.text(), text);
    }
    let used_up = client.get("/once").await;
    assert_eq!(used_up.status, 404);
    assert_eq!(used_up.json()["error"]["code"], "mock_script_used_up");
    assert_eq!(mock.counters().endpoint("/once").unwrap().received, 3);
}

// GWY-121
#[tokio::test]
async fn each_sse_step_is_one_write_with_exactly_its_bytes() {
    let mock = chat([Answer::sse([
        Step::event(&json!({"a": 1})),
        Step::data(": ping\r\r\n"),
        Step::data(&b"data: \xff\xfe"[..]),
        Step::pause_ms(1),
        Step::data("\n\n"),
        Step::done(),
    ])])
    .await;
    let answer = Client::connect(&mock).await.post(CHAT, "{}").await;
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    let expected: [&[u8]; 5] =
        [b"data: {\"a\":1}\n\n", b": ping\r\r\n", b"data: \xff\xfe", b"\n\n", b"data: [DONE]\n\n"];
    assert_eq!(answer.chunks, expected);
}

#[tokio::test]
async fn empty_steps_and_trailing_pauses_do_not_end_or_break_a_chunked_body() {
    let mock = chat([
        Answer::sse([Step::data("a"), Step::data(""), Step::data("b"), Step::data("")]),
        Answer::sse([Step::data("c"), Step::pause_ms(1)]),
        Answer::sse([]),
    ])
    .await;
    let mut client = Client::connect(&mock).await;
    for text in ["ab", "c", "", ""] {
        assert_eq!(client.post(CHAT, "{}").await.text(), text);
    }
}

#[tokio::test]
async fn split_cuts_the_body_into_pieces() {
    let body = json!({"text": "größer"});
    let whole = body.to_string();
    let seven = Split::EveryN(NonZeroUsize::new(7).unwrap());
    let pieces = |split| Answer::json(200, &body).framing(Framing::Chunked).split(split);
    let mock = chat([
        pieces(Split::EveryByte),
        pieces(seven),
        pieces(Split::One),
        Answer::json(200, &body).split(Split::EveryByte),
    ])
    .await;
    let mut client = Client::connect(&mock).await;
    for size in [1, 7, whole.len()] {
        let answer = client.post(CHAT, "{}").await;
        let expected: Vec<_> = whole.as_bytes().chunks(size).map(<[u8]>::to_vec).collect();
        assert_eq!(answer.chunks, expected);
    }
    // With a content-length the pieces don't show in the bytes.
    assert_eq!(client.post(CHAT, "{}").await.text(), whole);
}

#[tokio::test]
async fn framing_says_how_the_body_ends() {
    let steps = || [Step::data("one "), Step::data("two")];
    let mock = chat([
        Answer::chunks(steps()),
        Answer::chunks(steps()).framing(Framing::ContentLength),
        Answer::chunks(steps()).close(),
        Answer::chunks(steps()).framing(Framing::UntilClose),
        Answer::text(200, "short").header("Content-Length", "99"),
    ])
    .await;
    let mut client = Client::connect(&mock).await;

    let chunked = client.post(CHAT, "{}").await;
    assert_eq!(chunked.header("transfer-encoding"), Some("chunked"));
    assert_eq!(chunked.header("content-length"), None);
    let sized = client.post(CHAT, "{}").await;
    assert_eq!(sized.header("content-length"), Some("7"));
    assert_eq!(sized.header("transfer-encoding"), None);
    let closing = client.post(CHAT, "{}").await;
    assert_eq!(closing.header("connection"), Some("close"));
    assert_eq!(closing.text(), "one two");
    assert!(client.rest().await.unwrap().is_empty());

    let mut client = Client::connect(&mock).await;
    let unframed = client.post(CHAT, "{}").await;
    assert_eq!(unframed.header("content-length"), None);
    assert_eq!(unframed.header("transfer-encoding"), None);
    assert_eq!(unframed.text(), "one two");

    // A length set by hand is a lie the script may tell: 5 bytes come, then the end.
    let mut client = Client::connect(&mock).await;
    client.send_post(CHAT, "", "{}").await;
    let bytes = String::from_utf8(client.rest().await.unwrap()).unwrap();
    assert!(bytes.contains("Content-Length: 99\r\n"));
    assert!(bytes.ends_with("\r\n\r\nshort"));
}

#[tokio::test]
async fn raw_answer_is_replayed_byte_for_byte_and_closes() {
    let raw = "HTTP/1.1 429 Too Many Requests\r\nContent-Type: application/json\r\n\
               X-Odd:  two  spaces\r\n\r\n{\"error\":{\"code\":\"1305\",\"message\":\"busy\"}}";
    let mock = chat([Answer::raw(raw), Answer::raw(raw).split(Split::EveryByte)]).await;
    for _ in 0..2 {
        let mut client = Client::connect(&mock).await;
        client.send_post(CHAT, "", "{}").await;
        assert_eq!(client.rest().await.unwrap(), raw.as_bytes());
    }
    assert_eq!(mock.counters().answered(), 2);
}

// GWY-123
#[tokio::test]
async fn chat_reply_is_json_or_sse_as_the_request_asks() {
    let reply = ChatReply::new("Hello there").thinking("hm hm").usage(5, 2);
    let mock = chat([Answer::chat(reply)]).await;
    let mut client = Client::connect(&mock).await;

    let plain = client.post(CHAT, r#"{"model":"m"}"#).await.json();
    assert_eq!(
        plain,
        json!({
            "id": "chatcmpl-mock-1", "object": "chat.completion", "created": 1_700_000_000,
            "model": "m",
            "choices": [{"index": 0, "finish_reason": "stop", "message":
                {"role": "assistant", "content": "Hello there", "reasoning_content": "hm hm"}}],
            "usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7},
        })
    );

    let body = r#"{"model":"m","stream":true,"stream_options":{"include_usage":true}}"#;
    let stream = client.post(CHAT, body).await;
    assert_eq!(stream.header("content-type"), Some("text/event-stream"));
    assert!(stream.text().ends_with("\n\ndata: [DONE]\n\n"));
    assert_eq!(stream.chunks.len(), stream.events().len() + 1, "one write an event");
    let events = stream.events();
    let deltas: Vec<_> =
        events.iter().filter_map(|event| event["choices"][0].get("delta").cloned()).collect();
    assert_eq!(
        deltas,
        [
            json!({"role": "assistant", "content": ""}),
            json!({"reasoning_content": "hm "}),
            json!({"reasoning_content": "hm"}),
            json!({"content": "Hello "}),
            json!({"content": "there"}),
            json!({}),
        ]
    );
    let last = events.last().unwrap();
    assert_eq!(last["choices"], json!([]));
    assert_eq!(last["usage"]["total_tokens"], 7);
    assert!(events[..events.len() - 1].iter().all(|event| event["usage"].is_null()));
    assert_eq!(events[events.len() - 2]["choices"][0]["finish_reason"], "stop");

    let unasked = client.post(CHAT, r#"{"stream":true}"#).await;
    assert!(unasked.events().iter().all(|event| event.get("usage").is_none()));
    assert_eq!(unasked.events()[0]["model"], "mock-model");
}

// GWY-123
#[tokio::test]
async fn chat_reply_carries_tool_calls_and_chosen_deltas() {
    let reply = ChatReply::from_deltas(["a b", "", "c"])
        .tool_call("look_up", r#"{"q":1}"#)
        .tool_call("stop", "{}")
        .model("served");
    let mock = chat([Answer::chat(reply)]).await;
    let mut client = Client::connect(&mock).await;

    let plain = client.post(CHAT, r#"{"model":"asked"}"#).await.json();
    assert_eq!(plain["model"], "served");
    assert_eq!(plain["choices"][0]["finish_reason"], "tool_calls");
    let message = &plain["choices"][0]["message"];
    assert_eq!(message["content"], "a bc");
    assert_eq!(
        message["tool_calls"][0],
        json!({"id": "call_mock_1_0", "type": "function",
               "function": {"name": "look_up", "arguments": "{\"q\":1}"}})
    );
    assert_eq!(message["tool_calls"][1]["id"], "call_mock_1_1");

    let events = client.post(CHAT, r#"{"stream":true}"#).await.events();
    let texts: Vec<_> = events
        .iter()
        .filter_map(|event| event["choices"][0]["delta"]["content"].as_str())
        .collect();
    assert_eq!(texts, ["", "a b", "", "c"]);
    let calls: Vec<_> = events
        .iter()
        .filter_map(|event| event["choices"][0]["delta"].get("tool_calls"))
        .map(|calls| calls[0].clone())
        .collect();
    assert_eq!(
        calls[..2],
        [
            json!({"index": 0, "id": "call_mock_2_0", "type": "function",
                   "function": {"name": "look_up", "arguments": ""}}),
            json!({"index": 0, "function": {"arguments": "{\"q\":1}"}}),
        ]
    );
    assert_eq!(calls.len(), 4);
}

#[tokio::test]
async fn statuses_without_a_body_send_none() {
    let mock = chat([Answer::empty(204), Answer::empty(304), Answer::text(200, "after")]).await;
    let mut client = Client::connect(&mock).await;
    client.send_post(CHAT, "", "{}").await;
    let head = client.head().await;
    assert!(head.starts_with("HTTP/1.1 204 No Content"));
    assert!(!head.contains("content-length"), "RFC 9110 §8.6 forbids it with 204");
    client.send_post(CHAT, "", "{}").await;
    assert!(client.head().await.starts_with("HTTP/1.1 304"));
    assert_eq!(client.post(CHAT, "{}").await.text(), "after");
}
