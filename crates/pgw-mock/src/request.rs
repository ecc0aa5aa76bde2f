//! Reading one HTTP/1.1 request from a connection: head, body in either framing, and its facts.

use bytes::{Buf as _, Bytes, BytesMut};
use serde::Deserialize;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// Largest head in bytes; larger ones get 431.
const MAX_HEAD: usize = 64 * 1024;
/// Largest body in bytes; larger ones get 413.
const MAX_BODY: usize = 64 * 1024 * 1024;
/// Most header lines of a request.
const MAX_HEADERS: usize = 128;

/// A request as it came, with what scripts ask about it.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// Path and query as sent.
    pub(crate) target: String,
    /// HTTP/1.0 knows neither chunked bodies nor keep-alive by default.
    pub(crate) old_version: bool,
    pub(crate) keep_alive: bool,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Bytes,
    pub(crate) facts: Facts,
}

impl Request {
    /// Stands for bytes that could not be read as a request.
    pub(crate) fn unreadable() -> Self {
        Self {
            method: String::new(),
            target: String::new(),
            old_version: false,
            keep_alive: false,
            headers: Vec::new(),
            body: Bytes::new(),
            facts: Facts::default(),
        }
    }

    pub(crate) fn path(&self) -> &str {
        self.target.split_once('?').map_or(self.target.as_str(), |(path, _)| path)
    }

    pub(crate) fn bearer(&self) -> Option<&str> {
        bearer(&self.headers)
    }
}

/// The key of `Authorization: Bearer KEY`; the scheme is case-insensitive (RFC 9110 §11.1).
pub(crate) fn bearer(headers: &[(String, String)]) -> Option<&str> {
    let (scheme, key) = find(headers, "authorization")?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| key.trim())
}

/// The first header of a name, in any case.
pub(crate) fn find<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers
        .iter()
        .find(|(header, _)| header.eq_ignore_ascii_case(name))
        .map(|(_, value)| value.as_str())
}

/// What a chat request's body says; a body that is no JSON object says nothing.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    pub(crate) model: Option<String>,
    pub(crate) stream: bool,
    pub(crate) include_usage: bool,
}

impl Facts {
    fn of(body: &[u8]) -> Self {
        /// Fields are read as any value: a wrong type must not hide the others.
        #[derive(Deserialize)]
        struct Body {
            #[serde(default)]
            model: Value,
            #[serde(default)]
            stream: Value,
            #[serde(default)]
            stream_options: Value,
        }
        serde_json::from_slice::<Body>(body).map_or_else(
            |_| Self::default(),
            |body| Self {
                model: body.model.as_str().map(str::to_owned),
                stream: body.stream == Value::Bool(true),
                include_usage: body.stream_options["include_usage"] == Value::Bool(true),
            },
        )
    }
}

/// Why there is no request.
#[derive(Debug)]
pub(crate) enum NoRequest {
    /// The client closed the connection, between requests or within one.
    Left,
    /// The bytes are no request this server takes; answer with the status and close.
    Malformed { status: u16, message: String },
}

impl NoRequest {
    fn bad(message: impl Into<String>) -> Self {
        Self::Malformed { status: 400, message: message.into() }
    }
}

/// Head of a request, before its body.
struct Head {
    method: String,
    target: String,
    old_version: bool,
    headers: Vec<(String, String)>,
    length: BodyLength,
}

enum BodyLength {
    Known(usize),
    Chunked,
}

/// Reads requests from one connection and keeps what the client sent ahead.
#[derive(Debug, Default)]
pub(crate) struct RequestReader {
    buffer: BytesMut,
}

