//! Every case of the corpus, with the value that a careful person would want.

use std::{fs, path::Path};

use pgw_structured::{extract, read_arguments};
use serde_json::Value;

fn corpus(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    fs::read_to_string(folder.join(name)).unwrap()
}

fn input(case: &Value) -> String {
    match (&case["input"], &case["input_gen"]) {
        (Value::String(text), _) => text.clone(),
        (_, generated) => {
            let part = |name: &str| generated[name].as_str().unwrap_or_default();
            let count = usize::try_from(generated["count"].as_u64().unwrap()).unwrap();
            part("prefix").to_owned() + &part("unit").repeat(count) + part("suffix")
        }
    }
}

/// What is wrong with the answer to a case.
fn fault(case: &Value) -> Option<String> {
    let answer = extract(&input(case));
    let accepted = case["accept"].as_array().cloned().unwrap_or_default();
    if let Some(check) = case.get("check").filter(|check| !check.is_null()) {
        // Not to crash is all that some ask.
        let kind = check["type"].as_str()?;
        let value = match answer {
            Ok(answer) => answer.value,
            Err(error) => return Some(error.to_string()),
        };
        let length = match &value {
            Value::Array(items) if kind == "array" => items.len(),
            Value::Object(members) if kind == "object" => members.len(),
            _ => return Some(format!("is no {kind}")),
        };
        let wanted = check["len"].as_u64();
        return (u64::try_from(length).ok() != wanted).then(|| format!("has {length} items"));
    }
    match answer {
        Ok(answer) => {
            let right = case.get("expected").filter(|_| case["expect_error"] != true);
            let right = right.into_iter().chain(&accepted).any(|one| *one == answer.value);
            (!right).then_some(answer.json)
        }
        Err(error) => (case["expect_error"] != true).then(|| error.to_string()),
    }
}

/// STR-001, STR-009, D69: every case of the repair corpus.
#[test]
fn every_case_is_answered_as_expected() {
    let mut wrong = Vec::new();
    let text = corpus("json-repair.jsonl");
    for line in text.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        if let Some(fault) = fault(&case) {
            let shown: String = fault.chars().take(300).collect();
            wrong.push(format!("{} {}: {shown}", case["id"], case["input"]));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// STR-001, STR-004: the corpus of reported texts: value, whether it was mended, whether it was cut.
#[test]
fn every_reported_text_is_read_as_expected() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/json");
    let mut seen = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let Some(name) = path.to_str().and_then(|path| path.strip_suffix(".expect.json")) else {
            continue;
        };
        seen += 1;
        let expected: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        let text = fs::read_to_string(format!("{name}.txt")).unwrap();
        if expected["context"] == "tool_arguments" {
            let arguments = read_arguments(&text);
            match expected["outcome"].as_str() {
                Some("ok") => assert_eq!(arguments.unwrap(), expected["value"], "{name}"),
                _ => assert!(arguments.unwrap_err().truncated, "{name}"),
            }
            continue;
        }
        let answer = extract(&text).unwrap();
        assert_eq!(answer.value, expected["value"], "{name}");
        assert_eq!(answer.repaired, expected["repaired"] == true, "{name}");
        assert_eq!(answer.truncated, expected["truncated"] == true, "{name}");
    }
    assert_eq!(seen, 10);
}
