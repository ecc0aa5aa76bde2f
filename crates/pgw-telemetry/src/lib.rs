//! Call records in SQLite, and the price table.
//!
//! A call hands its record to [`SqliteRecorder`], which puts it in a bounded line and gives a
//! receipt back. One thread of the recorder's own takes whatever stands in the line, commits it in
//! one transaction and resolves the receipts: a lone record is committed at once, and under load
//! the batches form by themselves. Nothing here ever fails a call: a store that can't be used, is
//! locked or full costs records and one warning, and [`RecorderStats`] says how many.
//!
//! - [`SqliteRecorder`], [`SqliteOptions`], [`Durability`]: the store, an implementation of
//!   [`TelemetryRecorder`](pgw_ports::TelemetryRecorder).
//! - [`CallLog`], [`SourceTotals`]: reading what was written.
//! - [`PriceTable`], [`ModelPrice`]: what tokens cost, an implementation of
//!   [`Pricing`](pgw_ports::Pricing).
//!
//! Inside: `queue` is the line, `writer` the thread's loop and its patience with a failing store,
//! `sink` how a batch reaches SQLite, `schema` the table, `health` the counts and the warnings.

#[cfg(test)]
mod doubles;
mod health;
mod log;
mod options;
mod pricing;
mod queue;
mod recorder;
mod schema;
mod sink;
mod usage;
mod writer;

pub use health::RecorderStats;
pub use log::{CallLog, LogError, SourceTotals};
pub use options::{Durability, SqliteOptions};
pub use pricing::{ModelPrice, PriceError, PriceTable};
pub use recorder::SqliteRecorder;
pub use usage::{UsageBy, UsageQuery, UsageRow};
