//! The environment: the only place that reads the process environment.

use std::{collections::BTreeMap, fmt, fs, path::Path};

use pgw_types::{ConfigError, ConfigFault};

use super::dotenv;

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// The process environment.
    Process,
    /// A line of the `.env` file.
    Dotenv(usize),
    /// Handed in.
    Given,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Process => f.write_str("environment"),
            Self::Dotenv(line) => write!(f, ".env line {line}"),
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
        for (name, value) in process {
            // What isn't text can't be one of ours; a name of ours with such a value is as good as
            // unset, and then missing.
            if let (Ok(name), Ok(value)) = (name.into_string(), value.into_string()) {
                environment.set(name, value, Origin::Process);
            }
        }
        Ok(environment)
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
        let (lines, faults) = dotenv::parse(text, ".env");
        if !faults.is_empty() {
            return Err(ConfigError::new(faults));
        }
        let mut environment = Self::default();
        for line in lines {
            environment.set(line.name, line.value, Origin::Dotenv(line.number));
        }
        Ok(environment)
    }

    fn from_file(path: &Path) -> Result<Self, ConfigError> {
        let text = fs::read_to_string(path).map_err(|error| {
            let fix = "name a file that can be read, or leave it out";
            let fault = ConfigFault::new(path.display().to_string(), error.to_string(), fix);
            ConfigError::new(vec![fault])
        })?;
        Self::from_dotenv(&text)
    }

    fn set(&mut self, name: String, value: String, origin: Origin) {
        if value.trim().is_empty() {
            // Said to be empty: the file's value must not shine through.
            self.variables.remove(&name);
        } else {
            self.variables.insert(name, Variable { value, origin });
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&Variable> {
        self.variables.get(name)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.variables.keys().map(String::as_str)
    }

    /// The scopes that have sources, in alphabetical order.
    #[must_use]
    pub fn scopes(&self) -> Vec<String> {
        let mut scopes = Vec::new();
        for name in self.names() {
            let parts: Vec<_> = name.split("__").collect();
            let scope = match parts.as_slice() {
                [scope, _, number, _] if number.bytes().all(|b| b.is_ascii_digit()) => *scope,
                _ => match name.strip_suffix("LLM_BASE_URL") {
                    Some("") => "LLM",
                    Some(role) => role.trim_end_matches('_'),
                    None => continue,
                },
            };
            if !scope.is_empty() && !scopes.iter().any(|known| known == scope) {
                scopes.push(scope.to_owned());
            }
        }
        scopes
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
