//! Where in a text the value is: behind thinking, in a fence, in prose, or several of them.

use serde_json::Value;

use crate::repair::{
    Machine, Mended, Strength,
    cursor::{Cursor, is_blank, is_quote},
};

/// How often, in lengths of the text, what was read already may be read again: a search goes on inside
/// brackets that turned out to be prose, and they may have had no end.
const SECOND_LOOKS: usize = 4;

/// A value that was found in a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Extracted {
    /// The value. Integers beyond 64 bits lose digits here; [`json`](Self::json) has them all.
    pub value: Value,
    /// The value as JSON text, with all digits, members in the order in which they came; one that came
    /// twice stands twice, and the last counts.
    pub json: String,
    /// Whether the text was anything else than this value: wrapped, or mended.
    pub repaired: bool,
    /// Whether the text ends before the value does: what is here is the beginning. A number at its very
    /// end may lack digits.
    pub truncated: bool,
}

/// Why a text holds no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoValue {
    /// It is empty.
    #[error("the text is empty")]
    Empty,
    /// It has no JSON value in it, whole or damaged.
    #[error("the text holds no JSON value")]
    Prose,
    /// It is thinking and nothing else.
    #[error("the text is thinking that never ended")]
    Thinking,
    /// The value is nested deeper than can be read safely.
    #[error("the JSON value is nested deeper than 127 levels")]
    TooDeep,
}

/// Finds the JSON value in the text of an answer.
///
/// Valid JSON is returned as it is. Else thinking at the start is left out, a fenced block counts over
/// prose, brackets in prose count if there are pairs or quoted texts in them, and what is damaged is
/// mended: quotes, commas, colons, brackets, comments, literals and punctuation of other languages,
/// escapes, and an end that was cut off. Values that follow each other directly are a list; of several
/// of one shape with prose between, the last counts, since it corrects the others. `NaN` and the
/// infinities are `null`: JSON has no word for them.
///
/// Nothing is made up: each key and each text of the value stands in the text, but for texts that a `+`
/// joined. Work is linear in its length.
///
/// # Errors
/// Why there is none.
pub fn extract(text: &str) -> Result<Extracted, NoValue> {
    let text = text.trim_start_matches('\u{feff}').trim_matches(is_blank);
    if text.is_empty() {
        return Err(NoValue::Empty);
    }
    if let Ok(value) = serde_json::from_str::<Value>(text) {
        return Ok(Extracted { value, json: text.to_owned(), repaired: false, truncated: false });
    }
    let found = Search::new(without_thinking(text)?).run();
    let chosen = choose(found).ok_or(NoValue::Prose)?;
    let truncated = chosen.iter().any(|found| found.mended.cut);
    let mut chosen = chosen.into_iter().map(|found| found.mended.json);
    let json = match (chosen.next(), chosen.len()) {
        (Some(only), 0) => only,
        (first, _) => {
            let all: Vec<String> = first.into_iter().chain(chosen).collect();
            format!("[{}]", all.join(","))
        }
    };
    // What the machine writes is JSON; only its depth can be too much for a reader that recurses.
    let value = serde_json::from_str(&json).map_err(|_| NoValue::TooDeep)?;
    Ok(Extracted { value, json, repaired: true, truncated })
}

/// The text behind a block of thinking at its start, with or without its opening tag.
fn without_thinking(text: &str) -> Result<&str, NoValue> {
    for tag in ["think", "thinking"] {
        let (open, close) = (format!("<{tag}>"), format!("</{tag}>"));
        let opened = text.starts_with(&open);
        match text.find(&close) {
            Some(at) if opened || !text.starts_with(['{', '[', '"']) => {
                return Ok(&text[at + close.len()..]);
            }
            None if opened => return Err(NoValue::Thinking),
            Some(_) | None => {}
        }
    }
    Ok(text)
}

/// A value with the circumstances in which it stood.
#[derive(Debug)]
struct Found {
    mended: Mended,
    /// In a fenced block.
    fenced: bool,
    /// Directly behind the one before.
    adjacent: bool,
}

