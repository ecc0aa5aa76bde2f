//! The response body: a stream of pieces that knows a cut from an end.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use futures_core::Stream;
use hyper::body::{Body as _, Incoming};
use tokio::sync::OwnedSemaphorePermit;

use crate::classify;
use crate::decode::{Coding, Decoder};
use crate::error::{HttpError, HttpErrorKind};
use crate::silence::Silence;

/// The body of a response, as a [`Stream`] of decompressed, non-empty pieces.
///
/// A clean end is `None`; anything else is one `Err` and then `None`. The place under
/// [`max_connections_per_host`](crate::HttpOptions::max_connections_per_host) is given back at the
/// end or on drop, whichever is first.
///
/// # Cancel safety
///
/// Dropping the body before its end closes the HTTP/1.1 connection or resets the HTTP/2 stream.
/// Dropping a [`next_piece`](Self::next_piece) future loses nothing; dropping a
/// [`collect`](Self::collect) future drops the body.
pub struct Body {
    /// Gone when the last byte has been read or the body has failed.
    raw: Option<Raw>,
    decoder: Option<Box<Decoder>>,
}

/// The bytes as they come from the connection.
struct Raw {
    incoming: Incoming,
    silence: Option<Silence>,
    _place: Option<OwnedSemaphorePermit>,
}

impl Raw {
    fn poll_bytes(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, HttpError>>> {
        loop {
            let Poll::Ready(frame) = Pin::new(&mut self.incoming).poll_frame(cx) else {
                let Some(silence) = &mut self.silence else {
                    return Poll::Pending;
                };
                ready!(silence.poll_too_long(cx));
                return Poll::Ready(Some(Err(HttpError::bare(HttpErrorKind::ReadTimeout))));
            };
            if let Some(silence) = &mut self.silence {
                silence.broken();
            }
            match frame.map(|frame| frame.map_err(classify::in_body)) {
                None => return Poll::Ready(None),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                // Trailers carry nothing that a transport reads.
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) if !data.is_empty() => return Poll::Ready(Some(Ok(data))),
                    Ok(_) | Err(_) => {}
                },
            }
        }
    }
}

impl Body {
    pub(crate) fn new(
        incoming: Incoming,
        coding: Option<Coding>,
        silence: Option<Silence>,
        place: Option<OwnedSemaphorePermit>,
    ) -> Self {
        Self {
            raw: Some(Raw { incoming, silence, _place: place }),
            decoder: coding.map(|coding| Box::new(Decoder::new(coding))),
        }
    }

    /// Waits for the next piece: the [`Stream`] without its extension traits.
    pub async fn next_piece(&mut self) -> Option<Result<Bytes, HttpError>> {
        poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }

    /// Reads the body to its end, at most `limit` bytes of it after decompression.
    ///
    /// A body that comes in one piece is handed out without copying it.
    ///
    /// # Errors
    ///
    /// [`HttpErrorKind::BodyTooLarge`] as soon as the limit is passed, and everything the stream
    /// itself yields.
    pub async fn collect(mut self, limit: usize) -> Result<Bytes, HttpError> {
        let announced = self.announced();
        let too_large = || HttpError::bare(HttpErrorKind::BodyTooLarge);
        if announced.is_some_and(|length| length > limit) {
            return Err(too_large());
        }
        let Some(first) = self.next_piece().await.transpose()? else {
            return Ok(Bytes::new());
        };
        if first.len() > limit {
            return Err(too_large());
        }
        let Some(second) = self.next_piece().await.transpose()? else {
            return Ok(first);
        };
        let mut all = BytesMut::with_capacity(announced.unwrap_or(first.len() + second.len()));
        all.extend_from_slice(&first);
        let mut next = Some(second);
        while let Some(piece) = next {
            if piece.len() > limit - all.len() {
                return Err(too_large());
            }
            all.extend_from_slice(&piece);
            next = self.next_piece().await.transpose()?;
        }
        Ok(all.freeze())
    }

    /// How long the body will be, where the server has said so and nothing is decoded.
    fn announced(&self) -> Option<usize> {
        let raw = self.raw.as_ref().filter(|_| self.decoder.is_none())?;
        usize::try_from(raw.incoming.size_hint().exact()?).ok()
    }

    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, HttpError>>> {
        loop {
            if let Some(decoder) = &mut self.decoder
                && let Some(piece) = decoder.next_piece().transpose()
            {
                return Poll::Ready(Some(piece));
            }
            let Some(raw) = &mut self.raw else {
                let rest = self.decoder.as_mut().and_then(|rest| rest.finish().transpose());
                return Poll::Ready(rest);
            };
            match (ready!(raw.poll_bytes(cx)), &mut self.decoder) {
                (Some(Ok(bytes)), Some(decoder)) => decoder.feed(bytes),
                (Some(piece), _) => return Poll::Ready(Some(piece)),
                // Frees the connection's place even if the caller keeps the finished body.
                (None, _) => self.raw = None,
            }
        }
    }
}

impl Stream for Body {
    type Item = Result<Bytes, HttpError>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        let piece = ready!(this.poll_piece(cx));
        if let None | Some(Err(_)) = piece {
            // Nothing follows an end or a failure, and a failed connection is not kept open.
            this.raw = None;
            this.decoder = None;
        }
        Poll::Ready(piece)
    }
}

/// Shows no content.
impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Body").field("ended", &self.raw.is_none()).finish_non_exhaustive()
    }
}
