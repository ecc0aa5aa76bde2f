//! A place in the text, and what stands there.

/// How far is looked ahead for the end of a key or of a short text.
const LOOK_AHEAD: usize = 256;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'a> {
    text: &'a str,
    at: usize,
    end: usize,
}

/// Blanks of any script, and signs that take no room.
pub(crate) fn is_blank(letter: char) -> bool {
    letter.is_whitespace()
        || matches!(letter, '\u{200b}' | '\u{200c}' | '\u{200d}' | '\u{2060}' | '\u{feff}')
}

pub(crate) fn is_quote(letter: char) -> bool {
    matches!(letter, '"' | '\'' | '`' | '“' | '”' | '„' | '＂' | '‘' | '’')
}

pub(super) fn is_comma(letter: char) -> bool {
    matches!(letter, ',' | ';' | '，' | '；' | '、')
}

pub(super) fn is_closer_of_object(letter: char) -> bool {
    matches!(letter, '}' | '｝')
}

pub(super) fn is_closer_of_array(letter: char) -> bool {
    matches!(letter, ']' | '］' | '】' | ')')
}

fn is_colon(letter: char) -> bool {
    matches!(letter, ':' | '：' | '=')
}

/// Whether a text that was opened by one quote may be closed by the other.
pub(super) fn closes(open: char, letter: char) -> bool {
    match open {
        '"' => letter == '"',
        '\'' => letter == '\'',
        '`' => matches!(letter, '`' | '\''),
        '“' | '”' | '„' | '＂' => matches!(letter, '”' | '“' | '＂' | '"'),
        _ => matches!(letter, '’' | '‘' | '\''),
    }
}

impl<'a> Cursor<'a> {
    pub(crate) const fn new(text: &'a str, at: usize, end: usize) -> Self {
        Self { text, at, end }
    }

    pub(super) const fn at(&self) -> usize {
        self.at
    }

    pub(super) const fn end(&self) -> usize {
        self.end
    }

    pub(super) const fn go_to(&mut self, at: usize) {
        self.at = at;
    }

