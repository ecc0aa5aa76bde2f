//! Quoted texts, whose quotes may be missing, surplus or inside.

use super::{
    Machine, Role,
    cursor::{Cursor, closes, is_closer_of_array, is_closer_of_object, is_comma, is_quote},
};

/// What a closing quote turned out to be.
enum Quote {
    /// The end of the text.
    End,
    /// A part of it.
    Inside,
    /// The end of a piece that is joined to the one whose quote stands here.
    Joined(usize),
}

/// A place in what is read and the place in what is written that belongs to it.
type Spot = (usize, usize);

impl Machine<'_> {
    /// Writes the text whose opening quote stands here; false if it was cut and is to be taken back.
    pub(super) fn string(&mut self, role: Role) -> bool {
        let Some(mut open) = self.cursor.next() else { return false };
        self.out.push('"');
        let begin = self.out.len();
        let mut run = self.cursor.at();
        let (mut comma, mut colon): (Option<Spot>, Option<Spot>) = (None, None);
        loop {
            let at = self.cursor.at();
            let Some(byte) = self.cursor.byte() else {
                self.flush(run);
                return self.cut_string(role, begin);
            };
            let spot = (at, self.out.len() + (at - run));
            match byte {
                b'\\' => {
                    self.flush(run);
                    self.escape();
                    run = self.cursor.at();
                }
                0..=0x1f => {
                    self.flush(run);
                    write_control(&mut self.out, byte);
                    self.cursor.go_to(at + 1);
                    run = at + 1;
                }
                b',' => {
                    comma = Some(spot);
                    self.cursor.go_to(at + 1);
                }
                b':' => {
                    colon = colon.or(Some(spot));
                    self.cursor.go_to(at + 1);
                }
                b'"' | b'\'' | b'`' | 0x80.. => {
                    let Some(letter) = self.cursor.peek() else { return false };
                    let behind = at + letter.len_utf8();
                    if !closes(open, letter) {
                        match letter {
                            '"' => {
                                self.flush(run);
                                self.out.push_str("\\\"");
                                run = behind;
                            }
                            '，' => comma = Some(spot),
                            '：' => colon = colon.or(Some(spot)),
                            _ => {}
                        }
                        self.cursor.go_to(behind);
                        continue;
                    }
                    match self.judge(behind, role) {
                        Quote::End => {
                            self.flush(run);
                            self.cursor.go_to(behind);
                            self.out.push('"');
                            return true;
                        }
                        Quote::Joined(next) => {
                            self.flush(run);
                            self.cursor.go_to(next);
                            open = self.cursor.next().unwrap_or(open);
                            run = self.cursor.at();
                        }
                        Quote::Inside => {
                            if let Some((read, written)) = self.missing_quote(role, comma, colon) {
                                // The text ended where its closing quote is missing.
                                self.flush(run);
                                self.out.truncate(written);
                                let length = self.out[begin..].trim_end().len();
                                self.out.truncate(begin + length);
                                self.out.push('"');
                                self.cursor.go_to(read);
                                return true;
                            }
                            self.flush(run);
                            if letter == '"' {
                                self.out.push('\\');
                            }
                            self.out.push(letter);
                            self.cursor.go_to(behind);
                            run = behind;
                        }
                    }
                }
                _ => self.cursor.go_to(at + 1),
            }
        }
    }

    /// Writes what was read since `run` as it is.
    fn flush(&mut self, run: usize) {
        self.out.push_str(self.cursor.since(run));
    }

    /// What a quote is, by what follows it.
    fn judge(&self, behind: usize, role: Role) -> Quote {
        let mut next = self.cursor.behind(behind);
        next.skip_blanks();
        let apart = next.at() > behind;
        let Some(letter) = next.peek() else { return Quote::End };
        let is_end = match letter {
            ':' | '：' | '=' => role == Role::Key,
            _ if is_comma(letter) => Self::ends_before_comma(next, role),
            _ if is_closer_of_object(letter) || is_closer_of_array(letter) => {
                let may_close = match letter {
                    ')' => role == Role::Element,
                    _ => is_closer_of_object(letter) || self.arrays > 0,
                };
                role == Role::Key || (may_close && next.closes_for_good(self.stack.len()))
            }
            '+' => {
                let mut piece = next;
                piece.next();
                piece.skip_blanks();
                if role != Role::Key && piece.is_joined_piece() {
                    return Quote::Joined(piece.at());
                }
                // One that joins nothing stands where a comma should, or belongs to the text.
                let next_begins = match role {
                    Role::Member => piece.is_quoted_key() || piece.peek().is_some_and(is_comma),
                    Role::Key | Role::Element => true,
                };
                next_begins || (piece.peek().is_some_and(is_quote) && piece.is_damaged_key())
            }
            '/' | '#' => next.is_comment() && apart,
            '`' if next.is_fence() => true,
            _ if is_quote(letter) => match role {
                Role::Member => next.is_quoted_key() && (apart || letter != '"'),
                Role::Key | Role::Element => apart,
            },
            // The colon is missing, or the comma.
            _ => match role {
                Role::Key => {
                    apart && (letter.is_ascii_digit() || matches!(letter, '{' | '[' | '-'))
                }
                Role::Member => apart && next.is_bare_key(),
                Role::Element => apart && matches!(letter, '{' | '['),
            },
        };
        if is_end { Quote::End } else { Quote::Inside }
    }

    /// Whether a comma behind a quote separates: a member or an element follows it.
    fn ends_before_comma(comma: Cursor<'_>, role: Role) -> bool {
        let mut next = comma;
        next.skip_separators();
        let Some(letter) = next.peek() else { return true };
        if is_closer_of_object(letter) || is_closer_of_array(letter) || next.is_fence() {
            return true;
        }
        match role {
            Role::Key => true,
            Role::Member => {
                next.is_quoted_key() || next.is_damaged_key() || next.is_bare_key() || letter == '{'
            }
            Role::Element => {
                is_quote(letter)
                    || matches!(letter, '{' | '[' | '｛' | '［')
                    || next.is_bare_element()
            }
        }
    }

    /// Where a text ended whose closing quote is missing, seen from a quote that opens the next one.
    fn missing_quote(&self, role: Role, comma: Option<Spot>, colon: Option<Spot>) -> Option<Spot> {
        if role == Role::Key {
            return colon;
        }
        let (read, _) = comma?;
        let length = self.cursor.behind(read).peek()?.len_utf8();
        let follows_comma = self.cursor.end_before_blanks(read) == read + length;
        let opens_next = match role {
            Role::Element => self.cursor.is_quoted_element(),
            Role::Key | Role::Member => self.cursor.is_quoted_key(),
        };
        comma.filter(|_| follows_comma && opens_next)
    }

    /// The text ended before its closing quote.
    fn cut_string(&mut self, role: Role, begin: usize) -> bool {
        if role == Role::Key {
            return false;
        }
        if let Some(length) = self.without_closers(begin) {
            // Only the quote is missing: the closing brackets of all that is open are there.
            self.out.truncate(begin + length);
            self.tail_closed = true;
        } else if role == Role::Element {
            return false;
        }
        self.out.push('"');
        true
    }

    /// The length of a text without the closing brackets of everything that is open, the outermost
    /// last; `None` if it does not end in them.
    fn without_closers(&self, begin: usize) -> Option<usize> {
        let mut rest = self.out[begin..].trim_end();
        for frame in &self.stack {
            rest = rest.strip_suffix(if frame.object { '}' } else { ']' })?.trim_end();
        }
        Some(rest.len())
    }

    /// Writes the escape that begins here.
    fn escape(&mut self) {
        let at = self.cursor.at();
        self.cursor.next();
        match self.cursor.peek() {
            // Cut within an escape: it said nothing yet.
            None => {}
            Some(letter @ ('"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't')) => {
                self.out.push('\\');
                self.out.push(letter);
                self.cursor.next();
            }
            Some(letter @ ('\'' | '`')) => {
                self.out.push(letter);
                self.cursor.next();
            }
            Some('\n') => {
                self.out.push_str("\\n");
                self.cursor.next();
            }
            Some('u') => self.unicode_escape(at),
            // A backslash that is meant: `\d`, `C:\Users`.
            Some(_) => self.out.push_str("\\\\"),
        }
    }

    /// Writes the `\u` escape that begins at `at`. A half of a pair is written as U+FFFD.
    fn unicode_escape(&mut self, at: usize) {
        let here = self.cursor.behind(at);
        match unit(here.rest()) {
            Some(0xd800..=0xdbff) => {
                if let Some(0xdc00..=0xdfff) = here.rest().get(6..).and_then(unit) {
                    self.out.push_str(here.rest().get(..12).unwrap_or_default());
                    self.cursor.go_to(at + 12);
                } else {
                    self.out.push('\u{fffd}');
                    self.cursor.go_to(at + 6);
                }
            }
            Some(0xdc00..=0xdfff) => {
                self.out.push('\u{fffd}');
                self.cursor.go_to(at + 6);
            }
            Some(_) => {
                self.out.push_str(here.rest().get(..6).unwrap_or_default());
                self.cursor.go_to(at + 6);
            }
            None => {
                let digits = here.rest().get(2..).unwrap_or_default();
                if digits.len() < 4 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                    // Cut within it.
                    self.cursor.go_to(self.cursor.end());
                } else {
                    self.out.push_str("\\\\");
                }
            }
        }
    }
}

/// The UTF-16 unit of a `\u` escape at the start of a text.
fn unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    let hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    hex.then(|| u16::from_str_radix(digits, 16).ok()).flatten()
}

fn write_control(out: &mut String, byte: u8) {
    match byte {
        b'\n' => out.push_str("\\n"),
        b'\r' => out.push_str("\\r"),
        b'\t' => out.push_str("\\t"),
        _ => {
            const HEX: &[u8; 16] = b"0123456789abcdef";
            out.push_str("\\u00");
            out.push(char::from(HEX[usize::from(byte >> 4)]));
            out.push(char::from(HEX[usize::from(byte & 15)]));
        }
    }
}

/// Writes a text that had no quotes.
pub(super) fn write_quoted(out: &mut String, text: &str) {
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\0'..='\u{1f}' => write_control(out, u8::try_from(letter).unwrap_or(b' ')),
            _ => out.push(letter),
        }
    }
    out.push('"');
}
