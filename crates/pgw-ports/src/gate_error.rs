//! What a gate's store may answer beside yes and no.

use std::{error::Error as StdError, sync::Arc};

/// A gate could not decide.
///
/// A store says only that it is broken. What that means for a call (which scope, when to come back)
/// is the middleware's to say.
#[derive(Clone, Debug, thiserror::Error)]
pub enum GateError {
    /// The store can't be reached or answers nonsense. The call is refused: a broken gate never
    /// lets anything pass.
    #[error("{message}")]
    Backend {
        /// The diagnostic: which operation, what went wrong. It reaches the caller word for word.
        message: String,
        /// The error beneath.
        #[source]
        cause: Option<Arc<dyn StdError + Send + Sync + 'static>>,
    },
    /// The gate was assembled without this source.
    #[error("source {source_name} is not configured here")]
    SourceNotConfigured {
        /// The source that was asked for.
        source_name: String,
    },
}
