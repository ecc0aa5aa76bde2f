//! Rust source cut into tokens: enough to tell code from comments and strings.
//!
//! Not a parser: it knows comments (nested), the string, byte and raw string forms, and the
//! difference between a character and a lifetime. Rules then match tokens, so a forbidden name in
//! a string or a comment is not mistaken for its use.

#[cfg(test)]
mod tests;

/// One token with the line it begins on, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token<'a> {
    pub(crate) sort: Sort,
    pub(crate) text: &'a str,
    pub(crate) line: usize,
}

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sort {
    /// An identifier or keyword, without `r#`.
    Ident,
    /// One punctuation character.
    Punct,
    /// A string literal of any form, quotes included.
    Str,
    /// A character, number or lifetime.
    Other,
    /// A comment, doc comments included.
    Comment,
}

impl Token<'_> {
    pub(crate) fn is_ident(&self, text: &str) -> bool {
        self.sort == Sort::Ident && self.text == text
    }

    pub(crate) fn is_punct(&self, text: &str) -> bool {
        self.sort == Sort::Punct && self.text == text
    }

    /// The contents of a string literal, escapes left as they are written.
    pub(crate) fn contents(&self) -> &str {
        let unprefixed = self.text.trim_start_matches(['r', 'b', 'c']);
        unprefixed.trim_matches('#').trim_matches('"')
    }
}

/// Whether the tokens at `at` are the path `segments`, joined by `::`.
pub(crate) fn is_path(code: &[Token<'_>], at: usize, segments: &[&str]) -> bool {
    segments.iter().enumerate().all(|(n, segment)| {
        let here = at + 3 * n;
        let joined = n == 0 || is_colons(code, here.saturating_sub(2));
        joined && code.get(here).is_some_and(|token| token.is_ident(segment))
    })
}

/// Whether `::` stands at `at`.
pub(crate) fn is_colons(code: &[Token<'_>], at: usize) -> bool {
    [at, at + 1].iter().all(|&n| code.get(n).is_some_and(|token| token.is_punct(":")))
}

/// The tokens between the bracket at `open` and the one that closes it.
pub(crate) fn group<'t, 'a>(code: &'t [Token<'a>], open: usize) -> &'t [Token<'a>] {
    let mut depth = 0_usize;
    for (n, token) in code.iter().enumerate().skip(open) {
        if token.sort == Sort::Punct {
            match token.text {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        return &code[open + 1..n];
                    }
                }
                _ => {}
            }
        }
    }
    code.get(open + 1..).unwrap_or_default()
}

/// Cuts a source text into tokens. Text that is not Rust gives some tokens, never a panic.
pub(crate) fn tokens(source: &str) -> Vec<Token<'_>> {
    let mut scanner = Scanner { source, at: 0, line: 1 };
    let mut found = Vec::new();
    while let Some(token) = scanner.next_token() {
        found.push(token);
    }
    found
}

struct Scanner<'a> {
    source: &'a str,
    at: usize,
    line: usize,
}

impl<'a> Scanner<'a> {
    fn next_token(&mut self) -> Option<Token<'a>> {
        self.take_while(char::is_whitespace);
        let start = self.at;
        let line = self.line;
        let sort = match self.peek()? {
            '/' if self.rest().starts_with("//") => {
                self.take_while(|c| c != '\n');
                Sort::Comment
            }
            '/' if self.rest().starts_with("/*") => {
                self.block_comment();
                Sort::Comment
            }
            '"' => {
                self.quoted('"');
                Sort::Str
            }
            '\'' => {
                self.character_or_lifetime();
                Sort::Other
            }
            first if first.is_ascii_digit() => {
                self.take_while(is_word);
                Sort::Other
            }
            first if is_word(first) => return Some(self.word(line)),
            _ => {
                self.bump();
                Sort::Punct
            }
        };
        Some(Token { sort, text: self.since(start), line })
    }

    /// An identifier, or a literal with a prefix such as `br#"…"#`.
    fn word(&mut self, line: usize) -> Token<'a> {
        let start = self.at;
        self.take_while(is_word);
        let word = self.since(start);
        let sort = match (word, self.peek()) {
            ("b" | "c", Some('"')) => {
                self.quoted('"');
                Sort::Str
            }
            ("b", Some('\'')) => {
                self.quoted('\'');
                Sort::Other
            }
            ("r" | "br" | "cr", Some('"' | '#')) => {
                let hashes = self.rest().len() - self.rest().trim_start_matches('#').len();
                if self.rest()[hashes..].starts_with('"') {
                    self.raw_string(hashes);
                    Sort::Str
                } else {
                    self.bump();
                    return self.word(line);
                }
            }
            _ => Sort::Ident,
        };
        Token { sort, text: self.since(start), line }
    }

    fn raw_string(&mut self, hashes: usize) {
        let end = format!("\"{}", "#".repeat(hashes));
        self.skip(hashes + 1);
        let length = self.rest().find(&end).map_or(self.rest().len(), |found| found + end.len());
        self.skip(length);
    }

    fn quoted(&mut self, quote: char) {
        self.bump();
        while let Some(c) = self.bump() {
            if c == '\\' {
                self.bump();
            } else if c == quote {
                return;
            }
        }
    }

    fn character_or_lifetime(&mut self) {
        let mut ahead = self.rest().chars().skip(1);
        let (first, second) = (ahead.next(), ahead.next());
        if first == Some('\\') || second == Some('\'') {
            self.quoted('\'');
        } else {
            self.bump();
            self.take_while(is_word);
        }
    }

    fn block_comment(&mut self) {
        let mut depth = 0_usize;
        loop {
            if self.rest().starts_with("/*") {
                depth += 1;
                self.skip(2);
            } else if self.rest().starts_with("*/") {
                depth -= 1;
                self.skip(2);
            } else if self.bump().is_none() {
                return;
            }
            if depth == 0 {
                return;
            }
        }
    }

    fn rest(&self) -> &'a str {
        &self.source[self.at..]
    }

    fn since(&self, start: usize) -> &'a str {
        &self.source[start..self.at]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn bump(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        self.line += usize::from(c == '\n');
        Some(c)
    }

    fn skip(&mut self, bytes: usize) {
        let end = self.at + bytes;
        while self.at < end && self.bump().is_some() {}
    }

    fn take_while(&mut self, belongs: impl Fn(char) -> bool) {
        while self.peek().is_some_and(&belongs) {
            self.bump();
        }
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}
