//! The seam of chance.

use std::fmt::Debug;

/// Random numbers for the jitter of backoffs, so that tests can fix them.
pub trait Jitter: Debug + Send + Sync + 'static {
    /// A number in `0.0..1.0`, evenly spread.
    fn unit(&self) -> f64;
}

const _: fn(&dyn Jitter) = |_| {};
