//! Admission: which source lets the next attempt in, and what to do when none does.

use std::{sync::Arc, time::Duration};

use pgw_ports::{Candidate, GateError, Operation, Selection};
use pgw_types::{
    Admission, CallError, Entry, Fault, NotConfigured, PgwError, ScopeReason, Skip, SourceLoad,
    SourceReason, Unavailable,
};

use super::{
    Core, Progress,
    patience::{Blocker, full},
};
use crate::{
    backoff::backoff_delay,
    cooling::Cause,
    guards::{Pass, Permit},
    ledger::millis,
    line::OnFull,
};

/// The way is free.
pub(super) struct Admitted {
    pub(super) source: usize,
    pub(super) pass: Pass,
    pub(super) permit: Permit,
    pub(super) waited: Duration,
}

/// What came of asking each source once.
enum Round {
    Admitted { source: usize, pass: Pass, permit: Permit },
    Blocked(Vec<Blocker>),
}

impl<O: Operation> Core<O> {
    /// Finds a source that lets the call in, waiting if the policy says so.
    pub(super) async fn admit(&self, progress: &mut Progress<O>) -> Result<Admitted, PgwError> {
        let began = self.clock.now();
        loop {
            if let Some(deadline) = progress.cx.deadline
                && self.clock.now() >= deadline
            {
                return Err(CallError::new(Fault::Deadline, "the call's deadline passed").into());
            }
            if progress.usable().next().is_none() {
                // Nor would standing in line change that.
                self.check_hopeless(progress, &[])?;
            }
            // A newcomer that may wait must not overtake those who do.
            let may_try = self.wait.on_full == OnFull::FailFast || progress.line.is_empty();
            if may_try {
                match self.round(progress).await? {
                    Round::Admitted { source, pass, permit } => {
                        let waited = self.clock.now().saturating_sub(began);
                        return Ok(Admitted { source, pass, permit, waited });
                    }
                    Round::Blocked(blockers) => {
                        self.check_hopeless(progress, &blockers)?;
                        if let Some(wait) = self.hint_wait(progress, &blockers) {
                            // Others may have made it cool again, and again.
                            self.check_longest_wait(progress, began, &blockers)?;
                            // This call has been told when to come back. Waiting for that is part
                            // of its retry, whatever the policy for full gates is; the jitter
                            // keeps all who were told the same from coming at once.
                            let spread = backoff_delay(&self.retry, 0, self.jitter.unit());
                            self.pause(progress, wait.saturating_add(spread / 2)).await?;
                            continue;
                        }
                        if self.wait.on_full == OnFull::FailFast {
                            return Err(self.refusal(progress, &blockers, None).into());
                        }
                    }
                }
            }
            return Box::pin(self.stand_in_line(progress, began)).await;
        }
    }

    /// Asks each usable source once, in the selector's order.
    async fn round(&self, progress: &mut Progress<O>) -> Result<Round, PgwError> {
        let now = self.clock.now();
        let mut blockers = Vec::new();
        let mut open = Vec::with_capacity(self.sources.len());
        for index in progress.usable() {
            match self.cooling.until(index, now) {
                None => open.push(index),
                Some((until, cause)) => {
                    let (blocker, reason) = match cause {
                        Cause::Hint => (Blocker::Hint { until }, SourceReason::Cooldown),
                        Cause::Open => (Blocker::Open { until }, SourceReason::CircuitOpen),
                    };
                    blockers.push((index, blocker, reason));
                }
            }
        }
        for &(index, blocker, reason) in &blockers {
            self.note_skip(progress, index, &blocker, reason);
        }
        let mut blockers: Vec<_> = blockers.into_iter().map(|(_, blocker, _)| blocker).collect();
        for index in self.ordered(progress, open).await? {
            match self.ask(progress, index).await? {
                Ok((pass, permit)) => {
                    return Ok(Round::Admitted { source: index, pass, permit });
                }
                Err(blocker) => {
                    let reason = match blocker {
                        Blocker::Full(_) => SourceReason::RateLimited,
                        Blocker::Open { .. } => SourceReason::CircuitOpen,
                        Blocker::Hint { .. } => SourceReason::Cooldown,
                    };
                    self.note_skip(progress, index, &blocker, reason);
                    blockers.push(blocker);
                }
            }
        }
        Ok(Round::Blocked(blockers))
    }

    /// Breaker gate first, so that an open source takes no quota; then the permit.
    async fn ask(
        &self,
        progress: &Progress<O>,
        index: usize,
    ) -> Result<Result<(Pass, Permit), Blocker>, PgwError> {
        let source = &self.sources[index];
        let entry = self.breaker.try_enter(&source.name).await;
        let pass = match entry.map_err(|error| self.gate_error("breaker", "try_enter", error))? {
            Entry::Admitted(ticket) => Pass::new(Arc::clone(&self.breaker), ticket),
            Entry::Refused { retry_after } => {
                let now = self.clock.now();
                let until = now.saturating_add(retry_after);
                self.cooling.cool(index, now, until, Cause::Open);
                return Ok(Err(Blocker::Open { until }));
            }
        };
        let tokens = O::estimate_tokens(&progress.request, &source.config);
        // If the limiter refuses or fails, the pass goes back without a verdict on its drop.
        let admission = self.limiter.try_acquire(&source.name, tokens).await;
        match admission.map_err(|error| self.gate_error("limiter", "try_acquire", error))? {
            Admission::Granted(lease) => {
                Ok(Ok((pass, Permit::new(Arc::clone(&self.limiter), lease))))
            }
            Admission::Denied(denial) => Ok(Err(Blocker::Full(denial))),
        }
    }

