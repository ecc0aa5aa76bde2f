//! The line between calls and the writer: bounded, and never waited on by a call.
//!
//! A row leaves the line when the writer has settled it, or when the line is full and it is the
//! oldest. Its receipt is a channel that resolves when its sender goes, so no path can forget one.

use std::{
    collections::VecDeque,
    mem,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use pgw_types::CallRecord;
use tokio::sync::oneshot;

/// One row in the line.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) record: CallRecord,
    /// Its place in the order of offers, from 1.
    number: u64,
    bytes: usize,
    receipt: Option<oneshot::Sender<()>>,
}

/// Rows that had to go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Dropped {
    pub(crate) rows: u64,
    /// Whether these were the first since the line was last empty.
    pub(crate) first: bool,
}

/// What became of an offer.
#[derive(Debug)]
pub(crate) struct Offered {
    /// Resolves with the receipt; `None` if there is nothing to wait for.
    pub(crate) receipt: Option<oneshot::Receiver<()>>,
    pub(crate) dropped: Dropped,
}

/// How much may stand in the line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) records: usize,
    pub(crate) bytes: usize,
    pub(crate) batch: usize,
}

#[derive(Debug)]
pub(crate) struct Queue {
    bounds: Bounds,
    state: Mutex<State>,
    /// Wakes the writer.
    work: Condvar,
    /// Wakes whoever waits for the writer's end.
    over: Condvar,
}

/// How far the line has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Life {
    #[default]
    Open,
    /// No more offers are taken; what stands in the line is still written.
    Closed,
    /// The writer is gone.
    Ended,
}

#[derive(Debug, Default)]
struct State {
    rows: VecDeque<Entry>,
    bytes: usize,
    /// The number of the last row offered.
    offered: u64,
    /// The number of the last row settled; smaller ones are settled or dropped.
    settled: u64,
    /// Who waits for which row to be settled.
    flushes: Vec<(u64, oneshot::Sender<()>)>,
    /// Rows dropped since the line was last empty.
    overflow: u64,
    /// The store fails: rows are kept, nobody waits.
    down: bool,
    life: Life,
    /// The writer sleeps and has to be woken; saves a system call when it does not.
    asleep: bool,
}

impl Queue {
    pub(crate) fn new(bounds: Bounds) -> Self {
        Self { bounds, state: Mutex::default(), work: Condvar::new(), over: Condvar::new() }
    }

    /// Takes a record over. Never waits for the writer.
    pub(crate) fn offer(&self, record: CallRecord) -> Offered {
        let bytes = size(&record);
        // Freed after the lock: the texts of a row can be large.
        let mut gone = Vec::new();
        let mut state = self.lock();
        if state.life != Life::Open {
            let dropped = Dropped { rows: 1, first: false };
            return Offered { receipt: None, dropped };
        }
        let dropped = state.make_room(self.bounds, 1, bytes, &mut gone);
        let (sender, receipt) = if state.down {
            (None, None)
        } else {
            let (sender, receiver) = oneshot::channel();
            (Some(sender), Some(receiver))
        };
        state.offered += 1;
        let number = state.offered;
        state.bytes += bytes;
        state.rows.push_back(Entry { record, number, bytes, receipt: sender });
        let wake = mem::take(&mut state.asleep);
        drop(state);
        if wake {
            self.work.notify_one();
        }
        Offered { receipt, dropped }
    }

    /// Resolves when everything offered so far is settled or given up; `None` if it is.
    pub(crate) fn flush(&self) -> Option<oneshot::Receiver<()>> {
        let mut state = self.lock();
        let target = state.offered;
        if state.life == Life::Ended || state.down || state.settled >= target {
            return None;
        }
        let (sender, receiver) = oneshot::channel();
        state.flushes.push((target, sender));
        Some(receiver)
    }

    /// Ends the line; what stands in it is still written. Resolves when the writer is gone; `None`
    /// if it is.
    pub(crate) fn close(&self) -> Option<oneshot::Receiver<()>> {
        let mut state = self.lock();
        if state.life == Life::Ended {
            return None;
        }
        state.life = Life::Closed;
        self.work.notify_one();
        let (sender, receiver) = oneshot::channel();
        state.flushes.push((u64::MAX, sender));
        Some(receiver)
    }

    /// Waits for the end of the writer. `false` if it takes longer than `limit`.
    pub(crate) fn wait_for_end(&self, limit: Duration) -> bool {
        let waited =
            self.over.wait_timeout_while(self.lock(), limit, |state| state.life != Life::Ended);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.life == Life::Ended
    }

