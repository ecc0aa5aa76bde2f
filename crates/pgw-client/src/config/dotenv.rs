//! `.env` files: `NAME=value` lines.
//!
//! `export` before the name, quotes around the value, comments, blank lines, CRLF and a byte order
//! mark are understood. Double quotes know `\n`, `\r`, `\t`, `\"` and `\\`; single quotes know nothing.
//! An unquoted value ends at a `#` after a blank. Text stays text: nothing is guessed to be a number,
//! and no `$NAME` is filled in. A line that can't be read is reported by its number alone, because it
//! may hold a secret.

use pgw_types::ConfigFault;

/// One line's variable.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) number: usize,
    pub(super) name: String,
    pub(super) value: String,
}

/// Reads a file's text; `file` names it in faults.
pub(super) fn parse(text: &str, file: &str) -> (Vec<Line>, Vec<ConfigFault>) {
    let mut lines: Vec<Line> = Vec::new();
    let mut faults = Vec::new();
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for (index, raw) in text.lines().enumerate() {
        let number = index + 1;
        let line = raw.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let place = format!("{file} line {number}");
        match split(line) {
            Ok((name, value)) => {
                if let Some(first) = lines.iter().find(|known| known.name == name) {
                    faults.push(ConfigFault::new(
                        name,
                        format!("stands twice in {file}, in lines {} and {number}", first.number),
                        "keep one of them",
                    ));
                } else {
                    lines.push(Line { number, name, value });
                }
            }
            Err(problem) => faults.push(ConfigFault::new(place, problem, "write NAME=value")),
        }
    }
    (lines, faults)
}

fn split(line: &str) -> Result<(String, String), &'static str> {
    let line = match line.strip_prefix("export") {
        Some(rest) if rest.starts_with(char::is_whitespace) => rest.trim_start(),
        _ => line,
    };
    let Some((name, value)) = line.split_once('=') else { return Err("has no =") };
    let name = name.trim();
    let good = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.is_empty() || !name.chars().all(good) || name.starts_with(|c: char| c.is_ascii_digit())
    {
        return Err("has a name that is no variable's");
    }
    let value = match value.trim_start() {
        text if text.starts_with('\'') => quoted(&text[1..], '\'')?,
        text if text.starts_with('"') => quoted(&text[1..], '"')?,
        _ => without_comment(value).trim().to_owned(),
    };
    Ok((name.to_owned(), value))
}

/// An unquoted value without the comment after it. A `#` within a word belongs to the value.
fn without_comment(value: &str) -> &str {
    let comment = value.match_indices('#').map(|(at, _)| at).find(|at| {
        let before = value[..*at].chars().next_back();
        before.is_some_and(char::is_whitespace)
    });
    comment.map_or(value, |at| &value[..at])
}

fn quoted(text: &str, quote: char) -> Result<String, &'static str> {
    let mut value = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            end if end == quote => {
                let rest = letters.as_str().trim();
                if rest.is_empty() || rest.starts_with('#') {
                    return Ok(value);
                }
                return Err("goes on after its closing quote");
            }
            '\\' if quote == '"' => match letters.next() {
                Some('n') => value.push('\n'),
                Some('r') => value.push('\r'),
                Some('t') => value.push('\t'),
                Some(same @ ('"' | '\\')) => value.push(same),
                Some(_) => return Err("has an unknown \\ sequence in double quotes"),
                None => return Err("ends within its quotes"),
            },
            other => value.push(other),
        }
    }
    Err("has no closing quote")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Vec<(String, String)> {
        let (lines, faults) = parse(text, ".env");
        assert!(faults.is_empty(), "{faults:?}");
        lines.into_iter().map(|line| (line.name, line.value)).collect()
    }

    #[test]
    fn every_form_of_a_line_is_understood() {
        let text = "\u{feff}# c\r\nA=1\r\nexport B = two words # c\nC=\"a # \\\"b\\\"\\n\" # c\nD='x\\n'\nE=\nF=a#b\n\
                    export\tG=\t# c\nH=#h\nI=a=b \t# c\nJ='it # stays'\nK=$A\n";
        let wanted = [
            ("A", "1"),
            ("B", "two words"),
            ("C", "a # \"b\"\n"),
            ("D", "x\\n"),
            ("E", ""),
            ("F", "a#b"),
            ("G", ""),
            ("H", "#h"),
            ("I", "a=b"),
            ("J", "it # stays"),
            ("K", "$A"),
        ];
        let wanted = wanted.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(values(text), wanted);
    }

    /// CLI-037: a line that can't be read is not repeated.
    #[test]
    fn bad_lines_are_told_by_their_number() {
        let (_, faults) = parse(
            "A=1\ncanary-1234\n2B=x\nC=\"canary\nA=canary\n\
             D=\"canary\\q\"\nE='canary' more\n",
            ".env",
        );
        let texts: Vec<_> = faults.iter().map(ToString::to_string).collect();
        assert_eq!(
            texts,
            [
                ".env line 2: has no =; write NAME=value",
                ".env line 3: has a name that is no variable's; write NAME=value",
                ".env line 4: has no closing quote; write NAME=value",
                "A: stands twice in .env, in lines 1 and 5; keep one of them",
                ".env line 6: has an unknown \\ sequence in double quotes; write NAME=value",
                ".env line 7: goes on after its closing quote; write NAME=value",
            ]
        );
    }
}
