//! `pgw check`: the resolved picture without secrets, and a broken file with every fault.

use serde_json::{Value, json};

use crate::pgw::{Desk, SECRET};

fn sound() -> String {
    format!(
        "LLM__GENERIC__1__BASE_URL=https://a.example/v1\nLLM__GENERIC__1__API_KEY={SECRET}\n\
         LLM__GENERIC__1__MODEL=m-a\nLLM__GENERIC__2__BASE_URL=https://b.example/v1\n\
         LLM__GENERIC__2__API_KEY={SECRET}2\nLLM__GENERIC__2__MODEL=m-b\n\
         LLM__RETRY__MAX_ATTEMPTS=4\n"
    )
}

/// Every kind of fault that the grammar must tell, in one file. The name of each variable at fault
/// stands beside it.
fn broken() -> (String, Vec<&'static str>) {
    let text = format!(
        "LLM__GENERIC__1__BASE_ULR=https://a.example/v1\n\
         LLM__GENERIC__1__API_KEY={SECRET}\n\
         LLM__GENERIC__1__MODEL=m\n\
         LLM__GENERIC__2__BASE_URL=ftp://files.example/v1\n\
         LLM__GENERIC__2__API_KEY={SECRET}\n\
         LLM__GENERIC__2__MODEL=m\n\
         LLM__GENERIC__2__NAME=twin\n\
         LLM__GENERIC__2__INTER_TOKEN_TIMEOUT_S=30\n\
         LLM__GENERIC__2__TTFT_TIMEOUT_S=20\n\
         LLM__GENERIC__4__BASE_URL=https://d.example/v1\n\
         LLM__GENERIC__4__MODEL=m\n\
         LLM__GENERIC__4__NAME=twin\n"
    );
    let at_fault = vec![
        // Misspelt; and so the right one is missing.
        "LLM__GENERIC__1__BASE_ULR",
        "LLM__GENERIC__1__BASE_URL",
        // No web address.
        "LLM__GENERIC__2__BASE_URL",
        // Not less than the limit of the first token.
        "LLM__GENERIC__2__INTER_TOKEN_TIMEOUT_S",
        // The gap.
        "LLM__GENERIC__4__BASE_URL",
        // No key.
        "LLM__GENERIC__4__API_KEY",
        // A name twice.
        "LLM__GENERIC__4__NAME",
    ];
    (text, at_fault)
}

#[test]
fn a_sound_configuration_is_shown_with_the_bound_and_without_secrets() {
    let desk = Desk::new();
    desk.write(".env", &sound());
    let ended = desk.run(&["check"]).with_code(0);
    for words in [
        "scope LLM",
        "https://a.example/v1",
        "m-b",
        "attempts 4; one call makes at most 5 upstream calls",
        "layers telemetry > structured > retry",
        "LLM__GENERIC__2__API_KEY",
        "no fault found",
    ] {
        assert!(ended.out.contains(words), "{words} is not in:\n{}", ended.out);
    }
    assert!(!desk.path("pgw-telemetry.sqlite").exists(), "a check leaves nothing behind");
}

/// The grammar's faults, all reported at once, each with its variable and its fix.
#[test]
fn a_broken_file_is_told_with_every_fault() {
    let desk = Desk::new();
    let (text, at_fault) = broken();
    desk.write(".env", &text);
    let ended = desk.run(&["check"]).with_code(4);
    for name in &at_fault {
        let line = ended.out.lines().find(|line| line.trim_start().starts_with(name));
        assert!(line.is_some(), "{name} is not in:\n{}", ended.out);
    }

    let finding = desk.run(&["check", "--json"]).with_code(4).json();
    let faults = finding["faults"].as_array().unwrap();
    for fault in faults {
        assert_eq!(fault["scope"], "LLM");
        for member in ["path", "problem", "fix"] {
            assert_ne!(fault[member], "", "{fault}");
        }
    }
    let error = desk.run(&["chat", "--json", "Why?"]).with_code(4).json()["error"].clone();
    let paths = |faults: &Value| -> Vec<Value> {
        faults.as_array().unwrap().iter().map(|fault| fault["path"].clone()).collect()
    };
    assert_eq!(paths(&error["faults"]), paths(&finding["faults"]), "chat says the same");
}

/// CLI-017: every scope of the environment is looked at, and one at fault hides no other.
#[test]
fn all_scopes_of_the_environment_are_checked() {
    let desk = Desk::new();
    desk.write(".env", &format!("{}VLM__GENERIC__1__BASE_URL=nowhere\n", sound()));
    let finding = desk.run(&["check", "--json"]).with_code(4).json();
    assert_eq!(finding["scopes"][0]["scope"], "LLM");
    assert_eq!(finding["scopes"][0]["upstream_call_bound"], 5);
    assert_eq!(finding["faults"][0]["scope"], "VLM");
    let finding = desk.run(&["check", "--json", "--scope", "LLM"]).with_code(0).json();
    assert_eq!(finding["faults"], json!([]));
}

/// CLI-008: the file may be anywhere, and the environment wins over it.
#[test]
fn another_file_may_be_named_and_the_environment_wins() {
    let desk = Desk::new();
    desk.write("other.env", &sound());
    let output = desk
        .command(&["check", "--json", "--env-file", "other.env"])
        .env("LLM__GENERIC__1__MODEL", "m-environment")
        .output()
        .unwrap();
    let ended = crate::pgw::Ended::from(output).with_code(0);
    assert_eq!(ended.json()["scopes"][0]["sources"][0]["model"], "m-environment");
    let ended = desk.run(&["check", "--env-file", "none.env"]).with_code(4);
    assert!(ended.out.contains("none.env"), "{}", ended.out);
}

#[test]
fn an_empty_environment_says_how_a_source_is_written() {
    let ended = Desk::new().run(&["check"]).with_code(4);
    assert!(ended.out.contains("scope LLM is at fault"), "{}", ended.out);
    assert!(ended.out.contains("BASE_URL"), "{}", ended.out);
}
