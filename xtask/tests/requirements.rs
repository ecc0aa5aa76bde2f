//! The proofs that the documents name must exist.

use std::{collections::BTreeSet, fs, path::Path};

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// Names of functions in the project's sources.
fn functions(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name();
        if path.is_dir() && name != "target" && !name.to_string_lossy().starts_with('.') {
            functions(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let text = fs::read_to_string(&path).unwrap_or_default();
            for line in text.lines() {
                let Some((_, rest)) = line.split_once("fn ") else { continue };
                let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
                found.insert(rest[..end.unwrap_or(rest.len())].to_owned());
            }
        }
    }
}

/// What stands in backticks in the last column of a document's tables.
fn named(document: &str) -> Vec<String> {
    let text = fs::read_to_string(root().join(document)).unwrap_or_default();
    let rows = text.lines().filter(|line| line.starts_with("| ") && line.ends_with(" |"));
    let cells = rows.filter_map(|row| row.trim_end_matches(" |").rsplit_once("| "));
    cells
        .flat_map(|(_, cell)| cell.split('`').skip(1).step_by(2).map(str::to_owned))
        .filter(|name| {
            name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        })
        .collect()
}

#[test]
fn every_test_that_a_requirement_names_exists() {
    let mut known = BTreeSet::new();
    functions(root(), &mut known);
    let named = named("docs/requirements.md");
    assert!(named.len() > 100, "only {} proofs were found", named.len());
    let missing: Vec<_> = named.iter().filter(|name| !known.contains(*name)).collect();
    assert!(missing.is_empty(), "docs/requirements.md names tests that don't exist: {missing:?}");
}

#[test]
fn every_test_that_an_invariant_names_exists() {
    let mut known = BTreeSet::new();
    functions(root(), &mut known);
    let text = fs::read_to_string(root().join("docs/ARCHITECTURE.md")).unwrap_or_default();
    let section = text.split("## Invariants").nth(1).unwrap_or_default();
    let section = section.split("\n## ").next().unwrap_or_default();
    let names: Vec<_> = section
        .lines()
        .filter(|line| line.starts_with("| "))
        .filter_map(|row| row.trim_end_matches(" |").rsplit_once("| "))
        .flat_map(|(_, cell)| cell.split('`').skip(1).step_by(2))
        .collect();
    assert!(names.len() >= 15, "only {} proofs were found", names.len());
    let missing: Vec<_> = names.iter().filter(|name| !known.contains(**name)).collect();
    assert!(missing.is_empty(), "docs/ARCHITECTURE.md names tests that don't exist: {missing:?}");
}
