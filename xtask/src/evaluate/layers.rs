//! Which crate of ours uses which. Edges are matched by the directory they point to, so neither a
//! rename nor a namesake hides one.

use crate::graph::{Dependency, Graph, Kind, Member};
use crate::manifest;
use crate::rule::{Layer, MayUse, Rule, Rules};
use crate::violation::Violation;

pub(super) fn check(graph: &Graph, rules: &Rules, found: &mut Vec<Violation>) {
    for member in &graph.members {
        let Some(layer) = rules.layers.iter().find(|layer| layer.name == member.name) else {
            found.push(Violation {
                rule: Rule::KnownMembers,
                place: member.name.clone(),
                line: None,
                what: member.dir.clone(),
                message: format!(
                    "a member at {} that has no place in the table of layers; give it one in \
                     xtask/src/rules.rs",
                    member.dir
                ),
            });
            continue;
        };
        if member.dir != layer.dir {
            found.push(Violation {
                rule: Rule::KnownMembers,
                place: member.name.clone(),
                line: None,
                what: member.dir.clone(),
                message: format!("lies at {}, its place is {}", member.dir, layer.dir),
            });
        }
        for dependency in &member.dependencies {
            if let Some(violation) = edge(graph, rules, layer, member, dependency) {
                found.push(violation);
            }
        }
    }
}

fn edge(
    graph: &Graph,
    rules: &Rules,
    layer: &Layer,
    member: &Member,
    dependency: &Dependency,
) -> Option<Violation> {
    let written = written_at(member, dependency);
    let violation = |what: &str, message: String| {
        Some(Violation {
            rule: Rule::Layers,
            place: member.name.clone(),
            line: None,
            what: what.to_owned(),
            message,
        })
    };
    let Some(dir) = &dependency.dir else {
        let namesake = rules.layers.iter().any(|layer| layer.name == dependency.package);
        return namesake.then(|| {
            violation(
                &dependency.package,
                format!(
                    "{} → {} {written} comes from a registry under the name of a crate of ours",
                    member.name, dependency.package
                ),
            )
        })?;
    };
    let Some(target) = graph.member_at(dir) else {
        return violation(
            &dependency.package,
            format!(
                "{} → {} {written} points to {dir}, which is no member of this workspace",
                member.name, dependency.package
            ),
        );
    };
    let MayUse::Only(allowed) = layer.may_use else {
        return None;
    };
    let used = target.name.as_str();
    let mut may_use = allowed.to_vec();
    if dependency.kind == Kind::Dev {
        may_use.extend(rules.dev_extra);
        may_use.extend(layer.may_use_in_tests);
    }
    if may_use.contains(&used) {
        return None;
    }
    let may_use =
        if may_use.is_empty() { "nothing of ours".to_owned() } else { may_use.join(", ") };
    violation(
        used,
        format!(
            "{} → {used} {written} is a forbidden {} dependency; {} may use {may_use}",
            member.name,
            dependency.kind.as_str(),
            member.name
        ),
    )
}

/// `(crates/x/Cargo.toml:12)`, with the other name if the dependency is renamed.
fn written_at(member: &Member, dependency: &Dependency) -> String {
    let name = dependency.rename.as_ref().unwrap_or(&dependency.package);
    let line = manifest::dependencies(&member.manifest)
        .into_iter()
        .find(|written| {
            let kind = written.table.rsplit('.').next();
            written.name == *name && kind == Some(table(dependency.kind))
        })
        .map(|written| format!(":{}", written.line))
        .unwrap_or_default();
    let rename = match &dependency.rename {
        Some(rename) => format!(", there named {rename}"),
        None => String::new(),
    };
    format!("({}/Cargo.toml{line}{rename})", member.dir)
}

fn table(kind: Kind) -> &'static str {
    match kind {
        Kind::Normal => "dependencies",
        Kind::Build => "build-dependencies",
        Kind::Dev => "dev-dependencies",
    }
}
