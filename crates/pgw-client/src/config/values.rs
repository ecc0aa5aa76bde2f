//! From text to values, with faults that say what to write.

use std::{collections::BTreeMap, str::FromStr, time::Duration};

use pgw_types::{AnomalyPolicy, ConfigFault};

use super::{
    check::Setting,
    environment::{Environment, Variable},
};

/// Reads variables, collects faults, and remembers what was read for the report.
pub(super) struct Reader<'a> {
    pub(super) environment: &'a Environment,
    pub(super) faults: Vec<ConfigFault>,
    pub(super) settings: BTreeMap<String, Setting>,
}

/// Whether a variable's value must never be shown.
pub(super) fn is_secret(name: &str) -> bool {
    let name = name.strip_suffix("_FILE").unwrap_or(name);
    // A count of tokens is no token.
    let named = name.ends_with("KEY") || name.ends_with("TOKEN");
    named || ["SECRET", "PASSWORD", "PROXY"].iter().any(|word| name.contains(word))
}

impl<'a> Reader<'a> {
    pub(super) const fn new(environment: &'a Environment) -> Self {
        Self { environment, faults: Vec::new(), settings: BTreeMap::new() }
    }

    pub(super) fn fault(&mut self, name: &str, problem: impl Into<String>, fix: impl Into<String>) {
        self.faults.push(ConfigFault::new(name, problem, fix));
    }

    /// The variable's text, trimmed; `None` if it isn't set. Notes it for the report.
    pub(super) fn text(&mut self, name: &str) -> Option<String> {
        let variable = self.environment.get(name)?;
        let text = variable.value.trim().to_owned();
        self.note(name, variable, &text);
        Some(text)
    }

    fn note(&mut self, name: &str, variable: &Variable, text: &str) {
        let shown = if is_secret(name) {
            format!("set, {} characters", text.chars().count())
        } else {
            text.to_owned()
        };
        let setting =
            Setting { name: name.to_owned(), value: shown, origin: variable.origin.to_string() };
        self.settings.insert(name.to_owned(), setting);
    }

    /// The value's look in a fault: itself if it is short and no secret, else its length.
    pub(super) fn look(name: &str, text: &str) -> String {
        if is_secret(name) || text.chars().count() > 60 {
            format!("{} characters", text.chars().count())
        } else {
            format!("`{text}`")
        }
    }

    fn parsed<T: FromStr>(&mut self, name: &str, fix: &str) -> Option<T> {
        let text = self.text(name)?;
        let parsed = text.parse().ok();
        if parsed.is_none() {
            self.fault(name, format!("is {}", Self::look(name, &text)), fix);
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
            self.fault(name, format!("is {}", Self::look(name, &text)), fix);
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
                let problem = format!("is {}", Self::look(name, &text));
                self.fault(name, problem, "write true or false");
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
            self.fault(name, format!("is {}", Self::look(name, &text)), fix);
        }
        found.map(|(_, value)| value.clone())
    }
}
