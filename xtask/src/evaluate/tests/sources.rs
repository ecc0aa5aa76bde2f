//! Planted faults of manifests and sources.

use super::{assert_clean, file, member, members, only, rules};
use crate::evaluate::evaluate;
use crate::rule::Rule;
use crate::rules::house;

const READER: &str = "crates/pgw-client/src/config/environment.rs";

#[test]
fn the_environment_is_read_by_the_loader_only() {
    let source = "//! x\nfn f() {\n    let key = std::env::var(\"KEY\");\n}\n";
    let violation = only(&file("crates/pgw-http/src/proxy.rs", source));
    assert_eq!(violation.rule, Rule::EnvironmentReads);
    assert!(violation.to_string().starts_with("crates/pgw-http/src/proxy.rs:3: env::var reads"));

    assert_clean(&file(READER, source));
    assert_clean(&file("crates/pgw-http/src/proxy/tests.rs", source));
    assert_clean(&file("crates/pgw-http/tests/it/main.rs", source));
    assert_clean(&file("benches/src/lib.rs", source));
}

#[test]
fn every_way_to_the_environment_is_seen() {
    for code in [
        "use std::env; fn f() { env::vars_os(); }",
        "use std::env::var;",
        "use std::env::{args, vars};",
        "use std::env::*;",
        "use std::env as surroundings;",
        "use std::{env as surroundings, fs};",
        "use std::env::{self as surroundings};",
        "const K: Option<&str> = option_env!(\"K\");",
        "fn f() { Matcher::from_env(); }",
        "fn f() { Env::prefixed(\"PGW_\"); }",
    ] {
        let violation = only(&file("crates/pgw-http/src/x.rs", &format!("//! x\n{code}\n")));
        assert_eq!((violation.rule, violation.line), (Rule::EnvironmentReads, Some(2)), "{code}");
    }
    for code in [
        "// std::env::var(\"K\")",
        "/* env::var */ const T: &str = \"env::var\";",
        "fn f() { GatewayClient::from_env(); env!(\"CARGO_PKG_VERSION\"); env::args(); }",
        "use std::env::args;",
        "fn f(dotenv: &Path, env: u8, var: u8) { (env, var, dotenv) }",
    ] {
        assert_clean(&file("crates/pgw-http/src/x.rs", &format!("//! x\n{code}\n")));
    }
}

#[test]
fn a_listed_reader_that_reads_nothing_is_stale() {
    let mut graph = file(READER, "//! x\n");
    graph.members.push(member("pgw-client", Vec::new()));
    assert_eq!(only(&graph).rule, Rule::StaleExceptions);
}

#[test]
fn business_words_stand_nowhere() {
    for word in house().business_words {
        let text = format!("one\ntwo {}s\n", word.to_uppercase());
        let violation = only(&file("docs/x.md", &text));
        assert_eq!((violation.rule, violation.line), (Rule::BusinessWords, Some(2)), "{word}");
        let violation = only(&file(&format!("tests/{word}.txt"), ""));
        assert_eq!((violation.rule, violation.line), (Rule::BusinessWords, None), "{word}");
        assert_clean(&file(house().word_list_file, &format!("//! {word}\n")));
    }
    assert_clean(&file("docs/x.md", "a video, a document, a tree and a government\n"));
}

#[test]
fn members_take_lints_and_versions_from_the_workspace() {
    let mut bare = member("pgw-types", Vec::new());
    bare.manifest = "[dependencies]\nserde = \"1.0\"\n".to_owned();
    let found = evaluate(&members(vec![bare]), &rules());
    let read: Vec<_> = found.iter().map(|v| (v.rule, v.line, v.what.as_str())).collect();
    assert_eq!(
        read,
        [(Rule::WorkspaceLints, None, "lints"), (Rule::WorkspaceDependencies, Some(2), "serde")]
    );
}

#[test]
fn untidy_sources_are_named_by_line() {
    let path = "crates/pgw-types/src/x.rs";
    for (what, code) in [
        ("#[allow]", "#[allow(dead_code)]"),
        ("#[allow]", "#![cfg_attr(test, allow(dead_code))]"),
        ("#[ignore]", "#[ignore = \"slow\"]"),
        ("#[path]", "#[path = \"../../pgw-ports/src/clock.rs\"] mod clock;"),
        ("include!", "include!(\"../../pgw-ports/src/clock.rs\");"),
        ("include_str!", "const T: &str = include_str!(\"../../pgw-ports/src/clock.rs\");"),
        ("hole", "fn f() { todo!() }"),
        ("hole", "fn f() { unimplemented!(\"later\") }"),
        ("unfinished", "// TODO: finish"),
    ] {
        let mut graph = file(path, &format!("//! x\n{code}\n"));
        graph.members = vec![member("pgw-types", Vec::new()), member("pgw-ports", Vec::new())];
        let violation = only(&graph);
        assert_eq!((violation.rule, violation.line), (Rule::Tidy, Some(2)), "{code}");
        assert_eq!(violation.what, what, "{code}");
    }
    for code in [
        "#[expect(dead_code, reason = \"x\")] fn f() { gate.allow(todo); }",
        "#[doc = \"ignore\"] #[serde(path = \"x\")] struct S;",
        "include!(\"table.rs\");",
        "include!(concat!(env!(\"OUT_DIR\"), \"/table.rs\"));",
        "const T: &str = include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/../../README.md\"));",
    ] {
        let mut graph = file(path, &format!("//! x\n{code}\n"));
        graph.members = vec![member("pgw-types", Vec::new())];
        assert_clean(&graph);
    }
}

#[test]
fn a_file_names_its_subject_and_stays_short() {
    let path = "crates/pgw-types/src/x.rs";
    assert_eq!(only(&file(path, "use std::fmt;\n")).what, "first line");
    assert_eq!(only(&file(path, "")).what, "first line");
    assert_clean(&file("crates/pgw-types/src/x/tests.rs", "// REQ TYP-001\n"));
    let long = format!("//! x\n{}", "\n".repeat(house().max_lines));
    assert_eq!(only(&file(path, &long)).what, "length");
    assert_clean(&file("docs/x.md", &long));
}