    /// The open sources, best first; those that failed in this call come last.
    async fn ordered(
        &self,
        progress: &Progress<O>,
        open: Vec<usize>,
    ) -> Result<Vec<usize>, PgwError> {
        if open.len() < 2 {
            return Ok(open);
        }
        let mut candidates = Vec::with_capacity(open.len());
        for &index in &open {
            let source = &self.sources[index];
            let load = if self.selector.needs_load() {
                let load = self.limiter.source_load(&source.name).await;
                load.map_err(|error| self.gate_error("limiter", "source_load", error))?
            } else {
                SourceLoad::default()
            };
            candidates.push(Candidate {
                name: Arc::clone(&source.name),
                tier: source.config.tier,
                weight: source.config.weight,
                price: self.ledger.rank(O::model(&progress.request, &source.config)),
                load,
                failures: progress.standing[index].failures,
            });
        }
        let selection = Selection { request_id: &progress.cx.request_id, candidates: &candidates };
        let mut order: Vec<usize> = Vec::with_capacity(open.len());
        for place in self.selector.order(&selection) {
            if let Some(&index) = open.get(place)
                && !order.contains(&index)
            {
                order.push(index);
            }
        }
        order.sort_by_key(|&index| progress.standing[index].failures);
        Ok(order)
    }

    /// Waits for its turn, then asks until it is let in or has waited enough.
    async fn stand_in_line(
        &self,
        progress: &mut Progress<O>,
        began: Duration,
    ) -> Result<Admitted, PgwError> {
        let Some(place) = progress.line.join() else {
            let error = progress
                .unavailable(self, ScopeReason::QuotaExhausted, self.wait.poll_interval)
                .with_message(format!("{} calls stand in line already", self.wait.max_queue));
            return Err(error.into());
        };
        let mut head = std::pin::pin!(place.head());
        let _turn = loop {
            tokio::select! {
                biased;
                turn = &mut head => break turn,
                () = tokio::time::sleep(self.patience(progress, began)) => {
                    self.check_patience(progress, began, &[]).await?;
                }
            }
        };
        loop {
            // Taken before asking: a release in between is not missed.
            let version = self.limiter.version();
            let blockers = match self.round(progress).await? {
                Round::Admitted { source, pass, permit } => {
                    let waited = self.clock.now().saturating_sub(began);
                    return Ok(Admitted { source, pass, permit, waited });
                }
                Round::Blocked(blockers) => blockers,
            };
            progress.line.note_blocked(full(&blockers));
            self.check_hopeless(progress, &blockers)?;
            self.check_patience(progress, began, &blockers).await?;
            let nap = self.nap(&blockers).min(self.patience(progress, began));
            tokio::select! {
                () = self.limiter.changed(version) => {}
                () = tokio::time::sleep(nap) => {}
            }
        }
    }

    fn note_skip(
        &self,
        progress: &mut Progress<O>,
        index: usize,
        blocker: &Blocker,
        reason: SourceReason,
    ) {
        let name = &self.sources[index].name;
        // What an attempt of this call died of says more than that the source cools because of it.
        progress.reasons.entry(Arc::clone(name)).or_insert(reason);
        let skip = Skip {
            source_name: Arc::clone(name),
            reason,
            retry_after_ms: self.remaining(blocker).map(millis),
            gate: match blocker {
                Blocker::Full(denial) => Some(denial.gate),
                Blocker::Hint { .. } | Blocker::Open { .. } => None,
            },
        };
        progress.cx.note(|trace| trace.skip(skip));
    }

    /// The one way by which a store's failure enters the call: with the scope it can't know.
    pub(super) fn gate_error(&self, gate: &str, operation: &str, error: GateError) -> PgwError {
        match error {
            GateError::Backend { message, cause } => {
                let text = format!("{gate} {operation} failed: {message}");
                let unavailable = Unavailable::governance_backend(text, Arc::clone(&self.scope));
                match cause {
                    Some(cause) => unavailable.with_cause(Shared(cause)).into(),
                    None => unavailable.into(),
                }
            }
            GateError::SourceNotConfigured { source_name } => {
                NotConfigured { scope: self.scope.to_string(), source_name, gate: gate.to_owned() }
                    .into()
            }
        }
    }
}

/// A cause that several errors share.
#[derive(Debug)]
struct Shared(Arc<dyn std::error::Error + Send + Sync>);

impl std::fmt::Display for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Shared {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source()
    }
}
