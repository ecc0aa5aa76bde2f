//! The seam of choosing a source.

use std::{fmt::Debug, sync::Arc};

use pgw_types::SourceLoad;

/// A source that could serve the next attempt.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Its name.
    pub name: Arc<str>,
    /// Tier: lower first.
    pub tier: u32,
    /// Weight.
    pub weight: u32,
    /// Price of a million input and a million output tokens together; `None` if unknown.
    pub price: Option<f64>,
    /// How busy it is; only filled in for selectors that ask for it.
    pub load: SourceLoad,
    /// Attempts of this call that failed there already.
    pub failures: u32,
}

/// What a selector may look at.
#[derive(Clone, Copy, Debug)]
pub struct Selection<'a> {
    /// The identity of the call.
    pub request_id: &'a str,
    /// The sources that are not cooling, in configured order; never empty.
    pub candidates: &'a [Candidate],
}

/// Orders the sources for one attempt. Quick and without waiting.
pub trait SourceSelector: Debug + Send + Sync + 'static {
    /// The name under which it is configured.
    fn name(&self) -> &str;

    /// Whether [`Candidate::load`] must be filled in; costs a look at the limiter per candidate.
    fn needs_load(&self) -> bool;

    /// Indexes into the candidates, best first. A source that is left out is not tried; an index
    /// that does not exist or comes twice is ignored.
    fn order(&self, selection: &Selection<'_>) -> Vec<usize>;
}

const _: fn(&dyn SourceSelector) = |_| {};
