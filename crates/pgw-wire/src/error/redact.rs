//! What of a foreign text may stand in a message: a short piece, on one line, without secrets.

/// The longest excerpt, in characters.
const LONGEST: usize = 500;

/// A short piece of `text`: control characters become blanks, and whatever looks like a credential
/// is masked: keys (`sk-…` and the like), bearer tokens, user info and queries of URLs.
#[must_use]
pub fn excerpt(text: &str) -> String {
    let mut out = String::new();
    let words = text
        .split(|c: char| c.is_whitespace() || c.is_control())
        .peekable();
    let mut after_bearer = false;
    let mut count = 0;
    for word in words {
        if word.is_empty() {
            continue;
        }
        if count > 0 {
            out.push(' ');
            count += 1;
        }
        let masked = if after_bearer {
            "[masked]".to_owned()
        } else {
            mask(word)
        };
        after_bearer = word.to_ascii_lowercase().ends_with("bearer");
        for letter in masked.chars() {
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

/// Prefixes of keys in use (OpenAI, OpenRouter, Anthropic; Groq; xAI; Google; GitHub; Hugging Face).
const KEY_PREFIXES: [&str; 8] = ["sk-", "gsk_", "xai-", "AIza", "ghp_", "hf_", "pk-", "key-"];

fn mask(word: &str) -> String {
    let mut out = String::with_capacity(word.len());
    let mut rest = word;
    while let Some(at) = first_key(rest) {
        out.push_str(&rest[..at]);
        out.push_str("[masked]");
        let end = rest[at..]
            .find(|c: char| !is_key_letter(c))
            .map_or(rest.len(), |len| at + len);
        rest = &rest[end..];
    }
    out.push_str(rest);
    mask_url(&out)
}

const fn is_key_letter(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '*' | '.')
}

/// Where a key begins: at a word's start or behind a sign, with enough letters to be one.
fn first_key(text: &str) -> Option<usize> {
    KEY_PREFIXES
        .iter()
        .filter_map(|prefix| {
            text.match_indices(prefix).map(|(at, _)| at).find(|&at| {
                let fresh = text[..at]
                    .chars()
                    .next_back()
                    .is_none_or(|c| !is_key_letter(c));
                let tail = &text[at + prefix.len()..];
                fresh && tail.chars().take_while(|c| is_key_letter(*c)).count() >= 6
            })
        })
        .min()
}

/// Keeps scheme, host and path of a URL.
fn mask_url(word: &str) -> String {
    let Some(scheme) = word.find("://") else {
        return word.to_owned();
    };
    let (head, tail) = word.split_at(scheme + 3);
    let (tail, query) = match tail.split_once('?') {
        Some((tail, _)) => (tail, "?[masked]"),
        None => (tail, ""),
    };
    let host_end = tail.find('/').unwrap_or(tail.len());
    let tail = match tail[..host_end].rfind('@') {
        Some(at) => format!("[masked]{}", &tail[at..]),
        None => tail.to_owned(),
    };
    format!("{head}{tail}{query}")
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
            (
                "Authorization: Bearer abc.def.ghi failed",
                "Authorization: Bearer [masked] failed",
            ),
            (
                "see https://u:p@a.example/v1?key=x now",
                "see https://[masked]@a.example/v1?[masked] now",
            ),
            (
                "the task-force risk-taking is fine",
                "the task-force risk-taking is fine",
            ),
            ("a\n\tb\u{0}c", "a b c"),
        ] {
            assert_eq!(excerpt(text), wanted);
        }
    }

    #[test]
    fn an_excerpt_is_short_in_characters() {
        let cut = excerpt(&"你".repeat(2_000));
        assert_eq!(cut.chars().count(), LONGEST + 1);
        assert!(cut.ends_with('…'));
    }
}
