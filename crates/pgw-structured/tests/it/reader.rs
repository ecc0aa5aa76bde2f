//! The reader of a structured call, and the schemas behind it.

use std::sync::Arc;

use pgw_ports::StructuredOutput as _;
use pgw_structured::{StructuredReader, Validator, read_arguments, spec_of, strict};
use pgw_types::{Structured, StructuredSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema is of interest")]
struct Invoice {
    number: String,
    total: f64,
    note: Option<String>,
    lines: Vec<Line>,
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema is of interest")]
struct Line {
    text: String,
    kind: Kind,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Goods,
    Service,
}

fn reader(schema: Value) -> StructuredReader {
    let spec = StructuredSpec::new("test", schema).unwrap();
    StructuredReader::new(Structured::Schema(Arc::new(spec)), None).unwrap()
}

/// STR-004, STR-010: fences, mending, then the schema.
#[test]
fn a_wrapped_and_damaged_value_is_read() {
    let reader = reader(json!({"type": "object", "required": ["a"],
        "properties": {"a": {"type": "integer"}}}));
    assert_eq!(reader.read("```json\n{a: 1,}\n```").unwrap(), json!({"a": 1}));
    assert_eq!(reader.read("{\"a\": 1}").unwrap(), json!({"a": 1}));
}

/// STR-007: everything that breaks the schema is told, with its place.
#[test]
fn all_faults_are_told_with_their_places() {
    let spec = spec_of::<Invoice>().unwrap();
    assert_eq!(spec.name(), "Invoice");
    let reader = StructuredReader::new(Structured::Schema(Arc::new(spec)), None).unwrap();
    let text = r#"{"number": 7, "lines": [{"text": "x", "kind": "gift"}, {"kind": "goods"}]}"#;
    let unreadable = reader.read(text).unwrap_err();
    let told = unreadable.validation_errors.join("\n");
    assert!(unreadable.validation_errors.len() >= 4, "{told}");
    for word in ["/number", "total", "/lines/0/kind", "gift", "/lines/1", "text"] {
        assert!(told.contains(word), "{word} in:\n{told}");
    }
    let good = r#"{"number": "7", "total": 1.5, "lines": [{"text": "x", "kind": "service"}]}"#;
    assert!(reader.read(good).is_ok());
}

/// STR-007: of alternatives each one is told.
#[test]
fn alternatives_are_told_one_by_one() {
    let schema = json!({"anyOf": [{"type": "string"}, {"type": "array", "minItems": 3}]});
    let faults = Validator::new(&schema).unwrap().faults(&json!([1]));
    assert_eq!(faults.len(), 2, "{faults:?}");
    assert!(faults[0].contains("string") && faults[1].contains("alternative 2"), "{faults:?}");
}

/// MID-121, STR-012: `"json"` reads and mends without a schema.
#[test]
fn without_a_schema_any_value_will_do() {
    let reader = StructuredReader::new(Structured::Json, None).unwrap();
    assert!(reader.read("Sure: [1, 2").unwrap_err().truncated);
    assert_eq!(reader.read("Sure: {'a': None}").unwrap(), json!({"a": null}));
    assert_eq!(reader.native_format(), None);
    let unreadable = reader.read("I can't do that.").unwrap_err();
    assert_eq!(unreadable.repair_error.as_deref(), Some("the text holds no JSON value (16 bytes)"));
}

/// A value that was cut is none, even if what is left passes the schema.
#[test]
fn a_cut_value_is_never_taken_for_a_whole_one() {
    let reader = reader(json!({"type": "object"}));
    let unreadable = reader.read(r#"{"a": 1, "b": [1, 2"#).unwrap_err();
    assert!(unreadable.truncated, "{unreadable}");
}

/// STR-003, STR-004: the caller's hook comes before the check.
#[test]
fn the_hook_comes_before_the_check() {
    let spec = StructuredSpec::new("x", json!({"type": "object", "required": ["a"]})).unwrap();
    let unwrap: pgw_structured::Normalize = Arc::new(|mut value: Value| value["wrapper"].take());
    let form = Structured::Schema(Arc::new(spec));
    let reader = StructuredReader::new(form, Some(unwrap)).unwrap();
    assert_eq!(reader.read(r#"{"wrapper": {"a": 1}}"#).unwrap(), json!({"a": 1}));
    assert!(reader.read(r#"{"a": 1}"#).is_err());
}

/// A schema that is none is refused when it is given, by its place.
#[test]
fn a_bad_schema_is_refused_by_its_place() {
    for schema in [json!({"type": "thing"}), json!({"$ref": "https://a.example/schema.json"})] {
        let spec = StructuredSpec::new("x", schema).unwrap();
        let fault = StructuredReader::new(Structured::Schema(Arc::new(spec)), None).unwrap_err();
        assert!(fault.field.starts_with("structured.schema"), "{fault}");
    }
}

/// STR-002, OAI-029: the native format is strict where the schema can be said strictly.
#[test]
fn the_native_format_is_strict_where_it_can_be() {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "a": {"type": "string", "minLength": 3, "default": "x"},
            "b": {"type": "integer"},
            "c": {"const": "k"},
            "d": {"oneOf": [{"type": "string"}, {"$ref": "#/$defs/n", "description": "x"}]},
        },
        "required": ["a", "d"],
        "$defs": {"n": {"type": "object", "properties": {"next": {"$ref": "#/$defs/n"}}}},
    });
    let wanted = json!({
        "type": "object",
        "properties": {
            "a": {"type": "string"},
            "b": {"type": ["integer", "null"]},
            "c": {"anyOf": [{"enum": ["k"]}, {"type": "null"}]},
            "d": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/n"}]},
        },
        "required": ["a", "b", "c", "d"],
        "additionalProperties": false,
        "$defs": {"n": {
            "type": "object",
            "properties": {"next": {"anyOf": [{"$ref": "#/$defs/n"}, {"type": "null"}]}},
            "required": ["next"],
            "additionalProperties": false,
        }},
    });
    assert_eq!(strict(&schema), Some(wanted.clone()));
    let format = reader(schema).native_format().unwrap();
    assert_eq!(format["type"], "json_schema");
    assert_eq!(format["json_schema"]["name"], "test");
    assert_eq!(format["json_schema"]["strict"], true);
    assert_eq!(format["json_schema"]["schema"], wanted);
    // A map with any keys, or a root that is no object, can't be said strictly.
    for loose in [
        json!({"type": "object", "properties": {}, "additionalProperties": {"type": "string"}}),
        json!({"type": "array", "items": {"type": "string"}}),
        json!({"type": "object"}),
    ] {
        assert_eq!(strict(&loose), None);
        let format = reader(loose.clone()).native_format().unwrap();
        assert_eq!(format["json_schema"]["strict"], false);
        assert_eq!(format["json_schema"]["schema"], loose);
    }
}

/// Tool arguments: an object or nothing, never half of one.
#[test]
fn arguments_are_whole_or_none() {
    assert_eq!(read_arguments("").unwrap(), json!({}));
    assert_eq!(read_arguments("{\"x\": 1,}").unwrap(), json!({"x": 1}));
    assert!(read_arguments("{\"x\": \"ha").unwrap_err().truncated);
    let fault = read_arguments("[1]").unwrap_err();
    assert_eq!(fault.repair_error.as_deref(), Some("the arguments are no object"));
}
