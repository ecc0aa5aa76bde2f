//! A limiter store that is the reference model, whole or with one fault.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use pgw_contract::{LimiterHarness, LimiterModel, LimiterSpec, ManualClock, limiter};
use pgw_ports::{Clock, GateError, Limiter};
use pgw_types::{Admission, Lease, SourceLoad};

/// What may be wrong with a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// A refused call counts.
    BurnsOnRefusal,
    /// An unknown source is let in.
    OpenToStrangers,
    /// Minutes are those of the clock on the wall.
    FixedWindow,
    /// A lease lives as long as anybody asks for anything.
    LeasesStay,
    /// A second release frees somebody else's lease.
    ReleasesTwice,
    /// The hint is half of what it should be.
    HintTooSoon,
    /// Refunds are kept.
    NeverRefunds,
    /// A destructor's lease is lost.
    LosesAbandoned,
}

#[derive(Debug)]
struct PlainLimiter {
    clock: Arc<ManualClock>,
    fault: Option<Fault>,
    names: Vec<Arc<str>>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    model: LimiterModel,
    seen: Duration,
    /// Whether each lease was released.
    released: Vec<bool>,
    burnt: u64,
}

impl PlainLimiter {
    fn has(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    fn place(&self, name: &Arc<str>) -> Result<usize, GateError> {
        match self.names.iter().position(|known| known == name) {
            Some(place) => Ok(place),
            None if self.has(Fault::OpenToStrangers) => Ok(0),
            None => Err(GateError::SourceNotConfigured { source_name: name.to_string() }),
        }
    }

    fn at_once<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.state.lock().unwrap();
        let mut now = self.clock.now();
        if self.has(Fault::FixedWindow) {
            now = Duration::from_mins(now.as_secs() / 60);
        }
        let passed = now.saturating_sub(state.seen);
        if self.has(Fault::LeasesStay) {
            for lease in 0..state.released.len() {
                if !state.released[lease] {
                    state.model.renew(lease);
                }
            }
        }
        state.model.advance(passed);
        state.seen = now;
        act(&mut state)
    }

    fn free(&self, lease: &Lease) {
        let place = usize::try_from(lease.id).unwrap();
        self.at_once(|state| {
            let again = std::mem::replace(&mut state.released[place], true);
            if again && self.has(Fault::ReleasesTwice) {
                if let Some(other) = state.released.iter().position(|released| !released) {
                    state.model.release(other);
                }
            } else {
                state.model.release(place);
            }
        });
    }
}

#[async_trait]
impl Limiter for PlainLimiter {
    async fn try_acquire(
        &self,
        source_name: &Arc<str>,
        tokens: u64,
    ) -> Result<Admission, GateError> {
        let source = self.place(source_name)?;
        Ok(self.at_once(|state| match state.model.try_acquire(source, tokens) {
            Ok(place) => {
                state.released.push(false);
                Admission::Granted(Lease {
                    id: place as u64,
                    source_name: Arc::clone(source_name),
                    charged_tokens: tokens,
                })
            }
            Err(mut denial) => {
                state.burnt += u64::from(self.has(Fault::BurnsOnRefusal));
                if self.has(Fault::HintTooSoon) {
                    denial.retry_after = denial.retry_after.map(|wait| wait / 2);
                }
                Admission::Denied(denial)
            }
        }))
    }

    async fn settle(&self, lease: &Lease, used_tokens: u64) -> Result<(), GateError> {
        if !self.has(Fault::NeverRefunds) || used_tokens > lease.charged_tokens {
            let place = usize::try_from(lease.id).unwrap();
            self.at_once(|state| state.model.settle(place, used_tokens));
        }
        Ok(())
    }

    async fn release(&self, lease: &Lease) -> Result<(), GateError> {
        self.free(lease);
        Ok(())
    }

    async fn renew(&self, lease: &Lease) -> Result<(), GateError> {
        let place = usize::try_from(lease.id).unwrap();
        self.at_once(|state| state.model.renew(place));
        Ok(())
    }

    fn abandon(&self, lease: &Lease) {
        if !self.has(Fault::LosesAbandoned) {
            self.free(lease);
        }
    }

