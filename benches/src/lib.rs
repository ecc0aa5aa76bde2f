//! What the benchmarks share: a responder on a core of its own, meters of CPU and memory, and a
//! table.
//!
//! Every time is CPU time per call, not wall time: on a shared machine the wall clock says more
//! about the neighbours than about us. Each contender runs in turn within the same rounds, and the
//! median of the rounds counts, so a figure is to be read against the baseline of its own run.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark that can't run should stop and say why"
)]

mod memory;
mod meter;
mod responder;
mod table;

pub use memory::resident_bytes;
pub use meter::CpuMeter;
pub use responder::Responder;
pub use table::{Rounds, print_bytes, print_row, print_title};
