//! The mending machine: from something like JSON to JSON, in one pass.
//!
//! It reads from an opening bracket and writes JSON text as it goes, with a stack of its own instead
//! of recursion, so depth costs memory and nothing else. Every look ahead is bounded, so the work is
//! linear. What is written is what was read: keys and texts are never made up; a member or an element
//! whose text was cut before it said anything is taken back.

mod bare;
pub(crate) mod cursor;
mod text;

use cursor::{Cursor, is_closer_of_array, is_closer_of_object, is_comma, is_quote};

/// What came of one value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mended {
    /// The value as JSON text.
    pub(crate) json: String,
    /// Where it ended in the text that was read.
    pub(crate) end: usize,
    /// Whether the text ended before the value did.
    pub(crate) cut: bool,
    /// How sure it is that this was meant as a value.
    pub(crate) strength: Strength,
    /// The keys of the outermost object.
    pub(crate) keys: Vec<String>,
}

/// How sure it is that brackets in prose were meant as a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Strength {
    /// Bare words in brackets: `{set}`, `[DONE]`.
    #[default]
    Prose,
    /// Numbers in brackets, or nothing: `[1]`, `{}`.
    Weak,
    /// Pairs or quoted texts.
    Strong,
}

#[derive(Clone, Copy, Debug)]
struct Frame {
    object: bool,
    /// Whether a comma is needed before the next one.
    filled: bool,
}

/// Where a string or a bare word stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Key,
    Member,
    Element,
}

/// The machine at work on one value.
#[derive(Debug)]
pub(crate) struct Machine<'a> {
    cursor: Cursor<'a>,
    out: String,
    stack: Vec<Frame>,
    arrays: usize,
    cut: bool,
    /// The last closing brackets were swallowed by a text whose closing quote is missing.
    tail_closed: bool,
    /// The strongest sign so far that this is a value.
    strength: Option<Strength>,
    keys: Vec<String>,
}

impl<'a> Machine<'a> {
    /// Mends the value that begins with the bracket at `start`, in the text up to `end`.
    pub(crate) fn mend(text: &'a str, start: usize, end: usize) -> Mended {
        let mut machine = Self::at(text, start, end);
        let object = matches!(machine.cursor.next(), Some('{' | '｛'));
        machine.open(object);
        machine.run()
    }

    /// Mends the members of an object whose brackets are missing, from `start` on.
    pub(crate) fn mend_members(text: &'a str, start: usize, end: usize) -> Mended {
        let mut machine = Self::at(text, start, end);
        machine.open(true);
        machine.tail_closed = true;
        machine.run()
    }

    /// Mends a text that begins with its opening quote and has no closing one.
    pub(crate) fn mend_text(text: &'a str) -> Mended {
        let mut machine = Self::at(text, 0, text.len());
        machine.cut = true;
        machine.string(Role::Member);
        machine.saw(Strength::Strong);
        machine.run()
    }

    fn at(text: &'a str, start: usize, end: usize) -> Self {
        Self {
            cursor: Cursor::new(text, start, end),
            out: String::with_capacity(end.saturating_sub(start) + 16),
            stack: Vec::new(),
            arrays: 0,
            cut: false,
            tail_closed: false,
            strength: None,
            keys: Vec::new(),
        }
    }

    fn run(mut self) -> Mended {
        while let Some(frame) = self.stack.last() {
            if frame.object {
                self.member();
            } else {
                self.element();
            }
        }
        // Empty brackets say nothing either way.
        let strength = self.strength.unwrap_or(Strength::Weak);
        Mended { json: self.out, end: self.cursor.at(), cut: self.cut, strength, keys: self.keys }
    }

    fn saw(&mut self, sign: Strength) {
        self.strength = self.strength.max(Some(sign));
    }

    fn open(&mut self, object: bool) {
        self.out.push(if object { '{' } else { '[' });
        self.arrays += usize::from(!object);
        self.stack.push(Frame { object, filled: false });
    }

    fn close(&mut self) {
        if let Some(frame) = self.stack.pop() {
            self.out.push(if frame.object { '}' } else { ']' });
            self.arrays -= usize::from(!frame.object);
        }
    }

    /// The text has ended.
    fn end_of_text(&mut self) {
        self.cut |= !self.tail_closed;
        while let Some(frame) = self.stack.last().copied() {
            let within_array = self.stack.iter().rev().nth(1).is_some_and(|around| !around.object);
            if self.cut && within_array && !frame.filled {
                // An element that had only begun is none.
                self.stack.pop();
                self.arrays -= usize::from(!frame.object);
                self.out.pop();
                if self.out.ends_with(',') {
                    self.out.pop();
                }
                let begun = self.out.ends_with('[');
                if let Some(around) = self.stack.last_mut() {
                    around.filled = !begun;
                }
            } else {
                self.close();
            }
        }
    }

