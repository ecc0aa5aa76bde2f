//! What the tests put in place of the real things.

use std::{
    collections::VecDeque,
    io,
    sync::{Arc, Mutex},
};

use pgw_types::CallRecord;
use tracing_subscriber::fmt::MakeWriter;

use crate::{
    queue::{Bounds, Entry, Queue},
    sink::{Failure, Sink, Written},
};

pub(crate) fn record(call_id: &str) -> CallRecord {
    CallRecord {
        call_id: call_id.to_owned(),
        messages: "a secret of the caller".to_owned(),
        ..CallRecord::default()
    }
}

pub(crate) fn bounds(records: usize, batch: usize) -> Bounds {
    Bounds { records, bytes: usize::MAX, batch }
}

/// Entries of a line, as the writer gets them.
pub(crate) fn entries(records: impl IntoIterator<Item = CallRecord>) -> VecDeque<Entry> {
    let queue = Queue::new(bounds(1_000, 1_000));
    for record in records {
        queue.offer(record);
    }
    let mut rows = VecDeque::new();
    assert!(queue.take(&mut rows));
    rows
}

pub(crate) fn ids(rows: &VecDeque<Entry>) -> Vec<String> {
    rows.iter().map(|row| row.record.call_id.clone()).collect()
}

/// A sink that answers as told, and closes its line with its last answer.
#[derive(Debug)]
pub(crate) struct ScriptedSink {
    pub(crate) prepared: Result<(), Failure>,
    pub(crate) answers: VecDeque<Result<Written, Failure>>,
    pub(crate) closes: Arc<Queue>,
    /// The ids of each batch.
    pub(crate) seen: Vec<Vec<String>>,
}

impl Sink for ScriptedSink {
    fn prepare(&mut self) -> Result<(), Failure> {
        self.prepared.clone()
    }

    fn write(&mut self, rows: &VecDeque<Entry>) -> Result<Written, Failure> {
        self.seen.push(ids(rows));
        let answer = self.answers.pop_front().expect("an answer is left");
        if self.answers.is_empty() {
            drop(self.closes.close());
        }
        answer
    }
}

/// The log of one thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    /// Runs something and returns its warnings, one a line.
    pub(crate) fn of(run: impl FnOnce()) -> Vec<String> {
        let log = Self::default();
        let subscriber = tracing_subscriber::fmt().with_writer(log.clone()).finish();
        tracing::subscriber::with_default(subscriber, run);
        let text = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
        text.lines().map(str::to_owned).collect()
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}
