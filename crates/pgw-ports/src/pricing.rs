//! The seam of prices.

use std::fmt::Debug;

use pgw_types::Usage;

/// What tokens cost.
pub trait Pricing: Debug + Send + Sync + 'static {
    /// The price of `usage` on `model`, in the table's currency; `None` if it is not known.
    fn cost(&self, model: &str, usage: &Usage) -> Option<f64>;

    /// The price of a million input and a million output tokens together, for comparing sources.
    fn rank(&self, model: &str) -> Option<f64>;
}

const _: fn(&dyn Pricing) = |_| {};
