//! The assembly is at fault.

use std::{error::Error as StdError, fmt};

use serde::Serialize;

/// A gate was asked for a source it does not know: the assembly is at fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "source {source_name} of scope {scope} is not configured in the {gate}: assemble the gate with \
     the same sources as the client"
)]
pub struct NotConfigured {
    /// The scope of the call.
    pub scope: String,
    /// The source that the gate does not know.
    pub source_name: String,
    /// Which gate: `limiter` or `breaker`.
    pub gate: String,
}

/// One fault of a configuration: where it is, what is wrong, what to write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ConfigFault {
    /// Where: a variable's name, or a path such as `sources[2].timeouts.ttft`.
    pub path: String,
    /// What is wrong, with the value's shape but never a secret's text.
    pub problem: String,
    /// What to write instead.
    pub fix: String,
}

impl ConfigFault {
    /// A fault with its place, problem and fix.
    #[must_use]
    pub fn new(
        path: impl Into<String>,
        problem: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        Self { path: path.into(), problem: problem.into(), fix: fix.into() }
    }
}

impl fmt::Display for ConfigFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.path, self.problem, self.fix)
    }
}

/// The configuration is at fault. All faults are reported at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    faults: Vec<ConfigFault>,
    missing_feature: Option<&'static str>,
}

impl ConfigError {
    /// All the faults found.
    #[must_use]
    pub const fn new(faults: Vec<ConfigFault>) -> Self {
        Self { faults, missing_feature: None }
    }

    /// Something was asked for at run time that was not compiled in.
    #[must_use]
    pub fn missing_feature(path: impl Into<String>, feature: &'static str) -> Self {
        let fault = ConfigFault::new(
            path,
            format!("needs the feature {feature}, which this build does not have"),
            format!("build pgw-client with the feature {feature}"),
        );
        Self { faults: vec![fault], missing_feature: Some(feature) }
    }

    /// The faults, in the order they were found.
    #[must_use]
    pub fn faults(&self) -> &[ConfigFault] {
        &self.faults
    }

    /// The feature that is not compiled in, if that is the fault.
    #[must_use]
    pub const fn feature(&self) -> Option<&'static str> {
        self.missing_feature
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.faults.as_slice() {
            [only] => write!(f, "configuration: {only}"),
            faults => {
                write!(f, "configuration: {} faults", faults.len())?;
                for fault in faults {
                    write!(f, "\n  {fault}")?;
                }
                Ok(())
            }
        }
    }
}

impl StdError for ConfigError {}
