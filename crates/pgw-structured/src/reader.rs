//! The reader of a structured call: taken out, mended, normalised, checked, in this order and without
//! any network.

use std::{fmt, sync::Arc};

use pgw_ports::StructuredOutput;
use pgw_types::{RequestFault, Structured, StructuredSpec, Unreadable};
use schemars::JsonSchema;
use serde_json::{Value, json};

use crate::{
    extract::{NoValue, extract},
    schema::{Validator, strict},
};

/// A caller's own change of a value before it is checked: the quirks of a model that only the caller
/// knows.
pub type Normalize = Arc<dyn Fn(Value) -> Value + Send + Sync>;

/// Reads the value that one form of structured output asks for.
#[derive(Clone)]
pub struct StructuredReader {
    form: Structured,
    validator: Option<Arc<Validator>>,
    normalize: Option<Normalize>,
}

impl fmt::Debug for StructuredReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StructuredReader")
            .field("form", &self.form)
            .field("normalizes", &self.normalize.is_some())
            .finish_non_exhaustive()
    }
}

impl StructuredReader {
    /// A reader for a form.
    ///
    /// # Errors
    /// If the schema is none.
    pub fn new(form: Structured, normalize: Option<Normalize>) -> Result<Self, RequestFault> {
        let validator = match &form {
            Structured::Schema(spec) => Some(Arc::new(Validator::new(spec.schema())?)),
            Structured::Raw | Structured::Json => None,
        };
        Ok(Self { form, validator, normalize })
    }
}

impl StructuredOutput for StructuredReader {
    fn read(&self, text: &str) -> Result<Value, Unreadable> {
        let found = extract(text).map_err(|error| no_value(error, text))?;
        if found.truncated {
            // What is left may well pass the schema; it is not the answer all the same.
            let repair_error = Some("the JSON value is cut short".to_owned());
            return Err(Unreadable { repair_error, truncated: true, ..Unreadable::default() });
        }
        let value = match &self.normalize {
            Some(normalize) => normalize(found.value),
            None => found.value,
        };
        let validation_errors = self.validator.as_ref().map(|validator| validator.faults(&value));
        match validation_errors.unwrap_or_default() {
            faults if faults.is_empty() => Ok(value),
            validation_errors => Err(Unreadable { validation_errors, ..Unreadable::default() }),
        }
    }

    fn native_format(&self) -> Option<Value> {
        let Structured::Schema(spec) = &self.form else { return None };
        // What the strict form can't say is asked for loosely: the service still sees the schema.
        let (schema, is_strict) = match strict(spec.schema()) {
            Some(schema) => (schema, true),
            None => (spec.schema().clone(), false),
        };
        Some(json!({
            "type": "json_schema",
            "json_schema": {"name": spec.name(), "strict": is_strict, "schema": schema},
        }))
    }
}

fn no_value(error: NoValue, text: &str) -> Unreadable {
    let bytes = text.len();
    Unreadable {
        repair_error: Some(format!("{error} ({bytes} bytes)")),
        truncated: error == NoValue::Thinking,
        ..Unreadable::default()
    }
}

/// The schema of a Rust type, under its name.
///
/// # Errors
/// If the type's name, without what a service would refuse, is empty.
pub fn spec_of<T: JsonSchema>() -> Result<StructuredSpec, RequestFault> {
    let fits = |letter: &char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    let name: String = T::schema_name().chars().filter(fits).take(64).collect();
    StructuredSpec::new(name, schemars::schema_for!(T).to_value())
}

/// Reads the arguments of a tool call: an object, whole. A fence around them is taken off, and no
/// text at all means none. What is cut is never mended: a tool must not run on half an order.
///
/// # Errors
/// Why the text is no such object.
pub fn read_arguments(text: &str) -> Result<Value, Unreadable> {
    if text.trim().is_empty() {
        return Ok(json!({}));
    }
    let found = extract(text).map_err(|error| no_value(error, text))?;
    if found.truncated {
        let repair_error = Some("the arguments are cut short".to_owned());
        return Err(Unreadable { repair_error, truncated: true, ..Unreadable::default() });
    }
    if !found.value.is_object() {
        let repair_error = Some("the arguments are no object".to_owned());
        return Err(Unreadable { repair_error, ..Unreadable::default() });
    }
    Ok(found.value)
}
