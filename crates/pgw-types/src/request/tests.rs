//! Tests of reading a whole request body.

use serde_json::json;

use super::*;

fn faults(body: Value) -> Vec<String> {
    ChatRequest::from_openai(body).unwrap_err().iter().map(ToString::to_string).collect()
}

#[test]
fn a_whole_body_is_read_and_nothing_is_lost() {
    let (request, delivery) = ChatRequest::from_openai(json!({
        "model": "m", "messages": [{"role": "user", "content": "hi"}], "temperature": 0.5,
        "stop": ["a"], "stream": true, "stream_options": {"include_usage": true},
        "logit_bias": {"5": 1}, "user": "u", "enable_thinking": false, "tools": [
            {"type": "function", "function": {"name": "f"}}], "seed": -3,
        "provider_options": {"top_k": 5}, "max_completion_tokens": 7, "logprobs": null
    }))
    .unwrap();
    assert_eq!(delivery, Delivery { stream: true, include_usage: true });
    assert_eq!(request.thinking, Some(Thinking::Off));
    assert_eq!(request.token_cap(), Some(7));
    assert_eq!(request.options["user"], "u");
    assert_eq!(request.provider_options["top_k"], 5);
    assert!(!request.options.contains_key("logprobs"), "an explicit null says nothing");
}

/// GWY-034, GWY-040, GWY-046: everything wrong is told at once, with field, shape and fix.
#[test]
fn all_faults_are_reported_at_once() {
    let faults = faults(json!({
        "messages": [{"role": "user", "content": 4}, {"content": "x"}, {"role": "boss"}],
        "temperature": "hot", "max_tokens": 1, "max_completion_tokens": 2, "top_k": 3,
        "response_format": "text", "n": 0, "user": 5, "stop": 4, "stream_options": {"usage": true}
    }));
    for wanted in [
        "messages[0]: is an object that is no message: invalid type: integer `4`, expected a \
         string, a list of content parts, or null",
        "messages[1]: is an object that is no message: missing field `role`",
        "messages[2]: is an object that is no message: unknown variant `boss`",
        "temperature: is a string; write a number",
        "max_completion_tokens: stands beside max_tokens; keep one of the two",
        "top_k: is not a published field of a chat request; check its spelling, or put it under \
         `provider_options` to send it as it is",
        "response_format: is a string; write an object with a `type`",
        "n: is 0; write a whole number from 1",
        "user: is a whole number; write a string",
        "stop: is a whole number; write a string or a list of strings",
        "stream_options.usage: is not a published stream option; write include_usage",
    ] {
        assert!(faults.iter().any(|f| f.starts_with(wanted)), "missing: {wanted}\nin {faults:#?}");
    }
    assert_eq!(faults.len(), 11);
}

#[test]
fn a_body_that_is_no_object_or_has_no_messages_says_so() {
    assert_eq!(
        faults(json!([])),
        ["(body): is a list; send one JSON object with at least `messages`"]
    );
    assert_eq!(faults(json!({})), ["messages: is missing; give a list of message objects"]);
    assert_eq!(
        faults(json!({"messages": []})),
        ["messages: is an empty list; give at least one message"]
    );
}

#[test]
fn an_unknown_null_field_is_still_unknown() {
    let faults = faults(json!({"messages": [{"role": "user"}], "tempreature": null}));
    assert!(faults[0].starts_with("tempreature: is not a published field"), "{faults:?}");
}

#[test]
fn thinking_is_understood_or_passed_on_but_never_contradictory() {
    let read = |extra: Value| {
        let mut body = json!({"messages": [{"role": "user", "content": "x"}]});
        body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        ChatRequest::from_openai(body)
    };
    let thinking = |extra| read(extra).unwrap().0.thinking;
    assert_eq!(
        thinking(json!({"thinking": {"type": "enabled", "budget_tokens": 9}})),
        Some(Thinking::On { budget: Some(9) })
    );
    assert_eq!(thinking(json!({"thinking": {"type": "disabled"}})), Some(Thinking::Off));
    let adaptive = read(json!({"thinking": {"type": "adaptive"}})).unwrap().0;
    assert_eq!(adaptive.thinking, None);
    assert_eq!(adaptive.provider_options["thinking"], json!({"type": "adaptive"}));
    assert!(read(json!({"thinking": {"type": "enabled"}, "enable_thinking": false})).is_err());
}
