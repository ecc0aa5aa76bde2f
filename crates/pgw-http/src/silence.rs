//! The read timeout: how long a connected server has been silent.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep};

/// Measures silence between pieces of a body with one timer, armed late and moved rarely.
///
/// A stream of thousands of small pieces must not touch the runtime's timer wheel for each. So a
/// piece only ends the silence; the timer stays where it was, and when it goes off too early it is
/// moved to where the current silence would become too long.
#[derive(Debug)]
pub(crate) struct Silence {
    limit: Duration,
    since: Option<Instant>,
    timer: Option<Pin<Box<Sleep>>>,
}

impl Silence {
    pub(crate) fn new(limit: Duration) -> Self {
        Self { limit, since: None, timer: None }
    }

    /// Something was read: the silence is over.
    pub(crate) fn broken(&mut self) {
        self.since = None;
    }

    /// Nothing can be read now: ready when that has been so for too long.
    pub(crate) fn poll_too_long(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        // A limit so long that it cannot be written as a point in time never ends.
        let Some(end) = self.since.get_or_insert_with(Instant::now).checked_add(self.limit) else {
            return Poll::Pending;
        };
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(end)));
        while timer.as_mut().poll(cx).is_ready() {
            if timer.deadline() >= end {
                return Poll::Ready(());
            }
            timer.as_mut().reset(end);
        }
        Poll::Pending
    }
}

#[cfg(test)]
mod tests;
