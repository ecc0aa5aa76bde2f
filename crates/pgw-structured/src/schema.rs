//! JSON Schemas: checking a value, and the strict form that services take.

use jsonschema::{ValidationError, error::ValidationErrorKind};
use pgw_types::RequestFault;
use serde_json::{Map, Value};

/// How many branches of an `anyOf` are told about.
const MOST_BRANCHES: usize = 4;

/// Checks values against one schema, compiled once.
#[derive(Debug)]
pub struct Validator(jsonschema::Validator);

impl Validator {
    /// Compiles a schema. References to files and other hosts are not followed.
    ///
    /// # Errors
    /// If it is no JSON Schema, or refers to what isn't in it.
    pub fn new(schema: &Value) -> Result<Self, RequestFault> {
        jsonschema::validator_for(schema).map(Self).map_err(|error| RequestFault {
            field: format!("structured.schema{}", error.instance_path()),
            problem: format!("is no JSON Schema: {error}"),
            fix: "mend the schema; references must stay inside it".to_owned(),
        })
    }

    /// Everything in which a value breaks the schema, each with its place; nothing if it fits.
    #[must_use]
    pub fn faults(&self, value: &Value) -> Vec<String> {
        self.0.iter_errors(value).flat_map(|error| told(&error)).collect()
    }
}

/// An error in words. Of alternatives each branch is told: "not valid under any" helps nobody.
fn told(error: &ValidationError<'_>) -> Vec<String> {
    let place = |error: &ValidationError<'_>| {
        let path = error.instance_path().to_string();
        if path.is_empty() { "the value".to_owned() } else { path }
    };
    let (ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context }) =
        error.kind()
    else {
        return vec![format!("at {}: {error}", place(error))];
    };
    let branches = context.iter().take(MOST_BRANCHES).enumerate().filter_map(|(number, errors)| {
        let first = errors.first()?;
        Some(format!("at {}: {first} (alternative {})", place(first), number + 1))
    });
    let told: Vec<String> = branches.collect();
    if told.is_empty() { vec![format!("at {}: {error}", place(error))] } else { told }
}

/// Keywords that the strict form knows (`OpenAI`, "Structured Outputs", supported schemas). Others are
/// left out there and checked here.
const KEPT: [&str; 12] = [
    "$defs",
    "$ref",
    "additionalProperties",
    "anyOf",
    "definitions",
    "description",
    "enum",
    "items",
    "properties",
    "required",
    "title",
    "type",
];

/// The schema in `OpenAI`'s strict form: every property required, optional ones nullable, nothing
/// beside them, `anyOf` for `oneOf`, `enum` for `const`. `None` if it can't be said in that form: maps
/// with keys of any name, or a root that is no object.
#[must_use]
pub fn strict(schema: &Value) -> Option<Value> {
    let strict = strict_of(schema)?;
    let is_object = strict.get("type").is_some_and(|kind| kind == "object");
    is_object.then_some(strict)
}

fn strict_of(schema: &Value) -> Option<Value> {
    let Value::Object(members) = schema else { return None };
    if let Some(reference) = members.get("$ref") {
        // A reference stands alone.
        return Some(Value::Object(Map::from_iter([("$ref".to_owned(), reference.clone())])));
    }
    let mut out = Map::new();
    for (keyword, value) in members {
        match keyword.as_str() {
            "properties" | "$defs" | "definitions" => {
                let named = value.as_object()?.iter();
                let each = named.map(|(name, schema)| Some((name.clone(), strict_of(schema)?)));
                out.insert(keyword.clone(), Value::Object(each.collect::<Option<_>>()?));
            }
            "items" => {
                out.insert(keyword.clone(), strict_of(value)?);
            }
            "anyOf" | "oneOf" => {
                let branches = value.as_array()?.iter().map(strict_of);
                out.insert("anyOf".to_owned(), Value::Array(branches.collect::<Option<_>>()?));
            }
            "allOf" => return None,
            "const" => {
                out.insert("enum".to_owned(), Value::Array(vec![value.clone()]));
            }
            "additionalProperties"
                if *value != Value::Bool(false) && *value != Value::Bool(true) =>
            {
                return None;
            }
            keyword if KEPT.contains(&keyword) => {
                out.insert(keyword.to_owned(), value.clone());
            }
            _ => {}
        }
    }
    let is_object = out.get("type").is_some_and(|kind| {
        kind == "object" || kind.as_array().is_some_and(|kinds| kinds.iter().any(|k| k == "object"))
    });
    if is_object {
        let properties = out.get_mut("properties")?.as_object_mut()?;
        let names: Vec<Value> = properties.keys().map(|name| name.as_str().into()).collect();
        let required = members.get("required").and_then(Value::as_array);
        for (name, property) in properties.iter_mut() {
            if !required.is_some_and(|required| required.iter().any(|one| one == name.as_str())) {
                let value = property.take();
                *property = nullable(value);
            }
        }
        out.insert("required".to_owned(), Value::Array(names));
        out.insert("additionalProperties".to_owned(), Value::Bool(false));
    }
    Some(Value::Object(out))
}

/// The same schema, or `null`.
fn nullable(schema: Value) -> Value {
    let null = Value::from("null");
    let Value::Object(mut members) = schema else { return schema };
    match members.get("type").cloned() {
        Some(kind) if kind == null => return Value::Object(members),
        Some(Value::Array(kinds)) if kinds.contains(&null) => return Value::Object(members),
        // An `enum` beside the type would still leave `null` out.
        Some(kind @ Value::String(_)) if !members.contains_key("enum") => {
            members.insert("type".to_owned(), Value::Array(vec![kind, null]));
            return Value::Object(members);
        }
        _ => {}
    }
    let null_type = Map::from_iter([("type".to_owned(), null)]);
    let branches = vec![Value::Object(members), Value::Object(null_type)];
    Value::Object(Map::from_iter([("anyOf".to_owned(), Value::Array(branches))]))
}
