//! Tests of the retry loop over in-memory doubles, on virtual time.

mod admission;
mod attempts;
mod bound;
mod deadlines;
mod drops;
mod failing_stores;
mod line;
mod live;
mod plan;
mod retry_after;
