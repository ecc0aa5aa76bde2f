//! Planted faults, as data. Each must be found, and found alone. Here: faults of the graph.

mod sources;

use super::evaluate;
use crate::graph::{Dependency, Graph, Kind, Member, Package, TextFile};
use crate::rule::{Exception, Rule, Rules};
use crate::rules::house;
use crate::violation::Violation;

/// The rules of the house without its own exceptions: they have nothing to accept here.
fn rules() -> Rules {
    Rules { exceptions: &[], ..house() }
}

fn member(name: &str, dependencies: Vec<Dependency>) -> Member {
    Member {
        name: name.to_owned(),
        dir: format!("crates/{name}"),
        dependencies,
        manifest: "[lints]\nworkspace = true\n".to_owned(),
    }
}

fn on(package: &str, kind: Kind) -> Dependency {
    Dependency {
        package: package.to_owned(),
        rename: None,
        kind,
        dir: package.starts_with("pgw-").then(|| format!("crates/{package}")),
        features: Vec::new(),
    }
}

fn members(members: Vec<Member>) -> Graph {
    Graph { members, ..Graph::default() }
}

fn file(path: &str, text: &str) -> Graph {
    let files = vec![TextFile { path: path.to_owned(), text: text.to_owned() }];
    Graph { files, ..Graph::default() }
}

/// The only violation of the house rules in this graph.
fn only(graph: &Graph) -> Violation {
    let mut found = evaluate(graph, &rules());
    assert_eq!(found.len(), 1, "{found:#?}");
    found.remove(0)
}

fn assert_clean(graph: &Graph) {
    assert_eq!(evaluate(graph, &rules()), []);
}

// REQ PRT-024, XTK-001
#[test]
fn an_example_gets_by_with_the_seams_and_meets_the_client_in_tests_only() {
    let graph = |dependencies| {
        let mut example = member("custom-store", dependencies);
        example.dir = "examples/custom-store".to_owned();
        let names = ["pgw-client", "pgw-contract", "pgw-ports", "pgw-types"];
        let others = names.map(|name| member(name, Vec::new()));
        members(others.into_iter().chain([example]).collect())
    };
    let seams = || vec![on("pgw-ports", Kind::Normal), on("pgw-types", Kind::Normal)];
    // The graph's client has no files, so it has no reader of the environment either.
    let rules = Rules { environment_readers: &[], ..rules() };
    let in_tests = [on("pgw-client", Kind::Dev), on("pgw-contract", Kind::Dev)];
    let allowed = graph(seams().into_iter().chain(in_tests).collect());
    assert_eq!(evaluate(&allowed, &rules), []);
    for forbidden in ["pgw-client", "pgw-contract"] {
        let found = evaluate(&graph(vec![on(forbidden, Kind::Normal)]), &rules);
        let named: Vec<_> = found.iter().map(|one| (one.rule, one.what.as_str())).collect();
        assert_eq!(named, [(Rule::Layers, forbidden)]);
    }
}

// REQ XTK-001
#[test]
fn an_edge_between_rooms_is_named_with_both_ends_and_the_rule() {
    let mut structured = member("pgw-structured", vec![on("pgw-telemetry", Kind::Normal)]);
    structured.manifest.push_str("[dependencies]\npgw-telemetry.workspace = true\n");
    let graph = members(vec![structured, member("pgw-telemetry", Vec::new())]);
    let report = only(&graph).to_string();
    for part in [
        "pgw-structured → pgw-telemetry",
        "(crates/pgw-structured/Cargo.toml:4)",
        "may use pgw-ports, pgw-types",
        "rule layers, written in docs/ARCHITECTURE.md, section Layers",
    ] {
        assert!(report.contains(part), "{part} is not in:\n{report}");
    }
}

// REQ XTK-001
#[test]
fn the_ground_uses_nothing_of_ours() {
    let graph = members(vec![
        member("pgw-types", vec![on("pgw-ports", Kind::Build)]),
        member("pgw-ports", vec![on("pgw-types", Kind::Normal)]),
    ]);
    let report = only(&graph).to_string();
    assert!(report.contains("pgw-types → pgw-ports"), "{report}");
    assert!(report.contains("build dependency; pgw-types may use nothing of ours"), "{report}");
}

