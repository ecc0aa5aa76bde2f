//! `pgw chat` against mock providers.

use std::io::Read as _;

use pgw_client::CallLog;
use pgw_mock::{Answer, ChatReply, Endpoint, Fault, MockServer, Scenario};
use serde_json::{Value, json};

use crate::pgw::{Desk, Ended};

async fn mock(answers: impl IntoIterator<Item = Answer>) -> MockServer {
    let endpoint = Endpoint::chat().answers(answers);
    MockServer::start(Scenario::new().endpoint(endpoint)).await.unwrap()
}

fn answer(text: &str) -> Answer {
    Answer::chat(ChatReply::new(text).usage(9, 3))
}

/// The body of the only request a mock received.
fn only_body(mock: &MockServer) -> Value {
    let requests = mock.requests();
    assert_eq!(requests.len(), 1);
    serde_json::from_slice(requests[0].body()).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_answer_goes_to_standard_output_and_nothing_else() {
    let mock = mock([answer("Because of the air.")]).await;
    let args = ["chat", "--no-telemetry", "--system", "Be brief.", "Why is the sky blue?"];
    let ended = Desk::at(&mock).run(&args).with_code(0);
    assert_eq!(ended.out, "Because of the air.\n");
    let body = only_body(&mock);
    assert_eq!(
        body["messages"],
        json!([{"role": "system", "content": "Be brief."},
               {"role": "user", "content": "Why is the sky blue?"}])
    );
    assert_eq!(body["model"], "gpt-4o-mini");
    assert_eq!(body["stream"], true);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn options_reach_the_wire() {
    let mock = mock([answer("Yes.")]).await;
    let args = [
        "chat",
        "--no-telemetry",
        "--model",
        "m-other",
        "--max-tokens",
        "7",
        "--temperature",
        "0.5",
        "--plain",
        "--deadline",
        "60",
        "Well?",
    ];
    let ended = Desk::at(&mock).run(&args).with_code(0);
    assert_eq!(ended.out, "Yes.\n");
    let body = only_body(&mock);
    assert_eq!(
        (&body["model"], &body["max_tokens"], &body["temperature"]),
        (&json!("m-other"), &json!(7), &json!(0.5))
    );
    assert_ne!(body["stream"], true);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_prompt_may_come_from_standard_input() {
    let mock = mock([answer("Yes.")]).await;
    Desk::at(&mock).run_with_input(&["chat", "--no-telemetry"], "Is it?\n").with_code(0);
    assert_eq!(only_body(&mock)["messages"][0]["content"], "Is it?");
}

/// TYP-001 … TYP-012: the response with all its fields.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn json_is_the_whole_response() {
    let reply = ChatReply::new("Because of the air.").thinking("Rayleigh?").usage(9, 5);
    let mock = mock([Answer::chat(reply)]).await;
    let ended = Desk::at(&mock).run(&["chat", "--json", "Why?"]).with_code(0);
    let response = ended.json();
    for (name, expected) in [
        ("content", json!("Because of the air.")),
        ("thinking", json!("Rayleigh?")),
        ("model", json!("gpt-4o-mini")),
        ("provider", json!("generic")),
        ("prompt_tokens", json!(9)),
        ("completion_tokens", json!(5)),
        ("usage_source", json!("measured")),
        ("finish_reason", json!("stop")),
        ("cache_hit", json!(false)),
    ] {
        assert_eq!(response[name], expected, "{name}");
    }
    assert!(response["cost"].as_f64().is_some_and(|cost| cost > 0.0), "{response}");
    for name in ["latency_ms", "ttft_ms", "max_inter_token_ms", "call_id", "source_name", "cost"] {
        assert!(response.get(name).is_some(), "{name}");
    }
    assert_eq!(response["trace"]["attempts"].as_array().unwrap().len(), 1);
}

/// GWY-124 in part: the rate limit of an upstream is waited for and told in the trace.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn verbose_tells_each_attempt() {
    let limited =
        Answer::error(429, "rate_limit_exceeded", "slow down").header("retry-after-ms", "1");
    let mock = mock([limited, answer("Now.")]).await;
    let ended = Desk::at(&mock).run(&["chat", "-v", "--no-telemetry", "Now?"]).with_code(0);
    assert_eq!(ended.out, "Now.\n");
    for words in ["limits our rate (HTTP 429)", "answered", "answer from", "9 + 3 tokens"] {
        assert!(ended.err.contains(words), "{words} is not in {}", ended.err);
    }
}

/// TYP-033, TYP-037: a dead source is left at once, and the scope can't serve.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_key_is_told_and_ends_with_3() {
    let refusal = || Answer::error(401, "invalid_api_key", "Incorrect API key provided");
    let mock = mock([refusal()]).await;
    let desk = Desk::at(&mock);
    let ended = desk.run(&["chat", "--json", "--no-telemetry", "Why?"]).with_code(3);
    let error = &ended.json()["error"];
    assert_eq!(error["kind"], "upstream_auth_error");
    assert_eq!(error["class"], "source_dead");
    assert_eq!(error["unavailable"], true);
    assert_eq!(error["retryable"], false);
    assert!(error["retry_after_ms"].is_u64(), "{error}");
    let attempts = error["attempts"].as_array().unwrap();
    assert_eq!(attempts.len(), 1);
    assert_eq!(attempts[0]["fault"], "invalid_key");
    assert_eq!(attempts[0]["status"], 401);
    assert_eq!(mock.counters().received(), 1);

    let ended = desk.run(&["chat", "--no-telemetry", "Why?"]).with_code(3);
    assert_eq!(ended.out, "");
    assert!(ended.err.contains("refuses the key (HTTP 401)"), "{}", ended.err);
    assert!(ended.err.contains("what to do: "), "{}", ended.err);
}

