//! The breaker, read plainly: everything that ever happened to a source in one list, every answer
//! looked up in it.

use std::time::Duration;

use pgw_types::effective_threshold;

use super::BreakerSpec;

/// A reference for stores. Slow, and without anything clever. Sources and tickets go by their
/// place: the first call let in has ticket 0.
#[derive(Clone, Debug)]
pub struct BreakerModel {
    spec: BreakerSpec,
    now: Duration,
    events: Vec<Event>,
    tickets: Vec<Ticket>,
}

#[derive(Clone, Debug)]
struct Ticket {
    source: usize,
    /// How many events had happened when it was given.
    at: usize,
    /// The end of its lease, while it is a probe that was not given back.
    probe_ends: Option<Duration>,
    is_probe: bool,
}

#[derive(Clone, Copy, Debug)]
struct Event {
    source: usize,
    what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Opened { until: Duration },
    Closed,
    Failed,
    Succeeded,
}

impl BreakerModel {
    /// Closed breakers at time zero.
    #[must_use]
    pub fn new(spec: BreakerSpec) -> Self {
        Self { spec, now: Duration::ZERO, events: Vec::new(), tickets: Vec::new() }
    }

    /// Lets time pass.
    pub fn advance(&mut self, by: Duration) {
        self.now += by;
    }

    /// Asks to be let in. Returns the place of the ticket.
    ///
    /// # Errors
    /// The time to wait.
    pub fn try_enter(&mut self, source: usize) -> Result<usize, Duration> {
        if let Some(wait) = self.remaining(source) {
            return Err(wait);
        }
        let half_open = matches!(self.last_turn(source), Some((_, What::Opened { .. })));
        if half_open {
            let since = self.last_turn(source).map(|(place, _)| place);
            let under_way = self.tickets.iter().filter(|ticket| {
                ticket.source == source && since.is_some_and(|since| ticket.at > since)
            });
            let ends = under_way.filter_map(|ticket| ticket.probe_ends).max();
            if let Some(ends) = ends.filter(|ends| *ends > self.now) {
                return Err(ends.saturating_sub(self.now));
            }
        }
        self.tickets.push(Ticket {
            source,
            at: self.events.len(),
            probe_ends: half_open.then_some(self.now + self.spec.probe_lease),
            is_probe: half_open,
        });
        Ok(self.tickets.len() - 1)
    }

    /// Whether a ticket is a probe's.
    #[must_use]
    pub fn is_probe(&self, ticket: usize) -> bool {
        self.tickets[ticket].is_probe
    }

    /// A call went well.
    pub fn record_success(&mut self, ticket: usize) {
        if self.is_stale(ticket) {
            return;
        }
        let source = self.tickets[ticket].source;
        let open = matches!(self.last_turn(source), Some((_, What::Opened { .. })));
        self.add(source, if open { What::Closed } else { What::Succeeded });
    }

    /// A call failed. Returns how long the breaker stays open, if it is.
    pub fn record_failure(&mut self, ticket: usize) -> Option<Duration> {
        let source = self.tickets[ticket].source;
        if !self.is_stale(ticket) {
            let open = matches!(self.last_turn(source), Some((_, What::Opened { .. })));
            self.add(source, What::Failed);
            if open || self.failures_in_a_row(source) >= self.threshold(source) {
                self.open(source, self.spec.cooldown);
            }
        }
        self.remaining(source)
    }

    /// The source is dead. Returns how long the breaker stays open.
    pub fn force_open(&mut self, ticket: usize) -> Duration {
        let Ticket { source, at, .. } = self.tickets[ticket];
        let closed_since = self.events[at..]
            .iter()
            .any(|event| event.source == source && event.what == What::Closed);
        if !closed_since {
            self.open(source, self.spec.dead_cooldown);
        }
        self.remaining(source).unwrap_or_default()
    }

    /// Gives a probe back.
    pub fn release_probe(&mut self, ticket: usize) {
        self.tickets[ticket].probe_ends = None;
    }

    fn add(&mut self, source: usize, what: What) {
        self.events.push(Event { source, what });
    }

    fn open(&mut self, source: usize, cooldown: Duration) {
        let mut until = self.now + cooldown;
        if let Some((_, What::Opened { until: known })) = self.last_turn(source) {
            until = until.max(known);
        }
        self.add(source, What::Opened { until });
    }

    /// The last opening or closing, and its place.
    fn last_turn(&self, source: usize) -> Option<(usize, What)> {
        let turns = self.events.iter().enumerate().rev();
        turns
            .filter(|(_, event)| event.source == source)
            .map(|(place, event)| (place, event.what))
            .find(|(_, what)| matches!(what, What::Opened { .. } | What::Closed))
    }

    /// Whether the breaker opened or closed since the call entered.
    fn is_stale(&self, ticket: usize) -> bool {
        let Ticket { source, at, .. } = self.tickets[ticket];
        self.last_turn(source).is_some_and(|(place, _)| place >= at)
    }

    fn failures_in_a_row(&self, source: usize) -> usize {
        let last = self.events.iter().rev();
        last.filter(|event| event.source == source)
            .take_while(|event| event.what == What::Failed)
            .count()
    }

    fn threshold(&self, source: usize) -> usize {
        let (_, concurrency) = self.spec.sources[source];
        effective_threshold(self.spec.threshold, concurrency) as usize
    }

    fn remaining(&self, source: usize) -> Option<Duration> {
        match self.last_turn(source) {
            Some((_, What::Opened { until })) if until > self.now => {
                Some(until.saturating_sub(self.now))
            }
            _ => None,
        }
    }
}
