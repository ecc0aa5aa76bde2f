//! Whatever text comes: nothing panics, nothing is made up, and the work stays in proportion.

use pgw_structured::extract;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// JSON values of any kind, small.
fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e6..1e6_f64).prop_map(Value::from),
        texts().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((texts(), inner), 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-zA-Z ]{0,12}",
        1 => "[\"'{}\\[\\],:\\\\ \n\t你，“”`/#=<>.]{0,8}",
        1 => any::<String>(),
    ]
}

/// Signs that a repairer lives by.
fn garbage() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "{", "}", "[", "]", "\"", "'", ":", ",", "\\", "\\\"", "\\u", "d83d", " ", "\n", "a",
        "key", "1", "-", ".", "e", "0x", "true", "nul", "//", "/*", "*/", "#", "```", "json", "“",
        "”", "，", "：", "【", "(", ")", "...", "<think>", "</think>", "data:", "é", "🦀", "+",
        "=>", "\0",
    ]);
    prop::collection::vec(pieces, 0..60).prop_map(|pieces| pieces.concat())
}

/// The keys and the texts of a value.
fn strings(value: &Value, keys: &mut Vec<String>, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| strings(item, keys, texts)),
        Value::Object(members) => {
            for (key, member) in members {
                keys.push(key.clone());
                strings(member, keys, texts);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The text without the places where a `+` may join two quoted ones.
fn joined(text: &str) -> String {
    let quote = |letter: char| matches!(letter, '"' | '\'');
    let mut out = String::new();
    for piece in text.split('+') {
        let before = out.trim_end().strip_suffix(quote);
        match (before, piece.trim_start().strip_prefix(quote)) {
            (Some(before), Some(after)) => out = before.to_owned() + after,
            _ if out.is_empty() => piece.clone_into(&mut out),
            _ => out = out + "+" + piece,
        }
    }
    out
}

/// A key or a text of a value that does not stand, whole and in one piece, in what it was read from.
/// Texts may have been joined; keys never are.
fn made_up(text: &str, value: &Value) -> Option<String> {
    let (mut keys, mut texts) = (Vec::new(), Vec::new());
    strings(value, &mut keys, &mut texts);
    let joined = joined(text);
    let absent = |one: &String| !text.contains(one.as_str());
    let key = keys.into_iter().find(absent);
    key.or_else(|| texts.into_iter().find(|one| absent(one) && !joined.contains(one.as_str())))
}

/// A document without escapes, so that its texts stand in it as they are.
fn documents() -> impl Strategy<Value = String> {
    let text = "[a-z]{1,6}( [a-z]{1,5}){0,2}";
    let member = (text, text, 0..1000_u32);
    prop::collection::vec(member, 1..5).prop_map(|members| {
        let object = |(key, value, number): &(String, String, u32)| {
            json!({key: value, "n": number, "tags": [value, key]})
        };
        let items: Vec<Value> = members.iter().map(object).collect();
        serde_json::to_string(&json!({"items": items, "done": true})).unwrap()
    })
}

/// A place, how many letters go, and what comes instead.
type Change = (prop::sample::Index, usize, String);

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let signs = "[\"'{}\\[\\],: \n+]{0,3}";
    prop::collection::vec((any::<prop::sample::Index>(), 0..3_usize, signs), 0..4)
}

fn changed(text: &str, changes: &[Change]) -> String {
    let mut letters: Vec<char> = text.chars().collect();
    for (at, gone, instead) in changes {
        let at = at.index(letters.len() + 1);
        let end = letters.len().min(at + gone);
        letters.splice(at..end, instead.chars());
    }
    letters.into_iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, failure_persistence: None,
        ..ProptestConfig::default() })]

    /// STR-001: valid JSON is returned as it is.
    #[test]
    fn valid_json_is_untouched(value in values(), pretty in any::<bool>()) {
        let text = if pretty { format!("{value:#}") } else { value.to_string() };
        let found = extract(&text).unwrap();
        prop_assert!(!found.repaired && !found.truncated);
        prop_assert_eq!(found.value, value);
        prop_assert_eq!(found.json, text);
    }

    /// STR-001: a fence, prose around it, or a trailing comma change nothing.
    #[test]
    fn wrapping_changes_nothing(members in prop::collection::vec((texts(), values()), 1..5)) {
        let value = Value::Object(members.into_iter().collect::<Map<_, _>>());
        for text in [
            format!("```json\n{value:#}\n```"),
            format!("Here you are:\n{value}\nAnything else?"),
            format!("<think>Should I? [maybe]</think>\n{value}"),
        ] {
            let found = extract(&text).unwrap();
            prop_assert!(found.repaired);
            prop_assert_eq!(&found.value, &value, "{}", text);
        }
    }

    #[test]
    fn no_text_makes_it_panic(text in garbage()) {
        if let Ok(found) = extract(&text) {
            let again: Value = serde_json::from_str(&found.json).unwrap();
            prop_assert_eq!(again, found.value);
        }
    }

    #[test]
    fn no_letters_make_it_panic(text in any::<String>()) {
        let _ = extract(&text);
    }

    /// D69: cut anywhere, what is left is a beginning: no text is made up, and none is lost that was
    /// closed.
    #[test]
    fn a_cut_document_is_its_beginning(document in documents(), at in any::<prop::sample::Index>()) {
        let cut = &document[..at.index(document.len())];
        if let Ok(found) = extract(cut) {
            prop_assert!(found.truncated || found.value == json!([]), "{}", cut);
            prop_assert_eq!(made_up(cut, &found.value), None, "{}", cut);
        }
    }

    /// D69: damaged anywhere, keys and texts still stand in what was read.
    #[test]
    fn a_damaged_document_has_nothing_made_up(document in documents(), changes in changes()) {
        let text = changed(&document, &changes);
        if let Ok(found) = extract(&text) {
            prop_assert_eq!(made_up(&text, &found.value), None, "{} -> {}", text, found.json);
        }
    }

    /// What was mended is not mended again.
    #[test]
    fn mending_twice_changes_nothing(text in garbage()) {
        if let Ok(found) = extract(&text) {
            let again = extract(&found.json).unwrap();
            prop_assert!(!again.repaired);
            prop_assert_eq!(again.value, found.value);
        }
    }
}
