//! Walking away: a future that is dropped after its n-th poll.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

/// Polls a future and drops it after so many polls. Resolves to its output, or to `None` once it
/// was dropped. Between polls the runtime advances virtual time by itself, so counting from 1 until
/// the output comes visits every point at which the future can be suspended.
#[derive(Debug)]
pub(crate) struct DropAfter<F> {
    future: Option<Pin<Box<F>>>,
    polls: usize,
}

impl<F: Future> DropAfter<F> {
    pub(crate) fn new(future: F, polls: usize) -> Self {
        Self { future: Some(Box::pin(future)), polls }
    }
}

impl<F: Future> Future for DropAfter<F> {
    type Output = Option<F::Output>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(future) = &mut self.future else {
            return Poll::Ready(None);
        };
        if let Poll::Ready(output) = future.as_mut().poll(cx) {
            self.future = None;
            return Poll::Ready(Some(output));
        }
        self.polls -= 1;
        if self.polls == 0 {
            self.future = None;
            return Poll::Ready(None);
        }
        Poll::Pending
    }
}
