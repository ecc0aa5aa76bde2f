//! Calls that are the same and under way at once: one leads, the others follow.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use pgw_types::PgwError;
use tokio::sync::watch;

/// How a leading call ended.
#[derive(Clone, Debug)]
pub(super) enum Landing {
    /// With an answer worth keeping: here it is.
    Kept(Bytes),
    /// With an answer that is nobody else's.
    NotKept,
    /// In an error, within this deadline of its own.
    Failed(PgwError, Option<Duration>),
}

/// Which calls lead, by the key of their answer.
#[derive(Debug, Default)]
pub(super) struct Flights {
    open: Arc<Mutex<Open>>,
}

type Open = HashMap<Arc<str>, watch::Receiver<Option<Landing>>>;

/// The map is whole between any two statements, so a panic elsewhere can't have broken it.
fn locked(open: &Mutex<Open>) -> MutexGuard<'_, Open> {
    open.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a call is to do.
pub(super) enum Seat {
    /// Make the call, and say how it ended.
    Leads(Lead),
    /// Wait for the one who makes it.
    Follows(Flight),
}

impl Flights {
    /// Joins the calls with this key: the first one leads.
    pub(super) fn join(&self, key: &Arc<str>) -> Seat {
        let mut open = locked(&self.open);
        if let Some(landing) = open.get(key) {
            return Seat::Follows(Flight(landing.clone()));
        }
        let (sender, receiver) = watch::channel(None);
        open.insert(Arc::clone(key), receiver);
        Seat::Leads(Lead { key: Arc::clone(key), open: Arc::clone(&self.open), sender })
    }
}

/// The leading call. Dropped without a landing, its followers learn that it never lands.
pub(super) struct Lead {
    key: Arc<str>,
    open: Arc<Mutex<Open>>,
    sender: watch::Sender<Option<Landing>>,
}

impl Lead {
    pub(super) fn land(self, landing: Landing) {
        // Nobody may be waiting; whoever comes later finds the cache or leads.
        let _ = self.sender.send(Some(landing));
    }
}

impl Drop for Lead {
    fn drop(&mut self) {
        locked(&self.open).remove(&self.key);
    }
}

/// A leading call, seen from one that follows.
pub(super) struct Flight(watch::Receiver<Option<Landing>>);

impl Flight {
    /// How the leading call ended; `None`: it was dropped.
    pub(super) async fn landing(mut self) -> Option<Landing> {
        let landed = self.0.wait_for(Option::is_some).await;
        landed.ok().and_then(|landing| landing.clone())
    }
}
