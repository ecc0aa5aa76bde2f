//! The contract of the limiter, case by case.
//!
//! Every case makes instances of its own. Requirement numbers stand with each; D numbers are faults
//! of public projects that the case guards against.

mod cases;
pub(crate) mod history;
pub(crate) mod model;
mod windows;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use pgw_ports::Limiter;
use pgw_types::Limits;

pub use cases::*;
pub use history::{histories_match_the_model, replay_seed};
pub use windows::*;

/// What a limiter is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimiterSpec {
    /// Limits over all sources.
    pub scope: Limits,
    /// The sources, with limits of their own.
    pub sources: Vec<(Arc<str>, Limits)>,
    /// How long a lease lives without renewal.
    pub lease_ttl: Duration,
}

/// What the suite must know about a store to test it.
#[async_trait]
pub trait LimiterHarness: Send + Sync {
    /// A limiter that shares nothing with earlier ones.
    async fn fresh(&self, spec: LimiterSpec) -> Arc<dyn Limiter>;

    /// Lets time pass for all limiters of this harness. Whole milliseconds.
    async fn advance(&self, by: Duration);
}

/// The source that most cases use.
const SOURCE: &str = "one";

/// Another one.
const OTHER: &str = "two";

/// Two sources without limits, and leases of ten minutes.
fn open() -> LimiterSpec {
    LimiterSpec {
        scope: Limits::default(),
        sources: vec![(SOURCE.into(), Limits::default()), (OTHER.into(), Limits::default())],
        lease_ttl: Duration::from_mins(10),
    }
}

/// [`open`] with limits over all.
fn scope(limits: Limits) -> LimiterSpec {
    LimiterSpec { scope: limits, ..open() }
}

/// [`open`] with limits for the first source.
fn source(limits: Limits) -> LimiterSpec {
    let mut spec = open();
    spec.sources[0].1 = limits;
    spec
}

const fn concurrency(max: u32) -> Limits {
    Limits { max_concurrency: Some(max), rpm: None, tpm: None }
}

const fn rpm(max: u32) -> Limits {
    Limits { max_concurrency: None, rpm: Some(max), tpm: None }
}

const fn tpm(max: u64) -> Limits {
    Limits { max_concurrency: None, rpm: None, tpm: Some(max) }
}

/// A limiter under test. Its operations fail the case where a store must not fail.
struct Subject(Arc<dyn Limiter>);

impl Subject {
    async fn new(harness: &dyn LimiterHarness, spec: LimiterSpec) -> Self {
        Self(harness.fresh(spec).await)
    }

    async fn ask(&self, source: &str, tokens: u64) -> pgw_types::Admission {
        match self.0.try_acquire(&source.into(), tokens).await {
            Ok(admission) => admission,
            Err(error) => panic!("the store failed to acquire: {error}"),
        }
    }

    /// Must be let in.
    async fn enter(&self, source: &str, tokens: u64) -> pgw_types::Lease {
        match self.ask(source, tokens).await {
            pgw_types::Admission::Granted(lease) => lease,
            pgw_types::Admission::Denied(denial) => {
                panic!("{source} must admit {tokens} tokens: {denial:?}")
            }
        }
    }

    /// Must be refused.
    async fn denied(&self, source: &str, tokens: u64) -> pgw_types::Denial {
        match self.ask(source, tokens).await {
            pgw_types::Admission::Denied(denial) => denial,
            pgw_types::Admission::Granted(lease) => {
                panic!("{source} must refuse {tokens} tokens: {lease:?}")
            }
        }
    }

    async fn release(&self, lease: &pgw_types::Lease) {
        sound("release", self.0.release(lease).await);
    }

    async fn settle(&self, lease: &pgw_types::Lease, used: u64) {
        sound("settle", self.0.settle(lease, used).await);
    }

    async fn renew(&self, lease: &pgw_types::Lease) {
        sound("renew", self.0.renew(lease).await);
    }

    async fn load(&self, source: &str) -> pgw_types::SourceLoad {
        sound("source_load", self.0.source_load(&source.into()).await)
    }
}

fn sound<T>(operation: &str, answer: Result<T, pgw_ports::GateError>) -> T {
    match answer {
        Ok(answer) => answer,
        Err(error) => panic!("the store failed to {operation}: {error}"),
    }
}
