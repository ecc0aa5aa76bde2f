//! A breaker store that is the reference model, whole or with one fault.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use pgw_contract::{BreakerHarness, BreakerModel, BreakerSpec, ManualClock, breaker};
use pgw_ports::{Breaker, Clock, GateError};
use pgw_types::{BreakerTicket, Entry};

/// What may be wrong with a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// Everybody may probe.
    ManyProbes,
    /// A lost probe blocks for good.
    ProbesStay,
    /// A failure of any epoch counts.
    CountsStale,
    /// The cooldown of a dead source begins anew, even if that shortens it.
    ShortensDeadline,
    /// Giving a probe back is taken for a failure.
    BlamesTheSource,
    /// A source's concurrency is not looked at.
    IgnoresConcurrency,
}

#[derive(Debug)]
struct PlainBreaker {
    clock: Arc<ManualClock>,
    fault: Option<Fault>,
    spec: BreakerSpec,
    state: Mutex<(BreakerModel, Duration, usize)>,
}

impl PlainBreaker {
    fn has(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    fn place(&self, name: &Arc<str>) -> Result<usize, GateError> {
        let place = self.spec.sources.iter().position(|(known, _)| known == name);
        place.ok_or_else(|| GateError::SourceNotConfigured { source_name: name.to_string() })
    }

    fn at_once<T>(&self, act: impl FnOnce(&mut BreakerModel, &mut usize) -> T) -> T {
        let mut state = self.state.lock().unwrap();
        let (model, seen, tickets) = &mut *state;
        model.advance(self.clock.now().saturating_sub(*seen));
        *seen = self.clock.now();
        act(model, tickets)
    }

    /// A verdict on a ticket of this store. The model's place of it is its epoch here.
    fn judge<T>(
        &self,
        ticket: &BreakerTicket,
        act: impl FnOnce(&mut BreakerModel, usize) -> T,
    ) -> Result<T, GateError> {
        self.place(&ticket.source_name)?;
        let place = usize::try_from(ticket.epoch).unwrap();
        Ok(self.at_once(|model, _| act(model, place)))
    }
}

#[async_trait]
impl Breaker for PlainBreaker {
    async fn try_enter(&self, source_name: &Arc<str>) -> Result<Entry, GateError> {
        let source = self.place(source_name)?;
        Ok(self.at_once(|model, tickets| {
            if self.has(Fault::ManyProbes) {
                (0..*tickets).for_each(|ticket| model.release_probe(ticket));
            }
            match model.try_enter(source) {
                Ok(place) => {
                    *tickets = place + 1;
                    Entry::Admitted(BreakerTicket {
                        source_name: Arc::clone(source_name),
                        epoch: place as u64,
                        probe: model.is_probe(place).then_some(place as u64),
                    })
                }
                Err(retry_after) => Entry::Refused { retry_after },
            }
        }))
    }

    async fn record_success(&self, ticket: &BreakerTicket) -> Result<(), GateError> {
        self.judge(ticket, BreakerModel::record_success)
    }

    async fn record_failure(&self, ticket: &BreakerTicket) -> Result<Option<Duration>, GateError> {
        let source = self.place(&ticket.source_name)?;
        self.judge(ticket, |model, place| {
            let fresh =
                if self.has(Fault::CountsStale) { model.try_enter(source).ok() } else { None };
            model.record_failure(fresh.unwrap_or(place))
        })
    }

    async fn force_open(&self, ticket: &BreakerTicket) -> Result<Duration, GateError> {
        let left = self.judge(ticket, BreakerModel::force_open)?;
        Ok(if self.has(Fault::ShortensDeadline) { self.spec.dead_cooldown } else { left })
    }

    async fn release_probe(&self, ticket: &BreakerTicket) -> Result<(), GateError> {
        self.judge(ticket, |model, place| {
            if self.has(Fault::BlamesTheSource) {
                model.record_failure(place);
            }
            model.release_probe(place);
        })
    }

    fn abandon(&self, ticket: &BreakerTicket) {
        self.judge(ticket, BreakerModel::release_probe).unwrap();
    }
}

#[derive(Default)]
struct Plain {
    clock: Arc<ManualClock>,
    fault: Option<Fault>,
}

impl Plain {
    fn with(fault: Fault) -> Self {
        Self { fault: Some(fault), ..Self::default() }
    }
}

#[async_trait]
impl BreakerHarness for Plain {
    async fn fresh(&self, mut spec: BreakerSpec) -> Arc<dyn Breaker> {
        if self.fault == Some(Fault::ProbesStay) {
            spec.probe_lease = Duration::from_hours(1_000_000);
        }
        if self.fault == Some(Fault::IgnoresConcurrency) {
            spec.sources.iter_mut().for_each(|source| source.1 = None);
        }
        Arc::new(PlainBreaker {
            clock: Arc::clone(&self.clock),
            fault: self.fault,
            state: Mutex::new((BreakerModel::new(spec.clone()), self.clock.now(), 0)),
            spec,
        })
    }

    async fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }
}

/// PRT-022, PRT-025: the model itself passes.
mod plain {
    pgw_contract::breaker_suite!(super::Plain::default());
}

#[tokio::test]
#[should_panic(expected = "round 0")]
async fn a_second_probe_is_found_out() {
    breaker::racing_callers_get_exactly_one_probe(&Plain::with(Fault::ManyProbes)).await;
}

#[tokio::test]
#[should_panic(expected = "left == right")]
async fn a_probe_that_stays_is_found_out() {
    breaker::a_lost_probe_lets_another_caller_probe(&Plain::with(Fault::ProbesStay)).await;
}

#[tokio::test]
#[should_panic(expected = "left == right")]
async fn a_stale_verdict_that_counts_is_found_out() {
    breaker::verdicts_of_an_older_epoch_are_void(&Plain::with(Fault::CountsStale)).await;
}

#[tokio::test]
#[should_panic(expected = "what is left is told")]
async fn a_shortened_deadline_is_found_out() {
    breaker::the_later_deadline_wins(&Plain::with(Fault::ShortensDeadline)).await;
}

#[tokio::test]
#[should_panic(expected = "must admit a probe")]
async fn a_verdict_by_a_local_refusal_is_found_out() {
    breaker::a_local_refusal_gives_no_verdict(&Plain::with(Fault::BlamesTheSource)).await;
}

#[tokio::test]
#[should_panic(expected = "left == right")]
async fn a_threshold_that_does_not_follow_is_found_out() {
    let plain = Plain::with(Fault::IgnoresConcurrency);
    breaker::the_threshold_follows_the_concurrency(&plain).await;
}

#[tokio::test]
#[should_panic(expected = "seed ")]
async fn histories_find_many_probes_out() {
    breaker::histories_match_the_model(&Plain::with(Fault::ManyProbes)).await;
}