    /// The rest of the text.
    pub(super) fn rest(&self) -> &'a str {
        self.text.get(self.at..self.end).unwrap_or_default()
    }

    /// The text from a place to this one.
    pub(super) fn since(&self, start: usize) -> &'a str {
        self.text.get(start..self.at).unwrap_or_default()
    }

    pub(super) fn byte(&self) -> Option<u8> {
        if self.at < self.end { self.text.as_bytes().get(self.at).copied() } else { None }
    }

    pub(super) fn peek(&self) -> Option<char> {
        match self.byte()? {
            ascii @ 0..=0x7f => Some(char::from(ascii)),
            _ => self.rest().chars().next(),
        }
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let letter = self.peek()?;
        self.at += letter.len_utf8();
        Some(letter)
    }

    fn ahead(mut self, by: usize) -> Self {
        self.at = (self.at + by).min(self.end);
        self
    }

    pub(super) fn skip_blanks(&mut self) {
        loop {
            match self.peek() {
                Some(letter) if is_blank(letter) => {
                    self.next();
                }
                // Between tokens, an escaped line end was escaped once too often.
                Some('\\') if matches!(self.rest().as_bytes().get(1), Some(b'n' | b'r' | b't')) => {
                    self.at += 2;
                }
                _ => return,
            }
        }
    }

    /// Skips one comment, if one begins here.
    fn skip_comment(&mut self) -> bool {
        let rest = self.rest();
        let length = if rest.starts_with("//") || rest.starts_with('#') {
            rest.find('\n').unwrap_or(rest.len())
        } else if let Some(inner) = rest.strip_prefix("/*") {
            inner.find("*/").map_or(rest.len(), |end| end + 4)
        } else {
            return false;
        };
        self.at += length;
        true
    }

    pub(super) fn skip_blanks_and_comments(&mut self) {
        loop {
            self.skip_blanks();
            if !self.skip_comment() {
                return;
            }
        }
    }

    /// Skips what stands between members: blanks, comments, commas of any kind and number, and an
    /// ellipsis.
    pub(super) fn skip_separators(&mut self) {
        loop {
            self.skip_blanks_and_comments();
            match self.peek() {
                // A plus that joined nothing.
                Some(letter) if is_comma(letter) || matches!(letter, '…' | '+') => {
                    self.next();
                }
                Some('.') if self.rest().starts_with("...") => self.at += 3,
                _ => return,
            }
        }
    }

    /// Skips what stands between a key and its value: `:`, `=`, `=>`, and any of them twice. False if
    /// nothing does.
    pub(super) fn skip_colons(&mut self) -> bool {
        let start = self.at;
        while self.peek().is_some_and(is_colon) {
            let equals = self.next() == Some('=');
            if equals && self.peek() == Some('>') {
                self.next();
            }
            self.skip_blanks();
        }
        self.at > start
    }

    pub(super) fn is_fence(&self) -> bool {
        let rest = self.rest();
        rest.starts_with("```") || rest.starts_with("~~~")
    }

    pub(super) fn is_comment(&self) -> bool {
        let rest = self.rest();
        rest.starts_with("//") || rest.starts_with("/*") || rest.starts_with('#')
    }

    /// Whether a parenthesis is a tuple, not a remark in prose.
    pub(super) fn is_tuple(&self) -> bool {
        let mut inner = self.ahead(1);
        inner.skip_blanks();
        let begins = |letter: char| {
            letter.is_ascii_digit() || matches!(letter, '"' | '\'' | '{' | '[' | '-' | '(' | ')')
        };
        inner.peek().is_some_and(begins)
    }

    /// The place behind a quoted text that begins here and ends within bounds.
    fn behind_quoted(mut self) -> Option<Self> {
        let open = self.next().filter(|letter| is_quote(*letter))?;
        let start = self.at;
        while self.at - start <= LOOK_AHEAD {
            match self.next()? {
                '\\' => {
                    self.next();
                }
                letter if closes(open, letter) => return Some(self),
                _ => {}
            }
        }
        None
    }

    /// Whether a quoted text begins here that a `+` may join to the one before: it has an end, and what
    /// follows it follows a value. A key is never joined to anything.
    pub(super) fn is_joined_piece(mut self) -> bool {
        let Some(open) = self.next().filter(|letter| matches!(letter, '"' | '\'')) else {
            return false;
        };
        // It ends at the next quote or not at all, so that no text is looked through twice.
        loop {
            match self.next() {
                None => return false,
                Some('\\') => {
                    self.next();
                }
                Some(letter) if letter == open => break,
                Some(_) => {}
            }
        }
        self.skip_blanks();
        self.peek().is_none_or(|next| {
            next == '+' || is_comma(next) || is_closer_of_object(next) || is_closer_of_array(next)
        })
    }

    /// Whether a quoted key with its colon begins here.
    pub(crate) fn is_quoted_key(self) -> bool {
        self.behind_quoted().is_some_and(|mut behind| {
            behind.skip_blanks();
            behind.peek().is_some_and(is_colon)
        })
    }

    /// Whether a quoted key begins here whose colon is missing, or that the end of the text cuts.
    pub(super) fn is_damaged_key(self) -> bool {
        if let Some(mut behind) = self.behind_quoted() {
            let quote_at = behind.at;
            behind.skip_blanks();
            return behind.at > quote_at && behind.peek().is_some_and(is_quote);
        }
        let near_end = self.end - self.at <= LOOK_AHEAD;
        let is_open = |letter: char| !is_quote(letter) && letter != '\n';
        let is_cut = near_end && self.rest().chars().skip(1).all(is_open);
        self.peek().is_some_and(is_quote) && is_cut
    }

    /// Whether a short quoted text begins here that ends like an element: before a comma or the end of
    /// its array.
    pub(super) fn is_quoted_element(self) -> bool {
        self.behind_quoted().is_some_and(|mut behind| {
            behind.skip_blanks();
            behind.peek().is_none_or(|next| is_comma(next) || is_closer_of_array(next))
        })
    }

    /// Whether a key without quotes begins here with its colon. One of several words counts only if a
    /// value follows: prose has colons too.
    pub(super) fn is_bare_key(mut self) -> bool {
        let begins = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '$');
        if !self.peek().is_some_and(begins) {
            return false;
        }
        let is_number = self.peek().is_some_and(|letter| letter.is_ascii_digit());
        let start = self.at;
        let inside =
            |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '$' | '-' | ' ');
        let mut one_word = true;
        while let Some(letter) = self.peek().filter(|letter| inside(*letter)) {
            let blank_at = self.at;
            self.next();
            // A blank before the colon is none between words.
            one_word &= letter != ' ' || self.colon_after_blanks();
            if blank_at - start > LOOK_AHEAD {
                return false;
            }
        }
        if !self.peek().is_some_and(is_colon) || self.rest().starts_with("://") {
            return false;
        }
        let colon_at = self.at;
        self.skip_colons();
        if is_number {
            // `10:30` is a time.
            return one_word && (self.at > colon_at + 1 || self.peek().is_some_and(is_quote));
        }
        let begins_value = |letter: char| {
            letter.is_ascii_digit() || is_quote(letter) || matches!(letter, '{' | '[' | '-')
        };
        one_word || self.peek().is_some_and(begins_value)
    }

    /// Whether a colon stands behind the blanks that begin here, within bounds.
    fn colon_after_blanks(&self) -> bool {
        let mut letters = self.rest().chars().take(LOOK_AHEAD);
        letters.find(|letter| *letter != ' ').is_some_and(is_colon)
    }

    /// Whether, after a closing bracket, a comma and another member follow: the bracket was one too
    /// many.
    pub(crate) fn goes_on_with_a_member(mut self) -> bool {
        self.skip_blanks();
        if !self.next().is_some_and(is_comma) {
            return false;
        }
        self.skip_blanks();
        self.is_quoted_key()
    }

    /// Whether what begins here may be an element without quotes: no quote up to its end.
    pub(super) fn is_bare_element(mut self) -> bool {
        let start = self.at;
        while self.at - start <= LOOK_AHEAD {
            match self.next() {
                None => return true,
                Some(letter) if is_comma(letter) || is_closer_of_array(letter) => return true,
                Some(letter) if is_quote(letter) => return false,
                Some(_) => {}
            }
        }
        false
    }

    /// Whether closing brackets that begin here close something: behind them goes on what goes on
    /// after a value, or they close everything.
    pub(super) fn closes_for_good(mut self, mut depth: usize) -> bool {
        while self.peek().is_some_and(|c| is_closer_of_object(c) || is_closer_of_array(c)) {
            self.next();
            depth = depth.saturating_sub(1);
            if depth == 0 {
                return true;
            }
            self.skip_blanks();
        }
        match self.peek() {
            None | Some('{' | '[' | '"' | '`' | '/' | '#') => true,
            Some(letter) => is_comma(letter),
        }
    }

    /// Another cursor, behind this one.
    pub(super) fn behind(self, at: usize) -> Self {
        Self { at, ..self }
    }

    /// The text before this place without its blanks ends here.
    pub(super) fn end_before_blanks(&self, from: usize) -> usize {
        from + self.since(from).trim_end_matches(is_blank).len()
    }
}
