//! The six gates of one scope: the pure state machine that decides who is admitted.

use std::time::Duration;

use pgw_types::{Denial, Gate, Limits, SourceLoad};

use crate::{
    leases::{Held, Leases},
    window::Window,
};

/// The three gates of the scope, or of one source.
#[derive(Debug)]
struct Pool {
    limits: Limits,
    in_flight: u32,
    window: Window,
}

impl Pool {
    fn new(limits: Limits) -> Self {
        Self { limits, in_flight: 0, window: Window::default() }
    }

    /// Why a gate of this pool refuses one call that charges so many tokens.
    fn refusal(&self, gate: Gate, now: Duration, tokens: u64) -> Option<Denial> {
        let Limits { max_concurrency, rpm, tpm } = self.limits;
        let window = &self.window;
        let retry_after = match gate {
            Gate::GlobalConcurrency | Gate::SourceConcurrency => {
                max_concurrency.filter(|limit| self.in_flight >= *limit)?;
                None
            }
            Gate::GlobalRpm | Gate::SourceRpm => {
                let over = excess(window.calls().into(), 1, rpm.map(u64::from))?;
                window.until_calls_leave(now, over)
            }
            Gate::GlobalTpm | Gate::SourceTpm => {
                let over = excess(window.tokens(), tokens, tpm)?;
                window.until_tokens_leave(now, over)
            }
        };
        Some(Denial { gate, retry_after, never_above: None })
    }
}

/// By how much an ask would be over the limit; `None` if it would not.
fn excess(used: u128, ask: u64, limit: Option<u64>) -> Option<u128> {
    let over = (used + u128::from(ask)).saturating_sub(limit?.into());
    (over > 0).then_some(over)
}

/// All quotas of one scope.
///
/// Time is passed in and must not go back. Leases that have expired and charges that have left the
/// window are dropped by the operation that comes next; each lease and each charge is dropped once,
/// so an operation costs constant time on average.
#[derive(Debug)]
pub(crate) struct Quotas {
    global: Pool,
    sources: Vec<Pool>,
    leases: Leases,
    last_progress: Option<Duration>,
    /// Whether something came free that a refused caller may have waited for.
    freed: bool,
}

impl Quotas {
    pub(crate) fn new(
        global: Limits,
        sources: impl IntoIterator<Item = Limits>,
        ttl: Duration,
    ) -> Self {
        Self {
            global: Pool::new(global),
            sources: sources.into_iter().map(Pool::new).collect(),
            leases: Leases::new(ttl),
            last_progress: None,
            freed: false,
        }
    }

    /// Ends the leases that have expired.
    pub(crate) fn expire(&mut self, now: Duration) {
        while let Some(held) = self.leases.expire_one(now) {
            self.leave(&held);
        }
    }

    /// Asks all six gates. Either all of them count the call, and the id of its lease comes back,
    /// or none does.
    pub(crate) fn acquire(
        &mut self,
        now: Duration,
        source: usize,
        tokens: u64,
    ) -> Result<u64, Denial> {
        self.expire(now);
        self.global.window.advance(now);
        self.sources[source].window.advance(now);
        if let Some(denial) = self.refusal(now, source, tokens) {
            return Err(denial);
        }
        let global_entry = enter(&mut self.global, now, tokens);
        let source_entry = enter(&mut self.sources[source], now, tokens);
        let held = Held::new(source, tokens, global_entry, source_entry);
        Ok(self.leases.grant(now, held))
    }

    fn refusal(&self, now: Duration, source: usize, tokens: u64) -> Option<Denial> {
        let of = |gate: Gate| if gate.is_global() { &self.global } else { &self.sources[source] };
        // Before the other gates: no release and no window can help such a call, so it must not
        // first wait for them.
        for gate in [Gate::GlobalTpm, Gate::SourceTpm] {
            let limit = of(gate).limits.tpm;
            if limit.is_some_and(|limit| tokens > limit) {
                return Some(Denial { gate, retry_after: None, never_above: limit });
            }
        }
        Gate::ALL.into_iter().find_map(|gate| of(gate).refusal(gate, now, tokens))
    }

    /// Corrects the charge of a lease, once, where it was made.
    pub(crate) fn settle(&mut self, now: Duration, id: u64, source: usize, used: u64) {
        self.expire(now);
        let Some(held) = self.leases.get_mut(id, source) else { return };
        if std::mem::replace(&mut held.settled, true) {
            return;
        }
        let charged = held.charged;
        let pools =
            [(&mut self.global, held.global_entry), (&mut self.sources[source], held.source_entry)];
        for (pool, entry) in pools {
            pool.window.advance(now);
            let counts = pool.window.correct(entry, charged, used);
            self.freed |= counts && used < charged;
        }
    }

    /// Ends a lease.
    pub(crate) fn release(&mut self, now: Duration, id: u64, source: usize) {
        self.expire(now);
        if let Some(held) = self.leases.end(id, source) {
            self.leave(&held);
        }
    }

    /// Starts the time of a lease anew.
    pub(crate) fn renew(&mut self, now: Duration, id: u64, source: usize) {
        self.expire(now);
        self.leases.renew(now, id, source);
    }

    /// The earliest moment at which a lease may expire, be it one that is granted only now.
    pub(crate) fn earliest_expiry(&mut self, now: Duration) -> Duration {
        self.expire(now);
        self.leases.earliest_expiry(now)
    }

    /// Notes that a call got an answer.
    pub(crate) const fn mark_progress(&mut self, now: Duration) {
        self.last_progress = Some(now);
    }

    /// How long ago a call got an answer.
    pub(crate) fn progress_age(&self, now: Duration) -> Option<Duration> {
        self.last_progress.map(|last| now.saturating_sub(last))
    }

    /// How busy a source is.
    pub(crate) fn load(&mut self, now: Duration, source: usize) -> SourceLoad {
        self.expire(now);
        let pool = &mut self.sources[source];
        pool.window.advance(now);
        SourceLoad {
            in_flight: pool.in_flight,
            calls_in_window: pool.window.calls(),
            tokens_in_window: u64::try_from(pool.window.tokens()).unwrap_or(u64::MAX),
        }
    }

    /// Whether something came free since this was last asked.
    pub(crate) const fn take_freed(&mut self) -> bool {
        std::mem::replace(&mut self.freed, false)
    }

    fn leave(&mut self, held: &Held) {
        for pool in [&mut self.global, &mut self.sources[held.source]] {
            pool.in_flight = pool.in_flight.saturating_sub(1);
        }
        self.freed = true;
    }
}

fn enter(pool: &mut Pool, now: Duration, tokens: u64) -> u64 {
    pool.in_flight = pool.in_flight.saturating_add(1);
    pool.window.admit(now, tokens)
}

#[cfg(test)]
mod tests;