    /// For the writer: fills `batch` with the oldest rows; waits for some if there are none, but
    /// never for company. `false` when the line is closed and empty.
    pub(crate) fn take(&self, batch: &mut VecDeque<Entry>) -> bool {
        let mut state = self.lock();
        while state.rows.is_empty() && state.life == Life::Open {
            state.asleep = true;
            state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.asleep = false;
        let most = self.bounds.batch.max(1);
        if state.rows.len() <= most {
            mem::swap(&mut state.rows, batch);
            state.bytes = 0;
        } else {
            batch.extend(state.rows.drain(..most));
            state.bytes -= total(batch);
        }
        if state.rows.is_empty() && state.rows.capacity() > 2 * most {
            // What a burst took is not kept for ever.
            state.rows = VecDeque::new();
        }
        !batch.is_empty()
    }

    /// For the writer: the batch is with the store. Returns how many rows were dropped since the
    /// line was last empty, if it is empty now.
    pub(crate) fn settle(&self, batch: &mut VecDeque<Entry>) -> u64 {
        let last = batch.back().map_or(0, |entry| entry.number);
        // The receipts resolve here, before the lock is asked for: calls wait for them.
        batch.clear();
        let mut state = self.lock();
        state.down = false;
        state.settled = state.settled.max(last);
        let settled = state.settled;
        state.flushes.retain(|(target, _)| *target > settled);
        if state.rows.is_empty() { mem::take(&mut state.overflow) } else { 0 }
    }

    /// For the writer: the store fails. The rows of the batch go back to the head of the line, and
    /// everybody who waits for rows is let go. Returns which rows had to go.
    pub(crate) fn give_back(&self, batch: &mut VecDeque<Entry>) -> Dropped {
        let mut gone = Vec::new();
        let mut waiting = Vec::new();
        let mut state = self.lock();
        state.down = true;
        batch.append(&mut state.rows);
        mem::swap(&mut state.rows, batch);
        state.bytes = total(&state.rows);
        for entry in &mut state.rows {
            waiting.extend(entry.receipt.take());
        }
        let dropped = state.make_room(self.bounds, 0, 0, &mut gone);
        // Whoever waits for the end goes on waiting.
        let flushes: Vec<_> =
            state.flushes.extract_if(.., |(target, _)| *target != u64::MAX).collect();
        drop(state);
        drop((waiting, flushes));
        dropped
    }

    /// For the writer: waits, unless the line is closed.
    pub(crate) fn pause(&self, pause: Duration) {
        drop(self.work.wait_timeout_while(self.lock(), pause, |state| state.life == Life::Open));
    }

    /// How many rows stand in the line, and whether it is closed.
    pub(crate) fn look(&self) -> (usize, bool) {
        let state = self.lock();
        (state.rows.len(), state.life != Life::Open)
    }

    /// For the writer: it is gone. Returns how many rows were left.
    pub(crate) fn end(&self) -> usize {
        let mut state = self.lock();
        state.life = Life::Ended;
        state.bytes = 0;
        let rows = mem::take(&mut state.rows);
        let flushes = mem::take(&mut state.flushes);
        drop(state);
        self.over.notify_all();
        drop(flushes);
        rows.len()
    }

    /// A panic elsewhere while the lock was held leaves the line usable: no step of it is left
    /// half done by anything that can panic.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Drops the oldest rows until `rows` more of `bytes` together fit. The newest row always stays
    /// or comes in: one record may be larger than the line.
    fn make_room(
        &mut self,
        bounds: Bounds,
        rows: usize,
        bytes: usize,
        gone: &mut Vec<Entry>,
    ) -> Dropped {
        let before = self.overflow;
        while let Some(oldest) = self.rows.front()
            && self.rows.len() + rows > 1
            && (self.rows.len() + rows > bounds.records.max(1)
                || self.bytes.saturating_add(bytes) > bounds.bytes)
        {
            self.bytes -= oldest.bytes;
            self.overflow += 1;
            gone.extend(self.rows.pop_front());
        }
        Dropped { rows: self.overflow - before, first: before == 0 && self.overflow > 0 }
    }
}

fn total(rows: &VecDeque<Entry>) -> usize {
    rows.iter().map(|entry| entry.bytes).sum()
}

/// Roughly what a row holds in memory.
fn size(record: &CallRecord) -> usize {
    let error = record.error.as_ref().map_or(0, String::len);
    mem::size_of::<Entry>()
        + record.messages.len()
        + record.response.len()
        + record.thinking.len()
        + error
}

#[cfg(test)]
mod tests;