struct Search<'a> {
    text: &'a str,
    at: usize,
    /// Where the last value ended.
    last_end: Option<usize>,
    fenced: bool,
    /// How many more bytes may be read again.
    second_looks: usize,
    found: Vec<Found>,
}

impl<'a> Search<'a> {
    fn new(text: &'a str) -> Self {
        let second_looks = text.len().saturating_mul(SECOND_LOOKS);
        Self { text, at: 0, last_end: None, fenced: false, second_looks, found: Vec::new() }
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn run(mut self) -> Vec<Found> {
        self.members_without_brackets();
        while let Some(step) = self.rest().find(is_interesting) {
            let at = self.at + step;
            self.at = at;
            let rest = self.rest();
            if rest.starts_with("```") || rest.starts_with("~~~") {
                self.fence();
            } else if rest.starts_with("//") && self.is_at_line_start() {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if rest.starts_with(is_opening) {
                self.value();
            } else {
                self.at += rest.chars().next().map_or(1, char::len_utf8);
            }
        }
        if self.found.is_empty() {
            self.text_without_end();
        }
        self.found
    }

    fn is_at_line_start(&self) -> bool {
        let before = &self.text[..self.at];
        before.trim_end_matches([' ', '\t']).is_empty()
            || before.trim_end_matches([' ', '\t']).ends_with('\n')
    }

    /// Moves behind a fence and what it says of its language.
    fn fence(&mut self) {
        self.at += 3;
        self.at += self.rest().len() - self.rest().trim_start_matches(['`', '~']).len();
        self.fenced = !self.fenced;
        if self.fenced {
            let word = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '+');
            self.at += self.rest().len() - self.rest().trim_start_matches(word).len();
            self.members_without_brackets();
        }
    }

    /// Where a value that begins here must end at the latest: before a fence that ends the text.
    fn limit(&self) -> usize {
        let trimmed = self.text.trim_end_matches(is_blank);
        let fence = |mark: &str| self.fenced && trimmed.ends_with(mark);
        if (fence("```") || fence("~~~")) && trimmed.len() - 3 > self.at {
            trimmed.len() - 3
        } else {
            self.text.len()
        }
    }

    /// An object whose brackets are missing: `"a": 1, "b": 2`.
    fn members_without_brackets(&mut self) {
        let step = self.rest().len() - self.rest().trim_start_matches(is_blank).len();
        let start = self.at + step;
        let cursor = Cursor::new(self.text, start, self.text.len());
        if self.rest().trim_start_matches(is_blank).starts_with(is_quote) && cursor.is_quoted_key()
        {
            let mended = Machine::mend_members(self.text, start, self.limit());
            self.keep(start, mended);
        }
    }

    /// A value whose opening bracket stands here.
    fn value(&mut self) {
        let start = self.at;
        let mended = self
            .valid(start)
            .or_else(|| self.escaped(start))
            .unwrap_or_else(|| Machine::mend(self.text, start, self.limit()));
        self.keep(start, mended);
    }

    fn keep(&mut self, start: usize, mended: Mended) {
        let end = mended.end.max(start + 1);
        if mended.strength == Strength::Prose && self.second_looks >= end - start {
            // Brackets around words; perhaps the value is inside, or behind.
            self.second_looks -= end - start;
            self.at = start + self.rest().chars().next().map_or(1, char::len_utf8);
            return;
        }
        let between = self.last_end.and_then(|last| self.text.get(last..start));
        let adjacent = between.is_some_and(is_nothing_between);
        self.last_end = Some(end);
        self.at = end;
        if mended.strength > Strength::Prose {
            self.found.push(Found { mended, fenced: self.fenced, adjacent });
        }
    }

    /// The value that begins here, if it is valid and whole.
    fn valid(&self, start: usize) -> Option<Mended> {
        let mut documents =
            serde_json::Deserializer::from_str(&self.text[start..]).into_iter::<Value>();
        let value = documents.next()?.ok()?;
        let end = start + documents.byte_offset();
        let cursor = Cursor::new(self.text, end, self.text.len());
        if cursor.goes_on_with_a_member() {
            // Its last bracket is one too many.
            return None;
        }
        let (strength, keys) = match &value {
            Value::Object(members) if !members.is_empty() => {
                (Strength::Strong, members.keys().map(|key| Value::from(key.as_str()).to_string()))
            }
            Value::Array(items)
                if items
                    .iter()
                    .any(|item| item.is_string() || item.is_object() || item.is_array()) =>
            {
                return Some(self.whole(start, end, Strength::Strong, Vec::new()));
            }
            _ => return Some(self.whole(start, end, Strength::Weak, Vec::new())),
        };
        Some(self.whole(start, end, strength, keys.take(64).collect()))
    }

    fn whole(&self, start: usize, end: usize, strength: Strength, keys: Vec<String>) -> Mended {
        Mended { json: self.text[start..end].to_owned(), end, cut: false, strength, keys }
    }

    /// A value that was escaped once too often: `{\"a\": 1}`.
    fn escaped(&self, start: usize) -> Option<Mended> {
        let limit = self.limit();
        let inside = self.text.get(start..limit)?;
        let body = inside.get(1..)?.trim_start_matches(is_blank);
        if !body.starts_with("\\\"") {
            return None;
        }
        let mut plain = String::with_capacity(inside.len());
        let mut letters = inside.chars();
        while let Some(letter) = letters.next() {
            match letter {
                '\\' => match letters.next() {
                    Some('n') => plain.push('\n'),
                    Some('t') => plain.push('\t'),
                    Some(next @ ('"' | '\\' | '/')) => plain.push(next),
                    Some(next) => plain.extend(['\\', next]),
                    None => {}
                },
                _ => plain.push(letter),
            }
        }
        let mended = Machine::mend(&plain, 0, plain.len());
        Some(Mended { end: limit, ..mended })
    }

    /// A text whose closing quote was cut off, and nothing else: `"Once upon a`.
    fn text_without_end(&mut self) {
        let text = self.text.trim_matches(is_blank);
        if text.starts_with('"') && !text[1..].contains('"') && text.len() > 1 {
            let mut mended = Machine::mend_text(text);
            mended.end = self.text.len();
            self.found.push(Found { mended, fenced: false, adjacent: false });
        }
    }
}

fn is_opening(letter: char) -> bool {
    matches!(letter, '{' | '[' | '｛' | '［' | '【')
}

fn is_interesting(letter: char) -> bool {
    is_opening(letter) || matches!(letter, '`' | '~' | '/')
}

/// Whether nothing but separators, fences and field names of a stream stand between two values.
fn is_nothing_between(text: &str) -> bool {
    let rest = |letter: char| is_blank(letter) || matches!(letter, ',' | ';' | '，' | '`' | '~');
    text.split(rest).all(|word| matches!(word, "" | "data:" | "json" | "JSON" | "jsonl"))
}

/// The values that count; `None` if there is none.
fn choose(mut found: Vec<Found>) -> Option<Vec<Found>> {
    if found.iter().any(|one| one.fenced) {
        found.retain(|one| one.fenced);
        let strongest = found.iter().map(|one| one.mended.strength).max();
        found.retain(|one| Some(one.mended.strength) == strongest);
        return Some(found);
    }
    // Values that follow each other directly belong together.
    let mut runs: Vec<Vec<Found>> = Vec::new();
    for one in found {
        match runs.last_mut() {
            Some(run) if one.adjacent => run.push(one),
            _ => runs.push(vec![one]),
        }
    }
    let strength = |run: &Vec<Found>| run.iter().map(|one| one.mended.strength).max();
    let strongest = runs.iter().filter_map(strength).max()?;
    runs.retain(|run| strength(run) == Some(strongest));
    let keys = |run: &Vec<Found>| {
        let [only] = &run[..] else { return None };
        let mut keys = only.mended.keys.clone();
        keys.sort_unstable();
        Some(keys)
    };
    let shape = runs.last().and_then(keys);
    if shape.is_some() && runs.iter().all(|run| keys(run) == shape) {
        return runs.pop();
    }
    Some(runs.into_iter().flatten().collect())
}
