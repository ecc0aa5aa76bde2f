//! From a response to events: what really came, and when it has ended.

use std::{
    future::Future as _,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use futures_core::Stream;
use http::HeaderMap;
use pgw_http::{Body, HttpError, Response};
use pgw_ports::{AttemptCx, EventStream};
use pgw_types::{
    CallError, ChatEvent, ChatRequest, ExposeSecret as _, Fault, ProviderProfile, SecretString,
    SourceConfig, Warning,
};
use pgw_wire::{
    BodyKind,
    chat::{AnswerContext, ChunkDecoder},
    error::{excerpt, without},
    sniff,
    sse::{SseDecoder, TooLong},
};
use tokio::time::{Sleep, sleep};

use crate::failure::translate;

/// The largest plain answer that is read.
const ANSWER_LIMIT: usize = 64 << 20;

/// How long a service may take over what is hardly needed any more: the rest of a stream behind its
/// finish reason (usage and `[DONE]` follow at once, and a service that keeps the connection open
/// must not keep the caller, QuantumNous/new-api#7062), and the body of an error.
///
/// Half of the silence that the watchdog allows, if that is less: what is complete must be handed
/// over before it counts as stalled.
pub(crate) fn grace(source: &SourceConfig) -> Duration {
    const LONGEST: Duration = Duration::from_secs(3);
    LONGEST.min(source.timeouts.inter_token / 2)
}

/// Makes a stream of events of a response whose head is good.
pub(crate) fn read(
    response: Response,
    attempt: &AttemptCx,
    request: &ChatRequest,
    profile: &Arc<ProviderProfile>,
) -> EventStream<ChatEvent> {
    let source = &attempt.source;
    let decoder = ChunkDecoder::new(AnswerContext {
        profile: Arc::clone(profile),
        missing_done: source.missing_done,
        malformed_frame: source.malformed_frame,
        wanted: request.n.unwrap_or(1),
        call_id: Arc::clone(&attempt.call_id),
        request_id: request_id(&response.headers, &source.api_key),
        secret: source.api_key.clone(),
    });
    let start = BytesMut::new();
    Box::pin(Answer {
        body: response.body,
        phase: if attempt.stream { Phase::Sniffing(start) } else { Phase::Whole(start) },
        decoder,
        frames: SseDecoder::default(),
        failure: None,
        grace: grace(source),
        grace_timer: None,
        asked_for_stream: attempt.stream,
        secret: source.api_key.clone(),
    })
}

fn request_id(headers: &HeaderMap, secret: &SecretString) -> Option<String> {
    let value = headers.get("x-request-id").or_else(|| headers.get("request-id"))?;
    value.to_str().ok().map(|id| excerpt(&without(id, secret.expose_secret())))
}

/// What the body has turned out to be so far.
enum Phase {
    /// Too few bytes to tell.
    Sniffing(BytesMut),
    /// A stream of events.
    Events,
    /// One document.
    Whole(BytesMut),
    /// `[DONE]` was seen, and the end of the body comes with it: once it is read, the connection
    /// can serve the next call.
    Tail,
    /// Nothing more will come; what is queued may still go out.
    Ended,
}

/// An answer under way.
struct Answer {
    body: Body,
    phase: Phase,
    decoder: ChunkDecoder,
    frames: SseDecoder,
    /// What the answer died of; the events that came before go out before it.
    failure: Option<CallError>,
    grace: Duration,
    grace_timer: Option<Pin<Box<Sleep>>>,
    asked_for_stream: bool,
    secret: SecretString,
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
                return Poll::Ready(this.failure.take().map(Err));
            }
            if let Err(error) = ready!(this.step(cx)) {
                this.phase = Phase::Ended;
                this.failure = Some(error);
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
                    self.check_done();
                    return Poll::Ready(Ok(()));
                }
                Ok(None) => {}
                Err(error) => return Poll::Ready(Err(too_long(error))),
            }
        }
        match Pin::new(&mut self.body).poll_next(cx) {
            Poll::Ready(Some(Ok(bytes))) => Poll::Ready(self.feed(&bytes)),
            Poll::Ready(Some(Err(error))) => Poll::Ready(self.cut(error)),
            Poll::Ready(None) => Poll::Ready(self.end()),
            Poll::Pending => self.poll_grace(cx),
        }
    }

    /// With the finish reason in, silence means that the answer is over.
    fn poll_grace(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), CallError>> {
        let grace = match self.phase {
            // A connection whose body doesn't end with its answer is not worth waiting for.
            Phase::Tail => self.grace.min(Duration::from_millis(50)),
            _ if self.decoder.may_end() => self.grace,
            _ => return Poll::Pending,
        };
        let timer = self.grace_timer.get_or_insert_with(|| Box::pin(sleep(grace)));
        ready!(timer.as_mut().poll(cx));
        Poll::Ready(self.end())
    }

    fn check_done(&mut self) {
        if self.decoder.saw_done() {
            self.phase = Phase::Tail;
            self.grace_timer = None;
        }
    }

    fn feed(&mut self, bytes: &Bytes) -> Result<(), CallError> {
        match &mut self.phase {
            Phase::Sniffing(start) => {
                start.extend_from_slice(bytes);
                match sniff(start, false) {
                    Some(kind) => self.turn_out(kind),
                    // Keep-alive blanks come for minutes (deepseek-ai/DeepSeek-R1#91).
                    None if start.trim_ascii().is_empty() => start.clear(),
                    None => {}
                }
            }
            Phase::Events => self.frames.feed(bytes.clone()),
            Phase::Whole(whole) => {
                if whole.len() + bytes.len() > ANSWER_LIMIT {
                    let text = format!("the answer is larger than {ANSWER_LIMIT} bytes");
                    return Err(CallError::new(Fault::BadResponse, text));
                }
                whole.extend_from_slice(bytes);
            }
            Phase::Tail | Phase::Ended => {}
        }
        Ok(())
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
    fn cut(&mut self, error: HttpError) -> Result<(), CallError> {
        let cause = translate(error);
        let judged = match std::mem::replace(&mut self.phase, Phase::Ended) {
            Phase::Events => {
                let last = self.last_frames();
                last.and_then(|()| self.decoder.finish(self.decoder.saw_done()))
            }
            // Behind [DONE] nothing can be lost.
            Phase::Tail => self.decoder.finish(true),
            Phase::Sniffing(_) | Phase::Whole(_) | Phase::Ended => return Err(cause),
        };
        // The network's words say more than that the end is missing.
        judged.map_err(|judged| {
            let fault = match judged.fault() {
                Fault::Truncated => Fault::Truncated,
                Fault::EmptyResponse => cause.fault(),
                _ => return judged,
            };
            CallError::new(fault, format!("{} ({})", judged.message(), cause.message()))
                .with_cause(cause)
        })
    }

    /// The body has ended as it should.
    fn end(&mut self) -> Result<(), CallError> {
        match std::mem::replace(&mut self.phase, Phase::Ended) {
            Phase::Sniffing(body) | Phase::Whole(body) => self.whole(body.freeze()),
            Phase::Events => self.end_of_events(),
            Phase::Tail => self.decoder.finish(true),
            Phase::Ended => Ok(()),
        }
    }

    fn end_of_events(&mut self) -> Result<(), CallError> {
        self.last_frames()?;
        self.decoder.finish(true)
    }

    /// Frames that the end of the body completes.
    fn last_frames(&mut self) -> Result<(), CallError> {
        while let Some(event) = self.frames.next_event().map_err(too_long)? {
            self.decoder.take(&event)?;
        }
        while let Some(event) = self.frames.finish().map_err(too_long)? {
            self.decoder.take_last(&event)?;
        }
        Ok(())
    }

    /// One document has come.
    fn whole(&mut self, body: Bytes) -> Result<(), CallError> {
        match sniff(&body, true).unwrap_or(BodyKind::Empty) {
            BodyKind::Empty => Err(CallError::new(Fault::EmptyResponse, "the answer has no body")),
            BodyKind::Html => {
                let what = "a page came instead of an answer; check the base URL";
                Err(self.no_answer(Fault::BadEndpoint, what, &body))
            }
            BodyKind::Text | BodyKind::BareString => {
                Err(self.no_answer(Fault::BadResponse, "text came instead of an answer", &body))
            }
            // A stream although none was asked for: as good an answer as any.
            BodyKind::Sse => {
                self.frames.feed(body);
                self.end_of_events()
            }
            BodyKind::Json => self.json(&body),
        }
    }

    fn no_answer(&self, fault: Fault, what: &str, body: &[u8]) -> CallError {
        let text = String::from_utf8_lossy(body);
        let said = excerpt(&without(&text, self.secret.expose_secret()));
        CallError::new(fault, format!("{what}: {said}"))
    }

    /// One JSON document, or one a line: some relays stream that way. The last line may be cut.
    fn json(&mut self, body: &[u8]) -> Result<(), CallError> {
        let lines = || {
            let lines = body.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
            lines.filter(|line| !line.is_empty() && *line != b"[DONE]")
        };
        if lines().nth(1).is_some() && lines().all(|line| line.starts_with(b"{")) {
            for line in lines() {
                self.decoder.take_json(line)?;
            }
            return self.decoder.finish(true);
        }
        self.decoder.take_json(body)?;
        if self.asked_for_stream {
            self.decoder.warn(Warning::JsonInsteadOfStream);
        }
        self.decoder.finish_whole()
    }
}

fn too_long(error: TooLong) -> CallError {
    CallError::new(Fault::BadResponse, error.to_string())
}
