//! One scripted answer: head, delay, body steps, framing, and how it is cut into writes.

use std::num::NonZeroUsize;
use std::time::Duration;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::chat::ChatReply;
use crate::scenario::Problem;

pub(crate) const JSON: &str = "application/json";
pub(crate) const EVENT_STREAM: &str = "text/event-stream";

/// One thing the mock does while it sends a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Writes these bytes and flushes them.
    Data(Bytes),
    /// Waits, with everything before it already sent.
    Pause(Duration),
    /// Keeps the connection open and silent until the client leaves.
    Stall,
    /// Closes the connection cleanly (TCP FIN) before the body is complete.
    Cut,
    /// Resets the connection (TCP RST).
    Reset,
}

impl Step {
    /// Bytes as they are.
    #[must_use]
    pub fn data(bytes: impl Into<Bytes>) -> Self {
        Self::Data(bytes.into())
    }

    /// One SSE event `data: {value}` with its blank line.
    #[must_use]
    pub fn event(value: &Value) -> Self {
        Self::Data(format!("data: {value}\n\n").into())
    }

    /// The event `data: [DONE]` that ends an `OpenAI` stream.
    #[must_use]
    pub fn done() -> Self {
        Self::Data(Bytes::from_static(b"data: [DONE]\n\n"))
    }

    /// A pause of that many milliseconds.
    #[must_use]
    pub fn pause_ms(milliseconds: u64) -> Self {
        Self::Pause(Duration::from_millis(milliseconds))
    }
}

/// How the end of a body is made known (RFC 9112 §6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Framing {
    /// A `content-length` of all bytes of the script, those after a cut included.
    ContentLength,
    /// `transfer-encoding: chunked`; each write is one chunk.
    Chunked,
    /// No length at all; the closed connection ends the body.
    UntilClose,
}

/// Into what pieces the bytes of a body are cut; each piece is written on its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Split {
    /// Each step in one piece.
    #[default]
    One,
    /// One byte a piece.
    EveryByte,
    /// That many bytes a piece.
    EveryN(NonZeroUsize),
}

impl Split {
    /// Bytes a piece; `None` when steps stay whole.
    pub(crate) fn piece(self) -> Option<usize> {
        match self {
            Self::One => None,
            Self::EveryByte => Some(1),
            Self::EveryN(bytes) => Some(bytes.get()),
        }
    }
}

/// What an answer sends after its head.
#[derive(Debug, Clone)]
pub(crate) enum Content {
    /// A body known as a whole.
    Whole { media: Option<&'static str>, bytes: Bytes },
    /// A body sent step by step.
    Stepped { media: &'static str, steps: Vec<Step> },
    /// The whole response, head included.
    Raw(Vec<Step>),
    /// A chat answer that depends on the request.
    Chat(Box<ChatReply>),
}

/// One answer of a script.
///
/// Header names and values are written as given. A `content-length` or `transfer-encoding` set by
/// hand replaces the mock's own framing: the body is written as it is and the connection closes.
#[derive(Debug, Clone)]
pub struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) delay: Duration,
    pub(crate) content: Content,
    pub(crate) framing: Option<Framing>,
    pub(crate) split: Split,
    pub(crate) close: bool,
}

impl Answer {
    pub(crate) fn of(content: Content) -> Self {
        Self {
            status: 200,
            headers: Vec::new(),
            delay: Duration::ZERO,
            content,
            framing: None,
            split: Split::One,
            close: false,
        }
    }

    /// A status with an empty body.
    #[must_use]
    pub fn empty(status: u16) -> Self {
        Self::of(Content::Whole { media: None, bytes: Bytes::new() }).status(status)
    }

    /// A status with a JSON body.
    #[must_use]
    pub fn json(status: u16, value: &Value) -> Self {
        Self::of(Content::Whole { media: Some(JSON), bytes: value.to_string().into() })
            .status(status)
    }

