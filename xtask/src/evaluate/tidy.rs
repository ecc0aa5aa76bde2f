//! Order in the sources: each file says its subject, stays short, hides no test and no lint, marks
//! nothing as unfinished and does not reach into another crate's files.

use crate::graph::{Graph, TextFile, is_under};
use crate::rule::{Rule, Rules};
use crate::tokens::{Sort, Token, group, tokens};
use crate::violation::Violation;

pub(super) fn check(graph: &Graph, rules: &Rules, found: &mut Vec<Violation>) {
    for file in graph.files.iter().filter(|file| file.is_rust()) {
        let mut faults = Vec::new();
        first_line(file, &mut faults);
        length(file, rules, &mut faults);
        let all = tokens(&file.text);
        unfinished(&all, rules, &mut faults);
        let code: Vec<_> = all.into_iter().filter(|token| token.sort != Sort::Comment).collect();
        for at in 0..code.len() {
            attribute(&code, at, graph, file, &mut faults);
            macro_call(&code, at, graph, file, &mut faults);
        }
        found.extend(faults.into_iter().map(|fault| Violation {
            rule: Rule::Tidy,
            place: file.path.clone(),
            line: Some(fault.line),
            what: fault.what.to_owned(),
            message: fault.message,
        }));
    }
}

/// Whether a source holds tests: a `tests.rs` beside its subject, or anything in `tests/`.
pub(super) fn is_test_source(path: &str) -> bool {
    let mut parts = path.rsplit('/');
    let file = parts.next();
    file == Some("tests.rs") || parts.any(|part| part == "tests" || part == "benches")
}

struct Fault {
    line: usize,
    what: &'static str,
    message: String,
}

impl Fault {
    fn new(line: usize, what: &'static str, message: impl Into<String>) -> Self {
        Self { line, what, message: message.into() }
    }
}

fn first_line(file: &TextFile, faults: &mut Vec<Fault>) {
    let first = file.text.lines().next().unwrap_or_default();
    let accepted: &[&str] =
        if is_test_source(&file.path) { &["//"] } else { &["//!", "#![doc = include_str!("] };
    if !accepted.iter().any(|start| first.starts_with(start)) {
        let message = "the first line must be a `//!` comment that names the file's subject";
        faults.push(Fault::new(1, "first line", message));
    }
}

fn length(file: &TextFile, rules: &Rules, faults: &mut Vec<Fault>) {
    let lines = file.text.lines().count();
    if lines > rules.max_lines {
        let message =
            format!("{lines} lines; {} are the most, split it by subject", rules.max_lines);
        faults.push(Fault::new(rules.max_lines + 1, "length", message));
    }
}

