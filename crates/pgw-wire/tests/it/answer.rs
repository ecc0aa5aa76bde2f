//! Single rules of the codec, each with the smallest answer that shows it.

use std::fmt::Write as _;

use pgw_types::{AnomalyPolicy, ChatEvent, Fault, FinishReason, UsageReport, Warning};
use pgw_wire::{
    chat::{AnswerContext, ChunkDecoder},
    sse::SseDecoder,
};
use serde_json::{Value, json};

use crate::fold::{Seen, context, cut_stream, document, fold, stream};

/// A stream of these chunks, each a `choices[0]` object, with `[DONE]` at its end.
fn body(choices: &[Value]) -> String {
    let mut body = String::new();
    for choice in choices {
        write!(body, "data: {}\n\n", json!({"id": "c1", "choices": [choice]})).unwrap();
    }
    body + "data: [DONE]\n\n"
}

fn run(context: AnswerContext, body: &str) -> Seen {
    fold(stream(context, [body.as_bytes()]))
}

fn retrying() -> AnswerContext {
    context(AnomalyPolicy::Retry)
}

fn salvaging() -> AnswerContext {
    AnswerContext { missing_done: AnomalyPolicy::Salvage, ..context(AnomalyPolicy::Salvage) }
}

fn usage_of(usage: &Value) -> UsageReport {
    let answer = json!({"usage": usage, "choices": [{"message": {"content": "x"}}]});
    fold(document(retrying(), answer.to_string().as_bytes())).usage
}

fn report(prompt: u64, completion: u64) -> UsageReport {
    UsageReport {
        prompt_tokens: Some(prompt),
        completion_tokens: Some(completion),
        ..UsageReport::default()
    }
}

/// OAI-024: the spellings of usage, and zeros that only say that nobody counts.
#[test]
fn usage_is_read_in_every_spelling() {
    for (usage, wanted) in [
        (json!({"prompt_tokens": 3, "completion_tokens": 2}), report(3, 2)),
        (json!({"prompt_tokens": "3", "completion_tokens": 2.0}), report(3, 2)),
        (json!({"input_tokens": 3, "output_tokens": 2}), report(3, 2)),
        (
            json!({"prompt_tokens": 3, "completion_tokens": 2, "input_tokens": 0,
                   "output_tokens": 0, "input_tokens_details": null}),
            report(3, 2),
        ),
        (json!({"prompt_tokens": 3, "total_tokens": 5}), report(3, 2)),
        (json!({"prompt_tokens": 3, "completion_tokens": 0}), report(3, 0)),
        (json!({"prompt_tokens": 0, "completion_tokens": 0}), UsageReport::default()),
        (json!({}), UsageReport::default()),
        (json!(null), UsageReport::default()),
        (
            json!({"prompt_tokens": 9, "completion_tokens": 1, "prompt_cache_hit_tokens": 4,
                   "prompt_cache_miss_tokens": 5, "completion_tokens_details":
                   {"reasoning_tokens": 1}, "prompt_tokens_details": null}),
            UsageReport { cached_tokens: Some(4), reasoning_tokens: Some(1), ..report(9, 1) },
        ),
    ] {
        assert_eq!(usage_of(&usage), wanted, "{usage}");
    }
}

/// A later frame of zeros does not undo what was counted.
#[test]
fn the_last_usage_that_says_something_counts() {
    let stream = [
        json!({"choices": [{"delta": {"content": "x"}}], "usage": {"prompt_tokens": 3,
               "completion_tokens": 1}}),
        json!({"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 3,
               "completion_tokens": 2}}),
        json!({"choices": [], "usage": {"prompt_tokens": 0, "completion_tokens": 0}}),
    ];
    let body = stream.map(|chunk| format!("data: {chunk}\n\n")).concat();
    assert_eq!(run(retrying(), &body).usage, report(3, 2));
}

#[test]
fn of_a_member_that_comes_twice_the_last_counts() {
    let twice = r#"{"id":"a","id":"b","choices":[{"message":{"content":"x","content":"y"}}]}"#;
    let seen = fold(document(retrying(), twice.as_bytes()));
    assert_eq!((seen.id.as_str(), seen.content.as_deref()), ("b", Some("y")));
}