#[test]
fn all_violations_are_reported_at_once() {
    let uses = vec![on("pgw-telemetry", Kind::Normal), on("pgw-http", Kind::Normal)];
    let graph = members(vec![
        member("pgw-middleware", vec![on("pgw-server", Kind::Normal)]),
        member("pgw-server", uses),
        member("pgw-telemetry", Vec::new()),
        member("pgw-http", Vec::new()),
    ]);
    let found = evaluate(&graph, &rules());
    let ends: Vec<_> =
        found.iter().map(|violation| (violation.place.as_str(), violation.what.as_str())).collect();
    assert_eq!(
        ends,
        [
            ("pgw-middleware", "pgw-server"),
            ("pgw-server", "pgw-http"),
            ("pgw-server", "pgw-telemetry")
        ]
    );
}

#[test]
fn mock_and_contract_are_for_tests() {
    let rest = || vec![member("pgw-mock", Vec::new()), member("pgw-contract", Vec::new())];
    let with = |kind| {
        let uses = vec![on("pgw-mock", kind), on("pgw-contract", kind)];
        members([vec![member("pgw-backend-memory", uses)], rest()].concat())
    };
    assert_clean(&with(Kind::Dev));
    assert_eq!(evaluate(&with(Kind::Normal), &rules()).len(), 2);
}

#[test]
fn a_dev_edge_between_rooms_is_forbidden_too() {
    let graph = members(vec![
        member("pgw-telemetry", vec![on("pgw-middleware", Kind::Dev)]),
        member("pgw-middleware", Vec::new()),
    ]);
    let report = only(&graph).to_string();
    assert!(report.contains("pgw-telemetry → pgw-middleware"), "{report}");
    assert!(report.contains("may use pgw-ports, pgw-types, pgw-contract, pgw-mock"), "{report}");
}

#[test]
fn a_rename_hides_nothing() {
    let renamed =
        Dependency { rename: Some("harmless".to_owned()), ..on("pgw-telemetry", Kind::Normal) };
    let mut room = member("pgw-structured", vec![renamed]);
    room.manifest.push_str("[dependencies]\nharmless.workspace = true\n");
    let report = only(&members(vec![room, member("pgw-telemetry", Vec::new())])).to_string();
    assert!(report.contains("pgw-structured → pgw-telemetry"), "{report}");
    assert!(report.contains("Cargo.toml:4, there named harmless"), "{report}");
}

#[test]
fn edges_are_matched_by_directory_not_by_name() {
    let disguised =
        Dependency { package: "harmless".to_owned(), ..on("pgw-telemetry", Kind::Normal) };
    let graph = members(vec![
        member("pgw-structured", vec![disguised]),
        member("pgw-telemetry", Vec::new()),
    ]);
    assert_eq!(only(&graph).what, "pgw-telemetry");

    let namesake = Dependency { dir: None, ..on("pgw-types", Kind::Normal) };
    let graph = members(vec![member("pgw-ports", vec![namesake]), member("pgw-types", Vec::new())]);
    assert!(only(&graph).message.contains("from a registry"));

    let outside = Dependency { dir: Some("/tmp/x".to_owned()), ..on("x", Kind::Normal) };
    assert!(only(&members(vec![member("pgw-ports", vec![outside])])).message.contains("/tmp/x"));
}

#[test]
fn an_unknown_member_is_forbidden() {
    let violation = only(&members(vec![member("pgw-utils", Vec::new())]));
    assert_eq!((violation.rule, violation.place.as_str()), (Rule::KnownMembers, "pgw-utils"));

    let mut moved = member("pgw-types", Vec::new());
    moved.dir = "crates/types".to_owned();
    assert_eq!(only(&members(vec![moved])).rule, Rule::KnownMembers);
}

#[test]
fn workspace_tests_may_use_anything() {
    let mut tests = member("pgw-tests", vec![on("pgw-http", Kind::Normal)]);
    tests.dir = "tests".to_owned();
    assert_clean(&members(vec![tests, member("pgw-http", Vec::new())]));
}