    async fn mark_progress(&self) -> Result<(), GateError> {
        self.at_once(|state| state.model.mark_progress());
        Ok(())
    }

    async fn progress_age(&self) -> Result<Option<Duration>, GateError> {
        Ok(self.at_once(|state| state.model.progress_age()))
    }

    async fn source_load(&self, source_name: &Arc<str>) -> Result<SourceLoad, GateError> {
        let source = self.place(source_name)?;
        Ok(self.at_once(|state| {
            let mut load = state.model.load(source);
            load.calls_in_window += state.burnt;
            load
        }))
    }

    // It can't tell when something comes free.
    fn version(&self) -> u64 {
        0
    }

    async fn changed(&self, _since: u64) {
        std::future::pending::<()>().await;
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
impl LimiterHarness for Plain {
    async fn fresh(&self, spec: LimiterSpec) -> Arc<dyn Limiter> {
        Arc::new(PlainLimiter {
            clock: Arc::clone(&self.clock),
            fault: self.fault,
            names: spec.sources.iter().map(|(name, _)| name.clone()).collect(),
            state: Mutex::new(State {
                model: LimiterModel::new(spec),
                seen: self.clock.now(),
                released: Vec::new(),
                burnt: 0,
            }),
        })
    }

    async fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }
}

/// PRT-022, PRT-025: the model itself passes, also as a store that can't tell what comes free.
mod plain {
    pgw_contract::limiter_suite!(super::Plain::default());
}

#[tokio::test]
#[should_panic(expected = "global_concurrency and")]
async fn a_burnt_call_is_found_out() {
    let plain = Plain::with(Fault::BurnsOnRefusal);
    limiter::a_refusal_leaves_no_trace_in_other_gates(&plain).await;
}

#[tokio::test]
#[should_panic(expected = "an unknown source is SourceNotConfigured")]
async fn an_open_gate_is_found_out() {
    limiter::an_unknown_source_is_refused(&Plain::with(Fault::OpenToStrangers)).await;
}

#[tokio::test]
#[should_panic(expected = "of 90 calls")]
async fn a_fixed_window_is_found_out() {
    let plain = Plain::with(Fault::FixedWindow);
    limiter::calls_and_tokens_stay_within_every_rolling_minute(&plain).await;
}

#[tokio::test]
#[should_panic(expected = "in_flight")]
async fn a_lease_that_stays_is_found_out() {
    limiter::histories_match_the_model(&Plain::with(Fault::LeasesStay)).await;
}

#[tokio::test]
#[should_panic(expected = "left == right")]
async fn a_second_release_is_found_out() {
    limiter::settle_and_release_are_idempotent(&Plain::with(Fault::ReleasesTwice)).await;
}

#[tokio::test]
#[should_panic(expected = "left == right")]
async fn a_wrong_hint_is_found_out() {
    limiter::the_hint_of_a_window_is_exact(&Plain::with(Fault::HintTooSoon)).await;
}

#[tokio::test]
#[should_panic(expected = "left == right")]
async fn a_kept_refund_is_found_out() {
    limiter::settling_corrects_the_charge_in_its_window(&Plain::with(Fault::NeverRefunds)).await;
}

#[tokio::test]
#[should_panic(expected = "left == right")]
async fn a_lost_lease_is_found_out() {
    let plain = Plain::with(Fault::LosesAbandoned);
    limiter::abandoning_a_thousand_leases_leaves_nothing(&plain).await;
}

/// Faults also show in random histories, cut down to a few steps.
#[test]
fn histories_find_faults_out_in_few_steps() {
    for fault in [Fault::LeasesStay, Fault::HintTooSoon, Fault::NeverRefunds] {
        // A thread of its own, whose panic is the report.
        let found = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(limiter::histories_match_the_model(&Plain::with(fault)));
        });
        let report = found.join().unwrap_err().downcast::<String>().unwrap();
        assert!(report.starts_with("seed "), "{report}");
        let steps = report.lines().count() - 2;
        assert!(steps <= 6, "{fault:?} takes few steps: {report}");
    }
}
