//! Words without quotes: numbers, literals, keys, and texts.

use super::{
    Machine, Role, Strength,
    cursor::{is_blank, is_closer_of_array, is_closer_of_object, is_comma, is_quote},
    text::write_quoted,
};

/// Words that stand for a value of JSON, in several languages.
const LITERALS: &[(&str, &str)] = &[
    ("true", "true"),
    ("false", "false"),
    ("null", "null"),
    ("True", "true"),
    ("False", "false"),
    ("None", "null"),
    ("TRUE", "true"),
    ("FALSE", "false"),
    ("NULL", "null"),
    ("undefined", "null"),
    // JSON has no word for these.
    ("NaN", "null"),
    ("Infinity", "null"),
    ("-Infinity", "null"),
    ("+Infinity", "null"),
];

impl Machine<'_> {
    /// Writes the key without quotes that begins here; false if none does: a word without a colon.
    pub(super) fn bare_key(&mut self) -> bool {
        let start = self.cursor.at();
        while let Some(letter) = self.cursor.peek() {
            let ends = matches!(letter, ':' | '：' | '=' | '\n' | '{' | '[' | '｛' | '［')
                || is_comma(letter)
                || is_closer_of_object(letter)
                || is_closer_of_array(letter)
                || matches!(letter, '"' | '“' | '”');
            if ends {
                break;
            }
            self.cursor.next();
        }
        let word = self.cursor.since(start).trim_matches(is_blank);
        if !word.is_empty() && self.cursor.peek().is_some_and(is_quote) {
            // Its opening quote is missing.
            let mut behind = self.cursor;
            behind.next();
            behind.skip_blanks();
            if behind.skip_colons() {
                self.cursor.next();
                self.cursor.skip_blanks();
            }
        }
        if word.is_empty() {
            // A sign that has no business here.
            self.cursor.next();
            return false;
        }
        if !matches!(self.cursor.peek(), Some(':' | '：' | '=')) {
            self.saw(Strength::Prose);
            return false;
        }
        write_quoted(&mut self.out, word);
        true
    }

    /// Writes the value without quotes that begins here; false if it was cut before it said anything.
    pub(super) fn bare(&mut self, role: Role) -> bool {
        let start = self.cursor.at();
        let end = self.end_of_bare(role, start);
        let word = self.cursor.since(start)[..end - start].trim_end_matches(is_blank);
        if word.is_empty() {
            self.cursor.next();
            return false;
        }
        let first = word.split(is_blank).next().unwrap_or(word);
        if first.len() < word.len() && is_value(first) {
            // Perhaps only the comma is missing: `[1 2]`, `{a: 1 b: 2}`.
            let mut rest = self.cursor.behind(start + first.len());
            rest.skip_blanks();
            let next_is_value = match role {
                Role::Element => {
                    let second = rest
                        .rest()
                        .split(|c: char| is_blank(c) || is_comma(c) || is_closer_of_array(c));
                    second.take(1).any(is_value)
                }
                Role::Key | Role::Member => rest.is_bare_key(),
            };
            if next_is_value {
                self.cursor.go_to(start + first.len());
                return self.scalar(first, false);
            }
        }
        self.cursor.go_to(end);
        self.scalar(word, end == self.cursor.end())
    }

    /// Moves to the end of a bare value and returns it.
    fn end_of_bare(&mut self, role: Role, start: usize) -> usize {
        let mut after_blank = false;
        while let Some(letter) = self.cursor.peek() {
            let at = self.cursor.at();
            let ends = match letter {
                '\n' | '\r' => true,
                ',' if role == Role::Member => !self.is_thousands(start),
                '"' | '{' | '[' | '“' => after_blank,
                '/' | '#' => after_blank && self.cursor.is_comment(),
                '`' => self.cursor.is_fence(),
                ')' => !self.cursor.since(start).contains('('),
                _ => is_comma(letter) || is_closer_of_object(letter) || is_closer_of_array(letter),
            };
            if ends {
                return at;
            }
            after_blank = is_blank(letter);
            self.cursor.next();
        }
        self.cursor.at()
    }

    /// Whether the comma here separates thousands: `1,000` in a place where a key would follow.
    fn is_thousands(&self, start: usize) -> bool {
        let before = self.cursor.since(start).trim_start_matches('-');
        let last = before.rsplit(',').next().unwrap_or(before);
        let grouped = before.contains(',');
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let fits = if grouped { last.len() == 3 } else { (1..=3).contains(&last.len()) };
        let behind = self.cursor.rest().get(1..).unwrap_or_default();
        fits && before.split(',').all(&digits)
            && behind.get(..3).is_some_and(digits)
            && !behind.as_bytes().get(3).is_some_and(u8::is_ascii_alphanumeric)
    }

    /// Writes a word as what it stands for. `cut`: the text ends with it.
    fn scalar(&mut self, word: &str, cut: bool) -> bool {
        let literal = |(name, _): &&(&str, &str)| {
            *name == word
                || (cut
                    && word.len() > 1
                    && name.starts_with(word)
                    && !word.starts_with(['+', '-']))
        };
        if let Some((_, value)) = LITERALS.iter().find(literal) {
            self.saw(Strength::Weak);
            self.out.push_str(value);
            return true;
        }
        if cut && matches!(word, "-" | "+") {
            return false;
        }
        if let Some(number) = number(word) {
            self.saw(Strength::Weak);
            self.out.push_str(&number);
            return true;
        }
        self.saw(Strength::Prose);
        write_quoted(&mut self.out, word);
        true
    }
}

