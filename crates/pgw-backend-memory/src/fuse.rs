//! The breaker of one source: the pure state machine.

use std::{fmt, time::Duration};

/// What a breaker does with calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BreakerState {
    /// Lets every call in.
    Closed,
    /// Refuses every call until its cooldown has passed.
    Open,
    /// Lets one probe in at a time.
    HalfOpen,
}

impl BreakerState {
    /// The stable spelling.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open => "open",
            Self::HalfOpen => "half_open",
        }
    }
}

impl fmt::Display for BreakerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// When a breaker opens and for how long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    /// Consecutive failures that open it.
    pub(crate) threshold: u32,
    pub(crate) cooldown: Duration,
    pub(crate) dead_cooldown: Duration,
    pub(crate) probe_lease: Duration,
}

/// The right to be judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pass {
    pub(crate) epoch: u64,
    pub(crate) probe: Option<u64>,
}

#[derive(Clone, Copy, Debug)]
struct Probe {
    id: u64,
    expires: Duration,
}

#[derive(Debug)]
enum State {
    Closed {
        /// Consecutive failures.
        failures: u32,
    },
    /// Open until then, half-open from then on.
    Open { until: Duration, probe: Option<Probe> },
}

/// One breaker. Time is passed in.
///
/// The passes of an epoch were all given out in one state: in a closed one to anybody, or in a
/// half-open one to its probes. So the epoch alone says whether a verdict still counts. A probe
/// that answers after its lease has run out still counts: else a source slower than the lease could
/// never come back.
#[derive(Debug)]
pub(crate) struct Fuse {
    rules: Rules,
    state: State,
    epoch: u64,
    /// The epoch in which it last closed: whoever came in before knows nothing newer.
    closed_in: u64,
    last_probe: u64,
    /// Verdicts that came too late to count.
    stale: u64,
}

impl Fuse {
    pub(crate) const fn new(rules: Rules) -> Self {
        Self {
            rules,
            state: State::Closed { failures: 0 },
            epoch: 0,
            closed_in: 0,
            last_probe: 0,
            stale: 0,
        }
    }

    /// Lets a call in, or says how long to stay away.
    pub(crate) fn enter(&mut self, now: Duration) -> Result<Pass, Duration> {
        let State::Open { until, probe } = &mut self.state else {
            return Ok(Pass { epoch: self.epoch, probe: None });
        };
        if *until > now {
            return Err(until.saturating_sub(now));
        }
        if let Some(probe) = probe
            && probe.expires > now
        {
            return Err(probe.expires.saturating_sub(now));
        }
        self.last_probe += 1;
        let id = self.last_probe;
        *probe = Some(Probe { id, expires: now.saturating_add(self.rules.probe_lease) });
        Ok(Pass { epoch: self.epoch, probe: Some(id) })
    }

    /// The source did well.
    pub(crate) const fn succeed(&mut self, pass: Pass) {
        if self.is_stale(pass) {
            return;
        }
        if matches!(self.state, State::Open { .. }) {
            self.epoch += 1;
            self.closed_in = self.epoch;
        }
        self.state = State::Closed { failures: 0 };
    }

    /// The source failed. Returns the time until the breaker lets a probe in, if it is open.
    pub(crate) fn fail(&mut self, now: Duration, pass: Pass) -> Option<Duration> {
        if !self.is_stale(pass) {
            let opens = match &mut self.state {
                State::Closed { failures } => {
                    *failures = failures.saturating_add(1);
                    *failures >= self.rules.threshold
                }
                State::Open { .. } => true,
            };
            if opens {
                self.open(now, self.rules.cooldown);
            }
        }
        self.cooling(now)
    }

    /// The source is dead: opens from any state, unless the breaker has closed since the call came
    /// in, for that is newer knowledge. Returns the time until the breaker lets a probe in.
    pub(crate) fn kill(&mut self, now: Duration, pass: Pass) -> Duration {
        if pass.epoch < self.closed_in || pass.epoch > self.epoch {
            self.stale += 1;
        } else {
            self.open(now, self.rules.dead_cooldown);
        }
        self.cooling(now).unwrap_or_default()
    }

    /// Takes a probe back without a verdict.
    pub(crate) fn give_back(&mut self, pass: Pass) {
        if let State::Open { probe, .. } = &mut self.state
            && pass.epoch == self.epoch
            && probe.is_some_and(|probe| pass.probe == Some(probe.id))
        {
            *probe = None;
        }
    }

    /// What it does with calls now.
    pub(crate) fn state(&self, now: Duration) -> BreakerState {
        match self.state {
            State::Closed { .. } => BreakerState::Closed,
            State::Open { until, .. } if until > now => BreakerState::Open,
            State::Open { .. } => BreakerState::HalfOpen,
        }
    }

    /// Verdicts that came too late to count.
    pub(crate) const fn stale(&self) -> u64 {
        self.stale
    }

    /// Counts a verdict that no longer matters.
    const fn is_stale(&mut self, pass: Pass) -> bool {
        let stale = pass.epoch != self.epoch;
        if stale {
            self.stale += 1;
        }
        stale
    }

    /// Opens in a new epoch. Of two deadlines the later wins (BerriAI/litellm#40130).
    fn open(&mut self, now: Duration, cooldown: Duration) {
        let until = now.saturating_add(cooldown);
        let until = match self.state {
            State::Closed { .. } => until,
            State::Open { until: known, .. } => until.max(known),
        };
        self.state = State::Open { until, probe: None };
        self.epoch += 1;
    }

    /// What is left of the cooldown.
    fn cooling(&self, now: Duration) -> Option<Duration> {
        match self.state {
            State::Open { until, .. } if until > now => Some(until.saturating_sub(now)),
            State::Open { .. } | State::Closed { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests;
