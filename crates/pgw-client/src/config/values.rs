//! From text to values, with faults that say what to write.

use std::{collections::BTreeSet, str::FromStr, time::Duration};

use pgw_types::{AnomalyPolicy, ConfigFault};

use super::environment::Environment;

/// The longest value that a fault repeats: a number, a word. A key pasted into the wrong variable is
/// longer.
const LONGEST_SHOWN: usize = 20;

/// Reads variables and collects faults.
pub(super) struct Reader<'a> {
    pub(super) environment: &'a Environment,
    pub(super) faults: Vec<ConfigFault>,
    /// Variables without a usable value. The guards have nothing to say about them.
    pub(super) unread: BTreeSet<String>,
}

/// Whether a variable's value must never be shown.
pub(super) fn is_secret(name: &str) -> bool {
    let name = name.strip_suffix("_FILE").unwrap_or(name);
    // A count of tokens is no token.
    let named = name.ends_with("KEY") || name.ends_with("TOKEN");
    named || ["SECRET", "PASSWORD", "PROXY"].iter().any(|word| name.contains(word))
}

/// A secret's look.
pub(super) fn masked(text: &str) -> String {
    format!("set, {} characters", text.chars().count())
}

/// A value's look in a fault: itself if it is short and no secret, else its length.
pub(super) fn look(name: &str, text: &str) -> String {
    let length = text.chars().count();
    if is_secret(name) || length > LONGEST_SHOWN {
        format!("{length} characters long")
    } else {
        format!("`{text}`")
    }
}

impl<'a> Reader<'a> {
    pub(super) const fn new(environment: &'a Environment) -> Self {
        Self { environment, faults: Vec::new(), unread: BTreeSet::new() }
    }

    /// Notes a fault with the place of the variable, once: a shorthand is read for each source that
    /// it serves.
    pub(super) fn fault(&mut self, name: &str, problem: impl Into<String>, fix: impl Into<String>) {
        let mut problem = problem.into();
        if let Some(place) = self.environment.place(name) {
            problem = format!("{problem} ({place})");
        }
        let fault = ConfigFault::new(name, problem, fix);
        if !self.faults.contains(&fault) {
            self.faults.push(fault);
        }
    }

    /// Notes that a variable has no usable value.
    pub(super) fn bad(&mut self, name: &str, problem: impl Into<String>, fix: impl Into<String>) {
        self.fault(name, problem, fix);
        self.unread.insert(name.to_owned());
    }

    /// Notes that what has no default isn't there, or is blank.
    pub(super) fn absent(&mut self, name: &str, fix: impl Into<String>) {
        let blank = self.environment.is_blank(name);
        self.bad(name, if blank { "is blank, so not set" } else { "is missing" }, fix);
    }

    /// The variable's text, trimmed; `None` if it isn't set.
    pub(super) fn text(&mut self, name: &str) -> Option<String> {
        self.environment.get(name).map(|variable| variable.value.trim().to_owned())
    }

    fn parsed<T: FromStr>(&mut self, name: &str, fix: &str) -> Option<T> {
        let text = self.text(name)?;
        let parsed = text.parse().ok();
        if parsed.is_none() {
            self.bad(name, format!("is {}", look(name, &text)), fix);
        }
        parsed
    }

    /// A whole number.
    pub(super) fn whole<T: FromStr>(&mut self, name: &str) -> Option<T> {
        self.parsed(name, "write a whole number, such as 60")
    }

    /// Seconds, whole or not, more than zero.
    pub(super) fn seconds(&mut self, name: &str) -> Option<Duration> {
        let text = self.text(name)?;
        let seconds = text.parse::<f64>().ok().filter(|s| s.is_finite() && *s > 0.0);
        let duration = seconds.and_then(|s| Duration::try_from_secs_f64(s).ok());
        if duration.is_none() {
            let fix = "write seconds above zero, such as 30 or 0.5";
            self.bad(name, format!("is {}", look(name, &text)), fix);
        }
        duration
    }

    /// Yes or no.
    pub(super) fn flag(&mut self, name: &str) -> Option<bool> {
        let text = self.text(name)?;
        match text.to_ascii_lowercase().as_str() {
            "true" | "1" | "yes" | "on" => Some(true),
            "false" | "0" | "no" | "off" => Some(false),
            _ => {
                self.bad(name, format!("is {}", look(name, &text)), "write true or false");
                None
            }
        }
    }

    /// What to do with an answer that has lost something.
    pub(super) fn anomaly(&mut self, name: &str) -> Option<AnomalyPolicy> {
        self.one_of(name, &[("retry", AnomalyPolicy::Retry), ("salvage", AnomalyPolicy::Salvage)])
    }

    /// One of a few words.
    pub(super) fn one_of<T: Clone>(&mut self, name: &str, words: &[(&str, T)]) -> Option<T> {
        let text = self.text(name)?;
        let found = words.iter().find(|(word, _)| word.eq_ignore_ascii_case(&text));
        if found.is_none() {
            let words: Vec<_> = words.iter().map(|(word, _)| *word).collect();
            let fix = format!("write one of {}", words.join(", "));
            self.bad(name, format!("is {}", look(name, &text)), fix);
        }
        found.map(|(_, value)| value.clone())
    }
}
