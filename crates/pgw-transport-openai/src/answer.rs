//! From a response to events: what really came, and when it has ended.

use std::{
    collections::VecDeque,
    future::Future as _,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use bytes::{Bytes, BytesMut};
use futures_core::Stream;
use http::HeaderMap;
use pgw_http::{Body, Response};
use pgw_ports::EventStream;
use pgw_types::{CallError, ChatEvent, Fault, ProviderProfile, SourceConfig, Warning};
use pgw_wire::{
    BodyKind,
    chat::{AnswerContext, ChunkDecoder},
    error::{ErrorContext, classify, excerpt},
    sniff,
    sse::SseDecoder,
};
use tokio::time::{Sleep, sleep};

use crate::failure::translate;

/// The largest error body that is read: enough for any report, and for the start of a page.
const ERROR_BODY_LIMIT: usize = 1 << 20;

/// The largest plain answer that is read.
const ANSWER_LIMIT: usize = 64 << 20;

/// How long the stream is read on after the finish reason: usage and `[DONE]` follow at once, and a
/// service that keeps the connection open must not keep the caller (QuantumNous/new-api#7062).
const GRACE: Duration = Duration::from_secs(3);

/// Looks at the head of a response, and makes a stream of events of a good one.
pub(crate) async fn read(
    response: Response,
    source: &SourceConfig,
    profile: &Arc<ProviderProfile>,
    asked_for_stream: bool,
) -> Result<EventStream<ChatEvent>, CallError> {
    if !response.status.is_success() {
        return Err(refusal(response, profile).await);
    }
    let decoder = ChunkDecoder::new(AnswerContext {
        profile: Arc::clone(profile),
        missing_done: source.missing_done,
        malformed_frame: source.malformed_frame,
        request_id: request_id(&response.headers),
    });
    // Half of the silence that the watchdog allows, if that is less: a finished answer must be
    // handed over before it counts as stalled.
    let grace = GRACE.min(source.timeouts.inter_token / 2);
    let phase = if asked_for_stream {
        Phase::Sniffing(BytesMut::new())
    } else {
        Phase::Whole(BytesMut::new())
    };
    Ok(Box::pin(Answer {
        body: response.body,
        phase,
        decoder,
        frames: SseDecoder::default(),
        grace,
        grace_timer: None,
        asked_for_stream,
    }))
}

fn request_id(headers: &HeaderMap) -> Option<String> {
    let value = headers
        .get("x-request-id")
        .or_else(|| headers.get("request-id"))?;
    value.to_str().ok().map(excerpt)
}

/// The error of an answer whose status is not 2xx.
async fn refusal(response: Response, profile: &ProviderProfile) -> CallError {
    let (status, headers) = (response.status.as_u16(), response.headers);
    // A body that breaks off still has its status.
    let body = response
        .body
        .collect(ERROR_BODY_LIMIT)
        .await
        .unwrap_or_default();
    let lookup = |name: &str| headers.get(name)?.to_str().ok().map(str::to_owned);
    let context = ErrorContext {
        profile,
        headers: &lookup,
        now_unix_ms: now_unix_ms(),
    };
    classify(status, &body, &context)
}

/// For dates in `Retry-After` when the answer has none of its own.
fn now_unix_ms() -> u64 {
    #[expect(
        clippy::disallowed_methods,
        reason = "a service's date is on the world's clock"
    )]
    let now = SystemTime::now();
    let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// What the body has turned out to be so far.
enum Phase {
    /// Too few bytes to tell.
    Sniffing(BytesMut),
    /// A stream of events.
    Events,
    /// One document.
    Whole(BytesMut),
    /// Nothing more will come; what is queued may still go out.
    Ended,
}

/// An answer under way.
struct Answer {
    body: Body,
    phase: Phase,
    decoder: ChunkDecoder,
    frames: SseDecoder,
    grace: Duration,
    grace_timer: Option<Pin<Box<Sleep>>>,
    asked_for_stream: bool,
}

impl Stream for Answer {
    type Item = Result<ChatEvent, CallError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        loop {
            if let Some(event) = this.decoder.next_event() {
                return Poll::Ready(Some(Ok(event)));
            }
            if matches!(this.phase, Phase::Ended) {
                return Poll::Ready(None);
            }
            let step = ready!(this.step(cx));
            if let Err(error) = step {
                this.phase = Phase::Ended;
                // Events that came before the error go out before it.
                if let Some(event) = this.decoder.next_event() {
                    return Poll::Ready(Some(Ok(event)));
                }
                return Poll::Ready(Some(Err(error)));
            }
        }
    }
}

impl Answer {
    /// One step forward: a frame that is there already, or the next bytes.
    fn step(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), CallError>> {
        if matches!(self.phase, Phase::Events) {
            match self.frames.next_event() {
                Ok(Some(event)) => {
                    self.decoder.take(&event)?;
                    return Poll::Ready(self.check_done());
                }
                Ok(None) => {}
                Err(error) => {
                    return Poll::Ready(Err(CallError::new(Fault::BadResponse, error.to_string())));
                }
            }
        }
        match self.poll_body(cx) {
            Poll::Ready(Some(Ok(bytes))) => Poll::Ready(self.feed(bytes)),
            Poll::Ready(Some(Err(error))) => Poll::Ready(self.cut(error)),
            Poll::Ready(None) => Poll::Ready(self.end(true)),
            Poll::Pending => self.poll_grace(cx),
        }
    }

