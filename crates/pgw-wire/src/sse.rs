//! Server-sent events: lines to events, for bytes in any pieces.
//!
//! Follows WHATWG HTML §9.2 "Server-sent events": LF, CRLF and lone CR end a line, one leading byte
//! order mark is skipped, one blank after the colon is stripped, a blank line ends an event, lines
//! that begin with a colon are comments. Beyond it, because services do so:
//!
//! - a last event without its blank line is still an event if its line is whole or the body ended;
//! - an `error` field is kept (llama.cpp builds of 2025 send one, coddy-project/coddy-agent#106);
//! - lines and events have a size limit, so that a hostile server can't fill the memory.
//!
//! Bytes are kept as bytes until a line is whole: no read can cut a character in two.

use bytes::{Buf as _, Bytes, BytesMut};
use memchr::{memchr, memchr2};

/// One event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SseEvent {
    /// The `data` lines, in order, as bytes. Usually one.
    pub data: Vec<Bytes>,
    /// The last `event` line.
    pub name: Option<Bytes>,
    /// The last `error` line, which the standard does not know.
    pub error: Option<Bytes>,
}

impl SseEvent {
    const fn is_empty(&self) -> bool {
        self.data.is_empty() && self.error.is_none()
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
        write!(
            f,
            "line too long: more than {} bytes in one event",
            self.limit
        )
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
        let Some(end) = line_end(&self.fresh) else {
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
        self.event_bytes += line.len();
        if self.event_bytes > self.limit {
            return Err(self.too_long());
        }
        let (field, value) = match memchr(b':', &line) {
            Some(0) => return Ok(None),
            Some(colon) => {
                let blank = line.get(colon + 1) == Some(&b' ');
                (
                    line.slice(..colon),
                    line.slice(colon + 1 + usize::from(blank)..),
                )
            }
            None => (line.clone(), Bytes::new()),
        };
        match &*field {
            b"data" => self.event.data.push(value),
            b"event" => self.event.name = Some(value),
            b"error" => self.event.error = Some(value),
            // `id` and `retry` are for reconnecting, which nobody does with an answer.
            _ => {}
        }
        Ok(None)
    }

    /// A blank line ends the event; one without data is none (WHATWG HTML §9.2.6).
    fn dispatch(&mut self) -> Option<SseEvent> {
        self.event_bytes = 0;
        let event = std::mem::take(&mut self.event);
        (!event.is_empty()).then_some(event)
    }
}

fn line_end(bytes: &[u8]) -> Option<usize> {
    memchr2(b'\n', b'\r', bytes)
}

#[cfg(test)]
mod tests;
