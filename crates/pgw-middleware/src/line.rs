//! Waiting for admission: one line per scope, first come first served within the process.
//!
//! Only the head of the line asks the gates, so a release wakes one caller, not all of them. The
//! line has a bounded length, and nobody stands in it without end.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use pgw_types::Denial;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// What to do when nothing can be admitted now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFull {
    /// Stand in line.
    #[default]
    Wait,
    /// Fail at once.
    FailFast,
}

/// The rules of waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitPolicy {
    /// Wait or fail.
    pub on_full: OnFull,
    /// A call that has waited this long, in a scope where nobody got an answer for this long, is
    /// stalled. Both must hold.
    pub stall_window: Duration,
    /// How often the head of the line asks when nothing wakes it; also the hint of a refusal that
    /// knows no better.
    pub poll_interval: Duration,
    /// The longest wait, whatever happens.
    pub max_wait: Duration,
    /// How many calls may stand in line.
    pub max_queue: usize,
}

/// The line of a scope.
#[derive(Debug)]
pub(crate) struct Line {
    waiting: AtomicUsize,
    head: Arc<Semaphore>,
    max: usize,
    blocked_by: Mutex<Option<Denial>>,
}

/// A place in the line, given up on drop.
#[derive(Debug)]
pub(crate) struct Place {
    line: Arc<Line>,
}

impl Line {
    pub(crate) fn new(max: usize) -> Self {
        Self {
            waiting: AtomicUsize::new(0),
            head: Arc::new(Semaphore::new(1)),
            max,
            blocked_by: Mutex::new(None),
        }
    }

    /// Notes what keeps the head from being let in: a quota gate, or `None` for breakers and
    /// cooldowns.
    pub(crate) fn note_blocked(&self, denial: Option<Denial>) {
        *self.lock() = denial;
    }

    /// What kept the head from being let in when it last asked: those behind it wait for the same.
    pub(crate) fn blocked_by(&self) -> Option<Denial> {
        *self.lock()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Denial>> {
        // Each write is one assignment, so a poisoned lock still holds a whole value.
        self.blocked_by.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether somebody stands in line, so that a newcomer must not overtake.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.load(Ordering::Acquire) == 0
    }

    /// Joins the line; `None` if it is full.
    pub(crate) fn join(self: &Arc<Self>) -> Option<Place> {
        let joined = self.waiting.fetch_update(Ordering::AcqRel, Ordering::Acquire, |waiting| {
            (waiting < self.max).then_some(waiting + 1)
        });
        joined.ok().map(|_| Place { line: Arc::clone(self) })
    }
}

impl Place {
    /// Resolves when all who came before have left. The semaphore is fair: it serves in order.
    pub(crate) async fn head(&self) -> Option<OwnedSemaphorePermit> {
        // It is never closed, so this is always `Some`.
        Arc::clone(&self.line.head).acquire_owned().await.ok()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.line.waiting.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_line_is_bounded_and_served_in_order() {
        let line = Arc::new(Line::new(2));
        assert!(line.is_empty());
        let (first, second) = (line.join().unwrap(), line.join().unwrap());
        assert!(line.join().is_none(), "the line is full");
        let turn = first.head().await.unwrap();
        let mut waiting = Box::pin(second.head());
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(waiting.as_mut().poll(&mut cx).is_pending());
        drop((turn, first));
        assert!(waiting.await.is_some());
        assert!(line.join().is_some(), "a place came free");
    }
}
