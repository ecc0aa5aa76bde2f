//! Which sources to leave alone for a while, remembered in this process.
//!
//! The memo saves asking a breaker that is known to be open, and holds a source back for as long as
//! its `Retry-After` says. It decides nothing for other processes: the breaker does that.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

/// Why a source cools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// It asked us to come back later.
    Hint,
    /// Its breaker is open.
    Open,
}

#[derive(Clone, Copy, Debug)]
struct Cooldown {
    until: Duration,
    since: Duration,
    cause: Cause,
}

/// The cooldowns of a scope's sources, by their index.
#[derive(Debug)]
pub(crate) struct CoolingMemo {
    slots: Mutex<Vec<Option<Cooldown>>>,
}

impl CoolingMemo {
    pub(crate) fn new(sources: usize) -> Self {
        Self { slots: Mutex::new(vec![None; sources]) }
    }

    /// Cools a source until a moment. A cooldown never shrinks: the later end wins.
    pub(crate) fn cool(&self, source: usize, now: Duration, until: Duration, cause: Cause) {
        if let Some(slot) = self.lock().get_mut(source) {
            let longer = slot.is_none_or(|known| known.until < until);
            if longer && until > now {
                *slot = Some(Cooldown { until, since: now, cause });
            }
        }
    }

    /// Ends a cooldown that began before `started`: an attempt begun since has succeeded. One that
    /// began later stands, for the success says nothing about what came after it.
    pub(crate) fn clear(&self, source: usize, started: Duration) {
        if let Some(slot) = self.lock().get_mut(source)
            && slot.is_some_and(|known| known.since <= started)
        {
            *slot = None;
        }
    }

    /// When a source may be used again, and why not before; `None`: now.
    pub(crate) fn until(&self, source: usize, now: Duration) -> Option<(Duration, Cause)> {
        let mut slots = self.lock();
        let slot = slots.get_mut(source)?;
        match *slot {
            Some(known) if known.until > now => Some((known.until, known.cause)),
            Some(_) => {
                *slot = None;
                None
            }
            None => None,
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Option<Cooldown>>> {
        // Each write is one assignment, so a poisoned memo is still whole.
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// D37, MID-040, MID-041.
    #[test]
    fn a_cooldown_never_shrinks_and_ends_by_itself() {
        let memo = CoolingMemo::new(2);
        memo.cool(0, s(1), s(60), Cause::Hint);
        memo.cool(0, s(2), s(30), Cause::Open);
        assert_eq!(memo.until(0, s(3)), Some((s(60), Cause::Hint)));
        assert_eq!(memo.until(1, s(3)), None);
        assert_eq!(memo.until(0, s(60)), None);
    }

    /// MID-041: a success clears it, but not one that began before the cooldown did.
    #[test]
    fn only_a_success_begun_since_clears_it() {
        let memo = CoolingMemo::new(1);
        memo.cool(0, s(10), s(60), Cause::Hint);
        memo.clear(0, s(9));
        assert!(memo.until(0, s(11)).is_some());
        memo.clear(0, s(10));
        assert!(memo.until(0, s(11)).is_none());
    }
}
