//! Comments, strings and lifetimes do not pass for code.

use super::{Sort, group, is_path, tokens};

fn idents(source: &str) -> Vec<&str> {
    tokens(source).into_iter().filter(|t| t.sort == Sort::Ident).map(|t| t.text).collect()
}

#[test]
fn comments_and_strings_hide_their_words() {
    let source = "
        // line hidden
        /* block /* nested hidden */ still hidden */ seen
        \"str hidden \\\" hidden\" b\"hidden\" c\"hidden\"
        r\"hidden\\\" r#\"hidden \" hidden\"# br##\"hidden\"# hidden\"## last";
    assert_eq!(idents(source), ["seen", "last"]);
}

#[test]
fn characters_are_not_lifetimes() {
    assert_eq!(
        idents("fn f<'a>(x: &'a str) { '\"'; '\\''; b'\"'; 'x'; g }"),
        ["fn", "f", "x", "str", "g"]
    );
}

#[test]
fn raw_identifiers_lose_their_mark() {
    assert_eq!(idents("r#type + r2"), ["type", "r2"]);
}

#[test]
fn lines_are_counted_through_every_token() {
    let found = tokens("a\n\"x\ny\"\n/* \n */ b");
    let b = found.last().map(|token| (token.text, token.line));
    assert_eq!(b, Some(("b", 5)));
}

#[test]
fn paths_may_be_spread_over_lines() {
    let code = tokens("std::env\n    ::\n    var(x)");
    assert!(is_path(&code, 0, &["std", "env", "var"]));
    assert!(is_path(&code, 3, &["env", "var"]));
    assert!(!is_path(&code, 3, &["env", "vars"]));
}

#[test]
fn groups_end_at_their_own_bracket() {
    let code = tokens("f(a, [b], {c}) d");
    let inside: Vec<_> =
        group(&code, 1).iter().filter(|t| t.sort == Sort::Ident).map(|t| t.text).collect();
    assert_eq!(inside, ["a", "b", "c"]);
}

#[test]
fn string_contents_lose_quotes_and_prefix() {
    let contents: Vec<_> =
        tokens(r##""a/b" r#"c"# b"d""##).iter().map(|t| t.contents().to_owned()).collect();
    assert_eq!(contents, ["a/b", "c", "d"]);
}

#[test]
fn broken_source_ends_without_a_panic() {
    for source in ["\"open", "r#\"open", "/* open", "'", "b'", "r#", "'\\", "文'"] {
        tokens(source);
    }
}