/// Members of the wrong shape are as good as absent (0xPlaygrounds/rig#1662).
#[test]
fn wrong_shapes_do_no_harm() {
    let odd = json!({"id": 7, "model": [], "object": {}, "created": 1.5, "error": false,
        "choices": [null, 3, {"index": "0", "delta": "x"}, {"index": null, "message":
        {"content": "ok", "tool_calls": {}, "function_call": [], "refusal": 1, "role": null},
        "finish_reason": ["stop"], "logprobs": null}]});
    let seen = fold(document(retrying(), odd.to_string().as_bytes()));
    assert_eq!(seen.content.as_deref(), Some("ok"));
}

/// The keying rules of tool calls, in their order.
#[test]
fn pieces_of_tool_calls_find_their_call() {
    let tool = |piece: Value| json!({"delta": {"tool_calls": [piece]}});
    let open = |index: Value, id: Value| {
        tool(json!({"index": index, "id": id, "function": {"name": "f", "arguments": ""}}))
    };
    let more = |index: Value, id: Value, arguments: &str| {
        tool(json!({"index": index, "id": id, "function": {"name": null, "arguments": arguments}}))
    };
    let null = || Value::Null;
    for (pieces, wanted) in [
        // An id seen before, whatever the index says.
        (
            vec![
                open(json!(0), json!("a")),
                open(json!(0), json!("b")),
                more(json!(0), json!("a"), "1"),
            ],
            &[("a", "1"), ("b", "")][..],
        ),
        // No id: the call opened last under the index.
        (
            vec![
                open(json!(0), json!("a")),
                open(json!(1), json!("b")),
                more(json!(0), null(), "1"),
                more(json!(1), json!(""), "2"),
            ],
            &[("a", "1"), ("b", "2")],
        ),
        // Neither: the call opened last.
        (
            vec![open(null(), json!("a")), open(null(), json!("b")), more(null(), null(), "1")],
            &[("a", ""), ("b", "1")],
        ),
        // Pieces that say nothing open nothing.
        (
            vec![more(json!(0), json!(""), ""), tool(json!({})), open(json!(0), json!("a"))],
            &[("a", "")],
        ),
    ] {
        let mut chunks = pieces.clone();
        chunks.push(json!({"delta": {}, "finish_reason": "tool_calls"}));
        let seen = run(retrying(), &body(&chunks));
        let calls = seen.tool_calls.iter().map(|call| (call.id.as_str(), call.arguments.as_str()));
        assert_eq!(calls.collect::<Vec<_>>(), wanted, "{pieces:?}");
    }
}

