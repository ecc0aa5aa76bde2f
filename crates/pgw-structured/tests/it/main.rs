//! The extractor over the corpus and over hostile texts.
#![expect(clippy::unwrap_used, reason = "a test that can't be set up should fail there")]

mod corpus;
mod hostile;
mod kinds;
mod reader;
