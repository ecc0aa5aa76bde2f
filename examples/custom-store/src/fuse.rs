//! The breaker of one source: what is written down of it, and how that changes.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// When breakers open and for how long. Whole milliseconds; what is shorter counts as none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Failures in a row that open a breaker, raised to twice the source's concurrency
    /// ([`pgw_types::effective_threshold`]). 0 counts as 1.
    pub threshold: u32,
    /// How long it stays open after failures.
    pub cooldown: Duration,
    /// How long it stays open after its source was found dead.
    pub dead_cooldown: Duration,
    /// How long a probe has the half-open breaker to itself.
    pub probe_lease: Duration,
}

/// What a ticket says of its call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pass {
    pub(crate) epoch: u64,
    pub(crate) probe: Option<u64>,
}

/// One breaker. Times are milliseconds since 1970: the one clock that processes share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fuse {
    /// How often it has opened or closed. A verdict on an older epoch is void.
    epoch: u64,
    /// The epoch in which it closed last.
    closed_in: u64,
    /// Failures in a row, while it is closed.
    failures: u32,
    /// The end of its cooldown; `None`: it is closed.
    open_until: Option<u64>,
    /// Probes so far, so that no two have the same number.
    probes: u64,
    /// The probe under way.
    probe: Option<Probe>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Probe {
    number: u64,
    /// From then on its owner counts as dead.
    until: u64,
}

impl Fuse {
    /// Lets a call in, or says how long to stay away.
    pub(crate) fn enter(&mut self, rules: &Rules, now: u64) -> Result<Pass, Duration> {
        let Some(open_until) = self.open_until else {
            return Ok(Pass { epoch: self.epoch, probe: None });
        };
        let until = self.probe.map_or(open_until, |probe| probe.until.max(open_until));
        if until > now {
            return Err(Duration::from_millis(until - now));
        }
        self.probes += 1;
        self.probe = Some(Probe { number: self.probes, until: after(now, rules.probe_lease) });
        Ok(Pass { epoch: self.epoch, probe: Some(self.probes) })
    }

    /// The source did well.
    pub(crate) fn succeed(&mut self, pass: Pass) {
        if pass.epoch != self.epoch {
            return;
        }
        self.failures = 0;
        if self.open_until.take().is_some() {
            self.probe = None;
            self.epoch += 1;
            self.closed_in = self.epoch;
        }
    }

    /// The source failed. Returns what is left of the cooldown, if it is open now.
    pub(crate) fn fail(
        &mut self,
        rules: &Rules,
        threshold: u32,
        now: u64,
        pass: Pass,
    ) -> Option<Duration> {
        if pass.epoch == self.epoch {
            self.failures = self.failures.saturating_add(1);
            // The probe's word alone decides while it is half-open.
            if self.open_until.is_some() || self.failures >= threshold {
                self.open(now, rules.cooldown);
            }
        }
        self.cooling(now)
    }

    /// The source is dead, which is news in an older epoch as well, unless the breaker has closed
    /// since. Returns what is left of the cooldown.
    pub(crate) fn kill(&mut self, rules: &Rules, now: u64, pass: Pass) -> Duration {
        if (self.closed_in..=self.epoch).contains(&pass.epoch) {
            self.open(now, rules.dead_cooldown);
        }
        self.cooling(now).unwrap_or_default()
    }

    /// Takes a probe back without a verdict. A second time, or too late, it changes nothing.
    pub(crate) fn give_back(&mut self, pass: Pass) {
        if self.probe.is_some_and(|probe| pass.probe == Some(probe.number)) {
            self.probe = None;
        }
    }

    /// Opens in a new epoch. Of two deadlines the later wins.
    fn open(&mut self, now: u64, cooldown: Duration) {
        self.open_until = self.open_until.max(Some(after(now, cooldown)));
        self.failures = 0;
        self.probe = None;
        self.epoch += 1;
    }

    fn cooling(&self, now: u64) -> Option<Duration> {
        let until = self.open_until.filter(|until| *until > now)?;
        Some(Duration::from_millis(until - now))
    }
}

fn after(now: u64, time: Duration) -> u64 {
    now.saturating_add(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}
