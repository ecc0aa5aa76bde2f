//! Tests that take several crates together. The README's example is one of them:
#![doc = include_str!("../../README.md")]
