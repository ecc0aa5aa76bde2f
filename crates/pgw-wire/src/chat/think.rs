//! Think tags inside the text: `<think>…</think>answer`, cut anywhere.
//!
//! An opening tag counts only at the very start; later it is a quotation. A closing tag without an
//! opening one means that the template opened the block itself, and that everything so far was
//! thinking (vllm-project/vllm#13125, nbramia/LifeOS#568). A possible beginning of a tag is held back
//! until it is decided, so half a tag is never handed out.

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// No template writes more blanks before its tag, in bytes; a model in a loop writes them for ever,
/// and they must not be held back (and looked through anew) all that time.
const MOST_BLANKS: usize = 64;

/// What a piece of text turned out to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    Content(String),
    Thinking(String),
    /// All content so far was thinking.
    ContentWasThinking,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mode {
    /// Nothing but blanks so far.
    #[default]
    Start,
    /// The block has just begun: line breaks that follow are its frame.
    AfterOpen,
    /// Inside a block.
    Thinking,
    /// The block has just ended: line breaks that follow are its frame, not the answer's.
    AfterBlock,
    /// In the answer, with a closing tag still possible.
    Open,
    /// In the answer for good.
    Plain,
}

/// Splits the text of one answer.
#[derive(Debug, Default)]
pub(crate) struct ThinkSplitter {
    mode: Mode,
    /// Thinking came by a field of its own: a missing opening tag is no longer possible.
    came_otherwise: bool,
    held: String,
    /// The last character handed out as content, to tell a quoted tag from a real one.
    last: Option<char>,
}

impl ThinkSplitter {
    /// A splitter for a service that marks thinking elsewhere: text is text.
    pub(crate) fn off() -> Self {
        Self { mode: Mode::Plain, ..Self::default() }
    }

    /// Thinking came by a field of its own.
    pub(crate) fn thinking_came_otherwise(&mut self) {
        self.came_otherwise = true;
        if self.mode == Mode::Open {
            self.mode = Mode::Plain;
        }
    }

    /// Whether all of `text` is content as it is: the usual case, which needs no splitting.
    pub(crate) fn passes(&mut self, text: &str) -> bool {
        if !self.held.is_empty() {
            return false;
        }
        match self.mode {
            Mode::Plain => true,
            Mode::Open if !text.contains('<') => {
                self.last = text.chars().next_back().or(self.last);
                true
            }
            _ => false,
        }
    }

    pub(crate) fn push(&mut self, text: &str, out: &mut Vec<Piece>) {
        self.held.push_str(text);
        loop {
            let before = (self.mode, self.held.len());
            self.step(out);
            if self.held.is_empty() || before == (self.mode, self.held.len()) {
                return;
            }
        }
    }

    /// The text has ended: what was held back is what it looks like.
    pub(crate) fn finish(&mut self, out: &mut Vec<Piece>) {
        let rest = std::mem::take(&mut self.held);
        match self.mode {
            Mode::Thinking => emit(out, Piece::Thinking, rest),
            Mode::AfterOpen | Mode::AfterBlock => {}
            Mode::Start | Mode::Open | Mode::Plain => emit(out, Piece::Content, rest),
        }
        self.mode = Mode::Plain;
    }

    fn step(&mut self, out: &mut Vec<Piece>) {
        match self.mode {
            Mode::Start => {
                let trimmed = self.held.trim_start();
                if self.held.len() - trimmed.len() > MOST_BLANKS {
                    self.mode = if self.came_otherwise { Mode::Plain } else { Mode::Open };
                    return;
                }
                if let Some(rest) = trimmed.strip_prefix(OPEN) {
                    self.held = rest.to_owned();
                    self.mode = Mode::AfterOpen;
                } else if !trimmed.is_empty() && !OPEN.starts_with(trimmed) {
                    self.mode = if self.came_otherwise { Mode::Plain } else { Mode::Open };
                }
            }
            Mode::Thinking => {
                if let Some(at) = self.held.find(CLOSE) {
                    let rest = self.held.split_off(at + CLOSE.len());
                    self.held.truncate(at);
                    emit(out, Piece::Thinking, std::mem::replace(&mut self.held, rest));
                    self.mode = Mode::AfterBlock;
                } else {
                    let thinking = self.release(CLOSE);
                    emit(out, Piece::Thinking, thinking);
                }
            }
            Mode::AfterOpen => self.skip_line_breaks(Mode::Thinking),
            Mode::AfterBlock => self.skip_line_breaks(Mode::Plain),
            Mode::Open => match self.held.find(CLOSE) {
                Some(at) if self.is_quoted(at) => {
                    let rest = self.held.split_off(at + CLOSE.len());
                    let content = std::mem::replace(&mut self.held, rest);
                    self.emit_content(out, content);
                }
                Some(at) => {
                    let rest = self.held.split_off(at + CLOSE.len());
                    self.held.truncate(at);
                    let thinking = std::mem::replace(&mut self.held, rest);
                    if self.last.is_some() {
                        out.push(Piece::ContentWasThinking);
                    }
                    emit(out, Piece::Thinking, thinking);
                    self.mode = Mode::AfterBlock;
                }
                None => {
                    let content = self.release(CLOSE);
                    self.emit_content(out, content);
                }
            },
            Mode::Plain => {
                let content = std::mem::take(&mut self.held);
                emit(out, Piece::Content, content);
            }
        }
    }

    fn skip_line_breaks(&mut self, then: Mode) {
        let rest = self.held.trim_start_matches(['\n', '\r']);
        if rest.is_empty() {
            self.held.clear();
        } else {
            self.held = rest.to_owned();
            self.mode = then;
        }
    }

    /// All held text but a possible beginning of `tag` at its end.
    fn release(&mut self, tag: &str) -> String {
        let longest = tag.len().min(self.held.len());
        let keep = (1..=longest)
            .rev()
            .find(|&length| self.held.as_bytes().ends_with(&tag.as_bytes()[..length]))
            .unwrap_or(0);
        let keep = if keep == tag.len() { 0 } else { keep };
        let rest = self.held.split_off(self.held.len() - keep);
        std::mem::replace(&mut self.held, rest)
    }

    /// A tag between quotation marks or code marks is talked about, not meant.
    fn is_quoted(&self, at: usize) -> bool {
        let before = self.held[..at].chars().next_back().or(self.last);
        matches!(before, Some('`' | '"' | '\''))
    }

    fn emit_content(&mut self, out: &mut Vec<Piece>, content: String) {
        self.last = content.chars().next_back().or(self.last);
        emit(out, Piece::Content, content);
    }
}

fn emit(out: &mut Vec<Piece>, kind: fn(String) -> Piece, text: String) {
    if !text.is_empty() {
        out.push(kind(text));
    }
}

#[cfg(test)]
mod tests;
