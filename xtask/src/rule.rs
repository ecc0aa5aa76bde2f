//! The shape of the rules; what they say is in `rules.rs`.

use std::fmt;

use crate::graph::Member;

/// All the rules of a house.
#[derive(Debug, Clone)]
pub struct Rules {
    /// Every crate that may exist, and what of ours it may use. What is not listed is forbidden.
    pub layers: &'static [Layer],
    /// Crates of ours that everybody may use in `[dev-dependencies]`.
    pub dev_extra: &'static [&'static str],
    /// Crates from outside that a layer must not have.
    pub externals: &'static [External],
    /// Features of crates from outside that must not be asked for.
    pub features: &'static [Feature],
    /// Paths in Rust code that read the environment, as their segments.
    pub environment_reads: &'static [&'static [&'static str]],
    /// The files that may read it.
    pub environment_readers: &'static [&'static str],
    /// Words of downstream businesses, lower case. None may stand in any file of the work tree.
    pub business_words: &'static [&'static str],
    /// The one file that must hold these words to forbid them.
    pub word_list_file: &'static str,
    /// The most lines a source file may have.
    pub max_lines: usize,
    /// Marks of unfinished work that no comment may carry.
    pub unfinished_marks: &'static [&'static str],
    /// Violations that are accepted, each with its reason. One that matches nothing is a
    /// violation itself.
    pub exceptions: &'static [Exception],
}

/// One crate's place in the house.
#[derive(Debug, Clone, Copy)]
pub struct Layer {
    /// The package name.
    pub name: &'static str,
    /// Where it must lie.
    pub dir: &'static str,
    /// What of ours it may use by normal and build dependencies, and so by dev-dependencies too.
    pub may_use: MayUse,
    /// What of ours it may use by dev-dependencies besides.
    pub may_use_in_tests: &'static [&'static str],
}

/// The crates of ours that a crate may use.
#[derive(Debug, Clone, Copy)]
pub enum MayUse {
    /// These and no others.
    Only(&'static [&'static str]),
    /// Any: for workspace-level tests and benchmarks, which nothing uses.
    Anything,
}

/// Crates from outside that some members must not have.
#[derive(Debug, Clone, Copy)]
pub struct External {
    /// The members bound by it.
    pub who: Who,
    /// The forbidden package names.
    pub names: &'static [&'static str],
    /// How far the rule looks.
    pub reach: Reach,
    /// Why they are forbidden, as an end to the sentence "… because".
    pub because: &'static str,
}

/// A feature that some members must not ask for in a normal or build dependency.
#[derive(Debug, Clone, Copy)]
pub struct Feature {
    /// The members bound by it.
    pub who: Who,
    /// The package that has the feature.
    pub package: &'static str,
    /// The feature.
    pub feature: &'static str,
    /// Why it is forbidden, as an end to the sentence "… because".
    pub because: &'static str,
}

/// A choice of members.
#[derive(Debug, Clone, Copy)]
pub enum Who {
    /// These, by name.
    Crates(&'static [&'static str]),
    /// All whose directory lies under this one.
    Under(&'static str),
    /// All but these, by name.
    AllBut(&'static [&'static str]),
}

impl Who {
    pub(crate) fn holds(self, member: &Member) -> bool {
        match self {
            Self::Crates(names) => names.contains(&member.name.as_str()),
            Self::Under(dir) => crate::graph::is_under(&member.dir, dir),
            Self::AllBut(names) => !names.contains(&member.name.as_str()),
        }
    }
}

/// How far a rule on outside crates looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Dependencies the member itself declares, normal and build.
    Declared,
    /// Those and its dev-dependencies.
    DeclaredOrDev,
    /// The whole resolved graph below it, normal and build edges.
    Resolved,
}

/// An accepted violation.
#[derive(Debug, Clone, Copy)]
pub struct Exception {
    /// The rule that is not kept.
    pub rule: Rule,
    /// [`Violation::place`](crate::Violation::place) it applies to.
    pub place: &'static str,
    /// [`Violation::what`](crate::Violation::what) it applies to.
    pub what: &'static str,
    /// Why this is right all the same.
    pub reason: &'static str,
}

/// The rules by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// Which crate of ours may use which.
    Layers,
    /// Every member has its place in the table.
    KnownMembers,
    /// Crates from outside that a layer must not have.
    ForbiddenCrates,
    /// Features that must not be asked for.
    ForbiddenFeatures,
    /// Only the configuration loader reads the environment.
    EnvironmentReads,
    /// No word of a downstream business.
    BusinessWords,
    /// Members take their lints from the workspace.
    WorkspaceLints,
    /// Members take their dependencies from the workspace.
    WorkspaceDependencies,
    /// Sources are in order.
    Tidy,
    /// An accepted violation still exists.
    StaleExceptions,
}

impl Rule {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Layers,
        Self::KnownMembers,
        Self::ForbiddenCrates,
        Self::ForbiddenFeatures,
        Self::EnvironmentReads,
        Self::BusinessWords,
        Self::WorkspaceLints,
        Self::WorkspaceDependencies,
        Self::Tidy,
        Self::StaleExceptions,
    ];

    /// The rule's name in messages.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Layers => "layers",
            Self::KnownMembers => "known-members",
            Self::ForbiddenCrates => "forbidden-crates",
            Self::ForbiddenFeatures => "forbidden-features",
            Self::EnvironmentReads => "environment-reads",
            Self::BusinessWords => "business-words",
            Self::WorkspaceLints => "workspace-lints",
            Self::WorkspaceDependencies => "workspace-dependencies",
            Self::Tidy => "tidy",
            Self::StaleExceptions => "stale-exceptions",
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
