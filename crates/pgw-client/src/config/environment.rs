//! The environment: the only place that reads the process environment.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    fmt, fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use pgw_types::{ConfigError, ConfigFault};

use super::{
    dotenv,
    keys::{numbered_fields, source_number},
};

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// The process environment.
    Process,
    /// A line of a file.
    File(Arc<str>, usize),
    /// Handed in.
    Given,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Process => f.write_str("environment"),
            Self::File(file, line) => write!(f, "{file} line {line}"),
            Self::Given => f.write_str("given"),
        }
    }
}

/// A variable.
#[derive(Clone)]
pub(super) struct Variable {
    pub(super) value: String,
    pub(super) origin: Origin,
}

/// Variables with their origins. The process environment counts over the `.env` file. A blank value
/// counts as unset.
#[derive(Clone, Default)]
pub struct Environment {
    variables: BTreeMap<String, Variable>,
    /// Variables that count as unset because their value is blank.
    blank: BTreeMap<String, Origin>,
    /// Names whose value is no UTF-8.
    garbled: BTreeSet<String>,
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Names only: a value may be a secret.
        f.debug_set().entries(self.variables.keys()).finish()
    }
}

impl Environment {
    /// The process environment, over the `.env` file if one is named.
    ///
    /// # Errors
    /// If the file can't be read, or has lines that can't.
    pub fn from_process(dotenv: Option<&Path>) -> Result<Self, ConfigError> {
        let mut environment = match dotenv {
            Some(path) => Self::from_file(path)?,
            None => Self::default(),
        };
        #[expect(clippy::disallowed_methods, reason = "this is the configuration loader")]
        let process = std::env::vars_os();
        environment.overlay(process);
        Ok(environment)
    }

    fn overlay(&mut self, process: impl Iterator<Item = (OsString, OsString)>) {
        for (name, value) in process {
            // A name that isn't text can't be one of ours.
            let Ok(name) = name.into_string() else { continue };
            if let Ok(value) = value.into_string() {
                self.set(name, value, Origin::Process);
            } else {
                // The file's value must not shine through. Whether the name is ours, and this a
                // fault, the reader of a scope knows.
                self.variables.remove(&name);
                self.blank.remove(&name);
                self.garbled.insert(name);
            }
        }
    }

    /// Variables handed in, without a look at the process environment.
    #[must_use]
    pub fn from_pairs<N: Into<String>, V: Into<String>>(
        pairs: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        let mut environment = Self::default();
        for (name, value) in pairs {
            environment.set(name.into(), value.into(), Origin::Given);
        }
        environment
    }

    /// The variables of a `.env` file's text.
    ///
    /// # Errors
    /// If it has lines that can't be read.
    pub fn from_dotenv(text: &str) -> Result<Self, ConfigError> {
        Self::from_text(text, ".env")
    }

    fn from_text(text: &str, file: &str) -> Result<Self, ConfigError> {
        let (lines, faults) = dotenv::parse(text, file);
        if !faults.is_empty() {
            return Err(ConfigError::new(faults));
        }
        let mut environment = Self::default();
        let file: Arc<str> = file.into();
        for line in lines {
            environment.set(line.name, line.value, Origin::File(Arc::clone(&file), line.number));
        }
        Ok(environment)
    }

    fn from_file(path: &Path) -> Result<Self, ConfigError> {
        let text = fs::read_to_string(path).map_err(|error| {
            let fix = "name a file that can be read, or leave it out";
            let fault = ConfigFault::new(path.display().to_string(), error.to_string(), fix);
            ConfigError::new(vec![fault])
        })?;
        Self::from_text(&text, &path.display().to_string())
    }

    fn set(&mut self, name: String, value: String, origin: Origin) {
        if value.trim().is_empty() {
            // Said to be empty: the file's value must not shine through.
            self.variables.remove(&name);
            self.blank.insert(name, origin);
        } else {
            self.blank.remove(&name);
            self.variables.insert(name, Variable { value, origin });
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&Variable> {
        self.variables.get(name)
    }

    /// Where a variable was written, blank or not; `None` if it wasn't, or was handed in.
    pub(super) fn place(&self, name: &str) -> Option<&Origin> {
        let origin = self.variables.get(name).map(|variable| &variable.origin);
        origin.or_else(|| self.blank.get(name)).filter(|origin| **origin != Origin::Given)
    }

    /// Whether a variable is there, but blank.
    pub(super) fn is_blank(&self, name: &str) -> bool {
        self.blank.contains_key(name)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.variables.keys().map(String::as_str)
    }

    /// Names that are set to something that is no text.
    pub(super) fn garbled(&self) -> impl Iterator<Item = &str> {
        self.garbled.iter().map(String::as_str)
    }

    /// The scopes that have sources, in alphabetical order.
    #[must_use]
    pub fn scopes(&self) -> Vec<String> {
        let scope = |name: &str| match name.split("__").collect::<Vec<_>>().as_slice() {
            [scope, _, number, field]
                if source_number(number).is_some()
                    && numbered_fields().any(|(_, known)| known == *field) =>
            {
                Some((*scope).to_owned())
            }
            _ if name == "LLM_BASE_URL" => Some("LLM".to_owned()),
            _ => name.strip_suffix("_LLM_BASE_URL").map(str::to_owned),
        };
        let scopes: BTreeSet<_> = self.names().filter_map(scope).collect();
        scopes.into_iter().filter(|scope| !scope.is_empty()).collect()
    }

    /// The file of call records that is named here, or the default one.
    #[must_use]
    pub fn telemetry_path(&self) -> PathBuf {
        let named = self.get("PGW_TELEMETRY_PATH").map(|variable| variable.value.trim());
        named.unwrap_or(super::defaults::TELEMETRY_PATH).into()
    }

    /// The proxies that the usual variables name; the lower-case spelling counts first, as it does
    /// for curl.
    #[must_use]
    pub fn proxy(&self) -> ProxyEnvironment {
        let read = |name: &str| {
            let lower = self.get(&name.to_ascii_lowercase());
            lower.or_else(|| self.get(name)).map(|variable| variable.value.clone())
        };
        ProxyEnvironment {
            http: read("HTTP_PROXY"),
            https: read("HTTPS_PROXY"),
            all: read("ALL_PROXY"),
            no_proxy: read("NO_PROXY"),
        }
    }
}

/// The proxies of the environment. URLs may hold credentials, so `Debug` shows only which are set.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ProxyEnvironment {
    /// For `http://` targets.
    pub http: Option<String>,
    /// For `https://` targets.
    pub https: Option<String>,
    /// For all targets without one of their own.
    pub all: Option<String>,
    /// Hosts to reach directly, separated by commas.
    pub no_proxy: Option<String>,
}

impl fmt::Debug for ProxyEnvironment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProxyEnvironment")
            .field("http", &self.http.is_some())
            .field("https", &self.https.is_some())
            .field("all", &self.all.is_some())
            .field("no_proxy", &self.no_proxy)
            .finish()
    }
}

#[cfg(test)]
mod tests;
