//! Kinds of damage beside the corpus, a sample or two each.

use pgw_structured::extract;
use serde_json::{Value, json};

fn read(text: &str) -> Value {
    let found = extract(text);
    assert!(found.is_ok(), "{text}: {found:?}");
    found.unwrap().value
}

#[test]
fn quotes_that_are_missing_or_inside() {
    for (text, value) in [
        (r#"{a": 1, "b": 2}"#, json!({"a": 1, "b": 2})),
        (r"{'a': 'don't stop'}", json!({"a": "don't stop"})),
        (r#"{"t": ""quoted" start", "n": 1}"#, json!({"t": "\"quoted\" start", "n": 1})),
        (r#"{"t": "end "quoted""}"#, json!({"t": "end \"quoted\""})),
        (r#"["He said "hi" to me", "x"]"#, json!(["He said \"hi\" to me", "x"])),
        (
            r#"{"h": "<a href="x.html">link</a>", "n": 1}"#,
            json!({"h": "<a href=\"x.html\">link</a>", "n": 1}),
        ),
        (r#"{"code": "print("hi")"}"#, json!({"code": "print(\"hi\")"})),
        (
            r#"{"q": "What is "it"?", "a": "It's "that"."}"#,
            json!({"q": "What is \"it\"?", "a": "It's \"that\"."}),
        ),
        (
            "{\"m\": \"line one\nline \"two\"\nthree\", \"ok\": true}",
            json!({"m": "line one\nline \"two\"\nthree", "ok": true}),
        ),
    ] {
        assert_eq!(read(text), value, "{text}");
    }
}

#[test]
fn keys_of_any_kind() {
    for (text, value) in [
        (r#"{1: "a", 2: "b"}"#, json!({"1": "a", "2": "b"})),
        (
            r#"{"t": "at "ten", 10:30 sharp", "n": 1}"#,
            json!({"t": "at \"ten\", 10:30 sharp", "n": 1}),
        ),
        ("{true: 1, $id: 2, _x: 3}", json!({"true": 1, "$id": 2, "_x": 3})),
        (r#""text": "x""#, json!({"text": "x"})),
    ] {
        assert_eq!(read(text), value, "{text}");
    }
}

/// D69: a `+` joins two texts where a value stands, and nothing else.
#[test]
fn a_plus_joins_values_and_nothing_else() {
    for (text, value) in [
        (r#"{"k": "multi" + "part"}"#, json!({"k": "multipart"})),
        (r#"{"k": "a" + 'b' + "c", "n": 1}"#, json!({"k": "abc", "n": 1})),
        (r#"["a" + "b", "c"]"#, json!(["ab", "c"])),
        (r#"{"a": "x"+ "b": "y"}"#, json!({"a": "x", "b": "y"})),
        (r#"{"a": "x"+, "b": "y"}"#, json!({"a": "x", "b": "y"})),
        (r#"{"t": "C"+" is "better"", "n": 1}"#, json!({"t": "C\"+\" is \"better\"", "n": 1})),
    ] {
        assert_eq!(read(text), value, "{text}");
    }
    for text in [r#"{"k"+ "ten", "n": 46}"#, r#"{"blue boat": "nine lives"+ "tags": ["blue"#] {
        let value = read(text).to_string();
        assert!(!value.contains("kten") && !value.contains("livestags"), "{text}: {value}");
    }
}

#[test]
fn line_ends_that_were_escaped_between_tokens() {
    assert_eq!(read(r#"{\n  "a": 1,\n  "b": "x"\n}"#), json!({"a": 1, "b": "x"}));
    assert_eq!(read(r#"{"a": "x\ny"\n}"#), json!({"a": "x\ny"}));
}

#[test]
fn an_element_that_had_only_begun_is_none() {
    for (text, value) in [
        (r#"[{"id": 1}, {"id":"#, json!([{"id": 1}])),
        (r#"{"a": [[1], ["#, json!({"a": [[1]]})),
        (r#"{"a": ["x", "y"#, json!({"a": ["x"]})),
        (r#"[{"id": 1, "t": "de"#, json!([{"id": 1, "t": "de"}])),
        (r#"{"a": {"#, json!({"a": {}})),
    ] {
        let found = extract(text).unwrap();
        assert!(found.truncated, "{text}");
        assert_eq!(found.value, value, "{text}");
    }
}

/// Brackets in prose and in code are no values; the fenced block and the stronger sign count.
#[test]
fn brackets_in_prose_are_no_values() {
    for (text, value) in [
        ("Text\n```python\nprint({'x'})\n```\nthen\n```json\n{\"a\": 1}\n```", json!({"a": 1})),
        ("Using {set} notation [see 1]: {\"a\": 1}", json!({"a": 1})),
        ("The list is [1, 2, 3].", json!([1, 2, 3])),
        ("- item: {\"a\": 1}\n- item: {\"a\": 2}", json!({"a": 2})),
        ("```\n{\"a\": \"```code```\"}\n```", json!({"a": "```code```"})),
    ] {
        assert_eq!(read(text), value, "{text}");
    }
    for text in ["{totally broken json content", "[DONE]", "Use {set} here.", "{x}", "(see above)"]
    {
        assert!(extract(text).is_err(), "{text}");
    }
}
