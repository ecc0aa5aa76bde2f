//! Chunks that differ from the one before in their text alone.
//!
//! Nearly all chunks of a stream do: the same id, model and structure around another word. Once one
//! was read the long way, the next of its kind is recognised by what stands before and behind its
//! text, and nothing of it is parsed again. Whatever does not fit exactly goes the long way.

use std::ops::Range;

use super::{
    chunk::{Chunk, Delta},
    loose::Leaf,
};

/// A longer chunk is not remembered: the copy would cost more than it saves.
const MOST_BYTES: usize = 4 << 10;

/// What kind of text it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Content,
    Thinking,
}

/// Where the text of a chunk stands that brings one piece of text and nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Spot {
    choice: usize,
    kind: Kind,
    range: Range<usize>,
}

impl Spot {
    /// The spot in a chunk that was read from `json`, if it is of that kind. Its text must stand
    /// there without escapes.
    pub(crate) fn of(chunk: &Chunk<'_>, json: &str) -> Option<Self> {
        let [only] = &chunk.choices.0[..] else { return None };
        let nothing_else = chunk.usage.0.is_none()
            && only.usage.0.is_none()
            && only.message.0.is_none()
            && only.finish_reason.text().is_none()
            && only.logprobs.is_null();
        if !nothing_else || chunk.is_error() {
            return None;
        }
        let (kind, text) = only_text(only.delta.0.as_ref()?)?;
        // The text is a part of `json`, or was unescaped and is none.
        let start = (text.as_ptr() as usize).checked_sub(json.as_ptr() as usize)?;
        let range = start..start.checked_add(text.len())?;
        (range.end <= json.len()).then_some(Self { choice: only.number(), kind, range })
    }
}

/// The one text of a delta that brings nothing else.
fn only_text<'a>(delta: &'a Delta<'_>) -> Option<(Kind, &'a str)> {
    let bare = delta.refusal.text().is_none()
        && delta.reasoning_details.is_null()
        && delta.tool_calls.0.is_empty()
        && delta.function_call.0.is_none();
    let content = match &delta.content {
        Leaf::Null => None,
        content => Some(content.text()?),
    };
    match (content, delta.reasoning_content.text(), delta.reasoning.text()) {
        (Some(text), None, None) if bare => Some((Kind::Content, text)),
        (None, Some(text), None) | (None, None, Some(text)) if bare => Some((Kind::Thinking, text)),
        _ => None,
    }
}

/// What stands around the text of the last chunk of that kind.
#[derive(Debug, Default)]
pub(crate) struct Twin {
    before: Vec<u8>,
    behind: Vec<u8>,
    of: Option<(usize, Kind)>,
}

impl Twin {
    /// Remembers a chunk.
    pub(crate) fn learn(&mut self, json: &str, spot: &Spot) {
        if json.len() > MOST_BYTES {
            return;
        }
        let json = json.as_bytes();
        self.before.clear();
        self.before.extend_from_slice(&json[..spot.range.start]);
        self.behind.clear();
        self.behind.extend_from_slice(&json[spot.range.end..]);
        self.of = Some((spot.choice, spot.kind));
    }

    /// The text of a chunk that is the remembered one but for its text: which choice's, and of what
    /// kind.
    pub(crate) fn text_of<'a>(&self, json: &'a [u8]) -> Option<(usize, Kind, &'a str)> {
        let (choice, kind) = self.of?;
        let text = json.strip_prefix(&*self.before)?.strip_suffix(&*self.behind)?;
        // A quote would end the string, a backslash begin an escape, and a control character is an
        // error (RFC 8259 §7): all three go the long way.
        let plain = |byte: &u8| *byte >= b' ' && *byte != b'"' && *byte != b'\\';
        if text.is_empty() || !text.iter().all(plain) {
            return None;
        }
        Some((choice, kind, std::str::from_utf8(text).ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn learnt(json: &str) -> Twin {
        let chunk: Chunk<'_> = serde_json::from_str(json).unwrap();
        let mut twin = Twin::default();
        if let Some(spot) = Spot::of(&chunk, json) {
            twin.learn(json, &spot);
        }
        twin
    }

    #[test]
    fn a_twin_is_known_by_its_frame() {
        let twin = learnt(r#"{"id":"a","choices":[{"index":0,"delta":{"content":"one"}}]}"#);
        let other = |text: &str| {
            format!(r#"{{"id":"a","choices":[{{"index":0,"delta":{{"content":"{text}"}}}}]}}"#)
        };
        for text in ["two", " ", "你", "<", "}]}", "one"] {
            let json = other(text);
            assert_eq!(twin.text_of(json.as_bytes()), Some((0, Kind::Content, text)));
        }
        for text in ["", "\\n", "a\"b", "\t", "\u{1}", "x\"},\"y\":{\"z\":\"", "\\"] {
            assert_eq!(twin.text_of(other(text).as_bytes()), None, "{text:?}");
        }
        let mut broken = other("xy").into_bytes();
        let place = broken.windows(2).position(|pair| pair == b"xy").unwrap();
        broken[place] = 0xff;
        assert_eq!(twin.text_of(&broken), None);
    }

    #[test]
    fn only_chunks_with_one_text_and_nothing_else_are_remembered() {
        for (json, kind) in [
            (r#"{"choices":[{"delta":{"content":"x"}}]}"#, Some(Kind::Content)),
            (
                r#"{"choices":[{"delta":{"role":"assistant","content":"x"},"finish_reason":""}]}"#,
                Some(Kind::Content),
            ),
            (
                r#"{"choices":[{"delta":{"content":null,"reasoning_content":"x"}}],"usage":null}"#,
                Some(Kind::Thinking),
            ),
            (r#"{"choices":[{"delta":{"reasoning":"x"}}]}"#, Some(Kind::Thinking)),
            (r#"{"choices":[{"delta":{"content":"\u0041"}}]}"#, None),
            (r#"{"choices":[{"delta":{"content":""}}]}"#, None),
            (r#"{"choices":[{"delta":{"content":"","reasoning":"x"}}]}"#, None),
            (r#"{"choices":[{"delta":{"content":"x","reasoning":"y"}}]}"#, None),
            (r#"{"choices":[{"delta":{"reasoning_content":"x","reasoning":"x"}}]}"#, None),
            (r#"{"choices":[{"delta":{"content":"x","refusal":"no"}}]}"#, None),
            (r#"{"choices":[{"delta":{"content":"x","tool_calls":[{"id":"a"}]}}]}"#, None),
            (r#"{"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}"#, None),
            (r#"{"choices":[{"delta":{"content":"x"},"logprobs":{"content":[]}}]}"#, None),
            (r#"{"choices":[{"delta":{"content":"x"}}],"usage":{"prompt_tokens":1}}"#, None),
            (r#"{"choices":[{"delta":{"content":"x"},"usage":{"prompt_tokens":1}}]}"#, None),
            (r#"{"choices":[{"delta":{"content":"x"}},{"delta":{"content":"y"}}]}"#, None),
            (r#"{"choices":[{"message":{"content":"x"}}]}"#, None),
            (r#"{"error":"e","choices":[{"delta":{"content":"x"}}]}"#, None),
        ] {
            assert_eq!(learnt(json).of.map(|(_, kind)| kind), kind, "{json}");
        }
    }
}
