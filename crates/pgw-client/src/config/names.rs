//! Names that look like ours but aren't: misspelt, or of no form.
//!
//! Judged are the names of the scope that is read, the assembly's `PGW_…`, and what is nearly one of
//! the flat `LLM_…`. Everything else belongs to somebody else.

use super::{
    keys::{
        FLAT, FLAT_SOURCE, PGW, SCOPE_KEYS, field_name, nearest, numbered_fields, source_number,
    },
    values::Reader,
};

/// The prefix of the flat one-source form of a scope.
pub(super) fn flat_prefix(scope: &str) -> String {
    if scope == "LLM" { "LLM_".to_owned() } else { format!("{scope}_LLM_") }
}

/// Finds them all.
pub(super) fn judge(reader: &mut Reader<'_>, scope: &str) {
    let environment = reader.environment;
    for name in environment.names() {
        judge_one(reader, scope, name);
    }
    for name in environment.garbled() {
        let ours = name.starts_with(&format!("{scope}__")) || name.starts_with("PGW_");
        if ours || is_flat(scope, name) {
            reader.bad(name, "is no UTF-8 text", "write it again as plain text");
        }
    }
}

fn judge_one(reader: &mut Reader<'_>, scope: &str, name: &str) {
    let prefix = format!("{scope}__");
    if let Some(rest) = name.strip_prefix(&prefix) {
        return scoped(reader, scope, name, rest);
    }
    if is_flat(scope, name) {
        return;
    }
    if name.starts_with("PGW_") {
        let otherwise = format!("leave it out, or write one of {}", PGW.join(", "));
        if !PGW.contains(&name) {
            reader.fault(name, "is not a known variable", suggestion(name, PGW, otherwise));
        }
    } else if name.to_ascii_uppercase().starts_with(&prefix) {
        let fix = format!("did you mean {}?", name.to_ascii_uppercase());
        reader.fault(name, "is not written in capitals", fix);
    } else if let Some(meant) = with_double_underscores(scope, name) {
        let problem = "has single underscores where two belong";
        reader.fault(name, problem, format!("did you mean {meant}?"));
    } else if let Some(meant) = nearest_flat(scope, name) {
        reader.fault(name, "is not a known variable", format!("did you mean {meant}?"));
    } else if scope != "LLM" && name.starts_with(&flat_prefix(scope)) {
        let fix = format!("write a setting of the scope, {prefix}…, as in docs/configuration.md");
        reader.fault(name, "is not a known variable", fix);
    }
}

/// The flat names that concern a scope.
fn flat_names(scope: &str) -> impl Iterator<Item = String> + use<> {
    let source = FLAT_SOURCE.map(field_name);
    let own = flat_prefix(scope);
    let own = source.into_iter().map(move |field| format!("{own}{field}"));
    FLAT.iter().map(|(name, _)| (*name).to_owned()).chain(own)
}

/// Whether it is a flat name of this scope, or of the scope `LLM`, which is not judged here.
fn is_flat(scope: &str, name: &str) -> bool {
    flat_names(scope).chain(flat_names("LLM")).any(|known| known == name)
}

/// The flat name that this one nearly is. Others may have variables that begin like ours, so one
/// that resembles none is left alone.
fn nearest_flat(scope: &str, name: &str) -> Option<String> {
    let ours = name.starts_with("LLM_") || name.starts_with(&flat_prefix(scope));
    let names: Vec<_> = flat_names(scope).filter(|_| ours).collect();
    nearest(name, names.iter().map(String::as_str)).map(str::to_owned)
}

fn scoped(reader: &mut Reader<'_>, scope: &str, name: &str, rest: &str) {
    if SCOPE_KEYS.iter().any(|(_, known, _)| *known == rest) {
        return;
    }
    let fields = || numbered_fields().map(|(_, name)| name);
    match rest.split("__").collect::<Vec<_>>().as_slice() {
        [_, number, field] if source_number(number).is_some() => {
            if !fields().any(|known| known == *field) {
                let otherwise = format!("write one of {}", fields().collect::<Vec<_>>().join(", "));
                let fix = suggestion(field, fields(), otherwise);
                reader.fault(name, format!("has the unknown field {field}"), fix);
            }
        }
        [_, number, field] if fields().any(|known| known == *field) => {
            let problem = format!("has `{number}` where a source's number belongs");
            reader.fault(name, problem, "number the sources 1, 2, …");
        }
        _ => {
            if let Some(meant) = with_double_underscores(scope, name) {
                let problem = "has its underscores in other places";
                return reader.fault(name, problem, format!("did you mean {meant}?"));
            }
            let otherwise = format!(
                "write {scope}__{{PROVIDER}}__{{N}}__{{FIELD}}, or a setting as in \
                 docs/configuration.md"
            );
            let settings = SCOPE_KEYS.iter().map(|(_, name, _)| *name);
            let fix = suggestion(rest, settings, otherwise);
            reader.fault(name, "is no setting of this scope", fix);
        }
    }
}

fn suggestion<'a>(
    word: &str,
    names: impl IntoIterator<Item = &'a str>,
    otherwise: String,
) -> String {
    nearest(word, names).map_or(otherwise, |meant| format!("did you mean {meant}?"))
}

/// The name of this scope that differs in nothing but where it has two underscores.
fn with_double_underscores(scope: &str, name: &str) -> Option<String> {
    let name = single(name);
    let rest = name.strip_prefix(&single(scope))?.strip_prefix('_')?;
    let setting = SCOPE_KEYS.iter().find(|(_, known, _)| single(known) == rest);
    if let Some((_, setting, _)) = setting {
        return Some(format!("{scope}__{setting}"));
    }
    numbered_fields().find_map(|(_, field)| {
        let (provider, number) = rest.strip_suffix(field)?.strip_suffix('_')?.rsplit_once('_')?;
        let good = !provider.is_empty() && source_number(number).is_some();
        good.then(|| format!("{scope}__{provider}__{number}__{field}"))
    })
}

fn single(name: &str) -> String {
    name.split('_').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("_")
}

#[cfg(test)]
mod tests;