/// Ids of our own are unique over the answers of a conversation, and short enough to send back.
#[test]
fn calls_without_an_id_get_one() {
    let chunks = [json!({"delta": {"tool_calls": [
        {"index": 0, "function": {"name": "f", "arguments": {"a": 1}}},
        {"index": 1, "function": {"name": "g", "arguments": "{}"}},
    ]}, "finish_reason": "stop"})];
    let call = |call_id: &str| {
        let context = AnswerContext { call_id: call_id.into(), ..retrying() };
        run(context, &body(&chunks)).tool_calls
    };
    let (one, two) = (call("1"), call("2"));
    assert_eq!((one[0].arguments.as_str(), one[1].name.as_str()), (r#"{"a":1}"#, "g"));
    assert!(one[0].id != one[1].id && one[0].id != two[0].id, "{one:?} {two:?}");
    assert!(one.iter().all(|call| call.id.starts_with("call_") && call.id.len() <= 40));
    assert_eq!(one, call("1"));
}

#[test]
fn a_call_in_the_old_form_is_a_call() {
    let chunks = [
        json!({"delta": {"function_call": {"name": "f", "arguments": "{\"a\""}}}),
        json!({"delta": {"function_call": {"arguments": ":1}"}}}),
        json!({"delta": {}, "finish_reason": "function_call"}),
    ];
    let seen = run(retrying(), &body(&chunks));
    assert_eq!(seen.tool_calls.len(), 1);
    assert_eq!(seen.tool_calls[0].arguments, r#"{"a":1}"#);
    assert_eq!(seen.reason, Some(FinishReason::ToolCalls));
}

/// What a hostile service counts up does not fill the memory.
#[test]
fn answers_and_calls_are_bounded() {
    let chunks = [json!({"index": 5_000_000, "delta": {"content": "x"}})];
    let error = run(retrying(), &body(&chunks)).error.unwrap();
    assert_eq!(error.fault(), Fault::BadResponse);
    assert_eq!(error.message(), "the answer has a choice number 5000000");
    let pieces: Vec<_> = (0..5_000).map(|n| json!({"id": n.to_string() + "x"})).collect();
    let error = run(retrying(), &body(&[json!({"delta": {"tool_calls": pieces}})])).error.unwrap();
    assert_eq!(error.fault(), Fault::BadResponse);
    assert_eq!(error.message(), "the answer has more than 4096 tool calls");
}

/// `MessageStart` comes first and once, whatever comes first from the service.
#[test]
fn the_first_event_is_the_start() {
    for choice in [
        json!({"delta": {"reasoning_details": [{"type": "reasoning.encrypted", "data": "x"}]}}),
        json!({"delta": {}, "logprobs": {"content": []}}),
        json!({"delta": {"content": "x"}}),
        json!({"delta": {}, "finish_reason": "stop"}),
    ] {
        let chunk = json!({"choices": [choice]});
        let stop = json!({"choices": [{"delta": {}, "finish_reason": "stop"}]});
        let body = format!("data: {chunk}\n\ndata: {stop}\n\n");
        let (events, _) = stream(retrying(), [body.as_bytes()]);
        let starts = |event: &ChatEvent| matches!(event, ChatEvent::MessageStart { .. });
        assert!(starts(&events[0]), "{events:?}");
        assert_eq!(events.iter().filter(|event| starts(event)).count(), 1);
    }
}

/// Signed reasoning must be sent back as it came, text and all.
#[test]
fn signed_reasoning_is_kept_for_the_echo() {
    let item = json!({"type": "reasoning.text", "text": "hm", "signature": "c2ln"});
    let chunks = [json!({"delta": {"reasoning_details": [item], "content": "x"},
                         "finish_reason": "stop"})];
    let seen = run(retrying(), &body(&chunks));
    assert_eq!(seen.thinking.as_deref(), Some("hm"));
    assert_eq!(seen.echo, [item]);
}

/// OAI-021: with thinking in a field of its own, a closing tag in the answer is a quotation.
#[test]
fn tags_are_text_when_thinking_comes_by_a_field() {
    let chunks = [
        json!({"delta": {"reasoning_content": "hm"}}),
        json!({"delta": {"content": "write </think> to close"}, "finish_reason": "stop"}),
    ];
    let seen = run(retrying(), &body(&chunks));
    assert_eq!(seen.content.as_deref(), Some("write </think> to close"));
    assert_eq!(seen.thinking.as_deref(), Some("hm"));
}

/// OAI-005, OAI-006, OAI-007: the end of a stream, by the policy of its source.
#[test]
fn an_end_without_a_finish_reason_is_ruled_by_policy() {
    let half = body(&[json!({"delta": {"content": "ha"}})]);
    let error = run(retrying(), &half).error.unwrap();
    assert_eq!(error.fault(), Fault::Truncated);
    assert_eq!(error.message(), "the stream ended with [DONE] but without a finish reason");
    let cut = half.replace("data: [DONE]\n\n", "");
    assert_eq!(run(retrying(), &cut).error.unwrap().fault(), Fault::Truncated);
    for body in [&half, &cut] {
        let seen = run(salvaging(), body);
        assert!(seen.error.is_none(), "{:?}", seen.error);
        assert_eq!(seen.warnings, [Warning::MissingDone]);
    }
    // Nothing at all is never an answer.
    let error = run(salvaging(), "data: [DONE]\n\n").error.unwrap();
    assert_eq!(error.fault(), Fault::EmptyResponse);
}

/// OAI-005, OAI-007: a body that HTTP cut is no whole answer, not even after its finish reason.
#[test]
fn a_body_cut_after_the_finish_reason_is_ruled_by_policy() {
    let cut = body(&[json!({"delta": {"content": "ha"}, "finish_reason": "stop"})])
        .replace("data: [DONE]\n\n", "");
    let error = fold(cut_stream(retrying(), cut.as_bytes())).error.unwrap();
    assert_eq!(error.fault(), Fault::Truncated);
    assert_eq!(error.message(), "the body was cut after the finish reason");
    let seen = fold(cut_stream(salvaging(), cut.as_bytes()));
    assert!(seen.error.is_none(), "{:?}", seen.error);
    assert_eq!(
        (seen.content.as_deref(), &*seen.warnings),
        (Some("ha"), &[Warning::MissingDone][..])
    );
    // Whole by HTTP, it is only short of `[DONE]`.
    assert!(run(retrying(), &cut).error.is_none());
}

/// OAI-009: text that was held back as a possible tag belongs to what survives an error.
#[test]
fn held_text_goes_out_before_an_error() {
    let mut body = body(&[json!({"delta": {"content": "1 <"}})]);
    body = body.replace("[DONE]", r#"{"error":{"message":"gone","code":502}}"#);
    let seen = run(retrying(), &body);
    assert_eq!(seen.content.as_deref(), Some("1 <"));
    assert_eq!(seen.error.unwrap().fault(), Fault::ServerError);
}

#[test]
fn a_finish_reason_may_say_that_generation_broke() {
    for word in ["error", "network_error", "insufficient_system_resource"] {
        let chunks = [json!({"delta": {"content": "x"}, "finish_reason": word})];
        let error = run(retrying(), &body(&chunks)).error.unwrap();
        assert_eq!(error.fault(), Fault::ServerError);
        assert!(error.message().ends_with(word), "{error}");
    }
}

/// Errors in a stream, in the forms that need the framing's help.
#[test]
fn an_error_event_is_found_wherever_it_stands() {
    let cut = r#"data: {"choices":[{"delta":{"con"#;
    let report = r#"{"message":"slow down","code":"rate_limit_exceeded"}"#;
    for body in [
        format!("{cut}\nevent: error\ndata: {report}\n\n"),
        format!("event: error\ndata: {report}\n\n"),
        "event: error\ndata: {\"message\":\"slow down\",\ndata: \"code\":\"rate_limit_exceeded\"}\n\n"
            .to_owned(),
        format!("{cut}\ndata: {report}\n\n"),
        format!("data: {{\"choices\":[]}}\nevent: error\ndata: {report}\n\n"),
        format!("data: {{\"choices\":[]}}\nerror: {report}\n\n"),
        format!("id:1\nevent:error\n:HTTP_STATUS/429\ndata:{report}\n\n"),
    ] {
        let error = run(retrying(), &body).error.unwrap();
        assert_eq!((error.fault(), error.message()), (Fault::RateLimit, "slow down"), "{body}");
    }
}

/// OAI-030: damage is shown, and salvage takes every whole frame out of it.
#[test]
fn glued_frames_are_damage_or_are_taken_apart() {
    let chunk = |text: &str| json!({"choices": [{"delta": {"content": text}}]});
    let stop = json!({"choices": [{"delta": {}, "finish_reason": "stop"}]});
    let body = format!(
        "data: {{\"chodata: {}data:{} data: {}\n\ndata: {stop}\n\n",
        chunk("a"),
        chunk("say data: {"),
        chunk("c")
    );
    let error = run(retrying(), &body).error.unwrap();
    assert_eq!(error.fault(), Fault::DamagedFrame);
    assert!(error.message().contains(r#"{"chodata: {"choices""#), "{error}");
    let seen = run(salvaging(), &body);
    assert_eq!(seen.content.as_deref(), Some("asay data: {c"));
    assert_eq!(seen.warnings, [Warning::DamagedFrame]);
}

#[test]
fn a_comment_in_a_data_line_is_skipped_with_a_warning() {
    let body = format!(
        "data: : OPENROUTER PROCESSING\n\n{}",
        body(&[json!({"delta": {"content": "x"}, "finish_reason": "stop"})])
    );
    assert_eq!(run(retrying(), &body).warnings, [Warning::CommentAsData]);
}

/// CLI-037: the key of the request is hidden whatever its form, and others by their form.
#[test]
fn keys_are_not_repeated_in_errors() {
    for body in [
        "data: {\"error\":\"no such key canary-key-0123 or sk-canary0123456789\"}\n\n",
        "data: {\"canary-key-0123 sk-canary0123456789\n\n",
        "error: {\"message\":\"canary-key-0123 sk-canary0123456789\"}\n\n",
    ] {
        let error = run(retrying(), body).error.unwrap();
        let shown = format!("{error} {error:?}");
        assert!(!shown.contains("canary"), "{shown}");
    }
}

/// Silence after a finish reason is the end only if all answers that were asked for have one.
#[test]
fn several_answers_are_waited_for() {
    let mut decoder = ChunkDecoder::new(AnswerContext { wanted: 2, ..retrying() });
    let mut frames = SseDecoder::default();
    for (index, may_end) in [(0, false), (1, true)] {
        let choice = json!({"index": index, "delta": {"content": "x"}, "finish_reason": "stop"});
        frames.feed(format!("data: {}\n\n", json!({"choices": [choice]})).into());
        decoder.take(&frames.next_event().unwrap().unwrap()).unwrap();
        assert_eq!(decoder.may_end(), may_end);
    }
}