fn is_value(word: &str) -> bool {
    LITERALS.iter().any(|(name, _)| *name == word) || number(word).is_some()
}

/// A number in the spelling of JSON, with all its digits; `None` if the word is none, or one that no
/// reader of JSON could hold.
fn number(word: &str) -> Option<String> {
    let (sign, digits) = match word.as_bytes().first()? {
        b'-' => ("-", &word[1..]),
        b'+' => ("", &word[1..]),
        _ => ("", word),
    };
    if let Some(hex) = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        let value = u64::from_str_radix(hex, 16).ok()?;
        return hex.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| format!("{sign}{value}"));
    }
    let plain;
    let digits = if is_grouped(digits) {
        plain = digits.replace(',', "");
        &plain
    } else {
        digits
    };
    let (mantissa, exponent) = match digits.find(['e', 'E']) {
        Some(at) => (&digits[..at], Some(&digits[at + 1..])),
        None => (digits, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let said = !whole.is_empty() || fraction.is_some_and(|fraction| !fraction.is_empty());
    if !said || !all_digits(whole) || !fraction.is_none_or(all_digits) {
        return None;
    }
    let mut text = sign.to_owned();
    let trimmed = whole.trim_start_matches('0');
    text.push_str(if trimmed.is_empty() { "0" } else { trimmed });
    if let Some(fraction) = fraction.filter(|fraction| !fraction.is_empty()) {
        text.push('.');
        text.push_str(fraction);
    }
    if let Some(exponent) = exponent {
        let power = exponent.trim_start_matches(['+', '-']);
        if exponent.len() - power.len() > 1 || !all_digits(power) {
            return None;
        }
        if !power.is_empty() {
            text.push('e');
            text.push_str(exponent);
        }
    }
    text.parse::<f64>().ok().filter(|value| value.is_finite()).map(|_| text)
}

/// Whether digits are grouped by thousands: `1,000,000`.
fn is_grouped(digits: &str) -> bool {
    let mut groups = digits.split(',');
    let first = groups.next().unwrap_or_default();
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let mut rest = groups.peekable();
    rest.peek().is_some()
        && (1..=3).contains(&first.len())
        && all_digits(first)
        && rest.all(|group| group.len() == 3 && all_digits(group))
}