    fn objects(&self) -> usize {
        self.stack.len() - self.arrays
    }

    /// Writes what separates the next member or element from the last; returns where to take it back
    /// to.
    fn begin(&mut self) -> (usize, bool) {
        let mark = self.out.len();
        let filled =
            self.stack.last_mut().is_some_and(|frame| std::mem::replace(&mut frame.filled, true));
        if filled {
            self.out.push(',');
        }
        (mark, filled)
    }

    fn take_back(&mut self, (mark, filled): (usize, bool)) {
        self.out.truncate(mark);
        if let Some(frame) = self.stack.last_mut() {
            frame.filled = filled;
        }
    }

    /// The next member of the innermost object, or its end.
    fn member(&mut self) {
        self.cursor.skip_separators();
        let Some(next) = self.cursor.peek() else { return self.end_of_text() };
        if self.cursor.is_fence() {
            return self.end_of_text();
        }
        match next {
            _ if is_closer_of_object(next) => {
                self.cursor.next();
                if self.stack.len() > 1 || !self.cursor.goes_on_with_a_member() {
                    self.close();
                }
            }
            _ if is_closer_of_array(next) => {
                // Of an array around this object, whose own bracket is missing; else a wrong one.
                if self.arrays == 0 {
                    self.cursor.next();
                }
                self.close();
            }
            '{' | '｛'
                if self.arrays > 0 && self.stack.last().is_some_and(|frame| frame.filled) =>
            {
                // The next element of the array around it.
                self.close();
            }
            '{' | '｛' | '[' | '［' | '【' | '(' => {
                self.cursor.next();
            }
            _ => self.pair(next),
        }
    }

    fn pair(&mut self, next: char) {
        let mark = self.begin();
        let key_at = self.out.len();
        let has_key = if is_quote(next) { self.string(Role::Key) } else { self.bare_key() };
        if !has_key {
            return self.take_back(mark);
        }
        if self.stack.len() == 1 && self.keys.len() < 64 {
            self.keys.push(self.out[key_at..].to_owned());
        }
        self.cursor.skip_blanks_and_comments();
        let has_colon = self.cursor.skip_colons();
        self.out.push(':');
        self.cursor.skip_blanks_and_comments();
        let said = match self.cursor.peek() {
            None => {
                self.keys.pop();
                false
            }
            Some(next) if is_comma(next) || is_closer_of_object(next) => self.write_null(),
            Some('+') if !has_colon => self.write_null(),
            Some(next) if is_closer_of_array(next) && self.arrays > 0 => self.write_null(),
            Some(next) => self.value(next, Role::Member),
        };
        if said {
            // A quoted text in braces may be a set of some other language.
            let is_pair = has_colon || !self.out.ends_with(":null");
            self.saw(if is_pair { Strength::Strong } else { Strength::Prose });
        } else {
            self.take_back(mark);
        }
    }

    fn write_null(&mut self) -> bool {
        self.out.push_str("null");
        true
    }

    /// The next element of the innermost array, or its end.
    fn element(&mut self) {
        self.cursor.skip_separators();
        let Some(next) = self.cursor.peek() else { return self.end_of_text() };
        if self.cursor.is_fence() {
            return self.end_of_text();
        }
        match next {
            _ if is_closer_of_array(next) => {
                self.cursor.next();
                self.close();
            }
            _ if is_closer_of_object(next) => {
                // Of an object around this array, whose own bracket is missing; else a wrong one.
                if self.objects() == 0 {
                    self.cursor.next();
                }
                self.close();
            }
            ':' | '：' | '=' => {
                self.cursor.next();
            }
            _ => {
                let mark = self.begin();
                if !self.value(next, Role::Element) {
                    self.take_back(mark);
                }
            }
        }
    }

    /// Writes a value; false if nothing came of it.
    fn value(&mut self, next: char, role: Role) -> bool {
        match next {
            '{' | '｛' => {
                self.cursor.next();
                self.open(true);
                true
            }
            '[' | '［' | '【' => {
                self.cursor.next();
                self.open(false);
                true
            }
            '(' if self.cursor.is_tuple() => {
                self.cursor.next();
                self.open(false);
                true
            }
            _ if is_quote(next) => {
                let whole = self.string(role);
                if whole {
                    self.saw(Strength::Strong);
                }
                whole
            }
            _ => self.bare(role),
        }
    }
}
