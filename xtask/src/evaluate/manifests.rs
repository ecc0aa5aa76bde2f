//! Members take their lints and the versions of their dependencies from the workspace.

use crate::graph::Graph;
use crate::manifest;
use crate::rule::Rule;
use crate::violation::Violation;

pub(super) fn check(graph: &Graph, found: &mut Vec<Violation>) {
    for member in &graph.members {
        let path = format!("{}/Cargo.toml", member.dir);
        if !manifest::has_workspace_lints(&member.manifest) {
            found.push(Violation {
                rule: Rule::WorkspaceLints,
                place: path.clone(),
                line: None,
                what: "lints".to_owned(),
                message: format!("{} does not say `[lints] workspace = true`", member.name),
            });
        }
        for written in manifest::dependencies(&member.manifest) {
            if !written.from_workspace {
                found.push(Violation {
                    rule: Rule::WorkspaceDependencies,
                    place: path.clone(),
                    line: Some(written.line),
                    message: format!(
                        "{} in [{}] is not taken from [workspace.dependencies]; write \
                         `{}.workspace = true`",
                        written.name, written.table, written.name
                    ),
                    what: written.name,
                });
            }
        }
    }
}
