//! Tests of weighing requests and putting answers together.

use pgw_types::{Message, Part, Role};
use serde_json::{Value, json};

use super::*;

const FLOOR: u64 = 1_000;

fn source() -> SourceConfig {
    SourceConfig::new("a", "generic", "http://test", "key", "model")
}

fn request() -> ChatRequest {
    // 30 bytes of text are 10 tokens, and 4 for the framing.
    ChatRequest::new(vec![Message::user("x".repeat(30))])
}

fn assembled(events: impl IntoIterator<Item = ChatEvent>) -> ChatAssembly {
    let mut assembly = Chat::assembly(&request(), &source());
    for event in events {
        assembly.push(&event);
    }
    assembly
}

fn response(events: impl IntoIterator<Item = ChatEvent>) -> LlmResponse {
    *assembled(events).finish(AttemptFacts::default()).unwrap()
}

fn failure(events: impl IntoIterator<Item = ChatEvent>) -> Fault {
    let result = assembled(events).finish(AttemptFacts::default());
    result.unwrap_err().fault()
}

fn content(choice: u32, text: &str) -> ChatEvent {
    ChatEvent::ContentDelta { choice, text: text.into() }
}

fn thinking(text: &str) -> ChatEvent {
    ChatEvent::ThinkingDelta { choice: 0, text: text.into() }
}

fn finish(reasons: &[&str]) -> ChatEvent {
    ChatEvent::Finish(Finish {
        reasons: reasons.iter().map(|word| FinishReason::from(*word)).collect(),
        ..Finish::default()
    })
}

fn usage(prompt: Option<u64>, completion: Option<u64>) -> ChatEvent {
    ChatEvent::Usage(UsageReport {
        prompt_tokens: prompt,
        completion_tokens: completion,
        ..UsageReport::default()
    })
}

/// GWY-082: what a source declares speaks against requests that are more, and against no other.
#[test]
fn a_source_is_unfit_for_more_than_it_declares() {
    let plain = request();
    let long = ChatRequest { max_tokens: Some(100), ..request() };
    let tools = ChatRequest { tools: vec![json!({"type": "function"})], ..request() };
    let image = Part::image_url("https://a.example/cat.png");
    let image = ChatRequest::new(vec![
        Message::parts(Role::User, vec![Part::text("what?"), image]),
        Message::assistant("a cat"),
    ]);
    let unfit = |source: &SourceConfig| {
        [&plain, &long, &tools, &image].map(|request| Chat::unfit(request, source))
    };
    let none = || [None, None, None, None];
    assert_eq!(unfit(&source()), none(), "nothing is declared");
    assert_eq!(unfit(&SourceConfig { context_tokens: Some(9_999), ..source() }), none());

    // 14 tokens of prompt, and an answer of 100 at most.
    let small = SourceConfig { context_tokens: Some(113), ..source() };
    let image_too = "needs about 1012 tokens, its context holds 113".to_owned();
    let long_too = "needs about 114 tokens, its context holds 113".to_owned();
    assert_eq!(unfit(&small), [None, Some(long_too), None, Some(image_too)]);
    assert_eq!(unfit(&SourceConfig { context_tokens: Some(114), ..source() })[1], None);

    let blunt = SourceConfig { can_use_tools: false, ..source() };
    let why = Some("can't use tools, and the call brings some".to_owned());
    assert_eq!(unfit(&blunt), [None, None, why, None]);
    let blind = SourceConfig { can_see_images: false, ..source() };
    let why = Some("can't see images, and the call brings some".to_owned());
    assert_eq!(unfit(&blind), [None, None, None, why]);
}

/// MID-090, D81, OPEN-08: complete but empty is a failure that is tried again.
#[test]
fn nothing_said_is_an_empty_response() {
    let empty: [Vec<ChatEvent>; 6] = [
        vec![],
        vec![content(0, "")],
        vec![content(0, " \n\t")],
        vec![thinking("only thinking")],
        vec![
            ChatEvent::ReasoningItem { choice: 0, item: json!({"id": "r"}) },
            usage(Some(3), Some(0)),
        ],
        vec![ChatEvent::RefusalDelta { choice: 0, text: String::new() }],
    ];
    for mut events in empty {
        events.push(finish(&["stop"]));
        assert_eq!(failure(events.clone()), Fault::EmptyResponse, "{events:?}");
    }
    // Cut at the limit before a word was thought: asking again may help.
    assert_eq!(failure([finish(&["length"])]), Fault::EmptyResponse);
}

