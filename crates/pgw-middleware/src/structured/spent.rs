//! What the wrong answers before the right one have used.

use pgw_types::{LlmResponse, UsageSource, Warning};

/// Usage and cost of the answers so far.
#[derive(Debug, Default)]
pub(super) struct Spent {
    answers: u32,
    prompt_tokens: u64,
    completion_tokens: u64,
    cached_tokens: Option<u64>,
    reasoning_tokens: Option<u64>,
    /// `None` once the price of any answer is not known: a sum of the rest would pass for the whole.
    cost: Option<f64>,
    estimated: bool,
}

impl Spent {
    /// Counts a wrong answer.
    pub(super) fn take(&mut self, response: &LlmResponse) {
        let first = self.answers == 0;
        self.answers += 1;
        self.prompt_tokens = self.prompt_tokens.saturating_add(response.prompt_tokens);
        self.completion_tokens = self.completion_tokens.saturating_add(response.completion_tokens);
        self.cached_tokens = sum(self.cached_tokens, response.cached_tokens);
        self.reasoning_tokens = sum(self.reasoning_tokens, response.reasoning_tokens);
        self.cost = match (self.cost, response.cost) {
            (None, cost) if first => cost,
            (Some(so_far), Some(cost)) => Some(so_far + cost),
            _ => None,
        };
        self.estimated |= response.usage_source == UsageSource::Estimated;
    }

    /// Adds what was counted to the right answer: its caller pays for all of them.
    pub(super) fn add_to(mut self, response: &mut LlmResponse) {
        if self.answers == 0 {
            return;
        }
        self.take(response);
        response.prompt_tokens = self.prompt_tokens;
        response.completion_tokens = self.completion_tokens;
        response.cached_tokens = self.cached_tokens;
        response.reasoning_tokens = self.reasoning_tokens;
        response.cost = self.cost;
        if self.estimated && response.usage_source == UsageSource::Measured {
            response.usage_source = UsageSource::Estimated;
            response.warnings.push(Warning::UsageEstimated);
        }
    }
}

/// The sum of what was told; what was not told adds nothing.
fn sum(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.saturating_add(b)),
        (one, other) => one.or(other),
    }
}
