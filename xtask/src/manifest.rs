//! The few facts of a `Cargo.toml` that `cargo metadata` does not tell.
//!
//! Cargo has read the file before us, so it is known to be sound TOML; this reader only has to
//! find sections, keys and the lines they stand on.

#[cfg(test)]
mod tests;

/// One `key = value`, with the section it stands in.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    /// Parts of the section's name and of the key, quotes removed.
    path: Vec<String>,
    /// The value, comments and white space removed.
    value: String,
    line: usize,
}

/// One dependency as the manifest writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Written {
    /// The name it has in the source.
    pub(crate) name: String,
    /// The table it stands in, such as `dev-dependencies`.
    pub(crate) table: String,
    /// Whether it takes its version from the workspace.
    pub(crate) from_workspace: bool,
    /// The line it begins on.
    pub(crate) line: usize,
}

/// Whether the member takes its lints from the workspace.
pub(crate) fn has_workspace_lints(manifest: &str) -> bool {
    entries(manifest)
        .iter()
        .any(|entry| entry.path == ["lints", "workspace"] && entry.value == "true")
}

/// Every dependency the manifest writes, target tables included, in the order of the file.
pub(crate) fn dependencies(manifest: &str) -> Vec<Written> {
    const TABLES: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];
    let mut found: Vec<Written> = Vec::new();
    for entry in entries(manifest) {
        let table = match entry.path.first().map(String::as_str) {
            Some("target") => 2,
            _ => 0,
        };
        let (Some(kind), Some(name)) = (entry.path.get(table), entry.path.get(table + 1)) else {
            continue;
        };
        if !TABLES.contains(&kind.as_str()) {
            continue;
        }
        let from_workspace = match entry.path.get(table + 2) {
            Some(key) => key == "workspace" && entry.value == "true",
            None => entry.value.contains("workspace=true"),
        };
        let table = entry.path[..=table].join(".");
        match found.iter_mut().find(|written| written.name == *name && written.table == table) {
            Some(written) => written.from_workspace |= from_workspace,
            None => {
                found.push(Written { name: name.clone(), table, from_workspace, line: entry.line });
            }
        }
    }
    found
}

fn entries(manifest: &str) -> Vec<Entry> {
    let mut found: Vec<Entry> = Vec::new();
    let mut section: Vec<String> = Vec::new();
    let mut open_brackets = 0;
    for (n, line) in manifest.lines().enumerate() {
        let line = without_comment(line).trim();
        if line.is_empty() {
            continue;
        }
        if open_brackets > 0 {
            if let Some(entry) = found.last_mut() {
                entry.value.extend(line.chars().filter(|c| !c.is_whitespace()));
            }
            open_brackets += balance(line);
        } else if line.starts_with('[') {
            section = dotted(line.trim_matches(['[', ']']));
        } else if let Some((key, value)) = line.split_once('=') {
            let mut path = section.clone();
            path.extend(dotted(key));
            let value: String = value.chars().filter(|c| !c.is_whitespace()).collect();
            open_brackets = balance(&value);
            found.push(Entry { path, value, line: n + 1 });
        }
    }
    found
}

/// Splits `target.'cfg(a.b)'.dependencies` at the dots outside quotes.
fn dotted(name: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    outside_quotes(name, |c, outside| match (c, outside) {
        ('.', true) => parts.push(String::new()),
        ('"' | '\'', true) => {}
        _ => {
            if let Some(last) = parts.last_mut() {
                last.push(c);
            }
        }
    });
    parts.iter().map(|part| part.trim().to_owned()).collect()
}

fn without_comment(line: &str) -> &str {
    let (mut at, mut cut) = (0, line.len());
    outside_quotes(line, |c, outside| {
        if c == '#' && outside {
            cut = cut.min(at);
        }
        at += c.len_utf8();
    });
    &line[..cut]
}

fn balance(text: &str) -> i32 {
    let mut open = 0;
    outside_quotes(text, |c, outside| match (c, outside) {
        ('[' | '{', true) => open += 1,
        (']' | '}', true) => open -= 1,
        _ => {}
    });
    open
}

/// Visits each character with whether it stands outside a quoted string; the quotes themselves
/// count as outside.
fn outside_quotes(text: &str, mut visit: impl FnMut(char, bool)) {
    let mut quote = None;
    for c in text.chars() {
        match quote {
            None => {
                visit(c, true);
                quote = matches!(c, '"' | '\'').then_some(c);
            }
            Some(open) => {
                visit(c, c == open);
                if c == open {
                    quote = None;
                }
            }
        }
    }
}
