//! The seam of layers: what happens around a call.

use std::{fmt::Debug, pin::Pin, sync::Arc};

use async_trait::async_trait;
use futures_core::Stream;
use pgw_types::PgwError;

use crate::{CallCx, Operation};

/// One layer of the onion.
///
/// A layer gets the call and the rest of the onion. It may answer by itself, change the request,
/// call the rest once, several times or not at all, and look at what comes back.
///
/// # Cancel safety
/// The caller may drop the future at any await. Whatever a layer holds must free itself on drop.
#[async_trait]
pub trait Middleware<O: Operation>: Debug + Send + Sync + 'static {
    /// The name of the layer, for `describe`.
    fn name(&self) -> &str;

    /// Handles one call.
    async fn handle(
        &self,
        cx: &Arc<CallCx>,
        request: Arc<O::Request>,
        next: Next<'_, O>,
    ) -> Result<Reply<O>, PgwError>;
}

/// The innermost part of the onion, which makes the call.
#[async_trait]
pub trait Terminal<O: Operation>: Debug + Send + Sync + 'static {
    /// The name, for `describe`.
    fn name(&self) -> &str;

    /// Makes the call.
    async fn call(&self, cx: &Arc<CallCx>, request: Arc<O::Request>) -> Result<Reply<O>, PgwError>;
}

/// The rest of the onion, seen from one layer. `Copy`: a layer may run it more than once.
#[derive(Debug)]
pub struct Next<'a, O: Operation> {
    rest: &'a [Arc<dyn Middleware<O>>],
    end: &'a dyn Terminal<O>,
}

impl<O: Operation> Clone for Next<'_, O> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<O: Operation> Copy for Next<'_, O> {}

impl<'a, O: Operation> Next<'a, O> {
    /// An onion of `layers`, outermost first, around `end`.
    #[must_use]
    pub const fn new(layers: &'a [Arc<dyn Middleware<O>>], end: &'a dyn Terminal<O>) -> Self {
        Self { rest: layers, end }
    }

    /// Runs the rest of the onion.
    ///
    /// # Errors
    /// Whatever the inner layers end in.
    pub async fn run(
        self,
        cx: &Arc<CallCx>,
        request: Arc<O::Request>,
    ) -> Result<Reply<O>, PgwError> {
        match self.rest.split_first() {
            Some((layer, rest)) => layer.handle(cx, request, Self { rest, end: self.end }).await,
            None => self.end.call(cx, request).await,
        }
    }
}

/// What a call comes back with.
pub enum Reply<O: Operation> {
    /// The whole response.
    Whole(Box<O::Response>),
    /// The response as it comes. Its first token is in already.
    Live(LiveStream<O>),
}

impl<O: Operation> Debug for Reply<O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Whole(response) => f.debug_tuple("Whole").field(response).finish(),
            Self::Live(_) => f.write_str("Live(..)"),
        }
    }
}

/// One item of a live response.
#[derive(Debug)]
pub enum Live<O: Operation> {
    /// An event, as it came.
    Event(O::Event),
    /// The whole response; the last item.
    Done(Box<O::Response>),
}

/// A live response. It ends after [`Live::Done`] or the first error. Everything the attempt holds
/// (permit, breaker ticket, record) travels inside and is settled when it ends or is dropped.
pub type LiveStream<O> = Pin<Box<dyn Stream<Item = Result<Live<O>, PgwError>> + Send + 'static>>;
