//! What of a foreign text may stand in a message: a short piece, on one line, without secrets.

use std::borrow::Cow;

/// The longest excerpt, in characters.
const LONGEST: usize = 500;

/// As much of a text is looked at, in bytes: a body may be one word of a megabyte.
const LOOKED_AT: usize = 8 * LONGEST;

/// The text with every occurrence of `secret` masked, also where a URL or JSON spells its letters in
/// another way: a service that repeats a key may do so in a link, or in a document that can't be read.
/// Words shorter than a key of any kind are left alone: a local server's key may be `none`.
#[must_use]
pub fn without<'a>(text: &'a str, secret: &str) -> Cow<'a, str> {
    const SHORTEST: usize = 8;
    if secret.len() < SHORTEST {
        return text.into();
    }
    let mut out = String::new();
    let mut rest = text;
    while let Some((at, len)) = spelt_somewhere(rest, secret) {
        out.push_str(&rest[..at]);
        out.push_str(MASK);
        rest = &rest[at + len..];
    }
    if out.is_empty() { text.into() } else { (out + rest).into() }
}

/// Where the secret stands first in the text, and how long it is there.
fn spelt_somewhere(text: &str, secret: &str) -> Option<(usize, usize)> {
    text.char_indices().find_map(|(at, _)| {
        let rest = &text.as_bytes()[at..];
        let mut len = 0;
        for letter in secret.bytes() {
            len += spelt(rest.get(len..)?, letter)?;
        }
        Some((at, len))
    })
}

/// How long a letter is that stands here: as it is, `%2F`, `\u002F` or `\/`.
fn spelt(text: &[u8], letter: u8) -> Option<usize> {
    let is_hex = |digits: &[u8]| {
        let digits = std::str::from_utf8(digits).ok();
        digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) == Some(letter)
    };
    match text {
        [first, ..] if *first == letter => Some(1),
        [b'%', high, low, ..] if is_hex(&[*high, *low]) => Some(3),
        [b'\\', b'u', b'0', b'0', high, low, ..] if is_hex(&[*high, *low]) => Some(6),
        [b'\\', b'/', ..] if letter == b'/' => Some(2),
        _ => None,
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

    /// CLI-037, D83: nor in the spelling of a URL or of JSON, in part or in whole.
    #[test]
    fn a_known_key_is_hidden_in_every_spelling() {
        let secret = "12ab+34/cd==";
        for text in [
            "12ab+34/cd==",
            "12ab%2B34%2Fcd%3D%3D",
            "12ab%2b34%2fcd==",
            "%31%32ab+34/cd=%3D",
            r"12ab+34\/cd==",
            r"12ab\u002B34\/cd\u003d\u003D",
        ] {
            let told = format!("你 ?key={text}&a=%2B 12ab {text}");
            assert_eq!(without(&told, secret), "你 ?key=[masked]&a=%2B 12ab [masked]", "{text}");
        }
        for text in ["12ab%2C34/cd==", "12ab%2", r"12ab\u002", "12ab%", "12ab+34/cd=", "12ab%2é"] {
            assert_eq!(without(text, secret), text);
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
