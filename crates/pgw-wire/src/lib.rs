//! Pure codecs between bytes and types: no I/O, no clock, no runtime.
//!
//! Transports feed what the network brings, in whatever pieces it comes, and get
//! [events](pgw_types::ChatEvent) and classified errors back. Any split of the same bytes gives the
//! same result.
//!
//! - [`sse`]: server-sent events, as the standard has them and as services really send them.
//! - [`chat`]: the `OpenAI` chat dialect: request bodies, streamed chunks, whole answers.
//! - [`error`]: what an error body, a status and headers mean; the only place (with the provider
//!   profiles it reads) where words of a message are looked at.
//! - [`sniff`]: what a body really is, whatever its content type says.

pub mod chat;
pub mod error;
mod sniff;
pub mod sse;

pub use sniff::{BodyKind, sniff};
