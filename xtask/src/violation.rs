//! One broken rule, as it is reported.

use std::fmt;

use crate::rule::Rule;

/// A broken rule. Its `Display` is the whole report: place, both ends or the line, rule, source.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    /// The rule that is broken.
    pub rule: Rule,
    /// Who breaks it: a crate's name, or a file's path.
    pub place: String,
    /// The line in that file.
    pub line: Option<usize>,
    /// The other end: the crate used, the word found, the construct written.
    pub what: String,
    /// What is wrong and what would be right.
    pub message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A chain of crates begins with the place already.
        if self.line.is_some() || !self.message.starts_with(&self.place) {
            f.write_str(&self.place)?;
            if let Some(line) = self.line {
                write!(f, ":{line}")?;
            }
            f.write_str(": ")?;
        }
        write!(f, "{}\n    rule {}, written in {}", self.message, self.rule, self.rule.written_in())
    }
}
