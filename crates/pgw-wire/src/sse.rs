//! Server-sent events: lines to events, for bytes in any pieces.
//!
//! Follows WHATWG HTML §9.2 "Server-sent events": LF, CRLF and lone CR end a line, one leading byte
//! order mark is skipped, one blank after the colon is stripped, a blank line ends an event, lines
//! that begin with a colon are comments. Beyond it, because services do so:
//!
//! - a last event without its blank line is still an event if its line is whole or the body ended;
//! - an `error` field is kept (llama.cpp builds of 2025 send one, coddy-project/coddy-agent#106);
//! - a forgotten blank line between two JSON documents is put in: behind a line that ends in `}` no
//!   line of the same document can begin with `{`;
//! - lines and events have a size limit, so that a hostile server can't fill the memory.
//!
//! Bytes are kept as bytes until a line is whole: no read can cut a character in two.

use bytes::{Buf as _, Bytes, BytesMut};
use memchr::{memchr, memchr2};

/// One event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SseEvent {
    /// The first `data` line. Most events have just one, so that one needs no list.
    first: Option<Bytes>,
    more: Vec<Bytes>,
    /// The last `event` line.
    pub name: Option<Bytes>,
    /// The last `error` line, which the standard does not know.
    pub error: Option<Bytes>,
}

impl SseEvent {
    /// The `data` lines, in order.
    pub fn lines(&self) -> impl DoubleEndedIterator<Item = &Bytes> {
        self.first.iter().chain(&self.more)
    }

    /// The `data` line, if there is exactly one.
    #[must_use]
    pub fn only_line(&self) -> Option<&Bytes> {
        self.first.as_ref().filter(|_| self.more.is_empty())
    }

    const fn is_empty(&self) -> bool {
        self.first.is_none() && self.error.is_none()
    }

    fn push(&mut self, line: Bytes) {
        match self.first {
            None => self.first = Some(line),
            Some(_) => self.more.push(line),
        }
    }
}

/// A line or an event is larger than allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong {
    /// The limit, in bytes.
    pub limit: usize,
}

impl std::fmt::Display for TooLong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line too long: more than {} bytes in one event", self.limit)
    }
}

impl std::error::Error for TooLong {}

/// Takes bytes in, gives events out.
#[derive(Debug)]
pub struct SseDecoder {
    /// Bytes of lines that are not whole yet.
    pending: BytesMut,
    /// What the last read brought, as far as it is not used up: whole lines of it are taken without
    /// a copy.
    fresh: Bytes,
    /// The last line ended in CR: an LF that follows belongs to it.
    after_cr: bool,
    at_start: bool,
    event: SseEvent,
    /// An `event` line that came after data: it names the next event if the blank line between them
    /// was forgotten, and this one if not.
    late_name: Option<Bytes>,
    event_bytes: usize,
    limit: usize,
    failed: bool,
}

impl Default for SseDecoder {
    fn default() -> Self {
        Self::with_limit(Self::DEFAULT_LIMIT)
    }
}

impl SseDecoder {
    /// The default limit of one event: 32 MiB. Images of several megabytes come in one line
    /// (2389-research/tracker#573).
    pub const DEFAULT_LIMIT: usize = 32 << 20;

    /// A decoder that refuses events of more than `limit` bytes.
    #[must_use]
    pub fn with_limit(limit: usize) -> Self {
        Self {
            pending: BytesMut::new(),
            fresh: Bytes::new(),
            after_cr: false,
            at_start: true,
            event: SseEvent::default(),
            late_name: None,
            event_bytes: 0,
            limit,
            failed: false,
        }
    }

    /// Takes the next bytes in. Call [`next_event`](Self::next_event) until it has none before
    /// feeding more.
    pub fn feed(&mut self, bytes: Bytes) {
        if self.fresh.is_empty() {
            self.fresh = bytes;
        } else {
            let mut joined = BytesMut::from(&*self.fresh);
            joined.extend_from_slice(&bytes);
            self.fresh = joined.freeze();
        }
    }

    /// The next whole event, if one is in.
    ///
    /// # Errors
    /// If an event is over the limit; nothing more comes after that.
    pub fn next_event(&mut self) -> Result<Option<SseEvent>, TooLong> {
        if self.failed {
            return Ok(None);
        }
        while let Some(line) = self.next_line() {
            if let Some(event) = self.take_line(line)? {
                return Ok(Some(event));
            }
        }
        if self.event_bytes + self.pending.len() > self.limit {
            return Err(self.too_long());
        }
        Ok(None)
    }