impl RequestReader {
    /// The next request.
    ///
    /// # Cancel safety
    /// Not needed: the connection ends with the task that reads.
    pub(crate) async fn next<S>(&mut self, stream: &mut S) -> Result<Request, NoRequest>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let head = loop {
            if let Some((head, length)) = parse_head(&self.buffer)? {
                self.buffer.advance(length);
                break head;
            }
            if self.buffer.len() > MAX_HEAD {
                let message = format!("the head is larger than {MAX_HEAD} bytes");
                return Err(NoRequest::Malformed { status: 431, message });
            }
            self.fill(stream).await?;
        };
        self.invite_body(&head, stream).await?;
        let body = match head.length {
            BodyLength::Known(length) => {
                self.fill_to(length, stream).await?;
                self.buffer.split_to(length).freeze()
            }
            BodyLength::Chunked => self.chunked_body(stream).await?,
        };
        let connection = find(&head.headers, "connection").unwrap_or_default();
        let says = |word: &str| connection.split(',').any(|t| t.trim().eq_ignore_ascii_case(word));
        let keep_alive = if head.old_version { says("keep-alive") } else { !says("close") };
        Ok(Request {
            keep_alive,
            facts: Facts::of(&body),
            method: head.method,
            target: head.target,
            old_version: head.old_version,
            headers: head.headers,
            body,
        })
    }

    /// Returns when the client has closed its side or the connection broke.
    ///
    /// # Cancel safety
    /// Bytes that come meanwhile are kept for the next request.
    pub(crate) async fn until_left<R>(&mut self, stream: &mut R)
    where
        R: AsyncRead + Unpin,
    {
        while self.buffer.len() <= MAX_HEAD {
            if self.fill(stream).await.is_err() {
                return;
            }
        }
        // A client that sends that much ahead is not read further; writes will notice its end.
        std::future::pending::<()>().await;
    }

    /// Reads and drops what the client still sends, so that closing does not become a reset which
    /// could overtake the answer.
    pub(crate) async fn drain<R>(&mut self, stream: &mut R)
    where
        R: AsyncRead + Unpin,
    {
        let mut drained = 0;
        while drained <= MAX_BODY && self.fill(stream).await.is_ok() {
            drained += self.buffer.len();
            self.buffer.clear();
        }
    }

    /// Sends `100 Continue` to a client that waits for it (RFC 9110 §10.1.1).
    async fn invite_body<S>(&mut self, head: &Head, stream: &mut S) -> Result<(), NoRequest>
    where
        S: AsyncWrite + Unpin,
    {
        let waits = find(&head.headers, "expect")
            .is_some_and(|value| value.eq_ignore_ascii_case("100-continue"));
        if waits && self.buffer.is_empty() {
            let invitation = b"HTTP/1.1 100 Continue\r\n\r\n";
            stream.write_all(invitation).await.map_err(|_| NoRequest::Left)?;
        }
        Ok(())
    }

    async fn chunked_body<S>(&mut self, stream: &mut S) -> Result<Bytes, NoRequest>
    where
        S: AsyncRead + Unpin,
    {
        let mut body = BytesMut::new();
        loop {
            let size = self.chunk_size(stream).await?;
            if size == 0 {
                break;
            }
            if size > MAX_BODY.saturating_sub(body.len()) {
                return Err(too_large());
            }
            self.fill_to(size + 2, stream).await?;
            body.extend_from_slice(&self.buffer[..size]);
            if &self.buffer[size..size + 2] != b"\r\n" {
                return Err(NoRequest::bad("a chunk of the body does not end with CRLF"));
            }
            self.buffer.advance(size + 2);
        }
        while self.line_length(stream).await? > 0 {
            // Trailers mean nothing to a script.
        }
        Ok(body.freeze())
    }

    async fn chunk_size<S>(&mut self, stream: &mut S) -> Result<usize, NoRequest>
    where
        S: AsyncRead + Unpin,
    {
        loop {
            match httparse::parse_chunk_size(&self.buffer) {
                Ok(httparse::Status::Complete((used, size))) => {
                    self.buffer.advance(used);
                    return usize::try_from(size).map_err(|_| too_large());
                }
                Ok(httparse::Status::Partial) if self.buffer.len() <= MAX_HEAD => {
                    self.fill(stream).await?;
                }
                Ok(httparse::Status::Partial) | Err(_) => {
                    return Err(NoRequest::bad("a chunk of the body has no valid size line"));
                }
            }
        }
    }

    /// Takes one line and returns its length without CRLF.
    async fn line_length<S>(&mut self, stream: &mut S) -> Result<usize, NoRequest>
    where
        S: AsyncRead + Unpin,
    {
        loop {
            if let Some(length) = self.buffer.windows(2).position(|pair| pair == b"\r\n") {
                self.buffer.advance(length + 2);
                return Ok(length);
            }
            if self.buffer.len() > MAX_HEAD {
                return Err(NoRequest::bad("a trailer of the body is too long"));
            }
            self.fill(stream).await?;
        }
    }

    async fn fill_to<S>(&mut self, length: usize, stream: &mut S) -> Result<(), NoRequest>
    where
        S: AsyncRead + Unpin,
    {
        while self.buffer.len() < length {
            self.buffer.reserve(length - self.buffer.len());
            self.fill(stream).await?;
        }
        Ok(())
    }

    async fn fill<S>(&mut self, stream: &mut S) -> Result<(), NoRequest>
    where
        S: AsyncRead + Unpin,
    {
        self.buffer.reserve(4096);
        match stream.read_buf(&mut self.buffer).await {
            Ok(0) | Err(_) => Err(NoRequest::Left),
            Ok(_) => Ok(()),
        }
    }
}

fn too_large() -> NoRequest {
    let message = format!("the body is larger than {MAX_BODY} bytes");
    NoRequest::Malformed { status: 413, message }
}

/// The head and its length in bytes; `None` while it is incomplete.
fn parse_head(buffer: &[u8]) -> Result<Option<(Head, usize)>, NoRequest> {
    if buffer.is_empty() {
        return Ok(None);
    }
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    let length = match parsed.parse(buffer) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(fault) => return Err(NoRequest::bad(format!("no HTTP/1.1 request: {fault}"))),
    };
    let headers: Vec<(String, String)> = parsed
        .headers
        .iter()
        .map(|header| (header.name.to_owned(), String::from_utf8_lossy(header.value).into_owned()))
        .collect();
    let head = Head {
        method: parsed.method.unwrap_or_default().to_owned(),
        target: parsed.path.unwrap_or_default().to_owned(),
        old_version: parsed.version == Some(0),
        length: body_length(&headers)?,
        headers,
    };
    Ok(Some((head, length)))
}

/// How long the body is (RFC 9112 §6.3); doubtful framing is refused, it hides smuggled requests.
fn body_length(headers: &[(String, String)]) -> Result<BodyLength, NoRequest> {
    let lengths: Vec<&str> = headers
        .iter()
        .filter(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .map(|(_, value)| value.as_str())
        .collect();
    match (find(headers, "transfer-encoding"), lengths.as_slice()) {
        (None, []) => Ok(BodyLength::Known(0)),
        (None, [text]) if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) => {
            match text.parse::<usize>() {
                Ok(length) if length <= MAX_BODY => Ok(BodyLength::Known(length)),
                _ => Err(too_large()),
            }
        }
        (None, _) => Err(NoRequest::bad("content-length must be one number")),
        (Some(coding), []) if coding.eq_ignore_ascii_case("chunked") => Ok(BodyLength::Chunked),
        (Some(_), []) => Err(NoRequest::bad("transfer-encoding must be chunked")),
        (Some(_), _) => Err(NoRequest::bad("content-length beside transfer-encoding")),
    }
}