/// Members and outside packages with their edges by name.
fn resolved(edges: &[(&str, &[&str])]) -> Graph {
    let position = |name: &str| edges.iter().position(|(from, _)| *from == name);
    let packages = edges
        .iter()
        .map(|(name, uses)| Package {
            name: (*name).to_owned(),
            version: "1.0.0".to_owned(),
            member_dir: name.starts_with("pgw-").then(|| format!("crates/{name}")),
            uses: uses.iter().filter_map(|name| position(name)).collect(),
        })
        .collect();
    let members = edges
        .iter()
        .filter(|(name, _)| name.starts_with("pgw-"))
        .map(|(name, _)| member(name, Vec::new()))
        .collect();
    Graph { members, packages, files: Vec::new() }
}

// REQ XTK-002
#[test]
fn a_runtime_below_pgw_types_is_named_with_its_chain() {
    let graph = resolved(&[
        ("pgw-ports", &["pgw-types"]),
        ("pgw-types", &["plain", "helper"]),
        ("plain", &[]),
        ("helper", &["tokio"]),
        ("tokio", &[]),
    ]);
    let violation = only(&graph);
    assert_eq!(violation.place, "pgw-types", "the crate that brings it in is the one named");
    assert!(violation.message.contains("pgw-types → helper 1.0.0 → tokio 1.0.0"), "{violation}");
}

// REQ NOG-008, XTK-003
#[test]
fn a_retry_crate_is_found_at_any_depth() {
    let graph = resolved(&[("pgw-http", &["helper"]), ("helper", &["backoff"]), ("backoff", &[])]);
    assert!(only(&graph).message.contains("pgw-http → helper 1.0.0 → backoff 1.0.0"));
}

#[test]
fn middleware_declares_no_connection_of_its_own() {
    let graph = members(vec![member("pgw-middleware", vec![on("rustls", Kind::Normal)])]);
    assert_eq!(only(&graph).what, "rustls");
    assert_clean(&members(vec![member("pgw-middleware", vec![on("rustls", Kind::Dev)])]));
}

#[test]
fn the_environment_is_not_read_by_a_helper_either() {
    let graph = resolved(&[("pgw-client", &["dotenvy"]), ("dotenvy", &[])]);
    assert_eq!(evaluate(&graph, &rules())[0].what, "dotenvy");
}

// REQ XTK-003
#[test]
fn a_vendor_client_serves_the_benchmarks_only() {
    let mut bench = member("pgw-bench", vec![on("async-openai", Kind::Dev)]);
    bench.dir = "benches".to_owned();
    assert_clean(&members(vec![bench]));
    let graph = members(vec![member("pgw-mock", vec![on("async-openai", Kind::Dev)])]);
    assert_eq!(only(&graph).what, "async-openai");
}

#[test]
fn forbidden_features_are_named() {
    let tokio = |kind| Dependency { features: vec!["test-util".to_owned()], ..on("tokio", kind) };
    assert_clean(&members(vec![member("pgw-mock", vec![tokio(Kind::Dev)])]));
    let violation = only(&members(vec![member("pgw-mock", vec![tokio(Kind::Normal)])]));
    assert_eq!(
        (violation.rule, violation.what.as_str()),
        (Rule::ForbiddenFeatures, "tokio/test-util")
    );
}

#[test]
fn an_exception_accepts_its_violation_and_fails_when_stale() {
    const ACCEPTED: Exception = Exception {
        rule: Rule::Layers,
        place: "pgw-structured",
        what: "pgw-telemetry",
        reason: "planted",
    };
    let rules = Rules { exceptions: &[ACCEPTED], ..house() };
    let edge = members(vec![
        member("pgw-structured", vec![on("pgw-telemetry", Kind::Normal)]),
        member("pgw-telemetry", Vec::new()),
    ]);
    assert_eq!(evaluate(&edge, &rules), []);

    let found = evaluate(&Graph::default(), &rules);
    let report = found.iter().map(ToString::to_string).collect::<String>();
    assert_eq!(found.len(), 1, "{report}");
    for part in ["pgw-structured", "pgw-telemetry", "accepts nothing", "planted"] {
        assert!(report.contains(part), "{part} is not in:\n{report}");
    }
}
