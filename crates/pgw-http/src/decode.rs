//! Undoing `Content-Encoding` while the body arrives.
//!
//! The codecs are those of compression-codecs, the synchronous core of async-compression: gzip and
//! deflate on `miniz_oxide` and brotli are pure Rust, zstd is the C library (the pure Rust decoder
//! wants whole blocks and cannot be fed byte by byte). They are driven directly, so a decoded
//! piece costs one copy of its bytes and no adapter between streams and readers.

use std::fmt;
use std::io;

use bytes::{Buf, Bytes};
use compression_codecs::core::util::{PartialBuffer, WriteBuffer};
use compression_codecs::zstd::params::DParameter;
use compression_codecs::{
    BrotliDecoder, DecodeV2, DeflateDecoder, GzipDecoder, ZlibDecoder, ZstdDecoder,
};
use http::HeaderMap;
use http::header::CONTENT_ENCODING;

use crate::error::{BoxError, HttpError, HttpErrorKind, Reason};

/// The most that one step decodes, and so the largest piece handed out.
const PIECE: usize = 16 * 1024;

/// The largest window of the zstd content coding: 8 MiB (RFC 9659 §3).
const ZSTD_WINDOW_LOG: u32 = 23;

/// A content coding we can undo (RFC 9110 §8.4.1, RFC 7932, RFC 8878).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Coding {
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

impl Coding {
    /// The coding of a response; `None` when there is none, or one we do not know or that is
    /// stacked on another: such a body is handed out as it is, its header still telling.
    pub(crate) fn of(headers: &HeaderMap) -> Option<Self> {
        let mut values = headers.get_all(CONTENT_ENCODING).iter();
        let name = values.next()?.to_str().ok()?.trim();
        if values.next().is_some() {
            return None;
        }
        [
            ("gzip", Self::Gzip),
            ("x-gzip", Self::Gzip),
            ("deflate", Self::Deflate),
            ("br", Self::Brotli),
            ("zstd", Self::Zstd),
        ]
        .into_iter()
        .find_map(|(known, coding)| name.eq_ignore_ascii_case(known).then_some(coding))
    }
}

type Codec = Box<dyn DecodeV2 + Send + Sync>;

impl Coding {
    fn codec(self, first_byte: u8) -> Codec {
        match self {
            Self::Gzip => Box::new(GzipDecoder::new()),
            // "deflate" means the zlib format, but some servers send the bare stream (RFC 9110
            // §8.4.1.2). Only the zlib header has this nibble: in a bare stream it would be a
            // stored block whose padding is not zero.
            Self::Deflate if first_byte & 0x0f == 8 => Box::new(ZlibDecoder::new()),
            Self::Deflate => Box::new(DeflateDecoder::new()),
            Self::Brotli => Box::new(BrotliDecoder::new()),
            Self::Zstd => {
                let window = DParameter::window_log_max(ZSTD_WINDOW_LOG);
                Box::new(ZstdDecoder::new_with_params(&[window]))
            }
        }
    }

    /// Whether several compressed streams, one behind the other, are one body (RFC 1952 §2.2,
    /// RFC 8878 §3).
    fn concatenates(self) -> bool {
        matches!(self, Self::Gzip | Self::Zstd)
    }

    /// Asks for what the codec still holds although it was given everything; tells whether the
    /// stream is over.
    fn drain(self, codec: &mut Codec, output: &mut WriteBuffer<'_>) -> io::Result<bool> {
        match self {
            // These take being asked without input for a fault, and have a call of their own.
            Self::Gzip | Self::Deflate => codec.flush(output).map(|_| false),
            Self::Brotli | Self::Zstd => codec.decode(&mut PartialBuffer::new(&[]), output),
        }
    }
}

/// Decodes one body, in memory that does not grow with it.
pub(crate) struct Decoder {
    coding: Coding,
    /// Made at the first byte: an empty body is a complete one, since servers set the header for
    /// all their answers.
    codec: Option<Codec>,
    /// The compressed stream is over.
    complete: bool,
    input: Bytes,
    piece: Box<[u8]>,
    /// The last step filled the piece, so the codec may hold more.
    holds_more: bool,
}

impl Decoder {
    pub(crate) fn new(coding: Coding) -> Self {
        Self {
            coding,
            codec: None,
            complete: false,
            input: Bytes::new(),
            piece: vec![0; PIECE].into(),
            holds_more: false,
        }
    }

    /// Takes the next compressed bytes, when [`Self::next_piece`] has asked for them.
    pub(crate) fn feed(&mut self, input: Bytes) {
        self.input = input;
    }

    /// The next decoded piece of what was fed; `None` when more input is needed.
    pub(crate) fn next_piece(&mut self) -> Result<Option<Bytes>, HttpError> {
        while self.holds_more || !self.input.is_empty() {
            let first_byte = self.input.first().copied().unwrap_or_default();
            let codec = self.codec.get_or_insert_with(|| self.coding.codec(first_byte));
            if self.complete {
                if !self.coding.concatenates() {
                    return Err(invalid(Reason("bytes follow the end of the compressed stream")));
                }
                codec.reinit().map_err(invalid)?;
                self.complete = false;
            }

            let mut input = PartialBuffer::new(&self.input[..]);
            let mut output = WriteBuffer::new_initialized(&mut self.piece);
            self.complete = if self.input.is_empty() {
                self.coding.drain(codec, &mut output)
            } else {
                codec.decode(&mut input, &mut output)
            }
            .map_err(invalid)?;
            let (consumed, written) = (input.written_len(), output.written_len());

            let stuck = consumed == 0 && written == 0 && !self.complete && !self.input.is_empty();
            if stuck {
                return Err(invalid(Reason("the decoder does not advance")));
            }
            self.input.advance(consumed);
            self.holds_more = !self.complete && written == self.piece.len();
            if written > 0 {
                return Ok(Some(Bytes::copy_from_slice(&self.piece[..written])));
            }
        }
        Ok(None)
    }

    /// The body is over: what is left of it, then `None` if the compressed stream is over too.
    pub(crate) fn finish(&mut self) -> Result<Option<Bytes>, HttpError> {
        let Some(codec) = self.codec.as_mut().filter(|_| !self.complete) else {
            return Ok(None);
        };
        let mut output = WriteBuffer::new_initialized(&mut self.piece);
        self.complete = codec
            .finish(&mut output)
            .map_err(|error| HttpError::new(HttpErrorKind::Truncated, error))?;
        match output.written_len() {
            0 if self.complete => Ok(None),
            0 => Err(HttpError::new(
                HttpErrorKind::Truncated,
                Reason("the compressed stream has no end"),
            )),
            written => Ok(Some(Bytes::copy_from_slice(&self.piece[..written]))),
        }
    }
}

fn invalid(error: impl Into<BoxError>) -> HttpError {
    HttpError::new(HttpErrorKind::Decompression, error)
}

impl fmt::Debug for Decoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decoder").field("coding", &self.coding).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
