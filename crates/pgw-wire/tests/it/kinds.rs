//! More samples of the kinds of oddity that the corpus has one sample of.

use std::fmt::Write as _;

use pgw_types::{AnomalyPolicy, Fault, FinishReason, ToolCall, Warning};
use serde_json::{Value, json};

use crate::fold::{Seen, context, document, fold, stream};

/// A stream of these documents, ended by `[DONE]`.
fn frames(documents: &[Value]) -> String {
    let mut body = String::new();
    for document in documents {
        write!(body, "data: {document}\n\n").unwrap();
    }
    body + "data: [DONE]\n\n"
}

fn delta(delta: &Value) -> Value {
    json!({"id": "c1", "model": "m", "choices": [{"index": 0, "delta": delta}]})
}

fn stop() -> Value {
    json!({"id": "c1", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
}

/// What comes of a stream, however it is cut.
fn read(body: &str) -> Seen {
    let by = |size| fold(stream(context(AnomalyPolicy::Retry), body.as_bytes().chunks(size)));
    let whole = by(body.len());
    for size in [1, 7] {
        assert_eq!(format!("{:?}", by(size)), format!("{whole:?}"), "{size} bytes a read: {body}");
    }
    whole
}

fn read_whole(body: &str) -> Seen {
    fold(document(context(AnomalyPolicy::Retry), body.as_bytes()))
}

/// The calls of a stream of these tool pieces, a delta each.
fn calls(deltas: &[Value]) -> Vec<ToolCall> {
    let deltas = deltas.iter().map(|pieces| delta(&json!({"tool_calls": pieces})));
    let seen = read(&frames(&deltas.chain([stop()]).collect::<Vec<_>>()));
    assert!(seen.error.is_none(), "{:?}", seen.error);
    assert_eq!(seen.reason.as_ref().map(FinishReason::as_str), Some("tool_calls"));
    seen.tool_calls
}

fn named(calls: &[ToolCall]) -> Vec<(&str, &str)> {
    calls.iter().map(|call| (call.name.as_str(), call.arguments.as_str())).collect()
}

fn fault(seen: &Seen) -> Option<Fault> {
    seen.error.as_ref().map(pgw_types::CallError::fault)
}

/// wire.md, "tool deltas": ids and indexes in every combination.
#[test]
fn pieces_of_tool_calls_find_their_call() {
    for (deltas, wanted) in [
        (
            // No id ever: an index is enough.
            vec![
                json!([{"index": 0, "function": {"name": "f", "arguments": "{\"a\""}}]),
                json!([{"index": 1, "function": {"name": "g", "arguments": "{}"}}]),
                json!([{"index": 0, "function": {"arguments": ":1}"}}]),
            ],
            vec![("f", "{\"a\":1}"), ("g", "{}")],
        ),
        (
            // Neither ids nor indexes: one call, piece by piece.
            vec![
                json!([{"function": {"name": "f", "arguments": "{\"a\""}}]),
                json!([{"function": {"name": null, "arguments": ":1}"}}]),
            ],
            vec![("f", "{\"a\":1}")],
        ),
        (
            // The index of all is 0, the ids differ.
            vec![
                json!([{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}}]),
                json!([{"index": 0, "id": "b", "function": {"name": "f", "arguments": "{\"x\""}}]),
                json!([{"index": 0, "id": "", "function": {"arguments": ":1}"}}]),
            ],
            vec![("f", "{}"), ("f", "{\"x\":1}")],
        ),
        (
            // Whole calls side by side, without ids and indexes.
            vec![json!([
                {"function": {"name": "f", "arguments": "{\"a\":1}"}},
                {"function": {"name": "g", "arguments": "{\"b\":2}"}},
            ])],
            vec![("f", "{\"a\":1}"), ("g", "{\"b\":2}")],
        ),
        (
            // Whole calls one after the other, all under index 0 and without ids.
            vec![
                json!([{"index": 0, "function": {"name": "f", "arguments": "{\"a\":\"}\"}"}}]),
                json!([{"index": 0, "function": {"name": "f", "arguments": "{\"a\":2}"}}]),
            ],
            vec![("f", "{\"a\":\"}\"}"), ("f", "{\"a\":2}")],
        ),
        (
            // The name in full on each fragment.
            vec![
                json!([{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{\"a\""}}]),
                json!([{"index": 0, "function": {"name": "f", "arguments": ":1}"}}]),
                json!([{"index": 0, "function": {"name": "f", "arguments": ""}}]),
            ],
            vec![("f", "{\"a\":1}")],
        ),
        (
            // The id comes late.
            vec![
                json!([{"index": 0, "function": {"name": "f"}}]),
                json!([{"index": 0, "id": "late", "function": {"arguments": "{}"}}]),
                json!([{"index": 0, "id": "late", "function": {"arguments": " "}}]),
            ],
            vec![("f", "{} ")],
        ),
        (
            // Ids that are numbers.
            vec![
                json!([{"index": 0, "id": 7, "function": {"name": "f", "arguments": "{"}}]),
                json!([{"index": 0, "id": 8, "function": {"name": "g", "arguments": "{}"}}]),
                json!([{"index": 0, "id": 7, "function": {"arguments": "}"}}]),
            ],
            vec![("f", "{}"), ("g", "{}")],
        ),
        (
            // Arguments as an object.
            vec![
                json!([{"index": 0, "id": "a", "function": {"name": "f", "arguments": {"a": 1}}}]),
            ],
            vec![("f", "{\"a\":1}")],
        ),
    ] {
        let found = calls(&deltas);
        assert_eq!(named(&found), wanted, "{deltas:?}");
        assert!(found.iter().all(|call| !call.id.is_empty()), "{found:?}");
        assert!(found.len() < 2 || found[0].id != found[1].id, "{found:?}");
    }
}

/// OAI-028, wire.md b: in a whole answer every element is a call of its own.
#[test]
fn tool_calls_of_a_whole_answer_stay_apart() {
    for ids in [json!([null, null]), json!(["", ""]), json!(["a", "a"]), json!(["a", "b"])] {
        let call = |at: usize, name: &str| json!({"id": ids[at], "type": "function", "function": {"name": name, "arguments": ""}});
        let body = json!({"id": "c1", "choices": [{"index": 0, "finish_reason": "tool_calls",
            "message": {"role": "assistant", "content": null, "tool_calls": [call(0, "f"), call(1, "g")]}}]});
        let calls = read_whole(&body.to_string()).tool_calls;
        assert_eq!(named(&calls), [("f", ""), ("g", "")], "{ids}");
        assert_ne!(calls[0].id, calls[1].id, "{ids}");
        if ids[0] == "a" {
            assert_eq!(calls[0].id, "a");
        }
    }
}

/// TYP-012: usage wherever and however it is written.
#[test]
fn usage_is_read_in_every_spelling() {
    for (usage, wanted) in [
        (json!({"prompt_tokens": 5, "completion_tokens": 2}), [Some(5), Some(2), None, None]),
        (json!({"prompt_tokens": "5", "completion_tokens": "2.0"}), [Some(5), Some(2), None, None]),
        (
            // new-api writes both spellings, the second one with zeros.
            json!({"prompt_tokens": 5, "completion_tokens": 2, "input_tokens": 0, "output_tokens": 0}),
            [Some(5), Some(2), None, None],
        ),
        (
            json!({"prompt_tokens": 5, "completion_tokens": 2, "prompt_cache_hit_tokens": 3,
                "prompt_cache_miss_tokens": 2, "prompt_tokens_details": null}),
            [Some(5), Some(2), Some(3), None],
        ),
        (
            // A relay's zero beside what the service said.
            json!({"prompt_tokens": 5, "completion_tokens": 2, "prompt_cache_hit_tokens": 3,
                "prompt_tokens_details": {"cached_tokens": 0}}),
            [Some(5), Some(2), Some(3), None],
        ),
        (
            json!({"input_tokens": 5, "output_tokens": 2, "input_tokens_details": {"cached_tokens": 3},
                "output_tokens_details": {"reasoning_tokens": 1}}),
            [Some(5), Some(2), Some(3), Some(1)],
        ),
        (json!({"prompt_tokens": null, "completion_tokens": []}), [None; 4]),
        (json!({}), [None; 4]),
        (json!(null), [None; 4]),
    ] {
        let mut tail = stop();
        tail["usage"] = usage.clone();
        let found = read(&frames(&[delta(&json!({"content": "a"})), tail])).usage;
        let found = [
            found.prompt_tokens,
            found.completion_tokens,
            found.cached_tokens,
            found.reasoning_tokens,
        ];
        assert_eq!(found, wanted, "{usage}");
    }
}

/// OAI-021: text and thinking under all their names and in all their shapes.
#[test]
fn content_and_thinking_are_read_in_every_shape() {
    for (deltas, content, thinking) in [
        (vec![json!({"content": [{"type": "text", "text": "a"}, "b"]})], "ab", ""),
        (
            vec![
                json!({"content": [{"type": "reasoning", "text": "hm"}, {"type": "text", "text": "a"}]}),
            ],
            "a",
            "hm",
        ),
        (
            vec![json!({"reasoning": "hm", "reasoning_content": "hm"}), json!({"content": "a"})],
            "a",
            "hm",
        ),
        (
            vec![
                json!({"reasoning_details": [{"type": "reasoning.summary", "summary": "hm"}]}),
                json!({"content": "a"}),
            ],
            "a",
            "hm",
        ),
        (vec![json!({"content": "hm</thi"}), json!({"content": "nk>a"})], "a", "hm"),
        (
            // Thinking came by its own field: a tag in the text is text.
            vec![json!({"reasoning": "hm"}), json!({"content": "say </think> twice"})],
            "say </think> twice",
            "hm",
        ),
        (
            vec![
                json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]}),
                json!({"content": "say </think> twice"}),
            ],
            "say </think> twice",
            "hm",
        ),
        (vec![json!({"content": "a", "role": null}), json!(null)], "a", ""),
    ] {
        let documents: Vec<_> = deltas.iter().map(delta).chain([stop()]).collect();
        let found = read(&frames(&documents));
        assert_eq!(fault(&found), None, "{deltas:?}: {:?}", found.error);
        let text = |slot: &Option<String>| slot.clone().unwrap_or_default();
        assert_eq!(
            (text(&found.content), text(&found.thinking)),
            (content.into(), thinking.into()),
            "{deltas:?}"
        );
    }
}

