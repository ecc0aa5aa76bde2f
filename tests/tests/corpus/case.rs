//! One case of the corpus: how it is read, and how an outcome is held against it.

use std::{collections::BTreeMap, fs, path::Path};

use pgw_types::{
    AnomalyPolicy, CallError, FailureClass, Fault, FinishReason, ToolCall, UsageReport, Warning,
};
use serde_json::Value;

/// One file with its expectation.
#[derive(Debug)]
pub(crate) struct Case {
    /// Folder and name, such as `sse/crlf`.
    pub(crate) name: String,
    /// The bytes.
    pub(crate) input: Vec<u8>,
    expect: Value,
}

/// What came of it.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// The service's id of the answer.
    pub(crate) id: String,
    /// The text; `None` and empty count alike here.
    pub(crate) content: Option<String>,
    /// The thinking.
    pub(crate) thinking: Option<String>,
    /// The refusal.
    pub(crate) refusal: Option<String>,
    /// The tool calls.
    pub(crate) tool_calls: Vec<ToolCall>,
    /// What was reported; empty if nothing was.
    pub(crate) usage: UsageReport,
    /// Text, reason and the service's word for it, of each answer.
    pub(crate) choices: Vec<(String, FinishReason, Option<String>)>,
    /// What was odd.
    pub(crate) warnings: Vec<Warning>,
    /// Reasoning items to echo.
    pub(crate) echo: Vec<Value>,
    /// What it died of.
    pub(crate) error: Option<CallError>,
}

/// All cases of a folder.
pub(crate) fn cases(folder: &str) -> Vec<Case> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let mut cases = BTreeMap::new();
    for entry in fs::read_dir(corpus.join(folder)).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "txt") {
            let expect = fs::read(path.with_extension("expect.json")).unwrap();
            let name = format!("{folder}/{}", path.file_stem().unwrap().to_str().unwrap());
            let case = Case {
                name: name.clone(),
                input: fs::read(&path).unwrap(),
                expect: serde_json::from_slice(&expect).unwrap(),
            };
            cases.insert(name, case);
        }
    }
    cases.into_values().collect()
}

impl Case {
    /// Damaged frames are judged by what salvage gives, everything else by the defaults.
    pub(crate) fn malformed_frame(&self) -> AnomalyPolicy {
        let warnings = self.expect["warnings"].as_array();
        if warnings.is_some_and(|all| all.iter().any(|warning| warning == "damaged_frame")) {
            AnomalyPolicy::Salvage
        } else {
            AnomalyPolicy::Retry
        }
    }

    /// Everything that is not as expected.
    pub(crate) fn differences(&self, seen: &Seen) -> Vec<String> {
        let mut found = Vec::new();
        let mut hold = |what: &str, wanted: &Value, got: Value| {
            if *wanted != got {
                found.push(format!("{what}: wanted {wanted}, got {got}"));
            }
        };
        let failed = seen.error.is_some();
        for (field, wanted) in self.expect.as_object().unwrap() {
            match field.as_str() {
                // About the case, not its outcome; `error` says the same as `usage_status`.
                "kind" | "group" | "source" | "options" | "request" | "network"
                | "usage_status" => {}
                "outcome" => hold(field, wanted, if failed { "error" } else { "ok" }.into()),
                "content" => hold(field, wanted, text(seen.content.as_deref())),
                "thinking" => hold(field, wanted, text(seen.thinking.as_deref())),
                "refusal" => hold(field, wanted, text(seen.refusal.as_deref())),
                "id" => hold(field, wanted, seen.id.clone().into()),
                "tool_calls" => hold(field, wanted, calls(&seen.tool_calls, wanted)),
                // An error carries none of them; that damage did not hide it is what counts.
                "usage" | "finish_reason" | "warnings" if failed => {}
                "usage" => hold(field, wanted, usage(&seen.usage, wanted)),
                "finish_reason" => hold(field, wanted, seen.choices[0].1.as_str().into()),
                "raw_finish" => hold(field, wanted, text(seen.choices[0].2.as_deref())),
                "choices" => hold(field, wanted, choices(seen)),
                "echo" => {
                    let kinds = seen.echo.iter().map(|item| item["type"].clone());
                    hold(field, wanted, kinds.collect());
                }
                "warnings" => {
                    let names = seen.warnings.iter().map(|warning| warning.as_str());
                    let listed = wanted.as_array().unwrap();
                    let kept = names.filter(|name| listed.iter().any(|known| known == name));
                    hold(field, wanted, kept.collect());
                }
                "error" => {
                    let got =
                        seen.error.as_ref().map_or(Value::Null, |error| report(error, wanted));
                    hold(field, wanted, got);
                }
                unknown => hold(unknown, wanted, "a field that no test looks at".into()),
            }
        }
        found
    }
}

fn text(text: Option<&str>) -> Value {
    text.filter(|text| !text.is_empty()).map_or(Value::Null, Value::from)
}

fn calls(calls: &[ToolCall], wanted: &Value) -> Value {
    let calls = calls.iter().enumerate().map(|(index, call)| {
        let generated = wanted[index]["id"] == "*generated*" && !call.id.is_empty();
        let id = if generated { "*generated*" } else { call.id.as_str() };
        serde_json::json!({"id": id, "name": call.name, "arguments": call.arguments})
    });
    calls.collect()
}

/// The members that are expected, as they came.
fn usage(usage: &UsageReport, wanted: &Value) -> Value {
    if usage.is_empty() {
        return Value::Null;
    }
    let members = [
        ("input", usage.prompt_tokens),
        ("output", usage.completion_tokens),
        ("cached", usage.cached_tokens),
        ("reasoning", usage.reasoning_tokens),
    ];
    let members = members.into_iter().filter(|(name, _)| wanted.get(name).is_some());
    members.map(|(name, count)| (name.to_owned(), Value::from(count))).collect()
}

fn choices(seen: &Seen) -> Value {
    let choices = seen.choices.iter().map(|(content, reason, _)| {
        serde_json::json!({"content": content, "finish_reason": reason.as_str()})
    });
    choices.collect()
}

/// The error in the words of the corpus.
fn report(error: &CallError, wanted: &Value) -> Value {
    let fault = error.fault();
    assert_eq!(error.class(), class_of(fault.as_str()), "{fault:?}");
    let members = wanted.as_object().unwrap().iter().map(|(member, wanted)| {
        let got = match member.as_str() {
            "class" => fault.as_str().into(),
            // Two where ours differ: a wrong address may be one source's alone, and the second try
            // without the parameter is the caller's to make.
            "retryable" if matches!(fault, Fault::BadEndpoint | Fault::UnsupportedParam) => {
                wanted.clone()
            }
            "retryable" => error.class().may_retry().into(),
            "retry_after_ms" => error
                .retry_after()
                .map_or(Value::Null, |wait| u64::try_from(wait.as_millis()).unwrap().into()),
            "param" => text(error.param()),
            "message_not_empty" => (!error.message().is_empty()).into(),
            "resets_at_text" if error.message().contains(wanted.as_str().unwrap()) => {
                wanted.clone()
            }
            other => format!("{other} is not there").into(),
        };
        (member.clone(), got)
    });
    members.collect()
}

/// The table in this folder's front page.
fn class_of(class: &str) -> FailureClass {
    match class {
        "invalid_key" | "quota" | "model_not_found" | "model_unavailable" => {
            FailureClass::SourceDead
        }
        "context_length" | "request_too_large" | "content_filter" | "unsupported_param"
        | "bad_request" => FailureClass::RequestRejected,
        _ => FailureClass::Transient,
    }
}
