//! The contract of the breaker, case by case.
//!
//! Every case makes instances of its own. Requirement numbers stand with each; D numbers are faults
//! of public projects that the case guards against.

mod cases;
mod epochs;
pub(crate) mod history;
pub(crate) mod model;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use pgw_ports::{Breaker, GateError};
use pgw_types::{BreakerTicket, Entry};

pub use cases::*;
pub use epochs::*;
pub use history::{histories_match_the_model, replay_seed};

/// What a breaker is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BreakerSpec {
    /// Consecutive failures that open it, before a source's concurrency is looked at
    /// ([`pgw_types::effective_threshold`]).
    pub threshold: u32,
    /// How long it is open after failures.
    pub cooldown: Duration,
    /// How long it is open for a dead source.
    pub dead_cooldown: Duration,
    /// How long a probe may take until another caller may probe.
    pub probe_lease: Duration,
    /// The sources, with their limits of calls in flight.
    pub sources: Vec<(Arc<str>, Option<u32>)>,
}

/// What the suite must know about a store to test it.
#[async_trait]
pub trait BreakerHarness: Send + Sync {
    /// A breaker that shares nothing with earlier ones.
    async fn fresh(&self, spec: BreakerSpec) -> Arc<dyn Breaker>;

    /// Lets time pass for all breakers of this harness. Whole milliseconds.
    async fn advance(&self, by: Duration);
}

/// The source that most cases use.
const SOURCE: &str = "one";

/// Another one.
const OTHER: &str = "two";

const MILLI: Duration = Duration::from_millis(1);
const COOLDOWN: Duration = Duration::from_secs(30);
const DEAD_COOLDOWN: Duration = Duration::from_mins(10);
const PROBE_LEASE: Duration = Duration::from_secs(20);
const THRESHOLD: u32 = 3;

/// Two sources of unlimited concurrency, a threshold of three.
fn spec() -> BreakerSpec {
    BreakerSpec {
        threshold: THRESHOLD,
        cooldown: COOLDOWN,
        dead_cooldown: DEAD_COOLDOWN,
        probe_lease: PROBE_LEASE,
        sources: vec![(SOURCE.into(), None), (OTHER.into(), None)],
    }
}

/// A breaker under test. Its operations fail the case where a store must not fail.
struct Subject(Arc<dyn Breaker>);

impl Subject {
    async fn new(harness: &dyn BreakerHarness) -> Self {
        Self(harness.fresh(spec()).await)
    }

    /// One whose first source is open, since just now.
    async fn opened(harness: &dyn BreakerHarness) -> Self {
        let subject = Self::new(harness).await;
        subject.open(SOURCE).await;
        subject
    }

    /// One whose first source is half-open, with its probe still to be had.
    async fn half_open(harness: &dyn BreakerHarness) -> Self {
        let subject = Self::opened(harness).await;
        harness.advance(COOLDOWN).await;
        subject
    }

    /// Must be let in while closed.
    async fn enter(&self, source: &str) -> BreakerTicket {
        match self.ask(source).await {
            Entry::Admitted(ticket) if ticket.probe.is_none() => ticket,
            other => panic!("{source} is closed and must admit: {other:?}"),
        }
    }

    /// Must be let in as the probe.
    async fn probe(&self, source: &str) -> BreakerTicket {
        match self.ask(source).await {
            Entry::Admitted(ticket) if ticket.probe.is_some() => ticket,
            other => panic!("{source} is half-open and must admit a probe: {other:?}"),
        }
    }

    /// Must be refused. Returns the time to wait.
    async fn refused(&self, source: &str) -> Duration {
        match self.ask(source).await {
            Entry::Refused { retry_after } => retry_after,
            other @ Entry::Admitted(_) => panic!("{source} must refuse: {other:?}"),
        }
    }

    async fn ask(&self, source: &str) -> Entry {
        sound("try_enter", self.0.try_enter(&source.into()).await)
    }

    /// Opens a closed breaker by failures.
    async fn open(&self, source: &str) {
        let mut cooldown = None;
        for _ in 0..THRESHOLD {
            let ticket = self.enter(source).await;
            assert_eq!(cooldown, None, "opened too early");
            cooldown = self.fail(&ticket).await;
        }
        assert_eq!(cooldown, Some(COOLDOWN));
    }

    async fn succeed(&self, ticket: &BreakerTicket) {
        sound("record_success", self.0.record_success(ticket).await);
    }

    async fn fail(&self, ticket: &BreakerTicket) -> Option<Duration> {
        sound("record_failure", self.0.record_failure(ticket).await)
    }

    async fn dead(&self, ticket: &BreakerTicket) -> Duration {
        sound("force_open", self.0.force_open(ticket).await)
    }

    async fn give_back(&self, ticket: &BreakerTicket) {
        sound("release_probe", self.0.release_probe(ticket).await);
    }

    /// Gives the probe back as a destructor does, and waits for another one: a store over the
    /// network does it in the background.
    async fn abandon_for_another(&self, ticket: &BreakerTicket) -> BreakerTicket {
        self.0.abandon(ticket);
        for _ in 0..1_000 {
            if let Entry::Admitted(ticket) = self.ask(SOURCE).await {
                return ticket;
            }
            tokio::task::yield_now().await;
        }
        panic!("an abandoned probe must come free")
    }
}

fn sound<T>(operation: &str, answer: Result<T, GateError>) -> T {
    match answer {
        Ok(answer) => answer,
        Err(error) => panic!("the store failed to {operation}: {error}"),
    }
}