    fn poll_body(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, pgw_http::HttpError>>> {
        Pin::new(&mut self.body).poll_next(cx)
    }

    /// With the finish reason in, silence means that the answer is over.
    fn poll_grace(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), CallError>> {
        if !self.decoder.saw_finish() {
            return Poll::Pending;
        }
        let grace = self.grace;
        let timer = self
            .grace_timer
            .get_or_insert_with(|| Box::pin(sleep(grace)));
        ready!(timer.as_mut().poll(cx));
        Poll::Ready(self.end(true))
    }

    fn check_done(&mut self) -> Result<(), CallError> {
        if self.decoder.saw_done() {
            self.phase = Phase::Ended;
            return self.decoder.finish(true);
        }
        Ok(())
    }

    fn feed(&mut self, bytes: Bytes) -> Result<(), CallError> {
        match &mut self.phase {
            Phase::Sniffing(start) => {
                start.extend_from_slice(&bytes);
                if let Some(kind) = sniff(start, false) {
                    self.turn_out(kind);
                }
                Ok(())
            }
            Phase::Events => {
                self.frames.feed(bytes);
                Ok(())
            }
            Phase::Whole(whole) => {
                if whole.len() + bytes.len() > ANSWER_LIMIT {
                    let text = format!("the answer is larger than {ANSWER_LIMIT} bytes");
                    return Err(CallError::new(Fault::BadResponse, text));
                }
                whole.extend_from_slice(&bytes);
                Ok(())
            }
            Phase::Ended => Ok(()),
        }
    }

    /// The first bytes have shown what this is.
    fn turn_out(&mut self, kind: BodyKind) {
        let Phase::Sniffing(start) = std::mem::replace(&mut self.phase, Phase::Ended) else {
            return;
        };
        match kind {
            BodyKind::Sse => {
                self.phase = Phase::Events;
                self.frames.feed(start.freeze());
            }
            BodyKind::Json | BodyKind::BareString | BodyKind::Html | BodyKind::Text => {
                self.phase = Phase::Whole(start);
            }
            BodyKind::Empty => self.phase = Phase::Sniffing(start),
        }
    }

    /// The body broke. What is there may be an answer all the same, if the policy says so.
    fn cut(&mut self, error: pgw_http::HttpError) -> Result<(), CallError> {
        let phase = std::mem::replace(&mut self.phase, Phase::Ended);
        let judged = match phase {
            Phase::Events => self.last_frame().and_then(|()| self.decoder.finish(false)),
            Phase::Sniffing(_) | Phase::Whole(_) | Phase::Ended => {
                return Err(translate(error));
            }
        };
        // The network's words say more than that the end is missing.
        judged.map_err(|judged| match judged.fault() {
            Fault::Truncated | Fault::EmptyResponse => {
                let cause = translate(error);
                let fault = if judged.fault() == Fault::EmptyResponse {
                    cause.fault()
                } else {
                    Fault::Truncated
                };
                CallError::new(fault, format!("{} ({})", judged.message(), cause.message()))
                    .with_cause(cause)
            }
            _ => judged,
        })
    }

    /// The body has ended as it should.
    fn end(&mut self, clean: bool) -> Result<(), CallError> {
        match std::mem::replace(&mut self.phase, Phase::Ended) {
            Phase::Sniffing(start) => match sniff(&start, true) {
                Some(BodyKind::Sse) => {
                    self.frames.feed(start.freeze());
                    self.last_frame()?;
                    self.decoder.finish(clean)
                }
                _ => self.whole(&start),
            },
            Phase::Events => {
                self.last_frame()?;
                self.decoder.finish(clean)
            }
            Phase::Whole(whole) => self.whole(&whole),
            Phase::Ended => Ok(()),
        }
    }

    /// Frames that the end of the body completes.
    fn last_frame(&mut self) -> Result<(), CallError> {
        let too_long =
            |error: pgw_wire::sse::TooLong| CallError::new(Fault::BadResponse, error.to_string());
        while let Some(event) = self.frames.next_event().map_err(too_long)? {
            self.decoder.take(&event)?;
        }
        while let Some(event) = self.frames.finish().map_err(too_long)? {
            self.decoder.take_last(&event)?;
        }
        Ok(())
    }

    /// One document has come.
    fn whole(&mut self, body: &[u8]) -> Result<(), CallError> {
        let kind = sniff(body, true).unwrap_or(BodyKind::Empty);
        let said = || excerpt(&String::from_utf8_lossy(body));
        match kind {
            BodyKind::Empty => Err(CallError::new(
                Fault::EmptyResponse,
                "the answer has no body",
            )),
            BodyKind::Html => Err(CallError::new(
                Fault::BadEndpoint,
                format!(
                    "a page came instead of an answer; check the base URL: {}",
                    said()
                ),
            )),
            BodyKind::Text | BodyKind::BareString => Err(CallError::new(
                Fault::BadResponse,
                format!("text came instead of an answer: {}", said()),
            )),
            // A stream although none was asked for: as good an answer as any.
            BodyKind::Sse => {
                self.frames.feed(Bytes::copy_from_slice(body));
                self.last_frame()?;
                self.decoder.finish(true)
            }
            BodyKind::Json => {
                let result = self.json(body);
                if self.asked_for_stream && result.is_ok() {
                    self.decoder.warn(Warning::JsonInsteadOfStream);
                }
                result?;
                self.decoder.finish_whole()
            }
        }
    }

    /// A document, or several, one a line (some relays stream that way).
    fn json(&mut self, body: &[u8]) -> Result<(), CallError> {
        let lines: VecDeque<&[u8]> = body
            .split(|byte| *byte == b'\n')
            .map(<[u8]>::trim_ascii)
            .filter(|line| !line.is_empty())
            .collect();
        let each_is_one = lines.len() > 1
            && lines
                .iter()
                .all(|line| line.starts_with(b"{") && line.ends_with(b"}"));
        if !each_is_one {
            return self.decoder.take_json(body);
        }
        for line in lines {
            self.decoder.take_json(line)?;
        }
        Ok(())
    }
}
