//! The calls in flight, and when each is given up for dead.

use std::{
    collections::{HashMap, VecDeque},
    time::Duration,
};

/// What the limiter remembers of a call in flight.
#[derive(Debug)]
pub(crate) struct Held {
    /// The source, by its place.
    pub(crate) source: usize,
    /// Tokens charged at the door.
    pub(crate) charged: u64,
    /// Whether the charge has been corrected.
    pub(crate) settled: bool,
    /// The entry in the window of the scope.
    pub(crate) global_entry: u64,
    /// The entry in the window of the source.
    pub(crate) source_entry: u64,
    expires: Duration,
}

impl Held {
    pub(crate) const fn new(
        source: usize,
        charged: u64,
        global_entry: u64,
        source_entry: u64,
    ) -> Self {
        Self {
            source,
            charged,
            settled: false,
            global_entry,
            source_entry,
            expires: Duration::ZERO,
        }
    }
}

/// All leases of one scope. They all live equally long, so they expire in the order in which they
/// were granted or last renewed.
#[derive(Debug)]
pub(crate) struct Leases {
    ttl: Duration,
    last_id: u64,
    by_id: HashMap<u64, Held>,
    /// When, and which. A pair is void once the lease is gone or expires at another time; void
    /// pairs are swept out when they are the most, so memory follows the leases that live.
    order: VecDeque<(Duration, u64)>,
}

/// Void pairs that are not worth a sweep.
const SLACK: usize = 64;

impl Leases {
    pub(crate) fn new(ttl: Duration) -> Self {
        Self { ttl, last_id: 0, by_id: HashMap::new(), order: VecDeque::new() }
    }

    /// Starts a lease and returns its id.
    pub(crate) fn grant(&mut self, now: Duration, mut held: Held) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        let expires = now.saturating_add(self.ttl);
        held.expires = expires;
        self.by_id.insert(id, held);
        self.order.push_back((expires, id));
        id
    }

    /// A lease that lives.
    pub(crate) fn get_mut(&mut self, id: u64, source: usize) -> Option<&mut Held> {
        self.by_id.get_mut(&id).filter(|held| held.source == source)
    }

    /// Starts the time of a lease anew.
    pub(crate) fn renew(&mut self, now: Duration, id: u64, source: usize) {
        let expires = now.saturating_add(self.ttl);
        if let Some(held) = self.get_mut(id, source)
            && held.expires != expires
        {
            held.expires = expires;
            self.order.push_back((expires, id));
            self.sweep();
        }
    }

    /// Ends a lease; `None` if it has ended already.
    pub(crate) fn end(&mut self, id: u64, source: usize) -> Option<Held> {
        self.get_mut(id, source)?;
        let held = self.by_id.remove(&id);
        self.sweep();
        held
    }

    /// The earliest moment at which a lease may expire, be it one that is granted only now.
    pub(crate) fn earliest_expiry(&mut self, now: Duration) -> Duration {
        self.next_expiry().unwrap_or_else(|| now.saturating_add(self.ttl))
    }

    fn next_expiry(&mut self) -> Option<Duration> {
        while let Some(&(expires, id)) = self.order.front() {
            if self.by_id.get(&id).is_some_and(|held| held.expires == expires) {
                return Some(expires);
            }
            self.order.pop_front();
        }
        None
    }

    /// Ends the next lease that has expired, if there is one.
    pub(crate) fn expire_one(&mut self, now: Duration) -> Option<Held> {
        self.next_expiry().filter(|expires| *expires <= now)?;
        let (_, id) = self.order.pop_front()?;
        self.by_id.remove(&id)
    }

    fn sweep(&mut self) {
        if self.order.len() > 2 * self.by_id.len() + SLACK {
            let by_id = &self.by_id;
            self.order
                .retain(|(expires, id)| by_id.get(id).is_some_and(|held| held.expires == *expires));
        }
    }
}

#[cfg(test)]
mod tests;
