//! The check as a person runs it: real manifests, real `cargo metadata`, real exit status.
#![expect(clippy::unwrap_used, reason = "a helper of a test fails as a test does")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use xtask::{Rule, Rules, evaluate, gather, house};

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn planted() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/planted/Cargo.toml")
}

fn xtask(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_xtask")).args(args).output().unwrap()
}

// REQ XTK-001: a deliberate bad edge in a fixture's manifest makes the check fail and is named.
/// XTK-001
#[test]
fn a_planted_edge_fails_the_command_and_is_named() {
    let manifest = planted();
    let output = xtask(&["check-layers", "--manifest-path", manifest.to_str().unwrap()]);
    let report = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{report}");
    for part in [
        "pgw-structured → pgw-telemetry",
        "(crates/pgw-structured/Cargo.toml:12, there named records)",
        "docs/ARCHITECTURE.md, section Layers",
    ] {
        assert!(report.contains(part), "{part} is not in:\n{report}");
    }
}

// REQ XTK-001: and nothing else in that fixture is at fault.
#[test]
fn the_planted_edge_is_the_only_violation() {
    let graph = gather(Some(&planted())).unwrap();
    let found = evaluate(&graph, &Rules { exceptions: &[], ..house() });
    let ends: Vec<_> = found.iter().map(|v| (v.rule, v.place.as_str(), v.what.as_str())).collect();
    assert_eq!(ends, [(Rule::Layers, "pgw-structured", "pgw-telemetry")]);
}

// REQ XTK-001, XTK-003, NOG-001, NOG-002, NOG-008, NOG-010
/// XTK-001, XTK-002, TYP-060, TYP-061, PRT-026, MID-023, OAI-027, OAI-033, TEL-014, CLI-006, CLI-030, NOG-001, NOG-002, NOG-008
#[test]
fn this_workspace_keeps_the_rules() {
    let graph = gather(Some(&workspace().join("Cargo.toml"))).unwrap();
    assert!(graph.members.len() > 10, "the members were found");
    assert!(graph.packages.iter().any(|package| package.name == "serde"), "the graph is resolved");
    assert!(graph.files.iter().any(|file| file.path == "Makefile"), "the files were read");
    let found = evaluate(&graph, &house());
    let report: Vec<_> = found.iter().map(ToString::to_string).collect();
    assert!(found.is_empty(), "{}", report.join("\n"));
}

// REQ XTK-012, XTK-015: a rule that cites a text nobody wrote has drifted from it.
#[test]
fn every_rule_is_written_where_it_says() {
    let is_written = |rule: &Rule| {
        let (file, section) = rule.written_in().split_once(", section ").unwrap();
        let text = std::fs::read_to_string(workspace().join(file)).unwrap_or_default();
        let named = |line: &str| {
            let title = line.trim_start_matches(['#', '/']);
            title.len() < line.len() && title.trim_start().starts_with(section)
        };
        text.lines().any(|line| named(line) || named(&line.replace("Section ", "")))
    };
    let unwritten: Vec<_> =
        Rule::ALL.iter().filter(|rule| !is_written(rule)).map(|rule| rule.written_in()).collect();
    assert!(unwritten.is_empty(), "no such heading: {unwritten:?}");
}

#[test]
fn a_wrong_command_line_is_refused_with_help() {
    for args in
        [&["check-layer"][..], &["check-layers", "--fast"], &["check-layers", "--manifest-path"]]
    {
        let output = xtask(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("Exit status"), "{args:?}");
    }
    let missing = xtask(&["check-layers", "--manifest-path", "no/such/Cargo.toml"]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(!missing.stderr.is_empty());
    assert_eq!(xtask(&["help"]).status.code(), Some(0));
}
