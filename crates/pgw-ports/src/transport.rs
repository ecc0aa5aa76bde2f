//! The seam of protocols.

use std::{fmt::Debug, pin::Pin, sync::Arc};

use async_trait::async_trait;
use futures_core::Stream;
use pgw_types::{CallError, SourceConfig};

/// The events of one answer. It ends after the finishing event or the first error.
pub type EventStream<E> = Pin<Box<dyn Stream<Item = Result<E, CallError>> + Send + 'static>>;

/// One attempt, as a transport sees it.
#[derive(Clone, Debug)]
pub struct AttemptCx {
    /// The source to call.
    pub source: Arc<SourceConfig>,
    /// The id of the attempt.
    pub call_id: Arc<str>,
    /// Whether to ask the service for a stream.
    pub stream: bool,
}

/// Speaks one protocol for requests `Q` and events `E`: builds the body, sends it, reads the answer,
/// and names every failure once. It neither retries nor limits nor caches, and it never looks at
/// another source.
///
/// A chat transport is a `Transport<ChatRequest, ChatEvent>`.
///
/// # Cancel safety
/// Dropping the future or the stream closes the connection (or resets the HTTP/2 stream).
#[async_trait]
pub trait Transport<Q, E>: Debug + Send + Sync + 'static
where
    Q: Send + Sync + 'static,
    E: Send + 'static,
{
    /// Sends the request. Ready when the head of the answer is in and was found good; what comes
    /// after is the stream's.
    async fn open(
        &self,
        attempt: &AttemptCx,
        request: &Arc<Q>,
    ) -> Result<EventStream<E>, CallError>;
}

const _: fn(&dyn Transport<pgw_types::ChatRequest, pgw_types::ChatEvent>) = |_| {};
