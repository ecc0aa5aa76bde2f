//! The loop of the writing thread, and its patience with a failing store.
//!
//! A failing store is tried again after a pause that doubles up to five seconds, with the rows kept
//! at the head of the line. Calls don't share that patience: at the first failure all of them are
//! let go, and none waits until a write has gone well again. So a call waits for one attempt at
//! most, which SQLite's busy timeout bounds.

use std::{collections::VecDeque, time::Duration};

use crate::{
    health::Health,
    queue::{Entry, Queue},
    sink::Sink,
};

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Moves rows from the line to the store until the line is closed and empty.
pub(crate) fn run(queue: &Queue, health: &Health, sink: &mut dyn Sink) {
    let mut end = End { queue, health, batch: VecDeque::new(), unusable: false };
    if let Err(failure) = sink.prepare() {
        if failure.is_final {
            end.unusable = true;
            health.unusable(&failure.reason);
            return;
        }
        let (waiting, _) = queue.look();
        health.failing(&failure, waiting);
        health.dropped(queue.give_back(&mut end.batch));
    }
    let mut pause = FIRST_PAUSE;
    while queue.take(&mut end.batch) {
        match sink.write(&end.batch) {
            Ok(written) => {
                health.wrote(written);
                health.caught_up(queue.settle(&mut end.batch));
                pause = FIRST_PAUSE;
            }
            Err(failure) if failure.is_final => {
                end.unusable = true;
                health.unusable(&failure.reason);
                return;
            }
            Err(failure) => {
                let (waiting, closed) = queue.look();
                // Before anybody is let go, so that who looks then sees how it stands.
                health.failing(&failure, end.batch.len() + waiting);
                health.dropped(queue.give_back(&mut end.batch));
                if closed {
                    return;
                }
                queue.pause(pause);
                pause = pause.saturating_mul(2).min(LONGEST_PAUSE);
            }
        }
    }
}

/// Lets everybody go however the loop ends, a panic included.
struct End<'a> {
    queue: &'a Queue,
    health: &'a Health,
    batch: VecDeque<Entry>,
    unusable: bool,
}

impl Drop for End<'_> {
    fn drop(&mut self) {
        let unwritten = self.batch.len();
        self.batch.clear();
        let waiting = self.queue.end();
        self.health.left(unwritten + waiting, !self.unusable);
    }
}

#[cfg(test)]
mod tests;