/// TYP-034, GWY-125: a rejected request is not sent again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rejected_request_ends_with_1_after_one_upstream_call() {
    let refusal = Answer::error(400, "context_length_exceeded", "too long");
    let mock = mock([refusal, answer("never")]).await;
    let ended = Desk::at(&mock).run(&["chat", "--json", "--no-telemetry", "Why?"]).with_code(1);
    let error = &ended.json()["error"];
    assert_eq!(error["kind"], "invalid_request");
    assert_eq!(error["class"], "request_rejected");
    assert_eq!(error["reason"], "context_length");
    assert_eq!(error["retryable"], false);
    assert_eq!(error["unavailable"], false);
    assert_eq!(error["attempts"].as_array().unwrap().len(), 1);
    assert_eq!(mock.counters().received(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_at_fault_is_not_sent() {
    let mock = mock([answer("never")]).await;
    let desk = Desk::at(&mock);
    desk.write("body.json", r#"{"messages": [{"role": "user", "content": "x"}], "modle": "m"}"#);
    let args = ["chat", "--json", "--no-telemetry", "--request", "body.json"];
    let error = desk.run(&args).with_code(1).json()["error"].clone();
    assert_eq!(
        (&error["kind"], &error["reason"]),
        (&json!("invalid_request"), &json!("bad_request"))
    );
    assert_eq!(error["faults"][0]["field"], "modle");
    assert_eq!(error["attempts"], json!([]));
    let ended = desk.run(&["chat", "--no-telemetry", "--request", "body.json"]).with_code(1);
    assert!(ended.err.contains("modle: "), "{}", ended.err);
    assert_eq!(mock.counters().received(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_whole_body_is_sent_with_all_its_members() {
    let mock = mock([answer("Yes.")]).await;
    let body = r#"{"model": "m-body", "seed": 4, "user": "u", "stream": false,
                   "messages": [{"role": "user", "content": [{"type": "text", "text": "Is it?"}]}]}"#;
    let args = ["chat", "--no-telemetry", "--request", "-"];
    Desk::at(&mock).run_with_input(&args, body).with_code(0);
    let sent = only_body(&mock);
    assert_eq!(sent["model"], "m-body");
    assert_eq!((&sent["seed"], &sent["user"]), (&json!(4), &json!("u")));
    assert_eq!(sent["messages"][0]["content"][0]["text"], "Is it?");
}

/// Architecture §3, commit point: what was printed can't be taken back, so nothing is retried.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_that_breaks_leaves_what_came_and_ends_with_1() {
    let broken = || Answer::chat(ChatReply::new("one two three four").breaks(2, Fault::Cut));
    let mock = mock([broken(), answer("never")]).await;
    let ended = Desk::at(&mock).run(&["chat", "--no-telemetry", "Count!"]).with_code(1);
    assert_eq!(ended.out, "one two \n");
    assert!(ended.err.contains("broke off in the middle"), "{}", ended.err);
    assert_eq!(mock.counters().received(), 1);
}

/// The same with --json: nobody has seen a word, so it is tried again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_that_nobody_watches_is_tried_again() {
    let broken = Answer::chat(ChatReply::new("one two three four").breaks(2, Fault::Cut));
    let mock = mock([broken, answer("one two three four")]).await;
    let ended = Desk::at(&mock).run(&["chat", "--json", "--no-telemetry", "Count!"]).with_code(0);
    assert_eq!(ended.json()["content"], "one two three four");
    assert_eq!(mock.counters().received(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn partial_content_is_told_when_attempts_are_used_up() {
    let broken = Answer::chat(ChatReply::new("one two three four").breaks(2, Fault::Cut));
    let mock = mock([broken]).await;
    let ended = Desk::at(&mock).run(&["chat", "--json", "--no-telemetry", "Count!"]).with_code(3);
    let error = &ended.json()["error"];
    assert_eq!(error["kind"], "partial_stream");
    assert_eq!(error["reason"], "retry_exhausted");
    assert_eq!(error["partial_content"], "one two ");
    assert_eq!(error["attempts"].as_array().unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tool_calls_are_printed_as_json_lines() {
    let reply = ChatReply::default().tool_call("weather", r#"{"city":"Bonn"}"#);
    let mock = mock([Answer::chat(reply)]).await;
    let ended = Desk::at(&mock).run(&["chat", "--no-telemetry", "Weather?"]).with_code(0);
    let call = ended.json();
    assert_eq!(call["function"]["name"], "weather", "{call}");
    assert_eq!(call["function"]["arguments"], r#"{"city":"Bonn"}"#);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thinking_is_shown_on_standard_error_only() {
    let reply = || Answer::chat(ChatReply::new("Yes.").thinking("Is it so?"));
    let mock = mock([reply()]).await;
    let desk = Desk::at(&mock);
    let ended = desk.run(&["chat", "--no-telemetry", "--show-thinking", "Well?"]).with_code(0);
    assert_eq!((ended.out.as_str(), ended.err.as_str()), ("Yes.\n", "Is it so?\n"));
    let ended = desk.run(&["chat", "--no-telemetry", "Well?"]).with_code(0);
    assert_eq!((ended.out.as_str(), ended.err.as_str()), ("Yes.\n", ""));
}

/// Architecture §6, TEL-015: a call that is interrupted closes its connection and leaves its record.
#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_interrupted_call_is_dropped_and_recorded() {
    let stalled = Answer::chat(ChatReply::new("one two three").breaks(1, Fault::Stall));
    let mock = mock([stalled]).await;
    let desk = Desk::at(&mock);
    let mut child = desk.command(&["chat", "--session", "s-1", "Count!"]).spawn().unwrap();
    let mut came = [0; 4];
    child.stdout.as_mut().unwrap().read_exact(&mut came).unwrap();
    assert_eq!(&came, b"one ");
    crate::pgw::signal(&child, "INT");
    let ended = Ended::from(child.wait_with_output().unwrap()).with_code(130);
    assert!(ended.err.contains("interrupted"), "{}", ended.err);
    mock.wait_until(|counters| counters.closed_by_client() == 1).await;
    let records = log(&desk).calls_of_session("s-1").unwrap();
    assert_eq!(records.len(), 1);
    assert_eq!(records[0].error.as_deref(), Some("cancelled"));
    assert_eq!(records[0].response, "one ");
}

/// TEL-002, TEL-016: each attempt leaves a record, under the session that was named.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_attempt_is_recorded_unless_it_should_not_be() {
    let failure = Answer::error(500, "internal", "oops");
    let mock = mock([failure, answer("Yes.")]).await;
    let desk = Desk::at(&mock);
    desk.run(&["chat", "--no-telemetry", "Well?"]).with_code(0);
    assert!(!desk.path("pgw-telemetry.sqlite").exists());
    mock.reset();
    desk.run(&["chat", "--session", "s-2", "Well?"]).with_code(0);
    let records = log(&desk).calls_of_session("s-2").unwrap();
    let failed: Vec<bool> = records.iter().map(|record| record.error.is_some()).collect();
    assert_eq!(failed, [true, false]);
}

fn log(desk: &Desk) -> CallLog {
    CallLog::open(desk.path("pgw-telemetry.sqlite")).unwrap()
}

/// A reader that has seen enough is no failure, and nothing panics.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_that_leaves_ends_the_call_quietly() {
    let long = Answer::chat(ChatReply::new("word ".repeat(2_000)).pause_ms(1));
    let mock = mock([long]).await;
    let desk = Desk::at(&mock);
    let mut child = desk.command(&["chat", "--no-telemetry", "Go on!"]).spawn().unwrap();
    let mut came = [0; 5];
    child.stdout.as_mut().unwrap().read_exact(&mut came).unwrap();
    drop(child.stdout.take());
    let ended = Ended::from(child.wait_with_output().unwrap()).with_code(0);
    assert_eq!(ended.err, "");
    mock.wait_until(|counters| counters.closed_by_client() == 1).await;
}

#[test]
fn wrong_usage_ends_with_2() {
    let desk = Desk::new();
    for args in [
        &["chat", "--request", "none.json"][..],
        &["chat", "--thinking", "maybe", "x"],
        &["chat"],
        &["talk"],
        &[],
    ] {
        let ended = desk.run(args).with_code(2);
        assert_eq!(ended.out, "");
        assert_ne!(ended.err, "");
    }
}

#[test]
fn without_a_configuration_it_says_what_to_write() {
    let desk = Desk::new();
    let ended = desk.run(&["chat", "Why?"]).with_code(4);
    assert!(ended.err.contains("LLM__"), "{}", ended.err);
    let error = desk.run(&["chat", "--json", "Why?"]).with_code(4).json()["error"].clone();
    assert_eq!((&error["class"], &error["reason"]), (&json!("config"), &json!("config")));
    assert_eq!(error["kind"], "internal_error");
    assert_ne!(error["faults"], json!([]));
}
