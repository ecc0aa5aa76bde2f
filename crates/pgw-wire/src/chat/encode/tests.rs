//! Tests of request bodies.

use pgw_types::built_in_profiles;
use serde_json::json;

use super::*;

fn profile(name: &str) -> ProviderProfile {
    built_in_profiles().into_iter().find(|profile| profile.name == name).unwrap()
}

fn source() -> SourceConfig {
    SourceConfig::new("s", "generic", "https://a.example/v1", "key", "m")
}

fn encode(request: &ChatRequest, profile: &ProviderProfile, stream: bool) -> Value {
    let body = encode_request(request, &source(), profile, stream).unwrap();
    serde_json::from_slice(&body).unwrap()
}

/// D65: absent stays absent.
#[test]
fn what_was_not_said_is_not_sent() {
    let request = ChatRequest::new(vec![Message::user("hi")]);
    assert_eq!(
        encode(&request, &profile("generic"), false),
        json!({"model": "m", "messages": [{"role": "user", "content": "hi"}], "stream": false})
    );
}

/// OAI-003, D61: usage is asked for in streams, and everything the caller said is there.
#[test]
fn a_full_request_loses_nothing() {
    let body = json!({
        "model": "other", "messages": [{"role": "user", "content": [{"type": "x", "y": [1, null]}]}],
        "temperature": 0.5, "top_p": 0.9, "n": 2, "stop": ["a"], "max_completion_tokens": 9,
        "seed": 3, "tools": [{"type": "function", "function": {"name": "f"}}],
        "tool_choice": "auto", "parallel_tool_calls": false, "response_format": {"type": "text"},
        "reasoning_effort": "low", "logit_bias": {"1": 2}, "user": "u"
    });
    let (request, _) = ChatRequest::from_openai(body.clone()).unwrap();
    let mut wanted = body;
    wanted["stream"] = true.into();
    wanted["stream_options"] = json!({"include_usage": true});
    assert_eq!(encode(&request, &profile("generic"), true), wanted);
}

/// GWY-026: provider options override, and no member comes twice.
#[test]
fn provider_options_override_and_nothing_comes_twice() {
    let mut request = ChatRequest::new(vec![Message::user("hi")]);
    request.temperature = Some(0.1);
    request.provider_options.insert("temperature".into(), json!(0.7));
    request.provider_options.insert("top_k".into(), json!(5));
    let body = encode_request(&request, &source(), &profile("generic"), true).unwrap();
    let text = std::str::from_utf8(&body).unwrap();
    assert_eq!(text.matches("\"temperature\"").count(), 1);
    assert!(text.contains("\"temperature\":0.7") && text.contains("\"top_k\":5"), "{text}");
}

/// OAI-019, OAI-020, OAI-023: the call's word counts over the source's, off is said out loud.
#[test]
fn thinking_is_switched_in_the_providers_words() {
    let mut request = ChatRequest::new(vec![Message::user("hi")]);
    let mut thinking_source = source();
    thinking_source.enable_thinking = Some(true);
    let with = |request: &ChatRequest, name: &str| {
        let body = encode_request(request, &thinking_source, &profile(name), false).unwrap();
        serde_json::from_slice::<Value>(&body).unwrap()
    };
    assert_eq!(with(&request, "deepseek")["thinking"], json!({"type": "enabled"}));
    assert_eq!(with(&request, "qwen")["enable_thinking"], json!(true));
    request.thinking = Some(Thinking::Off);
    assert_eq!(with(&request, "deepseek")["thinking"], json!({"type": "disabled"}));
    assert_eq!(with(&request, "qwen")["enable_thinking"], json!(false));
    request.thinking = Some(Thinking::On { budget: Some(100) });
    assert_eq!(with(&request, "qwen")["thinking_budget"], json!(100));
}

/// House rule 7: what can't be said is refused, with the way out.
#[test]
fn a_switch_without_a_word_is_refused() {
    let mut request = ChatRequest::new(vec![Message::user("hi")]);
    request.thinking = Some(Thinking::Off);
    let error = encode_request(&request, &source(), &profile("generic"), true).unwrap_err();
    assert_eq!((error.fault(), error.param()), (Fault::UnsupportedParam, Some("thinking")));
    assert!(error.message().contains("provider_options"), "{error}");
}
