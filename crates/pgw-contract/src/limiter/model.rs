//! The limiter, read plainly: every admission ever made in one list, every answer counted from it.

use std::time::Duration;

use pgw_types::{Denial, Gate, Limits, SourceLoad};

use super::LimiterSpec;

const MINUTE: Duration = Duration::from_mins(1);

/// A reference for stores. Slow, and without anything clever. Sources and leases go by their
/// place: the first lease granted is lease 0.
#[derive(Clone, Debug)]
pub struct LimiterModel {
    spec: LimiterSpec,
    now: Duration,
    admitted: Vec<Admitted>,
    /// So many of the first of them count nowhere any more.
    past: usize,
    progress: Option<Duration>,
}

#[derive(Clone, Debug)]
struct Admitted {
    source: usize,
    at: Duration,
    tokens: u64,
    settled: bool,
    /// The end of its lease; `None` once released.
    lease_ends: Option<Duration>,
}

/// All sources, or one.
#[derive(Clone, Copy, Debug)]
struct Side(Option<usize>);

impl LimiterModel {
    /// A limiter of this make at time zero.
    #[must_use]
    pub fn new(spec: LimiterSpec) -> Self {
        Self { spec, now: Duration::ZERO, admitted: Vec::new(), past: 0, progress: None }
    }

    /// Lets time pass.
    pub fn advance(&mut self, by: Duration) {
        self.now += by;
        while let Some(call) = self.admitted.get(self.past)
            && call.at + MINUTE <= self.now
            && call.lease_ends.is_none_or(|ends| ends <= self.now)
        {
            self.past += 1;
        }
    }

    /// Asks for a call. Returns the place of its lease.
    ///
    /// # Errors
    /// The refusal.
    pub fn try_acquire(&mut self, source: usize, tokens: u64) -> Result<usize, Denial> {
        let (all, own) = (Side(None), Side(Some(source)));
        let gates = [
            (Gate::GlobalConcurrency, all),
            (Gate::SourceConcurrency, own),
            (Gate::GlobalRpm, all),
            (Gate::SourceRpm, own),
            (Gate::GlobalTpm, all),
            (Gate::SourceTpm, own),
        ];
        for (gate, side) in gates {
            let limit = self.limit(gate, side);
            let tokens_gate = matches!(gate, Gate::GlobalTpm | Gate::SourceTpm);
            if tokens_gate && limit.is_some_and(|limit| tokens > limit) {
                return Err(Denial { gate, retry_after: None, never_above: limit });
            }
        }
        for (gate, side) in gates {
            if !self.admits_at(gate, side, tokens, self.now) {
                return Err(Denial {
                    gate,
                    retry_after: self.wait(gate, side, tokens),
                    never_above: None,
                });
            }
        }
        self.admitted.push(Admitted {
            source,
            at: self.now,
            tokens,
            settled: false,
            lease_ends: Some(self.now + self.spec.lease_ttl),
        });
        Ok(self.admitted.len() - 1)
    }

    /// Corrects a charge.
    pub fn settle(&mut self, lease: usize, used: u64) {
        if self.lives(lease) && !self.admitted[lease].settled {
            self.admitted[lease].tokens = used;
            self.admitted[lease].settled = true;
        }
    }

    /// Frees a lease.
    pub fn release(&mut self, lease: usize) {
        self.admitted[lease].lease_ends = None;
    }

    /// Puts off the end of a lease.
    pub fn renew(&mut self, lease: usize) {
        if self.lives(lease) {
            self.admitted[lease].lease_ends = Some(self.now + self.spec.lease_ttl);
        }
    }

    /// Notes an answer.
    pub fn mark_progress(&mut self) {
        self.progress = Some(self.now);
    }

    /// How long ago the last answer was.
    #[must_use]
    pub fn progress_age(&self) -> Option<Duration> {
        self.progress.map(|at| self.now.saturating_sub(at))
    }

    /// How busy a source is.
    #[must_use]
    pub fn load(&self, source: usize) -> SourceLoad {
        let side = Side(Some(source));
        SourceLoad {
            in_flight: u32::try_from(self.used(Gate::SourceConcurrency, side, self.now))
                .unwrap_or(u32::MAX),
            calls_in_window: self.used(Gate::SourceRpm, side, self.now),
            tokens_in_window: self.used(Gate::SourceTpm, side, self.now),
        }
    }

    fn lives(&self, lease: usize) -> bool {
        let ends = self.admitted[lease].lease_ends;
        ends.is_some_and(|ends| ends > self.now)
    }

    fn limit(&self, gate: Gate, side: Side) -> Option<u64> {
        let Limits { max_concurrency, rpm, tpm } = match side {
            Side(None) => self.spec.scope,
            Side(Some(source)) => self.spec.sources[source].1,
        };
        match gate {
            Gate::GlobalConcurrency | Gate::SourceConcurrency => max_concurrency.map(u64::from),
            Gate::GlobalRpm | Gate::SourceRpm => rpm.map(u64::from),
            Gate::GlobalTpm | Gate::SourceTpm => tpm,
        }
    }

    /// What counts at a gate at a moment from now on.
    fn used(&self, gate: Gate, side: Side, at: Duration) -> u64 {
        let here = self.admitted[self.past..]
            .iter()
            .filter(|call| side.0.is_none_or(|source| call.source == source));
        match gate {
            Gate::GlobalConcurrency | Gate::SourceConcurrency => {
                here.filter(|call| call.lease_ends.is_some_and(|ends| ends > at)).count() as u64
            }
            Gate::GlobalRpm | Gate::SourceRpm => {
                here.filter(|call| call.at + MINUTE > at).count() as u64
            }
            Gate::GlobalTpm | Gate::SourceTpm => {
                here.filter(|call| call.at + MINUTE > at).map(|call| call.tokens).sum()
            }
        }
    }

    fn admits_at(&self, gate: Gate, side: Side, tokens: u64, at: Duration) -> bool {
        let limit = self.limit(gate, side);
        limit.is_none_or(|limit| self.used(gate, side, at) + ask(gate, tokens) <= limit)
    }

    /// Time until a window has room; `None` for concurrency, which time does not open.
    fn wait(&self, gate: Gate, side: Side, tokens: u64) -> Option<Duration> {
        if matches!(gate, Gate::GlobalConcurrency | Gate::SourceConcurrency) {
            return None;
        }
        // In the order of admission, so the first that helps is the earliest.
        let mut ends = self.admitted[self.past..].iter().map(|call| call.at + MINUTE);
        let first = ends.find(|end| *end > self.now && self.admits_at(gate, side, tokens, *end))?;
        Some(first.saturating_sub(self.now))
    }
}

fn ask(gate: Gate, tokens: u64) -> u64 {
    match gate {
        Gate::GlobalTpm | Gate::SourceTpm => tokens,
        _ => 1,
    }
}
