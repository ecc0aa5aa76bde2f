//! The limiter in its plainest form: a list of everything that ever happened.

use super::*;

#[derive(Debug)]
struct Call {
    at: Duration,
    source: usize,
    charged: u64,
    tokens: u64,
    settled: bool,
    /// Until when it is in flight; a release moves it to the moment of the release.
    until: Duration,
}

/// Answers every question by looking through the whole list. The place of a call in the list is
/// the id of its lease.
#[derive(Debug)]
pub(super) struct Model {
    global: Limits,
    sources: Vec<Limits>,
    ttl: Duration,
    calls: Vec<Call>,
}

impl Model {
    pub(super) fn new(global: Limits, sources: Vec<Limits>, ttl: Duration) -> Self {
        Self { global, sources, ttl, calls: Vec::new() }
    }

    /// In flight, calls and tokens in the window, of a source or of all.
    pub(super) fn usage(&self, now: Duration, source: Option<usize>) -> (u32, u64, u64) {
        let mut usage = (0, 0, 0);
        let calls = self.calls.iter().filter(|call| source.is_none_or(|it| it == call.source));
        for call in calls {
            usage.0 += u32::from(call.until > now);
            if call.at + secs(60) > now {
                usage.1 += 1;
                usage.2 += call.tokens;
            }
        }
        usage
    }

    fn admits(&self, gate: Gate, now: Duration, source: usize, tokens: u64) -> bool {
        let (scope, limits) = if gate.is_global() {
            (None, &self.global)
        } else {
            (Some(source), &self.sources[source])
        };
        let usage = self.usage(now, scope);
        match gate {
            Gate::GlobalConcurrency | Gate::SourceConcurrency => {
                limits.max_concurrency.is_none_or(|limit| usage.0 < limit)
            }
            Gate::GlobalRpm | Gate::SourceRpm => {
                limits.rpm.is_none_or(|limit| usage.1 < limit.into())
            }
            Gate::GlobalTpm | Gate::SourceTpm => {
                limits.tpm.is_none_or(|limit| usage.2 + tokens <= limit)
            }
        }
    }

    pub(super) fn acquire(
        &mut self,
        now: Duration,
        source: usize,
        tokens: u64,
    ) -> Result<usize, Denial> {
        let tpms =
            [(Gate::GlobalTpm, self.global.tpm), (Gate::SourceTpm, self.sources[source].tpm)];
        for (gate, limit) in tpms {
            if limit.is_some_and(|limit| tokens > limit) {
                return Err(Denial { gate, retry_after: None, never_above: limit });
            }
        }
        for gate in Gate::ALL {
            if !self.admits(gate, now, source, tokens) {
                let windowed = !matches!(gate, Gate::GlobalConcurrency | Gate::SourceConcurrency);
                let moments = self.calls.iter().map(|call| call.at + secs(60));
                let moment = moments
                    .filter(|moment| windowed && *moment > now)
                    .filter(|moment| self.admits(gate, *moment, source, tokens))
                    .min();
                let retry_after = moment.map(|moment| moment.saturating_sub(now));
                return Err(Denial { gate, retry_after, never_above: None });
            }
        }
        let until = now + self.ttl;
        let call = Call { at: now, source, charged: tokens, tokens, settled: false, until };
        self.calls.push(call);
        Ok(self.calls.len() - 1)
    }

    fn living(&mut self, now: Duration, place: usize) -> Option<&mut Call> {
        Some(&mut self.calls[place]).filter(|call| call.until > now)
    }

    pub(super) fn settle(&mut self, now: Duration, place: usize, used: u64) {
        if let Some(call) = self.living(now, place).filter(|call| !call.settled) {
            call.settled = true;
            call.tokens = used;
        }
    }

    pub(super) fn release(&mut self, now: Duration, place: usize) {
        if let Some(call) = self.living(now, place) {
            call.until = now;
        }
    }

    pub(super) fn renew(&mut self, now: Duration, place: usize) {
        let until = now + self.ttl;
        if let Some(call) = self.living(now, place) {
            call.until = until;
        }
    }

    /// The most calls that any 60 s held, and the most tokens if every call is counted by the
    /// lesser of its charge and its use, of a source or of all.
    pub(super) fn peaks(&self, source: Option<usize>) -> (u64, u64) {
        let calls: Vec<&Call> =
            self.calls.iter().filter(|call| source.is_none_or(|it| it == call.source)).collect();
        let windows = calls.iter().map(|first| {
            let held = calls
                .iter()
                .filter(|call| call.at >= first.at && call.at < first.at + secs(60))
                .map(|call| (1, call.charged.min(call.tokens)));
            held.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
        });
        windows.fold((0, 0), |peak, one| (peak.0.max(one.0), peak.1.max(one.1)))
    }
}
