//! The port: callers ask, one thread of the store's own goes to the file.

use std::{
    collections::HashMap,
    io,
    path::Path,
    sync::{Arc, mpsc},
    thread::{self, JoinHandle},
    time::Duration,
};

use async_trait::async_trait;
use pgw_ports::{Breaker, Clock, GateError};
use pgw_types::{BreakerTicket, Entry, effective_threshold};
use tokio::sync::oneshot;

use crate::{
    fuse::{Fuse, Pass, Rules},
    shelf::Shelf,
};

/// Circuit breakers of one scope in one file.
///
/// Whoever opens the same file shares them, in this process or another. Dropping the last handle
/// waits until what was given back is written.
#[derive(Debug)]
pub struct FileBreaker {
    rules: Rules,
    /// The sources, each with its own threshold.
    thresholds: HashMap<Arc<str>, u32>,
    /// `None` only while it is dropped.
    jobs: Option<Jobs>,
    worker: Option<JoinHandle<()>>,
}

/// Something for the thread to do at the file.
type Job = Box<dyn FnOnce(&Shelf) + Send>;
type Jobs = mpsc::Sender<Job>;

impl FileBreaker {
    /// Breakers for these sources, given with their highest concurrency, and no other. The file
    /// and two beside it (`.lock`, `.draft`) come into being when they are needed.
    ///
    /// # Errors
    /// The thread can't be started.
    pub fn open(
        path: &Path,
        rules: Rules,
        sources: impl IntoIterator<Item = (Arc<str>, Option<u32>)>,
        clock: Arc<dyn Clock>,
    ) -> io::Result<Self> {
        let (jobs, queue) = mpsc::channel::<Job>();
        let shelf = Shelf::new(path, clock);
        let worker = thread::Builder::new().name("file-breaker".to_owned()).spawn(move || {
            for job in queue {
                job(&shelf);
            }
        })?;
        let threshold = |max_concurrency| effective_threshold(rules.threshold, max_concurrency);
        let thresholds = sources.into_iter().map(|(name, max)| (name, threshold(max)));
        Ok(Self { rules, thresholds: thresholds.collect(), jobs: Some(jobs), worker: Some(worker) })
    }

    /// A source that is not configured is an error, never a way in.
    fn threshold(&self, source_name: &str) -> Result<u32, GateError> {
        self.thresholds
            .get(source_name)
            .copied()
            .ok_or_else(|| GateError::SourceNotConfigured { source_name: source_name.to_owned() })
    }

    /// Lets the thread change a breaker, and waits for the answer without blocking.
    async fn change<T: Send + 'static>(
        &self,
        source_name: &Arc<str>,
        act: impl FnOnce(&mut Fuse, u64) -> T + Send + 'static,
    ) -> Result<T, GateError> {
        let (answer, answered) = oneshot::channel();
        let source_name = Arc::clone(source_name);
        let job: Job = Box::new(move |shelf| {
            // If the caller has left, the answer is dropped, and what it holds goes back.
            let _ = answer.send(shelf.change(&source_name, act));
        });
        let sent = self.jobs.as_ref().is_some_and(|jobs| jobs.send(job).is_ok());
        match answered.await {
            Ok(Ok(answer)) if sent => Ok(answer),
            Ok(Err(error)) => Err(GateError::Backend {
                message: format!("the file of breakers is of no use: {error}"),
                cause: Some(Arc::new(error)),
            }),
            _ => Err(GateError::Backend {
                message: "the thread at the file of breakers has ended".to_owned(),
                cause: None,
            }),
        }
    }
}

impl Drop for FileBreaker {
    fn drop(&mut self) {
        // The thread ends when the queue is empty and nobody can add to it.
        self.jobs = None;
        if let Some(worker) = self.worker.take() {
            // It has told its panic already, and a destructor has nobody else to tell.
            let _ = worker.join();
        }
    }
}

/// A way in that nobody has taken yet. If its caller leaves before, it goes back by itself.
struct Untaken {
    source_name: Arc<str>,
    pass: Pass,
    /// `None` once it is taken.
    jobs: Option<Jobs>,
}

impl Untaken {
    fn take(mut self) -> Pass {
        self.jobs = None;
        self.pass
    }
}

impl Drop for Untaken {
    fn drop(&mut self) {
        if let Some(jobs) = &self.jobs {
            give_back(jobs, Arc::clone(&self.source_name), self.pass);
        }
    }
}

/// Queues the return of a probe; never waits.
fn give_back(jobs: &Jobs, source_name: Arc<str>, pass: Pass) {
    if pass.probe.is_some() {
        // A probe that can't be given back now comes free when its lease runs out.
        let _ = jobs.send(Box::new(move |shelf| {
            let _ = shelf.change(&source_name, |fuse, _| fuse.give_back(pass));
        }));
    }
}

const fn pass(ticket: &BreakerTicket) -> Pass {
    Pass { epoch: ticket.epoch, probe: ticket.probe }
}

#[async_trait]
impl Breaker for FileBreaker {
    async fn try_enter(&self, source_name: &Arc<str>) -> Result<Entry, GateError> {
        self.threshold(source_name)?;
        let (rules, jobs, name) = (self.rules, self.jobs.clone(), Arc::clone(source_name));
        let entry = self.change(source_name, move |fuse, now| {
            fuse.enter(&rules, now).map(|pass| Untaken { source_name: name, pass, jobs })
        });
        Ok(match entry.await?.map(Untaken::take) {
            Ok(Pass { epoch, probe }) => {
                let source_name = Arc::clone(source_name);
                Entry::Admitted(BreakerTicket { source_name, epoch, probe })
            }
            Err(retry_after) => Entry::Refused { retry_after },
        })
    }

    async fn record_success(&self, ticket: &BreakerTicket) -> Result<(), GateError> {
        self.threshold(&ticket.source_name)?;
        let pass = pass(ticket);
        self.change(&ticket.source_name, move |fuse, _| fuse.succeed(pass)).await
    }

    async fn record_failure(&self, ticket: &BreakerTicket) -> Result<Option<Duration>, GateError> {
        let threshold = self.threshold(&ticket.source_name)?;
        let (rules, pass) = (self.rules, pass(ticket));
        let act = move |fuse: &mut Fuse, now| fuse.fail(&rules, threshold, now, pass);
        self.change(&ticket.source_name, act).await
    }

    async fn force_open(&self, ticket: &BreakerTicket) -> Result<Duration, GateError> {
        self.threshold(&ticket.source_name)?;
        let (rules, pass) = (self.rules, pass(ticket));
        self.change(&ticket.source_name, move |fuse, now| fuse.kill(&rules, now, pass)).await
    }

    async fn release_probe(&self, ticket: &BreakerTicket) -> Result<(), GateError> {
        self.threshold(&ticket.source_name)?;
        let pass = pass(ticket);
        self.change(&ticket.source_name, move |fuse, _| fuse.give_back(pass)).await
    }

    fn abandon(&self, ticket: &BreakerTicket) {
        if let (Some(jobs), Ok(_)) = (&self.jobs, self.threshold(&ticket.source_name)) {
            give_back(jobs, Arc::clone(&ticket.source_name), pass(ticket));
        }
    }
}
