//! Chunks that look alike: reading them by their likeness gives what reading each anew gives.

use pgw_types::{AnomalyPolicy, ChatEvent, Fault};
use proptest::prelude::*;

use crate::fold::{context, stream};

/// Chunks in the forms in which services write them, with `TEXT` in the place of their text.
const FORMS: [&str; 9] = [
    r#"{"id":"a","choices":[{"index":0,"delta":{"content":"TEXT"},"finish_reason":null}]}"#,
    r#"{"id":"a","choices":[{"index":1,"delta":{"content":"TEXT"},"finish_reason":null}]}"#,
    r#"{"choices":[{"delta":{"reasoning_content":"TEXT","content":null}}]}"#,
    r#"{"choices":[{"delta":{"reasoning":"TEXT"}}],"usage":{"prompt_tokens":3}}"#,
    r#"{"choices":[{"delta":{"content":"TEXT","content":"TEXT"}}]}"#,
    r#"{"choices":[{"delta":{"content":"TEXT"},"finish_reason":"stop"}]}"#,
    r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"TEXT"}}]}}]}"#,
    r#"{"model":"TEXT","choices":[{"delta":{"content":"x"}}]}"#,
    r#"{"choices":[{"delta":{"content":"TEXT"}}],"error":"TEXT"}"#,
];

fn texts() -> impl Strategy<Value = Vec<u8>> {
    let words = prop::sample::select(vec![
        " word",
        "你好",
        "<think>",
        "</think>",
        "<",
        "\\n",
        "\\u4f60",
        "\\ud83d",
        "\u{fffd}",
        "\"",
        "\\",
        "\"},\"finish_reason\":\"stop\",\"x\":{\"y\":\"",
        "\t",
        "\u{7f}",
        "",
    ]);
    let piece = prop_oneof![
        12 => words.prop_map(|word| word.as_bytes().to_vec()),
        1 => Just(vec![0xff]),
        1 => Just(vec![0xe4, 0xbd]),
    ];
    prop::collection::vec(piece, 0..3).prop_map(|pieces| pieces.concat())
}

/// Chunks, most of them of one form.
fn chunks() -> impl Strategy<Value = Vec<(usize, Vec<u8>)>> {
    let form = prop_oneof![4 => Just(0), 3 => 0..FORMS.len()];
    prop::collection::vec((form, texts()), 1..12)
}

/// A body of these chunks. With `apart`, each has other blanks at its start, so that no two look
/// alike.
fn body(chunks: &[(usize, Vec<u8>)], apart: bool) -> Vec<u8> {
    let mut body = Vec::new();
    for (number, (form, text)) in chunks.iter().enumerate() {
        body.extend_from_slice(b"data: {");
        body.extend(std::iter::repeat_n(b' ', if apart { number } else { 0 }));
        let mut pieces = FORMS[*form][1..].split("TEXT");
        body.extend_from_slice(pieces.next().unwrap_or_default().as_bytes());
        for piece in pieces {
            body.extend_from_slice(text);
            body.extend_from_slice(piece.as_bytes());
        }
        body.extend_from_slice(b"\n\n");
    }
    body
}

fn read(body: &[u8], policy: AnomalyPolicy) -> (Vec<ChatEvent>, Option<Fault>) {
    let (events, result) = stream(context(policy), [body]);
    (events, result.err().map(|error| error.fault()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None,
        ..ProptestConfig::default() })]

    /// OAI-004, GWY-063.
    #[test]
    fn likeness_changes_nothing(chunks in chunks(), salvage in any::<bool>()) {
        let policy = if salvage { AnomalyPolicy::Salvage } else { AnomalyPolicy::Retry };
        prop_assert_eq!(read(&body(&chunks, false), policy), read(&body(&chunks, true), policy));
    }
}
