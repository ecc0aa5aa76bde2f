//! Waiting for admission: first come first served within the process.
//!
//! Calls that the same sources can serve stand in one line. A call that only some can serve has
//! another one: else it would hold up calls that wait for what the others have free. Only the head of
//! a line asks the gates, so a release wakes one caller of each, not all of them. The lines of a scope
//! have a bounded length together, and nobody stands in them without end.

use std::{
    collections::BTreeMap,
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
    /// How many calls may stand in line, in all lines of the scope together.
    pub max_queue: usize,
}

/// The lines of a scope.
#[derive(Debug)]
pub(crate) struct Lines {
    all: Arc<AtomicUsize>,
    max: usize,
    /// Of calls that every source can serve: the common case.
    whole: Arc<Line>,
    /// Of the others, by the places of their sources. There are as many as the limits that sources
    /// declare can tell requests apart, so they are kept.
    narrow: Mutex<BTreeMap<Vec<usize>, Arc<Line>>>,
}

impl Lines {
    pub(crate) fn new(max: usize) -> Self {
        let all = Arc::default();
        let whole = Arc::new(Line::new(Arc::clone(&all), max));
        Self { all, max, whole, narrow: Mutex::default() }
    }

    /// The line of calls that every source can serve.
    pub(crate) fn whole(&self) -> Arc<Line> {
        Arc::clone(&self.whole)
    }

    /// The line of calls that these sources can serve, and no other.
    pub(crate) fn narrow(&self, sources: Vec<usize>) -> Arc<Line> {
        let line = || Arc::new(Line::new(Arc::clone(&self.all), self.max));
        // Each write is one insertion, so a poisoned lock still holds a whole map.
        let mut narrow = self.narrow.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(narrow.entry(sources).or_insert_with(line))
    }
}

/// One line.
#[derive(Debug)]
pub(crate) struct Line {
    /// How many stand in all lines of the scope.
    all: Arc<AtomicUsize>,
    max: usize,
    waiting: AtomicUsize,
    head: Arc<Semaphore>,
    blocked_by: Mutex<Option<Denial>>,
}

/// A place in the line, given up on drop.
#[derive(Debug)]
pub(crate) struct Place {
    line: Arc<Line>,
}

impl Line {
    fn new(all: Arc<AtomicUsize>, max: usize) -> Self {
        Self {
            all,
            max,
            waiting: AtomicUsize::new(0),
            head: Arc::new(Semaphore::new(1)),
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

    /// Joins the line; `None` if the lines are full.
    pub(crate) fn join(self: &Arc<Self>) -> Option<Place> {
        let joined = self.all.fetch_update(Ordering::AcqRel, Ordering::Acquire, |all| {
            (all < self.max).then_some(all + 1)
        });
        joined.ok()?;
        self.waiting.fetch_add(1, Ordering::AcqRel);
        Some(Place { line: Arc::clone(self) })
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
        self.line.all.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_line_is_bounded_and_served_in_order() {
        let line = Lines::new(2).whole();
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

    #[test]
    fn lines_share_their_bound_and_nothing_else() {
        let lines = Lines::new(2);
        let (whole, narrow) = (lines.whole(), lines.narrow(vec![1]));
        let place = narrow.join().unwrap();
        assert!(whole.is_empty() && lines.narrow(vec![0]).is_empty());
        assert!(!lines.narrow(vec![1]).is_empty(), "the same sources, the same line");
        let other = whole.join().unwrap();
        assert!(whole.join().is_none() && narrow.join().is_none());
        drop((place, other));
        assert!(narrow.is_empty() && whole.join().is_some());
    }
}
