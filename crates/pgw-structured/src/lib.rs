//! From the text of an answer to the value that was asked for, without any network.
//!
//! - [`extract`]: the one place that finds and mends JSON in a text. It is public: whoever has a text
//!   of a model may use it.
//! - [`StructuredReader`]: reads the value of a structured call (taken out, mended, normalised,
//!   checked), an implementation of [`StructuredOutput`](pgw_ports::StructuredOutput).
//! - [`Validator`], [`strict`], [`spec_of`]: JSON Schemas, checked by the crate `jsonschema` and made
//!   of Rust types by `schemars`.
//! - [`read_arguments`]: the arguments of a tool call, which are never mended if they were cut.
//!
//! # Its room in the house
//! It knows the ports and the plain types. The ladder that asks again when an answer does not fit is
//! a layer of `pgw-middleware`; this room only reads.

mod extract;
mod reader;
mod repair;
mod schema;

pub use extract::{Extracted, NoValue, extract};
pub use reader::{Normalize, StructuredReader, read_arguments, spec_of};
pub use schema::{Validator, strict};