    /// A status with a plain text body.
    #[must_use]
    pub fn text(status: u16, text: impl Into<String>) -> Self {
        let bytes = Bytes::from(text.into());
        Self::of(Content::Whole { media: Some("text/plain; charset=utf-8"), bytes }).status(status)
    }

    /// A status with these bytes as the body, without a content type.
    #[must_use]
    pub fn bytes(status: u16, bytes: impl Into<Bytes>) -> Self {
        Self::of(Content::Whole { media: None, bytes: bytes.into() }).status(status)
    }

    /// Status 200 with `text/event-stream`, sent step by step.
    #[must_use]
    pub fn sse(steps: impl IntoIterator<Item = Step>) -> Self {
        Self::of(Content::Stepped { media: EVENT_STREAM, steps: steps.into_iter().collect() })
    }

    /// Status 200 with `application/json`, sent step by step.
    #[must_use]
    pub fn chunks(steps: impl IntoIterator<Item = Step>) -> Self {
        Self::of(Content::Stepped { media: JSON, steps: steps.into_iter().collect() })
    }

    /// A whole response, status line included, after which the connection closes.
    #[must_use]
    pub fn raw(bytes: impl Into<Bytes>) -> Self {
        Self::raw_steps([Step::Data(bytes.into())])
    }

    /// A whole response step by step; `[Step::Reset]` alone resets before any byte.
    #[must_use]
    pub fn raw_steps(steps: impl IntoIterator<Item = Step>) -> Self {
        Self::of(Content::Raw(steps.into_iter().collect()))
    }

    /// An `OpenAI` chat answer: JSON, or SSE when the request says `"stream": true`.
    #[must_use]
    pub fn chat(reply: ChatReply) -> Self {
        Self::of(Content::Chat(Box::new(reply)))
    }

    /// An `OpenAI` error body `{"error": {message, type, param, code}}`.
    #[must_use]
    pub fn error(status: u16, code: &str, message: &str) -> Self {
        Self::json(status, &error_body(message, error_type(status), None, Some(code)))
    }

    /// Sets the status; a raw answer carries its own.
    #[must_use]
    pub fn status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// Adds a header after those already there.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Waits this long before the first byte.
    #[must_use]
    pub fn delay(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Chooses how the end of the body is made known.
    #[must_use]
    pub fn framing(mut self, framing: Framing) -> Self {
        self.framing = Some(framing);
        self
    }

    /// Cuts the body into pieces that are written one by one; of a raw answer, the head too.
    #[must_use]
    pub fn split(mut self, split: Split) -> Self {
        self.split = split;
        self
    }

    /// Closes the connection after the answer and says so with `connection: close`.
    #[must_use]
    pub fn close(mut self) -> Self {
        self.close = true;
        self
    }

    pub(crate) fn collect_problems(&self, at: &str, problems: &mut Vec<Problem>) {
        if !(200..=999).contains(&self.status) {
            problems.push(Problem::new(
                format!("{at}.status"),
                format!(
                    "{} is not a final HTTP status; write a number from 200 to 999",
                    self.status
                ),
            ));
        }
        if let Content::Chat(reply) = &self.content {
            reply.collect_problems(&format!("{at}.chat"), problems);
        }
        if matches!(self.content, Content::Raw(_))
            && (!self.headers.is_empty() || self.framing.is_some())
        {
            problems.push(Problem::new(
                format!("{at}.raw"),
                "is the whole response; write headers and framing into its bytes",
            ));
        }
    }
}

/// The `OpenAI` error envelope, with `null` for what is absent as the service does.
pub(crate) fn error_body(
    message: &str,
    kind: &str,
    param: Option<&str>,
    code: Option<&str>,
) -> Value {
    json!({"error": {"message": message, "type": kind, "param": param, "code": code}})
}

/// The `type` that `OpenAI` sends with a status.
pub(crate) fn error_type(status: u16) -> &'static str {
    match status {
        401 | 403 => "authentication_error",
        429 => "rate_limit_error",
        500..=599 => "server_error",
        _ => "invalid_request_error",
    }
}
