//! What a structured call asks for, and why an answer was not it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::RequestFault;

/// The form in which the caller wants the text of an answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(tag = "mode", content = "spec", rename_all = "snake_case")]
pub enum Structured {
    /// As it comes: the text is not touched, not even trimmed.
    #[default]
    Raw,
    /// Some JSON value: read out of the text and mended if need be, without a schema and without
    /// asking again.
    Json,
    /// A value of this schema: mended, checked, and asked for again a bounded number of times.
    Schema(Arc<StructuredSpec>),
}

impl Structured {
    /// Whether the text is wanted as it comes.
    #[must_use]
    pub const fn is_raw(&self) -> bool {
        matches!(self, Self::Raw)
    }
}

/// The schema of a structured answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StructuredSpec {
    name: String,
    schema: Value,
}

impl StructuredSpec {
    /// A schema under a name. The name goes over the wire where the service takes schemas: 1 to 64
    /// letters, digits, `_` and `-` of ASCII (`OpenAI`'s rule for `json_schema.name`).
    ///
    /// # Errors
    /// If the name breaks that rule, or the schema is neither an object nor `true`/`false`. Whether
    /// it is a good schema is found out by whoever compiles it.
    pub fn new(name: impl Into<String>, schema: Value) -> Result<Self, RequestFault> {
        let name = name.into();
        let fault = |field: &str, problem: String, fix: &str| {
            Err(RequestFault { field: field.into(), problem, fix: fix.into() })
        };
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        if name.is_empty() || name.len() > 64 || !name.bytes().all(fits) {
            let problem = format!("is a name of {} bytes that a service would refuse", name.len());
            return fault("structured.name", problem, "write 1 to 64 letters, digits, `_` or `-`");
        }
        if !schema.is_object() && !schema.is_boolean() {
            let problem = "is no JSON Schema".to_owned();
            return fault("structured.schema", problem, "write an object such as {\"type\": …}");
        }
        Ok(Self { name, schema })
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The JSON Schema.
    #[must_use]
    pub const fn schema(&self) -> &Value {
        &self.schema
    }
}

/// Why the text of an answer is not the value that was asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Unreadable {
    /// Why no JSON value could be read out of the text; `None`: one could.
    pub repair_error: Option<String>,
    /// What of the value breaks the schema, each with its place; all of it, not only the first.
    pub validation_errors: Vec<String>,
    /// Whether the text is cut short: asking again under the same output limit can't help.
    pub truncated: bool,
}

impl Unreadable {
    /// The faults as sentences, the repair error first.
    pub fn faults(&self) -> impl Iterator<Item = &str> {
        let repair = self.repair_error.iter().map(String::as_str);
        repair.chain(self.validation_errors.iter().map(String::as_str))
    }
}

impl std::fmt::Display for Unreadable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.truncated {
            f.write_str("the text is cut short")?;
        }
        for (index, fault) in self.faults().enumerate() {
            let gap = if index > 0 || self.truncated { "; " } else { "" };
            write!(f, "{gap}{fault}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_name_that_a_service_would_refuse_is_refused_here() {
        let long = "x".repeat(65);
        for name in ["", "two words", "naïve", "a.b", &long] {
            let fault = StructuredSpec::new(name, json!({})).unwrap_err();
            assert_eq!(fault.field, "structured.name", "{name}");
        }
        let longest = "x".repeat(64);
        for name in ["invoice", "Invoice-2_b", &longest] {
            assert_eq!(StructuredSpec::new(name, json!({})).unwrap().name(), name);
        }
    }

    #[test]
    fn a_schema_is_an_object_or_a_flag() {
        for schema in [json!(null), json!("string"), json!([{"type": "object"}]), json!(3)] {
            let fault = StructuredSpec::new("x", schema).unwrap_err();
            assert_eq!(fault.field, "structured.schema");
        }
        assert!(StructuredSpec::new("x", json!(true)).is_ok());
    }

    #[test]
    fn what_is_wrong_reads_as_one_line() {
        let unreadable = Unreadable {
            repair_error: None,
            validation_errors: vec!["at /a: is null".into(), "at /b: is missing".into()],
            truncated: true,
        };
        assert_eq!(
            unreadable.to_string(),
            "the text is cut short; at /a: is null; at /b: is missing"
        );
    }
}