/// Architecture §12 (OPEN-08), D67: an output limit spent on thinking is no use asking again.
#[test]
fn a_limit_spent_on_thinking_is_final() {
    let seen = [thinking("hm"), content(0, " "), finish(&["length"])];
    assert_eq!(failure(seen), Fault::ThinkingOnly);
    // Services that hide the thinking tell it by the usage alone.
    let hidden = ChatEvent::Usage(UsageReport {
        prompt_tokens: Some(10),
        completion_tokens: Some(64),
        reasoning_tokens: Some(64),
        ..UsageReport::default()
    });
    assert_eq!(failure([hidden, finish(&["length"])]), Fault::ThinkingOnly);
    // With any text it is an answer, cut at its limit.
    let cut = response([thinking("hm"), content(0, "so"), finish(&["length"])]);
    assert_eq!(cut.finish_reason, FinishReason::Length);
}

/// Architecture §4: an answer that the filter withheld altogether is a rejected request.
#[test]
fn a_withheld_answer_is_a_content_filter() {
    assert_eq!(failure([finish(&["content_filter"])]), Fault::ContentFilter);
    let cut = response([content(0, "so far"), finish(&["content_filter"])]);
    assert_eq!(cut.finish_reason, FinishReason::ContentFilter);
}

/// OAI: a refusal is an answer.
#[test]
fn a_refusal_is_an_answer() {
    let refusal = |text: &str| ChatEvent::RefusalDelta { choice: 0, text: text.into() };
    let events = [refusal("I can't "), refusal("say."), finish(&["stop"])];
    let assembly = assembled(events.clone());
    assert_eq!(assembly.recorded().response, "I can't say.");
    let answer = response(events);
    assert_eq!(answer.refusal.as_deref(), Some("I can't say."));
    assert_eq!(answer.content, "");
    assert_eq!(response([content(0, "x"), finish(&["stop"])]).refusal, None);
}

fn tool(slot: u32, id: Option<&str>, name: Option<&str>, arguments: &str) -> ChatEvent {
    ChatEvent::ToolDelta(ToolDelta {
        choice: 0,
        slot,
        id: id.map(Into::into),
        name: name.map(Into::into),
        arguments: arguments.into(),
        ..ToolDelta::default()
    })
}

/// OAI: pieces of tool calls come together by their slot; the first id and name stand.
#[test]
fn tool_calls_come_together_by_slot() {
    let mut extra = tool(0, None, None, "");
    if let ChatEvent::ToolDelta(delta) = &mut extra {
        let signature = json!({"google": {"thought_signature": "c2ln"}});
        delta.extra.insert("extra_content".into(), signature);
    }
    let answer = response([
        tool(0, Some("one"), Some("look"), "{\"a\""),
        tool(1, Some("two"), None, ""),
        tool(0, Some("other"), Some(""), ":1}"),
        tool(1, None, Some("tell"), "{}"),
        extra,
        finish(&["tool_calls"]),
    ]);
    let calls: Vec<_> =
        answer.tool_calls.iter().map(|call| (&*call.id, &*call.name, &*call.arguments)).collect();
    assert_eq!(calls, [("one", "look", "{\"a\":1}"), ("two", "tell", "{}")]);
    assert!(answer.tool_calls[0].extra.contains_key("extra_content"));
    assert_eq!(answer.finish_reason, FinishReason::ToolCalls);
}

/// Several answers keep apart, each with its own reason; one that says something is enough.
#[test]
fn several_answers_keep_apart() {
    let answer = response([
        content(1, "b"),
        content(0, " "),
        content(2, "c"),
        content(1, "B"),
        ChatEvent::Finish(Finish {
            reasons: vec![FinishReason::Stop, FinishReason::Length],
            raw_reasons: vec![None, Some("MAX_TOKENS".into())],
            ..Finish::default()
        }),
    ]);
    assert_eq!(answer.content, " ");
    let others: Vec<_> = answer
        .other_choices
        .iter()
        .map(|choice| (&*choice.content, choice.finish_reason.as_str()))
        .collect();
    assert_eq!(others, [("bB", "length"), ("c", "stop")]);
    assert_eq!(answer.other_choices[0].raw_finish_reason.as_deref(), Some("MAX_TOKENS"));
}

/// D71: the last report of each member wins, and a complete report is what is booked.
#[test]
fn reported_usage_is_booked() {
    let events = [
        usage(Some(7), Some(1)),
        content(0, "a long text that is not counted"),
        usage(None, Some(9)),
        finish(&["stop"]),
    ];
    let answer = response(events);
    assert_eq!((answer.prompt_tokens, answer.completion_tokens), (7, 9));
    assert_eq!(answer.usage_source, UsageSource::Measured);
    assert_eq!(answer.warnings, []);
}