/// wire.md, "Chunk contents": finish reasons in everybody's words; the one that says most stands.
#[test]
fn finish_reasons_are_understood() {
    for (words, reason, raw) in [
        (&["stop"][..], "stop", None),
        (&["", "STOP"], "stop", Some("STOP")),
        (&["eos"], "stop", Some("eos")),
        (&["MAX_TOKENS"], "length", Some("MAX_TOKENS")),
        (&["function_call"], "tool_calls", Some("function_call")),
        (&["load"], "load", None),
        // A relay writes stop on every chunk.
        (&["stop", "stop", "length"], "length", None),
        (&["length", "stop"], "length", None),
    ] {
        let chunk = |word: &&str| json!({"id": "c", "choices": [{"index": 0, "delta": {"content": "a"}, "finish_reason": word}]});
        let found = read(&frames(&words.iter().map(chunk).collect::<Vec<_>>()));
        let found_reason = found.reason.as_ref().map(FinishReason::as_str);
        assert_eq!((found_reason, found.raw_reason.as_deref()), (Some(reason), raw), "{words:?}");
    }
}

/// wire.md a: half a surrogate pair is half a character, not a damaged frame.
#[test]
fn a_split_surrogate_pair_is_a_replacement_and_no_damage() {
    let chunk = |text: &str| {
        format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n")
    };
    let body =
        chunk("a\\ud83d") + &chunk("\\ude00b") + &chunk("\\ud83d\\ude00") + &chunk("\\\\ud83d");
    let found = read(&format!("{body}data: {}\n\n", stop()));
    assert_eq!(fault(&found), None, "{:?}", found.error);
    assert_eq!(found.content.as_deref(), Some("a\u{fffd}\u{fffd}b😀\\ud83d"));
    assert_eq!(found.warnings, [Warning::ReplacementChars]);
}

