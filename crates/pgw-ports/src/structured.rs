//! The seam of structured output: how a value is read out of the text of an answer.

use std::{fmt::Debug, sync::Arc};

use pgw_types::Unreadable;
use serde_json::Value;

/// Reads the value that one structured call asks for. It uses no network and no clock: the same text
/// always gives the same value, so that an answer from a cache is read again instead of stored.
pub trait StructuredOutput: Debug + Send + Sync + 'static {
    /// The value in `text`: taken out of its wrapping, mended, normalised and checked.
    ///
    /// # Errors
    /// Why the text holds no such value.
    fn read(&self, text: &str) -> Result<Value, Unreadable>;

    /// The `response_format` that makes a service keep to the form by itself, for sources whose
    /// provider takes schemas; `None`: there is none for this form.
    fn native_format(&self) -> Option<Value>;
}

const _: fn(&dyn StructuredOutput) = |_| {};

/// How one call wants its answer structured.
#[derive(Clone, Debug)]
pub struct StructuredCall {
    /// Reads the value.
    pub output: Arc<dyn StructuredOutput>,
    /// How often a wrong answer is asked for again, at most; 0: never, somebody will look at it.
    /// The second question always carries the native format; the first one as its request says.
    pub reasks: u32,
}
