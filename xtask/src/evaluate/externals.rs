//! Crates and features from outside that a layer must not have.

use std::collections::VecDeque;

use crate::graph::{Graph, Kind, Member};
use crate::rule::{External, Reach, Rule, Rules};
use crate::violation::Violation;

pub(super) fn check(graph: &Graph, rules: &Rules, found: &mut Vec<Violation>) {
    for rule in rules.externals {
        for member in graph.members.iter().filter(|member| rule.who.holds(member)) {
            match rule.reach {
                Reach::Declared | Reach::DeclaredOrDev => declared(member, rule, found),
                Reach::Resolved => resolved(graph, member, rule, found),
            }
        }
    }
    for rule in rules.features {
        for member in graph.members.iter().filter(|member| rule.who.holds(member)) {
            let asks = member.dependencies.iter().any(|dependency| {
                dependency.kind != Kind::Dev
                    && dependency.package == rule.package
                    && dependency.features.iter().any(|feature| feature == rule.feature)
            });
            if asks {
                found.push(Violation {
                    rule: Rule::ForbiddenFeatures,
                    place: member.name.clone(),
                    line: None,
                    what: format!("{}/{}", rule.package, rule.feature),
                    message: format!(
                        "{} asks for feature {} of {}, which is forbidden because {}",
                        member.name, rule.feature, rule.package, rule.because
                    ),
                });
            }
        }
    }
}

fn declared(member: &Member, rule: &External, found: &mut Vec<Violation>) {
    for dependency in &member.dependencies {
        let counts = rule.reach == Reach::DeclaredOrDev || dependency.kind != Kind::Dev;
        if counts && rule.names.contains(&dependency.package.as_str()) {
            let chain = format!("{} → {}", member.name, dependency.package);
            found.push(violation(member, rule, &dependency.package, &chain));
        }
    }
}

/// Walks the resolved graph breadth first, so the chain that is named is a shortest one. Members
/// bound by the same rule are not walked through: they are reported themselves.
fn resolved(graph: &Graph, member: &Member, rule: &External, found: &mut Vec<Violation>) {
    let start = graph
        .packages
        .iter()
        .position(|package| package.member_dir.as_deref() == Some(member.dir.as_str()));
    let Some(start) = start else { return };
    let mut came_from: Vec<Option<usize>> = vec![None; graph.packages.len()];
    let mut queue = VecDeque::from([start]);
    while let Some(here) = queue.pop_front() {
        for &next in &graph.packages[here].uses {
            if next == start || came_from[next].is_some() {
                continue;
            }
            came_from[next] = Some(here);
            let package = &graph.packages[next];
            if rule.names.contains(&package.name.as_str()) {
                let chain = chain(graph, &came_from, next);
                found.push(violation(member, rule, &package.name, &chain));
                continue;
            }
            let sibling = package.member_dir.as_deref().and_then(|dir| graph.member_at(dir));
            if !sibling.is_some_and(|sibling| rule.who.holds(sibling)) {
                queue.push_back(next);
            }
        }
    }
}

fn chain(graph: &Graph, came_from: &[Option<usize>], end: usize) -> String {
    let mut names = Vec::new();
    let mut here = Some(end);
    while let Some(n) = here {
        let package = &graph.packages[n];
        names.push(match package.member_dir {
            Some(_) => package.name.clone(),
            None => format!("{} {}", package.name, package.version),
        });
        here = came_from[n];
    }
    names.reverse();
    names.join(" → ")
}

fn violation(member: &Member, rule: &External, name: &str, chain: &str) -> Violation {
    Violation {
        rule: Rule::ForbiddenCrates,
        place: member.name.clone(),
        line: None,
        what: name.to_owned(),
        message: format!("{chain}: {name} is forbidden here because {}", rule.because),
    }
}
