//! The stream watchdog: is the model still at work?
//!
//! Three limits: to the first token, between tokens, for the whole answer; and the call's own
//! deadline. Only content, thinking and tool calls are life. Comments and keep-alives are not: a
//! relay that only keeps the socket warm is stalled (BerriAI/litellm PR #29767).
//!
//! The timer is lazy: a token only moves a number. When the timer rings too early it is set anew,
//! so a chunk costs a clock reading and no timer operation.

use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use pgw_ports::Clock;
use pgw_types::{CallError, Fault, Liveness, Timeouts};
use tokio::time::{Instant, Sleep};

/// Watches one attempt.
#[derive(Debug)]
pub(crate) struct Watchdog {
    clock: Arc<dyn Clock>,
    limits: Timeouts,
    started: Duration,
    deadline: Option<Duration>,
    /// Whether tokens are to be seen; a plain answer only has its total limit.
    tokens: bool,
    first_life: Option<Duration>,
    last_life: Duration,
    longest_gap: Duration,
    /// Made when the answer first keeps us waiting: an answer that is there needs no timer.
    timer: Option<Pin<Box<Sleep>>>,
    timer_at: Duration,
}

impl Watchdog {
    pub(crate) fn new(
        clock: Arc<dyn Clock>,
        limits: Timeouts,
        started: Duration,
        deadline: Option<Duration>,
        tokens: bool,
    ) -> Self {
        Self {
            clock,
            limits,
            started,
            deadline,
            tokens,
            first_life: None,
            last_life: started,
            longest_gap: Duration::ZERO,
            timer: None,
            timer_at: Duration::MAX,
        }
    }

    /// A token came.
    pub(crate) fn saw_life(&mut self, now: Duration) {
        match self.first_life {
            None => self.first_life = Some(now),
            Some(_) => {
                self.longest_gap = self.longest_gap.max(now.saturating_sub(self.last_life));
            }
        }
        self.last_life = now;
    }

    /// Takes a time out of the silence in which nobody asked for the next token: a slow reader is
    /// not a silent source.
    pub(crate) fn forgive(&mut self, held: Duration) {
        self.last_life = self.last_life.saturating_add(held);
    }

    /// Milliseconds to the first token; `None` if none came or none was to be seen.
    pub(crate) fn ttft_ms(&self) -> Option<f64> {
        let first = self.first_life.filter(|_| self.tokens)?;
        Some(first.saturating_sub(self.started).as_secs_f64() * 1_000.0)
    }

    /// Milliseconds of the longest silence between two tokens.
    pub(crate) fn longest_gap_ms(&self) -> Option<f64> {
        self.first_life.filter(|_| self.tokens).map(|_| self.longest_gap.as_secs_f64() * 1_000.0)
    }

    /// Ready with the error once a limit has passed.
    pub(crate) fn poll_expired(&mut self, cx: &mut Context<'_>) -> Poll<CallError> {
        loop {
            let (due, limit) = self.due();
            let now = self.clock.now();
            if now >= due {
                return Poll::Ready(self.error(limit));
            }
            if due < self.timer_at {
                self.set_timer(due, now);
            }
            match self.timer.as_mut().map(|timer| timer.as_mut().poll(cx)) {
                Some(Poll::Pending) => return Poll::Pending,
                // It rang for a limit that has moved since.
                Some(Poll::Ready(())) | None => self.set_timer(due, now),
            }
        }
    }

    /// The error of an answer that is too long although it never keeps us waiting: the timer is
    /// only looked at when it does.
    pub(crate) fn overrun(&self, now: Duration) -> Option<CallError> {
        if self.deadline.is_some_and(|deadline| now >= deadline) {
            return Some(self.error(None));
        }
        let too_long = now >= self.started.saturating_add(self.limits.total);
        too_long.then(|| self.error(Some(Liveness::Total)))
    }

    /// The limit that passes next; `None` stands for the call's own deadline.
    fn due(&self) -> (Duration, Option<Liveness>) {
        let mut next = (self.started.saturating_add(self.limits.total), Some(Liveness::Total));
        let mut consider = |at: Duration, limit| {
            if at < next.0 {
                next = (at, limit);
            }
        };
        if self.tokens {
            match self.first_life {
                None => {
                    consider(self.started.saturating_add(self.limits.ttft), Some(Liveness::Ttft));
                }
                Some(_) => consider(
                    self.last_life.saturating_add(self.limits.inter_token),
                    Some(Liveness::InterToken),
                ),
            }
        }
        if let Some(deadline) = self.deadline {
            consider(deadline, None);
        }
        next
    }

    fn error(&self, limit: Option<Liveness>) -> CallError {
        match limit {
            Some(Liveness::Ttft) => CallError::liveness_timeout(Liveness::Ttft, self.limits.ttft),
            Some(Liveness::InterToken) => {
                CallError::liveness_timeout(Liveness::InterToken, self.limits.inter_token)
            }
            Some(Liveness::Total) => {
                CallError::liveness_timeout(Liveness::Total, self.limits.total)
            }
            None => CallError::new(Fault::Deadline, "the call's deadline passed"),
        }
    }

    fn set_timer(&mut self, due: Duration, now: Duration) {
        self.timer_at = due;
        // Instant arithmetic may overflow for limits of centuries; such a timer need not ring.
        let at = Instant::now()
            .checked_add(due.saturating_sub(now))
            .unwrap_or_else(|| Instant::now() + Duration::from_hours(24 * 365));
        match &mut self.timer {
            Some(timer) => timer.as_mut().reset(at),
            None => self.timer = Some(Box::pin(tokio::time::sleep_until(at))),
        }
    }
}

#[cfg(test)]
mod tests;