fn unfinished(all: &[Token<'_>], rules: &Rules, faults: &mut Vec<Fault>) {
    for comment in all.iter().filter(|token| token.sort == Sort::Comment) {
        for (n, line) in comment.text.lines().enumerate() {
            let mut words = line.split(|c: char| !c.is_alphanumeric());
            if let Some(mark) = words.find(|word| rules.unfinished_marks.contains(word)) {
                let message = format!("{mark} marks unfinished work; finish it or open an issue");
                faults.push(Fault::new(comment.line + n, "unfinished", message));
            }
        }
    }
}

fn attribute(
    code: &[Token<'_>],
    at: usize,
    graph: &Graph,
    file: &TextFile,
    faults: &mut Vec<Fault>,
) {
    if !code[at].is_punct("#") {
        return;
    }
    let inner = usize::from(code.get(at + 1).is_some_and(|token| token.is_punct("!")));
    let open = at + 1 + inner;
    if !code.get(open).is_some_and(|token| token.is_punct("[")) {
        return;
    }
    let inside = group(code, open);
    let conditional = inside.first().is_some_and(|token| token.is_ident("cfg_attr"));
    let candidates = if conditional { inside.len() } else { inside.len().min(1) };
    for n in 0..candidates {
        let (token, line) = (&inside[n], inside[n].line);
        let next = inside.get(n + 1);
        if token.is_ident("allow") && next.is_some_and(|next| next.is_punct("(")) {
            let message = "`#[allow]` is silent; write `#[expect(lint, reason = \"…\")]`";
            faults.push(Fault::new(line, "#[allow]", message));
        }
        if token.is_ident("ignore") {
            let message = "an ignored test proves nothing; mend it or remove it";
            faults.push(Fault::new(line, "#[ignore]", message));
        }
        if token.is_ident("path") && next.is_some_and(|next| next.is_punct("=")) {
            let target = inside.get(n + 2).map(|token| token.contents().to_owned());
            let target = target.map(|target| resolve(directory(&file.path), &target));
            leaves_crate(graph, file, line, "#[path]", target, faults);
        }
    }
}

fn macro_call(
    code: &[Token<'_>],
    at: usize,
    graph: &Graph,
    file: &TextFile,
    faults: &mut Vec<Fault>,
) {
    let (token, line) = (&code[at], code[at].line);
    let called = token.sort == Sort::Ident
        && code.get(at + 1).is_some_and(|next| next.is_punct("!"))
        && code.get(at + 2).is_some_and(|next| matches!(next.text, "(" | "[" | "{"));
    if !called {
        return;
    }
    match token.text {
        "todo" | "unimplemented" => {
            let message = format!("`{}!` is a hole; write what belongs there", token.text);
            faults.push(Fault::new(line, "hole", message));
        }
        "include" => {
            let target = included(graph, file, group(code, at + 2));
            leaves_crate(graph, file, line, "include!", target, faults);
        }
        "include_str" | "include_bytes" => {
            let target = included(graph, file, group(code, at + 2));
            foreign_source(graph, file, line, target, faults);
        }
        _ => {}
    }
}

/// The file an `include` names, relative to the workspace; none if that is known only to a build.
fn included(graph: &Graph, file: &TextFile, arguments: &[Token<'_>]) -> Option<String> {
    let strings = arguments.iter().filter(|token| token.sort == Sort::Str);
    let from_variable = arguments.iter().any(|token| token.is_ident("env"));
    let mut base = directory(&file.path).to_owned();
    let mut path = String::new();
    for string in strings {
        match string.contents() {
            "CARGO_MANIFEST_DIR" if from_variable => {
                base.clone_from(&graph.owner_of(&file.path)?.dir);
            }
            "OUT_DIR" if from_variable => return None,
            part => path.push_str(part),
        }
    }
    Some(resolve(&base, &path))
}

/// Code is shared by a dependency, not by its file.
fn leaves_crate(
    graph: &Graph,
    file: &TextFile,
    line: usize,
    what: &'static str,
    target: Option<String>,
    faults: &mut Vec<Fault>,
) {
    let (Some(target), Some(owner)) = (target, graph.owner_of(&file.path)) else {
        return;
    };
    if !is_under(&target, &owner.dir) {
        let message = format!("{what} takes {target} from outside {}", owner.name);
        faults.push(Fault::new(line, what, message));
    }
}

/// A page or a table may be embedded from anywhere but another crate's sources.
fn foreign_source(
    graph: &Graph,
    file: &TextFile,
    line: usize,
    target: Option<String>,
    faults: &mut Vec<Fault>,
) {
    let Some(target) = target else { return };
    let (owner, other) = (graph.owner_of(&file.path), graph.owner_of(&target));
    let foreign = match (owner, other) {
        (Some(owner), Some(other)) => owner.dir != other.dir,
        _ => false,
    };
    if foreign && target.split('/').any(|part| part == "src") {
        let message = format!("embeds {target}, a source of another crate");
        faults.push(Fault::new(line, "include_str!", message));
    }
}

fn directory(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(dir, _)| dir)
}

/// Joins and shortens `a/b` + `../c` to `a/c`. A path that climbs out of the workspace keeps its
/// `..`, so it lies under no crate.
fn resolve(base: &str, path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in base.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}