/// Whole answers: what stands around the document, and what is no answer.
#[test]
fn whole_answers_are_read() {
    let answer =
        json!({"id": "c1", "choices": [{"message": {"content": "a"}, "finish_reason": "stop"}]});
    for body in [format!("\n\n\n{answer}\n"), format!("\u{feff}{answer}")] {
        let found = read_whole(&body);
        assert_eq!((fault(&found), found.content.as_deref()), (None, Some("a")), "{body}");
    }
    for (body, wanted) in [
        (json!({"choices": []}).to_string(), Fault::EmptyResponse),
        (json!({"id": "c1"}).to_string(), Fault::EmptyResponse),
        (json!({"choices": null}).to_string(), Fault::EmptyResponse),
        (answer.to_string()[..30].to_owned(), Fault::Truncated),
        (json!({"error": {"code": 401, "message": "x"}}).to_string(), Fault::InvalidKey),
        (json!({"error": {"code": "insufficient_quota"}}).to_string(), Fault::Quota),
        (json!({"detail": "Internal error"}).to_string(), Fault::ServerError),
        // A chunk of a stream is no whole answer, and this one has no end.
        (delta(&json!({"content": "a"})).to_string(), Fault::Truncated),
    ] {
        assert_eq!(fault(&read_whole(&body)), Some(wanted), "{body}");
    }
}

/// An endless run of blanks, as JSON mode brings them on, is given out as it comes: it must not be
/// held back, and looked through anew, to its end.
#[test]
fn blanks_are_not_held_back_for_ever() {
    let documents: Vec<_> = (0..200).map(|_| delta(&json!({"content": "\n"}))).collect();
    let (events, _) = stream(context(AnomalyPolicy::Retry), [frames(&documents).as_bytes()]);
    assert!(events.len() > 100, "{} events", events.len());
    // The blanks before a tag are few, and it is still found.
    let tagged = delta(&json!({"content": "\n \n<think>hm</think>a"}));
    let found = read(&frames(&[tagged, stop()]));
    assert_eq!((found.content.as_deref(), found.thinking.as_deref()), (Some("a"), Some("hm")));
}
