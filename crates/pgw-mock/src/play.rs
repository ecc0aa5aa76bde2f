//! Playing one answer onto a connection: the head, the framing, and the script's steps as writes.

use std::borrow::Cow;
use std::io;
use std::io::Write as _;
use std::time::Duration;

use tokio::io::{AsyncWrite, AsyncWriteExt as _};

use crate::answer::{Answer, Content, Framing, Split, Step};
use crate::ledger::{Outcome, Progress};
use crate::request::{Request, find};

/// What happens to the connection after an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum After {
    KeepAlive,
    Close,
    Reset,
}

/// An answer made concrete for one request.
#[derive(Debug)]
pub(crate) struct Plan<'a> {
    delay: Duration,
    head: Vec<u8>,
    chunked: bool,
    steps: Cow<'a, [Step]>,
    split: Split,
    after: After,
}

impl<'a> Plan<'a> {
    /// `serial` numbers the answers of an endpoint from 1; ids are made of it.
    pub(crate) fn new(answer: &'a Answer, request: &Request, serial: usize) -> Self {
        let (media, steps, default_framing) = match &answer.content {
            Content::Raw(steps) => return Self::raw(answer, steps),
            Content::Whole { media, bytes } => {
                let steps = vec![Step::Data(bytes.clone())];
                (*media, Cow::Owned(steps), Framing::ContentLength)
            }
            Content::Stepped { media, steps } => {
                (Some(*media), Cow::Borrowed(steps.as_slice()), Framing::Chunked)
            }
            Content::Chat(reply) => {
                let (media, steps) = reply.render(&request.facts, serial);
                let framing =
                    if request.facts.stream { Framing::Chunked } else { Framing::ContentLength };
                (Some(media), Cow::Owned(steps), framing)
            }
        };
        let mut framing = answer.framing.unwrap_or(default_framing);
        if framing == Framing::Chunked && request.old_version {
            // HTTP/1.0 clients don't know chunked bodies (RFC 9112 §6.1).
            framing = Framing::UntilClose;
        }
        let has = |name| find(&answer.headers, name).is_some();
        let by_hand = has("content-length") || has("transfer-encoding");
        let bodiless = request.method == "HEAD" || matches!(answer.status, 204 | 304);
        let close = answer.close
            || !request.keep_alive
            || (!bodiless && (by_hand || framing == Framing::UntilClose));

        let mut head = status_line(answer.status);
        for (name, value) in &answer.headers {
            header(&mut head, name, value);
        }
        if let Some(media) = media.filter(|_| !has("content-type")) {
            header(&mut head, "content-type", media);
        }
        if !by_hand && answer.status != 204 {
            match framing {
                Framing::ContentLength => {
                    header(&mut head, "content-length", &length(&steps).to_string());
                }
                Framing::Chunked => header(&mut head, "transfer-encoding", "chunked"),
                Framing::UntilClose => {}
            }
        }
        if close && !has("connection") {
            header(&mut head, "connection", "close");
        }
        head.extend_from_slice(b"\r\n");
        Self {
            delay: answer.delay,
            head,
            chunked: framing == Framing::Chunked && !by_hand && !bodiless,
            steps: if bodiless { Cow::Owned(Vec::new()) } else { steps },
            split: answer.split,
            after: if close { After::Close } else { After::KeepAlive },
        }
    }

    fn raw(answer: &Answer, steps: &'a [Step]) -> Self {
        Self {
            delay: answer.delay,
            head: Vec::new(),
            chunked: false,
            steps: Cow::Borrowed(steps),
            split: answer.split,
            after: After::Close,
        }
    }

    /// Sends the answer and books its end just before the last bytes, see
    /// [`EndpointCounters::answered`](crate::EndpointCounters::answered).
    ///
    /// # Errors
    /// The connection broke.
    pub(crate) async fn play<W>(
        self,
        stream: &mut W,
        mut progress: Option<&mut Progress>,
    ) -> io::Result<After>
    where
        W: AsyncWrite + Unpin,
    {
        let mut book = |outcome| {
            if let Some(progress) = &mut progress {
                progress.ended(outcome);
            }
        };
        if !self.delay.is_zero() {
            tokio::time::sleep(self.delay).await;
        }
        let mut out = self.head;
        if self.split != Split::One {
            flush(stream, &mut out).await?;
        }
        let mut complete = false;
        for (index, step) in self.steps.iter().enumerate() {
            match step {
                Step::Data(bytes) => {
                    let size = self.split.piece().unwrap_or(bytes.len()).max(1);
                    let pieces = bytes.chunks(size);
                    let last_piece = pieces.len().saturating_sub(1);
                    for (number, piece) in pieces.enumerate() {
                        let last = index + 1 == self.steps.len() && number == last_piece;
                        frame(&mut out, piece, self.chunked, last);
                        if last {
                            complete = true;
                            book(Outcome::Answered);
                        }
                        flush(stream, &mut out).await?;
                        if !last {
                            // On a one-thread runtime the client must get its turn, or it would
                            // find all pieces at once.
                            tokio::task::yield_now().await;
                        }
                    }
                }
                Step::Pause(pause) => {
                    flush(stream, &mut out).await?;
                    tokio::time::sleep(*pause).await;
                }
                Step::Stall => {
                    flush(stream, &mut out).await?;
                    std::future::pending::<()>().await;
                }
                Step::Cut | Step::Reset => {
                    flush(stream, &mut out).await?;
                    book(Outcome::CutShort);
                    let reset = *step == Step::Reset;
                    return Ok(if reset { After::Reset } else { After::Close });
                }
            }
        }
        if !complete {
            // No body, an empty last step, or a pause at the end.
            if self.chunked {
                out.extend_from_slice(b"0\r\n\r\n");
            }
            book(Outcome::Answered);
            flush(stream, &mut out).await?;
        }
        Ok(self.after)
    }
}

async fn flush<W: AsyncWrite + Unpin>(stream: &mut W, out: &mut Vec<u8>) -> io::Result<()> {
    if !out.is_empty() {
        stream.write_all(out).await?;
        out.clear();
    }
    Ok(())
}

fn frame(out: &mut Vec<u8>, piece: &[u8], chunked: bool, last: bool) {
    if !chunked {
        out.extend_from_slice(piece);
        return;
    }
    // Writing into a Vec can't fail.
    let _ = write!(out, "{:x}\r\n", piece.len());
    out.extend_from_slice(piece);
    // The terminator goes with the last chunk: a client that hangs up at [DONE] has then had a
    // whole answer and is not counted as one that left.
    out.extend_from_slice(if last { b"\r\n0\r\n\r\n" } else { b"\r\n" });
}

fn status_line(status: u16) -> Vec<u8> {
    let reason = http::StatusCode::from_u16(status)
        .ok()
        .and_then(|status| status.canonical_reason())
        .unwrap_or_default();
    format!("HTTP/1.1 {status} {reason}\r\n").into_bytes()
}

fn header(head: &mut Vec<u8>, name: &str, value: &str) {
    for part in [name, ": ", value, "\r\n"] {
        head.extend_from_slice(part.as_bytes());
    }
}

fn length(steps: &[Step]) -> usize {
    steps.iter().map(|step| if let Step::Data(bytes) = step { bytes.len() } else { 0 }).sum()
}
