//! Tests of the think-tag splitter.

use proptest::prelude::*;

use super::*;

/// Content and thinking as an assembly would hold them.
fn split(pieces: &[&str]) -> (String, String) {
    let mut splitter = ThinkSplitter::default();
    let mut out = Vec::new();
    for piece in pieces {
        splitter.push(piece, &mut out);
    }
    splitter.finish(&mut out);
    let (mut content, mut thinking) = (String::new(), String::new());
    for piece in out {
        match piece {
            Piece::Content(text) => content.push_str(&text),
            Piece::Thinking(text) => thinking.push_str(&text),
            Piece::ContentWasThinking => {
                thinking = std::mem::take(&mut content) + &thinking;
            }
        }
    }
    (content, thinking)
}

fn every_cut(text: &str) -> (String, String) {
    let whole = split(&[text]);
    let cuts: Vec<_> = text.char_indices().map(|(at, _)| at).collect();
    for &at in &cuts {
        assert_eq!(split(&[&text[..at], &text[at..]]), whole, "cut at {at} of {text:?}");
    }
    let letters: Vec<_> = text.split("").collect();
    assert_eq!(split(&letters), whole, "letter by letter: {text:?}");
    whole
}

/// OAI-021.
#[test]
fn tags_are_taken_out_wherever_the_text_is_cut() {
    for (text, content, thinking) in [
        ("<think>a\nb</think>\n\nc", "c", "a\nb"),
        ("\n<think>\nhm\n</think>\nc", "c", "hm\n"),
        ("<think>\n\n</think>\n\nc", "c", ""),
        ("internal reasoning</think>answer", "answer", "internal reasoning"),
        ("</think>answer", "answer", ""),
        ("<think>never closed", "", "never closed"),
        ("no tags at all", "no tags at all", ""),
        ("the `<think>` and `</think>` tags", "the `<think>` and `</think>` tags", ""),
        ("<think>a</think>b</think>c", "b</think>c", "a"),
        ("<thin", "<thin", ""),
        ("a </thi", "a </thi", ""),
        ("<think>a</thi", "", "a</thi"),
        ("  x", "  x", ""),
        ("思考</think>答案", "答案", "思考"),
        ("a < b and </b>", "a < b and </b>", ""),
    ] {
        assert_eq!(every_cut(text), (content.into(), thinking.into()), "{text:?}");
    }
}

proptest! {
    #[test]
    fn any_cut_gives_the_same(
        words in prop::collection::vec(
            prop::sample::select(&["<think>", "</think>", "<", "/", "th", "\n", " ", "a", "`", "é"][..]),
            0..12,
        ),
    ) {
        every_cut(&words.concat());
    }
}
