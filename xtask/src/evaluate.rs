//! The check itself: facts and rules in, violations out. Reads nothing, so tests can plant any
//! fault as data.

mod environment;
mod externals;
mod layers;
mod manifests;
mod tidy;
mod words;

#[cfg(test)]
mod tests;

use crate::graph::Graph;
use crate::rule::{Exception, Rule, Rules};
use crate::violation::Violation;

/// Every violation, sorted by rule and place. Accepted ones are left out; an exception that
/// accepts nothing is a violation itself.
#[must_use]
pub fn evaluate(graph: &Graph, rules: &Rules) -> Vec<Violation> {
    let mut found = Vec::new();
    layers::check(graph, rules, &mut found);
    externals::check(graph, rules, &mut found);
    environment::check(graph, rules, &mut found);
    words::check(graph, rules, &mut found);
    manifests::check(graph, &mut found);
    tidy::check(graph, rules, &mut found);

    let stale: Vec<_> = rules
        .exceptions
        .iter()
        .filter(|exception| !found.iter().any(|violation| accepts(exception, violation)))
        .map(|exception| Violation {
            rule: Rule::StaleExceptions,
            place: exception.place.to_owned(),
            line: None,
            what: exception.what.to_owned(),
            message: format!(
                "the exception to rule {} for {} accepts nothing any more; remove it (its \
                 reason was: {})",
                exception.rule, exception.what, exception.reason
            ),
        })
        .collect();
    found.retain(|violation| !rules.exceptions.iter().any(|e| accepts(e, violation)));
    found.extend(stale);
    found.sort();
    found.dedup();
    found
}

fn accepts(exception: &Exception, violation: &Violation) -> bool {
    exception.rule == violation.rule
        && exception.place == violation.place
        && exception.what == violation.what
}
