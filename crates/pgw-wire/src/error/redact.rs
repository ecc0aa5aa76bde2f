//! What of a foreign text may stand in a message: a short piece, on one line, without secrets.

use std::borrow::Cow;

/// The longest excerpt, in characters.
const LONGEST: usize = 500;

/// As much of a text is looked at, in bytes: a body may be one word of a megabyte.
const LOOKED_AT: usize = 8 * LONGEST;

/// The text with every occurrence of `secret` masked. Words shorter than a key of any kind are left
/// alone: a local server's key may be `none`.
#[must_use]
pub fn without<'a>(text: &'a str, secret: &str) -> Cow<'a, str> {
    const SHORTEST: usize = 8;
    if secret.len() >= SHORTEST && text.contains(secret) {
        text.replace(secret, MASK).into()
    } else {
        text.into()
    }
}

const MASK: &str = "[masked]";

/// A short piece of `text`: control characters become blanks, and whatever looks like a credential
/// is masked: keys (`sk-…` and the like), bearer tokens, user info and queries of URLs.
#[must_use]
pub fn excerpt(text: &str) -> String {
    let text = &text[..text.floor_char_boundary(LOOKED_AT)];
    let mut out = String::new();
    let mut after_bearer = false;
    let mut count = 0;
    for word in text.split(is_gap).filter(|word| !word.is_empty()) {
        let masked = if after_bearer { MASK.to_owned() } else { mask(word) };
        after_bearer = word.to_ascii_lowercase().ends_with("bearer");
        let gap = (count > 0).then_some(' ');
        for letter in gap.into_iter().chain(masked.chars()) {
            if count == LONGEST {
                out.push('…');
                return out;
            }
            out.push(letter);
            count += 1;
        }
    }
    out
}

/// Blanks, control characters, and the marks that turn the direction of writing: in a log they would
/// show something else than is there.
fn is_gap(c: char) -> bool {
    c.is_whitespace()
        || c.is_control()
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// Prefixes of keys in use (OpenAI, OpenRouter, Anthropic; Groq; xAI; Google; GitHub; Hugging Face).
const KEY_PREFIXES: [&str; 8] = ["sk-", "gsk_", "xai-", "AIza", "ghp_", "hf_", "pk-", "key-"];

fn mask(word: &str) -> String {
    let mut out = String::with_capacity(word.len());
    let mut rest = word;
    while let Some(at) = first_key(rest) {
        out.push_str(&rest[..at]);
        out.push_str(MASK);
        let end = rest[at..].find(|c: char| !is_key_letter(c)).map_or(rest.len(), |len| at + len);
        rest = &rest[end..];
    }
    out.push_str(rest);
    mask_urls(&out)
}

const fn is_key_letter(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '*' | '.')
}

/// Where a key begins: at a word's start or behind a sign with a few letters more, or inside a word
/// with as many letters and digits as no word has.
fn first_key(text: &str) -> Option<usize> {
    let begins = |at: usize, prefix: &str| {
        let fresh = text[..at].chars().next_back().is_none_or(|c| !is_key_letter(c));
        let tail = text[at + prefix.len()..].bytes();
        let tail: Vec<_> = tail.take(16).take_while(|b| is_key_letter(char::from(*b))).collect();
        let odd = tail.len() == 16 && tail.iter().any(u8::is_ascii_digit);
        odd || fresh && tail.len() >= 6
    };
    let first = |prefix: &&str| {
        text.match_indices(*prefix).map(|(at, _)| at).find(|at| begins(*at, prefix))
    };
    KEY_PREFIXES.iter().filter_map(first).min()
}

/// Keeps scheme, host and path of every URL: a compact document is one word with several.
fn mask_urls(word: &str) -> String {
    let mut out = String::with_capacity(word.len());
    let mut rest = word;
    while let Some(scheme) = rest.find("://") {
        let (head, tail) = rest.split_at(scheme + 3);
        out.push_str(head);
        let end = tail.find(['"', '\\', '<', '>']).unwrap_or(tail.len());
        let (url, after) = tail.split_at(end);
        let (url, query) = match url.split_once('?') {
            Some((url, _)) => (url, "?[masked]"),
            None => (url, ""),
        };
        let host_end = url.find('/').unwrap_or(url.len());
        match url[..host_end].rfind('@') {
            Some(at) => {
                out.push_str(MASK);
                out.push_str(&url[at..]);
            }
            None => out.push_str(url),
        }
        out.push_str(query);
        rest = after;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CLI-037, D83.
    #[test]
    fn credentials_are_masked() {
        for (text, wanted) in [
            (
                "Incorrect API key provided: sk-abcd1234efgh.",
                "Incorrect API key provided: [masked]",
            ),
            ("key=sk-proj-0123456789, sorry", "key=[masked], sorry"),
            ("Authorization: Bearer abc.def.ghi failed", "Authorization: Bearer [masked] failed"),
            (
                "see https://u:p@a.example/v1?key=x now",
                "see https://[masked]@a.example/v1?[masked] now",
            ),
            ("the task-force risk-taking is fine", "the task-force risk-taking is fine"),
            ("glued/apisk-0123456789abcdef01 x", "glued/api[masked] x"),
            ("a\n\tb\u{0}c", "a b c"),
        ] {
            assert_eq!(excerpt(text), wanted);
        }
    }

    /// A key of any form is hidden, once it is known.
    #[test]
    fn a_known_key_is_hidden() {
        assert_eq!(without("no such key: 12ab.34cd", "12ab.34cd"), "no such key: [masked]");
        assert_eq!(without("none of it", "none"), "none of it");
        assert_eq!(without("text", ""), "text");
    }

    #[test]
    fn an_excerpt_is_short_in_characters() {
        let cut = excerpt(&"你".repeat(2_000));
        assert_eq!(cut.chars().count(), LONGEST + 1);
        assert!(cut.ends_with('…'));
    }
}
