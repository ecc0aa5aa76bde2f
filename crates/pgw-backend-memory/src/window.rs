//! What was admitted and charged over the last 60 s, exactly, in bounded memory.

use std::{collections::VecDeque, time::Duration};

/// How long a call counts against the calls and tokens a minute.
pub(crate) const WINDOW: Duration = Duration::from_mins(1);

/// Up to so many entries, each moment of admission has an entry of its own.
const EXACT_ENTRIES: usize = 4_096;

/// Beyond them, the moments that one entry may span: a 4,096th of the window. So the entries stay
/// below about twice `EXACT_ENTRIES`, and a charge leaves late by at most 0.03 % of the window.
const GRAIN: Duration = Duration::from_nanos(60_000_000_000 / 4_096);

/// The calls admitted at one moment, or within one grain.
#[derive(Debug)]
struct Entry {
    /// The latest of its admissions: it must never leave while one of them is still in the window.
    at: Duration,
    calls: u64,
    tokens: u128,
}

/// A rolling window. An admission counts from its moment until just before 60 s after it.
#[derive(Debug, Default)]
pub(crate) struct Window {
    /// Oldest first.
    entries: VecDeque<Entry>,
    /// How many entries have left, which makes the number of an entry lasting.
    left: u64,
    /// The earliest admission of the newest entry.
    newest_since: Duration,
    calls: u64,
    /// Wide enough for any sum: one that saturated would forget the others' charges when the
    /// absurd one leaves.
    tokens: u128,
}

impl Window {
    /// Forgets what is 60 s old.
    pub(crate) fn advance(&mut self, now: Duration) {
        while let Some(oldest) = self.entries.front()
            && oldest.at.saturating_add(WINDOW) <= now
        {
            self.calls -= oldest.calls;
            self.tokens -= oldest.tokens;
            self.entries.pop_front();
            self.left += 1;
        }
    }

    /// Calls admitted in the window.
    pub(crate) const fn calls(&self) -> u64 {
        self.calls
    }

    /// Tokens charged in the window.
    pub(crate) const fn tokens(&self) -> u128 {
        self.tokens
    }

    /// Admits one call now and returns the number of its entry.
    pub(crate) fn admit(&mut self, now: Duration, tokens: u64) -> u64 {
        let tokens = u128::from(tokens);
        self.calls += 1;
        self.tokens += tokens;
        let crowded =
            self.entries.len() >= EXACT_ENTRIES && now.saturating_sub(self.newest_since) <= GRAIN;
        match self.entries.back_mut() {
            Some(newest) if newest.at == now || crowded => {
                newest.at = now;
                newest.calls += 1;
                newest.tokens += tokens;
            }
            Some(_) | None => {
                self.newest_since = now;
                self.entries.push_back(Entry { at: now, calls: 1, tokens });
            }
        }
        self.left + self.entries.len() as u64 - 1
    }

    /// Corrects a charge in the entry it was made in, if that still counts. Returns whether it did.
    pub(crate) fn correct(&mut self, entry: u64, charged: u64, used: u64) -> bool {
        let place = entry.checked_sub(self.left).and_then(|place| usize::try_from(place).ok());
        let Some(entry) = place.and_then(|place| self.entries.get_mut(place)) else {
            return false;
        };
        for tokens in [&mut entry.tokens, &mut self.tokens] {
            *tokens = tokens.saturating_sub(charged.into()) + u128::from(used);
        }
        true
    }

    /// How long until so many calls have left.
    pub(crate) fn until_calls_leave(&self, now: Duration, calls: u128) -> Option<Duration> {
        self.until(now, calls, |entry| entry.calls.into())
    }

    /// How long until so many tokens have left.
    pub(crate) fn until_tokens_leave(&self, now: Duration, tokens: u128) -> Option<Duration> {
        self.until(now, tokens, |entry| entry.tokens)
    }

    /// `None` if the window does not hold as many.
    fn until(
        &self,
        now: Duration,
        needed: u128,
        amount: impl Fn(&Entry) -> u128,
    ) -> Option<Duration> {
        let mut leaving = 0_u128;
        let last = self.entries.iter().find(|entry| {
            leaving += amount(entry);
            leaving >= needed
        })?;
        Some(last.at.saturating_add(WINDOW).saturating_sub(now))
    }
}

#[cfg(test)]
mod tests;
