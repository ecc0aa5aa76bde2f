//! The recorder: a line, a thread that writes what stands in it, and their end.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    thread::{self, JoinHandle},
    time::Duration,
};

use async_trait::async_trait;
use pgw_ports::{Receipt, TelemetryRecorder};
use pgw_types::CallRecord;
use rusqlite::Connection;

use crate::{
    health::{Health, RecorderStats},
    log::{CallLog, LogError},
    options::SqliteOptions,
    queue::{Bounds, Queue},
    sink::{self, Sink, SqliteSink},
    writer,
};

/// How long a recorder that is dropped waits for its writer.
const PATIENCE_OF_DROP: Duration = Duration::from_millis(250);

/// The path that means a database in memory, as for SQLite itself.
const IN_MEMORY: &str = ":memory:";

/// Keeps records in SQLite.
///
/// The file is opened and written by a thread of the recorder's own, so nothing here blocks a
/// caller. Several recorders, also of several processes, may write to one file.
///
/// # Failures
/// None reaches a call. If the file can't be used at all (a folder that can't be written, something
/// that is no database, a database of a later release), one warning is logged and records are
/// dropped. If it can't be used now (locked, disk full), one warning is logged, records are kept in
/// the bounded line and tried again, and receipts and flushes resolve at once until a write has gone
/// well; so a call waits for one attempt at most, that is [`SqliteOptions::busy_timeout`].
///
/// # End
/// [`close`](TelemetryRecorder::close) writes what was offered and ends the thread. A recorder that
/// is dropped without it does the same, but waits 250 ms at most; if the process goes on, the
/// thread finishes its work and ends by itself.
#[derive(Debug)]
pub struct SqliteRecorder {
    queue: Arc<Queue>,
    health: Arc<Health>,
    thread: Mutex<Option<JoinHandle<()>>>,
    place: Place,
}

#[derive(Debug)]
enum Place {
    File(PathBuf),
    Memory(Arc<Mutex<Connection>>),
    Nowhere,
}

impl SqliteRecorder {
    /// A recorder over a file, which is made if it is not there, its folder too. `:memory:` means a
    /// database in memory. Returns at once; whether the file can be used shows in
    /// [`stats`](Self::stats) and in the log.
    #[must_use]
    pub fn open(path: impl AsRef<Path>, options: SqliteOptions) -> Self {
        let path = path.as_ref();
        if path == Path::new(IN_MEMORY) {
            return Self::in_memory(options);
        }
        let sink = SqliteSink::file(path.to_owned(), options);
        let store = path.display().to_string();
        Self::start(Ok(Box::new(sink)), store, Place::File(path.to_owned()), options)
    }

    /// A recorder over a database in memory, gone with the recorder and its logs.
    #[must_use]
    pub fn in_memory(options: SqliteOptions) -> Self {
        let store = IN_MEMORY.to_owned();
        match sink::open_in_memory(options) {
            Ok(connection) => {
                let connection = Arc::new(Mutex::new(connection));
                let sink = SqliteSink::memory(Arc::clone(&connection), options);
                let place = Place::Memory(connection);
                Self::start(Ok(Box::new(sink)), store, place, options)
            }
            Err(failure) => Self::start(Err(failure.reason), store, Place::Nowhere, options),
        }
    }

    fn start(
        sink: Result<Box<dyn Sink>, String>,
        store: String,
        place: Place,
        options: SqliteOptions,
    ) -> Self {
        let queue = Arc::new(Queue::new(Bounds {
            records: options.queue_records,
            bytes: options.queue_bytes,
            batch: options.batch_records,
        }));
        let health = Arc::new(Health::new(store));
        let thread = sink.and_then(|sink| spawn(sink, &queue, &health));
        let thread = thread.unwrap_or_else(|reason| {
            queue.end();
            health.unusable(&reason);
            None
        });
        Self { queue, health, thread: Mutex::new(thread), place }
    }

    /// What became of the records so far.
    #[must_use]
    pub fn stats(&self) -> RecorderStats {
        self.health.stats()
    }

    /// What was written so far, for reading. A file is read over a connection of its own.
    ///
    /// # Errors
    /// As [`CallLog::open`].
    pub fn log(&self) -> Result<CallLog, LogError> {
        match &self.place {
            Place::File(path) => CallLog::open(path),
            Place::Memory(connection) => Ok(CallLog::shared(Arc::clone(connection))),
            Place::Nowhere => Err(LogError::Empty),
        }
    }

    /// Waits for the thread, which is at its very end.
    fn join(&self) {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // A panic of the thread has let everybody go already.
            drop(thread.join());
        }
    }
}

/// Starts the writer.
fn spawn(
    mut sink: Box<dyn Sink>,
    queue: &Arc<Queue>,
    health: &Arc<Health>,
) -> Result<Option<JoinHandle<()>>, String> {
    let (queue, health) = (Arc::clone(queue), Arc::clone(health));
    thread::Builder::new()
        .name("pgw-telemetry".to_owned())
        .spawn(move || writer::run(&queue, &health, sink.as_mut()))
        .map(Some)
        .map_err(|error| error.to_string())
}

#[async_trait]
impl TelemetryRecorder for SqliteRecorder {
    fn offer(&self, record: CallRecord) -> Receipt {
        let offered = self.queue.offer(record);
        self.health.dropped(offered.dropped);
        match offered.receipt {
            Some(receipt) => Box::pin(async move {
                // An error means that the row was dropped or given up, which ends the wait too.
                drop(receipt.await);
            }),
            None => Box::pin(std::future::ready(())),
        }
    }

    async fn flush(&self) {
        if let Some(settled) = self.queue.flush() {
            drop(settled.await);
        }
    }

    async fn close(&self) {
        if let Some(end) = self.queue.close() {
            drop(end.await);
        }
        self.join();
    }
}

impl Drop for SqliteRecorder {
    fn drop(&mut self) {
        drop(self.queue.close());
        if self.queue.wait_for_end(PATIENCE_OF_DROP) {
            self.join();
        }
    }
}
