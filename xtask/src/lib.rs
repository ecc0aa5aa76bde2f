//! Checks of the house that neither the compiler nor clippy makes.
//!
//! `cargo xtask check-layers` gathers facts ([`gather`]: members, dependency edges, the resolved
//! graph, the text of every file) and hands them with the rules ([`house`], plain data in
//! `src/rules.rs`) to a pure function ([`evaluate`]), which returns every [`Violation`] at once.
//! Each says what is wrong, between which two ends or at which line, and where the rule is
//! written for people. Changing what is allowed means changing `src/rules.rs`, in the same change
//! as the text it cites.

mod evaluate;
mod gather;
mod graph;
mod manifest;
mod rule;
mod rules;
mod tokens;
mod violation;

pub use evaluate::evaluate;
pub use gather::{GatherError, gather};
pub use graph::{Dependency, Graph, Kind, Member, Package, TextFile};
pub use rule::{Exception, External, Feature, Layer, MayUse, Reach, Rule, Rules, Who};
pub use rules::house;
pub use violation::Violation;