    /// The body has ended: what is left is the last line, and the last event.
    ///
    /// # Errors
    /// If it is over the limit.
    pub fn finish(&mut self) -> Result<Option<SseEvent>, TooLong> {
        if self.failed {
            return Ok(None);
        }
        let last = self.pending.split().freeze();
        if !last.is_empty()
            && let Some(event) = self.take_line(last)?
        {
            return Ok(Some(event));
        }
        Ok(self.dispatch())
    }

    fn too_long(&mut self) -> TooLong {
        self.failed = true;
        self.pending = BytesMut::new();
        self.fresh = Bytes::new();
        TooLong { limit: self.limit }
    }

    /// The next whole line without its ending.
    fn next_line(&mut self) -> Option<Bytes> {
        if self.after_cr && !self.fresh.is_empty() && self.pending.is_empty() {
            self.after_cr = false;
            if self.fresh[0] == b'\n' {
                self.fresh.advance(1);
            }
        }
        let Some(end) = memchr2(b'\n', b'\r', &self.fresh) else {
            self.pending.extend_from_slice(&self.fresh);
            self.fresh = Bytes::new();
            return None;
        };
        let tail = self.fresh.split_to(end);
        self.end_line_of_fresh();
        if self.pending.is_empty() {
            // The whole line came in one read: no copy.
            return Some(tail);
        }
        self.pending.extend_from_slice(&tail);
        Some(self.pending.split().freeze())
    }

    /// Skips the ending that `fresh` begins with.
    fn end_line_of_fresh(&mut self) {
        let cr = self.fresh.first() == Some(&b'\r');
        self.fresh.advance(1);
        if cr {
            match self.fresh.first() {
                Some(b'\n') => self.fresh.advance(1),
                Some(_) => {}
                // The LF may come with the next read.
                None => self.after_cr = true,
            }
        }
    }

    fn take_line(&mut self, mut line: Bytes) -> Result<Option<SseEvent>, TooLong> {
        if self.at_start {
            self.at_start = false;
            if line.starts_with(b"\xef\xbb\xbf") {
                line.advance(3);
            }
        }
        if line.is_empty() {
            return Ok(self.dispatch());
        }
        let colon = memchr(b':', &line);
        let name = &line[..colon.unwrap_or(line.len())];
        let put: fn(&mut Self, Bytes) -> Option<SseEvent> = match name {
            b"data" => Self::put_data,
            b"event" => Self::put_name,
            b"error" => Self::put_error,
            // Comments have an empty name; `id` and `retry` are for reconnecting, which nobody does
            // with an answer.
            _ => return Ok(None),
        };
        // The handle of a line counts too: a million empty lines are not free.
        self.event_bytes += line.len() + self.event.more.len().min(1) * size_of::<Bytes>();
        if self.event_bytes > self.limit {
            return Err(self.too_long());
        }
        let value =
            colon.map_or(line.len(), |at| at + 1 + usize::from(line.get(at + 1) == Some(&b' ')));
        line.advance(value);
        Ok(put(self, line))
    }

    fn put_data(&mut self, value: Bytes) -> Option<SseEvent> {
        let starts_anew = value.starts_with(b"{") || value.trim_ascii() == b"[DONE]";
        let whole = |line: &Bytes| line.trim_ascii_end().ends_with(b"}");
        let before = if starts_anew && self.event.lines().next_back().is_some_and(whole) {
            let name = self.late_name.take();
            self.event_bytes = value.len();
            std::mem::replace(&mut self.event, SseEvent { name, ..SseEvent::default() })
        } else {
            SseEvent::default()
        };
        self.event.push(value);
        (!before.is_empty()).then_some(before)
    }

    fn put_name(&mut self, value: Bytes) -> Option<SseEvent> {
        if self.event.first.is_some() {
            self.late_name = Some(value);
        } else {
            self.event.name = Some(value);
        }
        None
    }

    fn put_error(&mut self, value: Bytes) -> Option<SseEvent> {
        self.event.error = Some(value);
        None
    }

    /// A blank line ends the event; one without data is none (WHATWG HTML §9.2.6).
    fn dispatch(&mut self) -> Option<SseEvent> {
        self.event_bytes = 0;
        let mut event = std::mem::take(&mut self.event);
        if let Some(name) = self.late_name.take() {
            event.name = Some(name);
        }
        (!event.is_empty()).then_some(event)
    }
}

#[cfg(test)]
mod tests;
