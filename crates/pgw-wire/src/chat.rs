//! The `OpenAI` chat dialect.
//!
//! Requests go out by [`encode_request`] to [`url`]. Answers come in by [`ChunkDecoder`], whether they
//! are streams or one piece: a whole answer is one big chunk.

mod answer;
mod chunk;
mod depth;
mod encode;
mod finish;
mod loose;
mod surrogate;
mod think;
mod tools;
mod twin;
mod url;

pub use answer::{AnswerContext, ChunkDecoder};
pub use encode::encode_request;
pub use url::url;
