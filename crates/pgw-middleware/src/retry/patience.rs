//! Patience: how long a call waits for admission, and when it gives up.

use std::time::Duration;

use pgw_ports::Operation;
use pgw_types::{CallError, Denial, Fault, PgwError, ScopeReason, Unavailable};

use super::{Core, Progress};
use crate::ledger::millis;

/// Why one source did not let the call in.
#[derive(Clone, Copy, Debug)]
pub(super) enum Blocker {
    /// It asked us to come back later.
    Hint { until: Duration },
    /// Its breaker is open.
    Open { until: Duration },
    /// A quota gate refused.
    Full(Denial),
}

/// The first quota gate among the blockers.
pub(super) fn full(blockers: &[Blocker]) -> Option<Denial> {
    blockers.iter().find_map(|blocker| match blocker {
        Blocker::Full(denial) => Some(*denial),
        Blocker::Hint { .. } | Blocker::Open { .. } => None,
    })
}

/// The head of the line sleeps this long at least, the tick of the runtime's timer: a hint of "now"
/// that turns out wrong must not make it spin.
const SHORTEST_NAP: Duration = Duration::from_millis(1);

impl<O: Operation> Core<O> {
    /// How long the head of the line sleeps at most: to the first known moment, or the interval.
    pub(super) fn nap(&self, blockers: &[Blocker]) -> Duration {
        let first = blockers.iter().filter_map(|blocker| self.remaining(blocker)).min();
        first.map_or(self.wait.poll_interval, |first| {
            first.max(SHORTEST_NAP).min(self.wait.poll_interval)
        })
    }

    /// How long until something about the wait itself must be looked at again.
    pub(super) fn patience(&self, progress: &Progress<O>, began: Duration) -> Duration {
        let now = self.clock.now();
        let mut until = began.saturating_add(self.wait.max_wait);
        if let Some(deadline) = progress.cx.deadline {
            until = until.min(deadline);
        }
        // Stall needs a look once the window has passed, and then at intervals.
        let stall = began.saturating_add(self.wait.stall_window);
        let look = if now < stall { stall } else { now.saturating_add(self.wait.poll_interval) };
        until.min(look).saturating_sub(now)
    }

    /// Ends a wait that is stalled, too long, or can't end before the deadline.
    pub(super) async fn check_patience(
        &self,
        progress: &Progress<O>,
        began: Duration,
        blockers: &[Blocker],
    ) -> Result<(), PgwError> {
        let now = self.clock.now();
        let waited = now.saturating_sub(began);
        if waited >= self.wait.stall_window {
            let age = self.limiter.progress_age().await;
            let age = age.map_err(|error| self.gate_error("limiter", "progress_age", error))?;
            if age.is_none_or(|age| age >= self.wait.stall_window) {
                let hint = self.hint_of(blockers);
                let error = progress.unavailable(self, ScopeReason::Stalled, hint).with_message(
                    format!("waited {} ms while nobody got an answer", millis(waited)),
                );
                return Err(error.into());
            }
        }
        self.check_longest_wait(progress, began, blockers)?;
        if let Some(deadline) = progress.cx.deadline {
            // Only if every source says when: a release may come at any time.
            let earliest = blockers.iter().map(|b| self.remaining(b)).collect::<Option<Vec<_>>>();
            let earliest = earliest.and_then(|waits| waits.into_iter().min());
            if now >= deadline || earliest.is_some_and(|wait| now.saturating_add(wait) > deadline) {
                let why = "the call's deadline comes before any source can admit it";
                return Err(self.refusal(progress, blockers, Some(why.into())).into());
            }
        }
        Ok(())
    }

    /// Ends a wait that has lasted as long as any may.
    pub(super) fn check_longest_wait(
        &self,
        progress: &Progress<O>,
        began: Duration,
        blockers: &[Blocker],
    ) -> Result<(), PgwError> {
        let waited = self.clock.now().saturating_sub(began);
        if waited < self.wait.max_wait {
            return Ok(());
        }
        let why = format!("waited {} ms, the longest wait allowed", millis(waited));
        Err(self.refusal(progress, blockers, Some(why)).into())
    }

