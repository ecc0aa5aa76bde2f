//! The plan of a call, fixed when it starts, and the trace of what became of it.

use std::{sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{FailureClass, Fault, SourceReason};

/// A source that the plan may use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlannedSource {
    /// Its name.
    pub name: Arc<str>,
    /// Its provider profile.
    pub provider: Arc<str>,
    /// The model that will be asked for there.
    pub model: Arc<str>,
}

/// A source that the plan leaves out, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exclusion {
    /// Its name.
    pub source_name: Arc<str>,
    /// Why it can't serve this request.
    pub reason: String,
}

/// What a call may do, fixed when it starts: a change of configuration concerns the next call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// The scope.
    pub scope: Arc<str>,
    /// The checksum of the configuration the plan was made from.
    pub config_checksum: Arc<str>,
    /// The sources that may serve, in configured order.
    pub candidates: Vec<PlannedSource>,
    /// The sources that can't, with reasons.
    pub exclusions: Vec<Exclusion>,
    /// Attempts that end in a transient failure, at most.
    pub max_attempts: u32,
    /// Upstream calls at most, whatever happens: see [`Plan::bound`].
    pub upstream_call_bound: u32,
    /// How long the call may take; `None`: no limit of its own.
    pub deadline: Option<Duration>,
}

impl Plan {
    /// This plan without some of its sources.
    #[must_use]
    pub fn without(&self, exclusions: impl IntoIterator<Item = Exclusion>) -> Self {
        let mut plan = self.clone();
        for exclusion in exclusions {
            plan.candidates.retain(|planned| planned.name != exclusion.source_name);
            plan.exclusions.push(exclusion);
        }
        plan.upstream_call_bound = Self::bound(plan.max_attempts, plan.candidates.len());
        plan
    }

    /// The most upstream calls that one call can make.
    ///
    /// A transient failure costs one of `max_attempts`. A dead source costs none, but is left for
    /// the rest of the call, so each source can be dead once, and the call ends with the last of
    /// either: `max_attempts + sources − 1`.
    #[must_use]
    pub fn bound(max_attempts: u32, sources: usize) -> u32 {
        let sources = u32::try_from(sources).unwrap_or(u32::MAX);
        if sources == 0 { 0 } else { max_attempts.max(1).saturating_add(sources - 1) }
    }
}

/// What became of one attempt.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AttemptTrace {
    /// Counted from 0.
    pub attempt: u32,
    /// The id of the attempt.
    pub call_id: Arc<str>,
    /// The source it ran on.
    pub source_name: Arc<str>,
    /// What it failed of; `None`: it succeeded.
    pub fault: Option<Fault>,
    /// The class of the failure; `None`: it succeeded.
    pub class: Option<FailureClass>,
    /// The HTTP status, if an answer had one.
    pub status: Option<u16>,
    /// What the service or the network said; empty for a success.
    pub message: String,
    /// The waiting time the service asked for, in milliseconds.
    pub retry_after_ms: Option<u64>,
    /// Milliseconds of the attempt.
    pub latency_ms: u64,
    /// Milliseconds the call waited before it: backoff, cooldown or quota.
    pub waited_ms: u64,
}

/// A source that was passed over in some round of the call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skip {
    /// Its name.
    pub source_name: Arc<str>,
    /// Why.
    pub reason: SourceReason,
    /// When it may serve again, in milliseconds, as far as can be told.
    pub retry_after_ms: Option<u64>,
    /// Which quota gate refused, if one did.
    pub gate: Option<crate::Gate>,
}

/// What became of a whole call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CallTrace {
    /// The identity of the call; its attempts have ids of their own.
    pub request_id: Arc<str>,
    /// The scope.
    pub scope: Arc<str>,
    /// The checksum of the configuration that the call ran under.
    pub config_checksum: Arc<str>,
    /// The attempts, in order.
    pub attempts: Vec<AttemptTrace>,
    /// Sources passed over, each with the last reason.
    pub skips: Vec<Skip>,
    /// Sources left out by the plan.
    pub exclusions: Vec<Exclusion>,
    /// Milliseconds the call spent waiting, all together.
    pub waited_ms: u64,
}

impl CallTrace {
    /// Notes that a source was passed over; a later reason replaces an earlier one.
    pub fn skip(&mut self, skip: Skip) {
        match self.skips.iter_mut().find(|known| known.source_name == skip.source_name) {
            Some(known) => *known = skip,
            None => self.skips.push(skip),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// GWY-082.
    #[test]
    fn a_plan_without_a_source_says_why() {
        let planned = |name: &str| PlannedSource {
            name: name.into(),
            provider: "generic".into(),
            model: "m".into(),
        };
        let whole = Plan {
            scope: "LLM".into(),
            config_checksum: "c".into(),
            candidates: vec![planned("a"), planned("b")],
            exclusions: Vec::new(),
            max_attempts: 3,
            upstream_call_bound: 4,
            deadline: None,
        };
        assert_eq!(whole.without([]), whole);
        let exclude =
            |name: &str| Exclusion { source_name: name.into(), reason: "too small".into() };
        let narrow = whole.without([exclude("a")]);
        assert_eq!(narrow.candidates, [planned("b")]);
        assert_eq!(narrow.exclusions, [exclude("a")]);
        assert_eq!(narrow.upstream_call_bound, 3);
        assert_eq!(narrow.without([exclude("b")]).upstream_call_bound, 0);
    }

    #[test]
    fn the_bound_counts_dead_sources_apart() {
        assert_eq!(Plan::bound(3, 0), 0);
        assert_eq!(Plan::bound(3, 1), 3);
        assert_eq!(Plan::bound(3, 4), 6);
        assert_eq!(Plan::bound(u32::MAX, 9), u32::MAX);
    }
}
