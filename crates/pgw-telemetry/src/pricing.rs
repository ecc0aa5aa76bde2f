//! What tokens cost: a dated table of list prices, which the deployment's own entries override.

use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, PoisonError},
};

use pgw_ports::Pricing;
use pgw_types::Usage;
use serde::Deserialize;

const BUILT_IN: &str = include_str!("prices.json");

const CURRENCY: &str = "USD";

/// How many unknown models are warned of before the table falls silent: their names come from
/// callers, and the memory of them must not grow without end.
const MOST_WARNINGS: usize = 1_000;

/// The price of one model, US dollars per million tokens.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelPrice {
    /// Tokens of the prompt.
    pub input: f64,
    /// Tokens of the answer.
    pub output: f64,
    /// Tokens of the prompt that came from the provider's cache; if not given, as `input`.
    #[serde(default)]
    pub cached_input: Option<f64>,
    /// Tokens of the answer that were spent on reasoning; if not given, as `output`.
    #[serde(default)]
    pub reasoning: Option<f64>,
    /// Where the figures were read.
    #[serde(default)]
    pub source: String,
    /// When they were read, `YYYY-MM-DD`.
    #[serde(default)]
    pub date: String,
}

/// Why a price table was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PriceError {
    /// The text is not a price table. The path names the model and the field.
    #[error("the price table is wrong at {path}: {reason}")]
    Malformed {
        /// Where, such as `models.gpt-4o.input`.
        path: String,
        /// What is wrong.
        reason: String,
    },
    /// A price is negative or not a number.
    #[error("the price table is wrong at models.{model}.{field}: {value} is no price")]
    NoPrice {
        /// The model.
        model: String,
        /// Its field.
        field: &'static str,
        /// What stands there.
        value: String,
    },
    /// The prices are not in US dollars, which everything else adds them up as.
    #[error("the price table is in {0}, not in USD")]
    Currency(String),
}

/// Prices by model.
///
/// # Look-up
/// First that wins: the name as it is; the name without a date at its end (`-2024-08-06` or
/// `-20240806`); the name without everything up to its last `/` (a relay's prefix); that without a
/// date. So an entry `relay/model` of the deployment comes before one for `model`, and an entry for
/// a dated model before one for the model as such.
///
/// # Arithmetic
/// Cached tokens are part of the prompt tokens, reasoning tokens part of the completion tokens:
/// each token is priced once. Prices are `f64` and nothing is rounded; whoever shows them rounds.
/// A sum over a million calls is exact to far below a cent.
#[derive(Debug, Default)]
pub struct PriceTable {
    prices: HashMap<String, ModelPrice>,
    warned: Mutex<HashSet<String>>,
}

impl PriceTable {
    /// The table that comes with this crate: list prices of well-known models, each with its
    /// source and date in `prices.json`. They may be stale.
    ///
    /// # Errors
    /// None as released; the file is checked like any other.
    pub fn built_in() -> Result<Self, PriceError> {
        Self::from_json(BUILT_IN)
    }

    /// Reads a table: `{"models": {"NAME": {"input": 2.5, "output": 10}, …}}`, prices in US dollars
    /// per million tokens; the other fields of [`ModelPrice`] are optional, and so are `note`,
    /// `origin` and `currency` beside `models`.
    ///
    /// # Errors
    /// If the text is not such a table, a field is unknown, or a price is none; the model and the
    /// field are named.
    pub fn from_json(text: &str) -> Result<Self, PriceError> {
        let mut json = serde_json::Deserializer::from_str(text);
        let file: File =
            serde_path_to_error::deserialize(&mut json).map_err(|error| PriceError::Malformed {
                path: error.path().to_string(),
                reason: error.inner().to_string(),
            })?;
        json.end().map_err(|error| PriceError::Malformed {
            path: ".".to_owned(),
            reason: error.to_string(),
        })?;
        match file.currency {
            Some(currency) if currency != CURRENCY => Err(PriceError::Currency(currency)),
            _ => Self::from_prices(file.models),
        }
    }