/// OAI-024, D75: without a report the usage is estimated, no lower than the source's constant, and
/// said to be so.
#[test]
fn missing_usage_is_estimated() {
    let answer = response([content(0, "x".repeat(30).as_str()), finish(&["stop"])]);
    assert_eq!(answer.completion_tokens, 10);
    assert_eq!(answer.prompt_tokens + answer.completion_tokens, FLOOR);
    assert_eq!(answer.usage_source, UsageSource::Estimated);
    assert_eq!(answer.warnings, [Warning::UsageEstimated]);

    // A long answer is over the floor by itself; the prompt counts by its length.
    let long = response([content(0, "x".repeat(6_000).as_str()), finish(&["stop"])]);
    assert_eq!((long.prompt_tokens, long.completion_tokens), (14, 2_000));

    // Half a report keeps its half.
    let half = response([usage(Some(77), None), content(0, "xyz"), finish(&["stop"])]);
    assert_eq!((half.prompt_tokens, half.completion_tokens), (77, 1));
    assert_eq!(half.usage_source, UsageSource::Estimated);
}

/// OAI-007, architecture §12: a salvaged answer says so, and its usage is an estimate whatever was reported.
#[test]
fn a_salvaged_answer_is_estimated() {
    let answer = response([
        content(0, "half"),
        usage(Some(4), Some(2)),
        ChatEvent::Finish(Finish {
            reasons: vec![FinishReason::Stop],
            warnings: vec![Warning::MissingDone],
            salvaged: true,
            ..Finish::default()
        }),
    ]);
    assert!(answer.salvaged);
    assert_eq!((answer.prompt_tokens, answer.completion_tokens), (4, 2));
    assert_eq!(answer.usage_source, UsageSource::Estimated);
    assert_eq!(answer.warnings, [Warning::MissingDone, Warning::UsageEstimated]);
}

/// The lists of log-probabilities run on from delta to delta.
#[test]
fn logprobs_run_on() {
    let logprobs = |value: Value| ChatEvent::Logprobs { choice: 0, value };
    let answer = response([
        content(0, "ab"),
        logprobs(json!({"content": [{"token": "a"}], "refusal": null})),
        logprobs(json!({"content": [{"token": "b"}], "refusal": null})),
        finish(&["stop"]),
    ]);
    assert_eq!(
        answer.logprobs,
        Some(json!({"content": [{"token": "a"}, {"token": "b"}], "refusal": null}))
    );
}

/// What the service says of itself is kept; what it doesn't say is filled in from the source.
#[test]
fn the_answer_names_its_origin() {
    let silent = response([content(0, "x"), finish(&["stop"])]);
    assert_eq!(
        (&*silent.model, &*silent.provider, &*silent.source_name),
        ("model", "generic", "a")
    );
    let named = response([
        ChatEvent::MessageStart {
            id: "id".into(),
            model: "served".into(),
            request_id: Some("up".into()),
        },
        ChatEvent::ReasoningItem { choice: 0, item: json!({"id": "r"}) },
        content(0, "x"),
        finish(&["stop"]),
    ]);
    assert_eq!((&*named.model, &*named.response_id), ("served", "id"));
    assert_eq!(named.upstream_request_id.as_deref(), Some("up"));
    assert_eq!(named.reasoning_items, [json!({"id": "r"})]);
}

/// What never came is told apart from what came empty.
#[test]
fn a_partial_tells_nothing_from_empty() {
    assert!(assembled([]).partial().is_empty());
    let empty = assembled([content(0, "")]).partial();
    assert_eq!(empty.content.as_deref(), Some(""));
    assert_eq!(empty.thinking, None);
}

/// MID-009: the charge at the door is the source's constant, or more if the request says so.
#[test]
fn the_estimate_is_the_larger() {
    let estimate = |request: &ChatRequest| Chat::estimate_tokens(request, &source());
    assert_eq!(estimate(&request()), FLOOR);
    let capped = ChatRequest { max_tokens: Some(5_000), ..request() };
    assert_eq!(estimate(&capped), 5_014);
    let mut image = request();
    let parts = vec![
        pgw_types::Part::image_url("data:image/png;base64,AAAA"),
        pgw_types::Part::text("xyz"),
    ];
    image.messages.push(Message::parts(pgw_types::Role::User, parts));
    assert_eq!(estimate(&image), 14 + 1_000 + 1 + 4);
    let overflowing = ChatRequest { max_tokens: Some(u64::MAX), ..request() };
    assert_eq!(estimate(&overflowing), u64::MAX);
}