    /// Fails a call that no waiting can help.
    pub(super) fn check_hopeless(
        &self,
        progress: &Progress<O>,
        blockers: &[Blocker],
    ) -> Result<(), PgwError> {
        if blockers.is_empty() {
            let planned = progress.standing.iter().any(|standing| standing.planned);
            let error = if progress.usable().next().is_some() {
                progress
                    .unavailable(self, ScopeReason::NoSources, self.wait.poll_interval)
                    .with_message(format!("selector {} names no source", self.selector.name()))
            } else if planned {
                // Every source turned out dead in this call.
                let wait = self.time_to_first(progress);
                progress.unavailable(self, ScopeReason::RetryExhausted, wait)
            } else {
                let error = progress.unavailable(self, ScopeReason::NoSources, Duration::ZERO);
                match Self::exclusions(progress) {
                    Some(reasons) => error.with_message(reasons),
                    None => error,
                }
            };
            return Err(error.into());
        }
        let never = |blocker: &Blocker| match blocker {
            Blocker::Full(denial) => denial.never_above.map(|limit| (denial.gate, limit)),
            Blocker::Hint { .. } | Blocker::Open { .. } => None,
        };
        if let Some(limits) = blockers.iter().map(never).collect::<Option<Vec<_>>>()
            && let Some((gate, limit)) = limits.into_iter().max_by_key(|(_, limit)| *limit)
        {
            let tokens = progress
                .usable()
                .map(|index| O::estimate_tokens(&progress.request, &self.sources[index].config));
            let needed = tokens.min().unwrap_or_default();
            let error = CallError::new(
                Fault::RequestTooLarge,
                format!(
                    "the call is charged {needed} tokens at the door, and the widest gate \
                     ({gate}) admits {limit} a minute: no wait can help; raise that limit to at \
                     least {needed}, or lower max_tokens or EST_TOKENS"
                ),
            );
            return Err(error.into());
        }
        Ok(())
    }

    /// Why the plan leaves sources out, if it does.
    fn exclusions(progress: &Progress<O>) -> Option<String> {
        let exclusions = &progress.cx.plan.exclusions;
        exclusions
            .iter()
            .map(|one| format!("{} {}", one.source_name, one.reason))
            .reduce(|all, one| all + "; " + &one)
    }

    /// The wait for a source that failed this very call and said when to come back, if only such
    /// sources are left.
    pub(super) fn hint_wait(
        &self,
        progress: &Progress<O>,
        blockers: &[Blocker],
    ) -> Option<Duration> {
        if progress.spent == 0 {
            return None;
        }
        let hints = blockers.iter().map(|blocker| match blocker {
            Blocker::Hint { .. } => self.remaining(blocker),
            Blocker::Open { .. } | Blocker::Full(_) => None,
        });
        hints.collect::<Option<Vec<_>>>()?.into_iter().min()
    }

    /// The error of a scope that lets nothing in. Who has not come to ask, within the line, is told
    /// what blocks its head.
    pub(super) fn refusal(
        &self,
        progress: &Progress<O>,
        blockers: &[Blocker],
        why_now: Option<String>,
    ) -> Unavailable {
        let full = if blockers.is_empty() { progress.line.blocked_by() } else { full(blockers) };
        let reason = match full {
            Some(_) => ScopeReason::QuotaExhausted,
            None => ScopeReason::CircuitOpen,
        };
        let error = progress.unavailable(self, reason, self.hint_of(blockers));
        let gate = full.map(|denial| format!("gate {} is full", denial.gate));
        match gate.into_iter().chain(why_now).reduce(|a, b| a + "; " + &b) {
            Some(message) => error.with_message(message),
            None => error,
        }
    }

    /// When to come back: the first known moment, or the interval if a release is awaited.
    fn hint_of(&self, blockers: &[Blocker]) -> Duration {
        let waits =
            blockers.iter().map(|b| self.remaining(b).unwrap_or(self.wait.poll_interval)).min();
        waits.unwrap_or(self.wait.poll_interval)
    }

    pub(super) fn remaining(&self, blocker: &Blocker) -> Option<Duration> {
        match blocker {
            Blocker::Hint { until } | Blocker::Open { until } => {
                Some(until.saturating_sub(self.clock.now()))
            }
            Blocker::Full(denial) => denial.retry_after,
        }
    }
}