    /// A table of these prices.
    ///
    /// # Errors
    /// If a price is negative or not a number.
    pub fn from_prices(
        prices: impl IntoIterator<Item = (String, ModelPrice)>,
    ) -> Result<Self, PriceError> {
        let prices: HashMap<_, _> = prices.into_iter().collect();
        for (model, price) in &prices {
            check(model, price)?;
        }
        Ok(Self { prices, warned: Mutex::default() })
    }

    /// The same table with the entries of `overrides` in place of its own.
    #[must_use]
    pub fn with_overrides(mut self, overrides: Self) -> Self {
        self.prices.extend(overrides.prices);
        self
    }

    /// The price of a model, as the look-up finds it.
    #[must_use]
    pub fn price(&self, model: &str) -> Option<&ModelPrice> {
        let bare = model.rsplit_once('/').map_or(model, |(_, bare)| bare);
        [Some(model), without_date(model), Some(bare), without_date(bare)]
            .into_iter()
            .flatten()
            .find_map(|name| self.prices.get(name))
    }

    fn warn_once(&self, model: &str) {
        let mut warned = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
        if warned.len() >= MOST_WARNINGS || warned.contains(model) {
            return;
        }
        warned.insert(model.to_owned());
        let silent = warned.len() == MOST_WARNINGS;
        drop(warned);
        tracing::warn!(
            model,
            "no price is known for this model; its calls are recorded without a cost"
        );
        if silent {
            tracing::warn!("no more models without a price are reported");
        }
    }
}

impl Pricing for PriceTable {
    fn cost(&self, model: &str, usage: &Usage) -> Option<f64> {
        let Some(price) = self.price(model) else {
            self.warn_once(model);
            return None;
        };
        let cached = usage.cached_tokens.unwrap_or(0).min(usage.prompt_tokens);
        let reasoning = usage.reasoning_tokens.unwrap_or(0).min(usage.completion_tokens);
        let parts = [
            (usage.prompt_tokens - cached, price.input),
            (cached, price.cached_input.unwrap_or(price.input)),
            (usage.completion_tokens - reasoning, price.output),
            (reasoning, price.reasoning.unwrap_or(price.output)),
        ];
        let per_million: f64 = parts.iter().map(|(count, rate)| tokens(*count) * rate).sum();
        Some(per_million / 1e6)
    }

    /// Without a warning for an unknown model: ranking happens before every call, and the call's
    /// cost warns.
    fn rank(&self, model: &str) -> Option<f64> {
        self.price(model).map(|price| price.input + price.output)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default, rename = "note")]
    _note: Option<String>,
    #[serde(default, rename = "origin")]
    _origin: Option<String>,
    #[serde(default)]
    currency: Option<String>,
    models: HashMap<String, ModelPrice>,
}

fn check(model: &str, price: &ModelPrice) -> Result<(), PriceError> {
    let fields = [
        ("input", Some(price.input)),
        ("output", Some(price.output)),
        ("cached_input", price.cached_input),
        ("reasoning", price.reasoning),
    ];
    for (field, value) in fields {
        if let Some(value) = value
            && !(value.is_finite() && value >= 0.0)
        {
            return Err(PriceError::NoPrice {
                model: model.to_owned(),
                field,
                value: value.to_string(),
            });
        }
    }
    Ok(())
}

/// The name without the date at its end, if there is one.
fn without_date(name: &str) -> Option<&str> {
    ["-dddd-dd-dd", "-dddddddd"].iter().find_map(|pattern| {
        let (name, end) = name.split_at_checked(name.len().checked_sub(pattern.len())?)?;
        let fits = end.bytes().zip(pattern.bytes()).all(|(byte, form)| match form {
            b'd' => byte.is_ascii_digit(),
            form => byte == form,
        });
        (fits && !name.is_empty()).then_some(name)
    })
}

#[expect(clippy::cast_precision_loss, reason = "exact up to 2^53 tokens, more than any call has")]
fn tokens(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests;
