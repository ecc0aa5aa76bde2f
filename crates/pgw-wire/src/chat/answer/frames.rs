//! Frames: errors in the place of chunks, damage, and what can be saved of it.

use std::borrow::Cow;

use bytes::Bytes;
use memchr::memmem;
use pgw_types::{AnomalyPolicy, CallError, ExposeSecret as _, Fault, Warning};
use serde_json::Value;

use super::{ChunkDecoder, End};
use crate::{
    chat::{
        chunk::Chunk,
        surrogate::replace_halves,
        twin::{Kind, Spot},
    },
    error::{self, ErrorContext},
    sse::SseEvent,
};

impl ChunkDecoder {
    pub(super) fn take_event(&mut self, event: &SseEvent, last: bool) -> Result<(), CallError> {
        if self.saw_done() {
            return Ok(());
        }
        let named_error = event.name.as_deref() == Some(b"error");
        let taken = match event.only_line() {
            Some(line) => self.take_line(line, named_error, last),
            None => self.take_lines(event, named_error, last),
        };
        match &event.error {
            // llama.cpp reports failures in a field of this name (coddy-project/coddy-agent#106).
            Some(error) => Err(self.service_error(&String::from_utf8_lossy(error))),
            None => taken,
        }
    }

    pub(super) fn take_document(&mut self, json: &[u8]) -> Result<(), CallError> {
        let text = self.text_of(json.strip_prefix(b"\xef\xbb\xbf").unwrap_or(json));
        let parse = match self.chunk(&text) {
            Ok(result) => return result,
            Err(parse) => parse,
        };
        let (fault, message) = if parse.is_eof() {
            (Fault::Truncated, "the JSON answer breaks off".to_owned())
        } else {
            let message = format!("the answer can't be read ({parse}): {}", self.excerpt(&text));
            (Fault::BadResponse, message)
        };
        Err(CallError::new(fault, message).with_cause(parse))
    }

    /// An event of several lines: one document, or a line each, because an error was injected into
    /// an event that was not closed (Wei-Shaw/sub2api#1471).
    fn take_lines(
        &mut self,
        event: &SseEvent,
        named_error: bool,
        last: bool,
    ) -> Result<(), CallError> {
        let lines: Vec<Bytes> = event.lines().cloned().collect();
        let joined = lines.join(&b'\n');
        let text = self.text_of(&joined);
        if named_error {
            let is_json = |text: &[u8]| serde_json::from_slice::<Value>(text).is_ok();
            let report = lines.iter().rfind(|line| !is_json(&joined) && is_json(line));
            let report = report.map_or(text, |line| String::from_utf8_lossy(line));
            return Err(self.service_error(&report));
        }
        if let Ok(result) = self.chunk(&text) {
            return result;
        }
        let mut damage = Ok(());
        for line in &lines {
            match self.take_line(line, named_error, last) {
                Ok(()) => {}
                // An error that the service reports says more than the damage beside it.
                Err(error) if error.fault() == Fault::DamagedFrame => damage = Err(error),
                Err(error) => return Err(error),
            }
        }
        damage
    }

    fn take_line(&mut self, line: &Bytes, named_error: bool, last: bool) -> Result<(), CallError> {
        let line = line.trim_ascii();
        match line {
            b"" => return Ok(()),
            b"[DONE]" => {
                self.end = End::Done;
                return Ok(());
            }
            // A gateway wrapped a comment as data (mnfst/llm-gateway#2053).
            [b':', ..] => {
                self.warn(Warning::CommentAsData);
                return Ok(());
            }
            _ => {}
        }
        if named_error {
            let text = self.text_of(line);
            return Err(self.service_error(&text));
        }
        if let Some((choice, kind, text)) = self.twin.text_of(line) {
            match kind {
                Kind::Content => self.content(choice, text.into()),
                Kind::Thinking => self.think(choice, text.to_owned()),
            }
            return Ok(());
        }
        let text = self.text_of(line);
        match self.chunk(&text) {
            Ok(result) => result,
            Err(_) if last => Ok(()),
            Err(parse) => self.damaged(&text, &parse),
        }
    }

    fn damaged(&mut self, text: &str, parse: &serde_json::Error) -> Result<(), CallError> {
        if self.context.malformed_frame == AnomalyPolicy::Retry {
            let excerpt = self.excerpt(text);
            let message = format!("a frame of the stream can't be read ({parse}): {excerpt}");
            return Err(CallError::new(Fault::DamagedFrame, message));
        }
        self.warn(Warning::DamagedFrame);
        self.salvaged = true;
        // Perhaps frames are glued together, the first of them cut (anomalyco/opencode#23442): the
        // others are whole documents behind their field name.
        let mut rest = text;
        while let Some(at) = memmem::find(rest.as_bytes(), b"data:") {
            rest = &rest[at + b"data:".len()..];
            let mut documents = serde_json::Deserializer::from_str(rest).into_iter::<Chunk<'_>>();
            if let Some(Ok(chunk)) = documents.next() {
                let end = documents.byte_offset();
                self.read_chunk(chunk, &rest[..end])?;
                rest = &rest[end..];
            }
        }
        Ok(())
    }

    fn text_of<'a>(&mut self, bytes: &'a [u8]) -> Cow<'a, str> {
        // Checking alone is several times faster than looking for what to replace.
        if let Ok(text) = std::str::from_utf8(bytes) {
            return text.into();
        }
        self.warn(Warning::ReplacementChars);
        String::from_utf8_lossy(bytes)
    }

    fn service_error(&self, text: &str) -> CallError {
        let secret = self.context.secret.expose_secret();
        error::in_band(text, &ErrorContext::bare(&self.context.profile).hiding(secret))
    }

    fn excerpt(&self, text: &str) -> String {
        error::excerpt(&error::without(text, self.context.secret.expose_secret()))
    }

    /// Takes one JSON document in. The outer error: it is no JSON.
    fn chunk(&mut self, text: &str) -> Result<Result<(), CallError>, serde_json::Error> {
        self.strict_chunk(text).or_else(|parse| match replace_halves(text) {
            // A service cut a character in two between its escapes (elie222/rakazo#416).
            Some(mended) => self.strict_chunk(&mended),
            None => Err(parse),
        })
    }

    fn strict_chunk(&mut self, text: &str) -> Result<Result<(), CallError>, serde_json::Error> {
        if text.as_bytes().trim_ascii_start().starts_with(b"[") {
            // Google reports errors in a list (google-gemini/gemini-cli#6454).
            let _: Value = serde_json::from_str(text)?;
            return Ok(Err(self.service_error(text)));
        }
        let chunk = serde_json::from_str(text)?;
        Ok(self.read_chunk(chunk, text))
    }

    fn read_chunk(&mut self, chunk: Chunk<'_>, text: &str) -> Result<(), CallError> {
        if chunk.is_error() {
            return Err(self.service_error(text));
        }
        let spot = Spot::of(&chunk, text);
        self.good_chunk(chunk)?;
        if let Some(spot) = spot {
            self.twin.learn(text, &spot);
        }
        Ok(())
    }
}
