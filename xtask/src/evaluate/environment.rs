//! Who reads the environment: sources of `crates/*/src`, their tests left out.

use super::tidy::is_test_source;
use crate::graph::{Graph, TextFile, is_under};
use crate::rule::{Rule, Rules};
use crate::tokens::{Sort, Token, group, is_colons, is_path, tokens};
use crate::violation::Violation;

pub(super) fn check(graph: &Graph, rules: &Rules, found: &mut Vec<Violation>) {
    for file in graph.files.iter().filter(|file| is_library_source(file)) {
        let reads = reads(&file.text, rules);
        let is_reader = rules.environment_readers.contains(&file.path.as_str());
        for (line, what) in reads.into_iter().filter(|_| !is_reader) {
            found.push(Violation {
                rule: Rule::EnvironmentReads,
                place: file.path.clone(),
                line: Some(line),
                message: format!(
                    "{what} reads the environment; only {} may",
                    rules.environment_readers.join(", ")
                ),
                what,
            });
        }
    }
    for &reader in rules.environment_readers {
        let file = graph.files.iter().find(|file| file.path == reader);
        let reads = file.is_some_and(|file| !reads(&file.text, rules).is_empty());
        if !reads && graph.members.iter().any(|member| is_under(reader, &member.dir)) {
            found.push(Violation {
                rule: Rule::StaleExceptions,
                place: reader.to_owned(),
                line: None,
                what: "environment_readers".to_owned(),
                message: "is listed as a reader of the environment, and reads nothing of it; \
                          take it off the list"
                    .to_owned(),
            });
        }
    }
}

fn is_library_source(file: &TextFile) -> bool {
    let mut parts = file.path.split('/');
    parts.next() == Some("crates")
        && parts.nth(1) == Some("src")
        && file.is_rust()
        && !is_test_source(&file.path)
}

/// The lines that read the environment, and what they read it with.
fn reads(source: &str, rules: &Rules) -> Vec<(usize, String)> {
    let mut code = tokens(source);
    code.retain(|token| token.sort != Sort::Comment);
    let mut found: Vec<(usize, String)> = Vec::new();
    for (at, token) in code.iter().enumerate().filter(|(_, token)| token.sort == Sort::Ident) {
        let read = rules.environment_reads.iter().find(|path| {
            is_path(&code, at, path)
                || matches!(path, [first, last]
                    if token.text == *first && imports(&code, at, last))
        });
        // `env::var_os` is one read, though its last segment is forbidden alone as well.
        let counted = found.last().is_some_and(|(line, what)| {
            *line == token.line && what.ends_with(&format!("::{}", token.text))
        });
        if let Some(path) = read.filter(|_| !counted) {
            found.push((token.line, path.join("::")));
        }
    }
    found
}

/// Whether the module named at `at` is imported in a way that makes its item `last` usable under
/// a name this scan would not know: in braces, by a glob, or by renaming the module.
fn imports(code: &[Token<'_>], at: usize, last: &str) -> bool {
    let renamed = code.get(at + 1).is_some_and(|token| token.is_ident("as"))
        && at > 0
        && [":", "{", ","].iter().any(|mark| code[at - 1].is_punct(mark));
    if renamed {
        return true;
    }
    if !is_colons(code, at + 1) {
        return false;
    }
    match code.get(at + 3) {
        Some(token) if token.is_punct("*") => true,
        Some(token) if token.is_punct("{") => {
            let inside = group(code, at + 3);
            inside.iter().enumerate().any(|(n, token)| {
                let self_renamed = token.is_ident("self")
                    && inside.get(n + 1).is_some_and(|token| token.is_ident("as"));
                token.is_ident(last) || token.is_punct("*") || self_renamed
            })
        }
        _ => false,
    }
}
