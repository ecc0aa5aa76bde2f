//! The ways a dependency may be written are all seen.

use super::{dependencies, has_workspace_lints};

const MANIFEST: &str = r#"
[package]
name = "x" # a comment = with an equals sign
keywords = [
    "dependencies",
]

[lints]
workspace = true

[dependencies]
dotted.workspace = true
inline = { workspace = true, features = ["a#b", "c"] }
literal = "1.0"
table = { version = "1.0" }
spread = { workspace = true, features = [
    "a",
    "b",
] }

[target.'cfg(target_os = "linux")'.dependencies]
targeted = { path = "../y" }

[dev-dependencies.long]
workspace = true
features = ["x"]

[build-dependencies.longer]
version = "2"
"#;

#[test]
fn every_form_of_dependency_is_read() {
    let read: Vec<_> = dependencies(MANIFEST)
        .into_iter()
        .map(|written| (written.name, written.from_workspace, written.line))
        .collect();
    let expected = [
        ("dotted", true, 12),
        ("inline", true, 13),
        ("literal", false, 14),
        ("table", false, 15),
        ("spread", true, 16),
        ("targeted", false, 22),
        ("long", true, 25),
        ("longer", false, 29),
    ];
    assert_eq!(read, expected.map(|(name, shared, line)| (name.to_owned(), shared, line)));
}

#[test]
fn workspace_lints_are_seen_in_both_forms() {
    assert!(has_workspace_lints(MANIFEST));
    assert!(has_workspace_lints("lints.workspace = true"));
    assert!(!has_workspace_lints("[lints]\nworkspace = false"));
    assert!(!has_workspace_lints("# [lints]\n# workspace = true\n[package]\nname = \"x\""));
}
