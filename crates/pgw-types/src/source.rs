//! One source: an account at a service, with its model, limits and manners.

use std::{borrow::Cow, fmt, time::Duration};

use secrecy::SecretString;
use serde::{Deserialize, Serialize};

/// What to do with an answer that has lost something on the way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnomalyPolicy {
    /// Treat it as a failure and try again (the default).
    #[default]
    Retry,
    /// Keep what came, with a warning and estimated usage; never cache it.
    Salvage,
}

/// The time limits of one attempt on a source. All but `connect` are the watchdog's.
///
/// Invariant, checked at assembly: `0 < inter_token < ttft < total` (MID-153).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// To open a connection, TLS included.
    pub connect: Duration,
    /// From the start of the attempt, connecting included, to the first token.
    pub ttft: Duration,
    /// Between two tokens.
    pub inter_token: Duration,
    /// For the whole answer.
    pub total: Duration,
}

impl Default for Timeouts {
    /// Long enough for a slow reasoning model behind a relay: 10 s, 120 s, 60 s, 600 s.
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            ttft: Duration::from_mins(2),
            inter_token: Duration::from_mins(1),
            total: Duration::from_mins(10),
        }
    }
}

/// Quotas. `None` means no limit of that kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// Calls in flight at once.
    pub max_concurrency: Option<u32>,
    /// Calls admitted over any 60 s.
    pub rpm: Option<u32>,
    /// Tokens charged over any 60 s.
    pub tpm: Option<u64>,
}

/// One source: where to send, as whom, under which limits.
#[derive(Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own, with its own name")]
pub struct SourceConfig {
    /// Unique within the scope.
    pub name: String,
    /// The provider profile: the family of the model, not the relay in front of it.
    pub provider: String,
    /// The API root, such as `https://api.example.com/v1`, without `/chat/completions`.
    pub base_url: String,
    /// The account's key.
    pub api_key: SecretString,
    /// The model to ask for, unless the request names one.
    pub model: String,
    /// Time limits.
    pub timeouts: Timeouts,
    /// This source's own quotas.
    pub limits: Limits,
    /// Tokens charged at the door when a request can't be measured better, and booked as usage
    /// when the service reports none.
    pub est_tokens: u64,
    /// Whether the model should think: `None` leaves it to the service's default.
    pub enable_thinking: Option<bool>,
    /// A stream that ends without a finish reason.
    pub missing_done: AnomalyPolicy,
    /// A frame that can't be read.
    pub malformed_frame: AnomalyPolicy,
    /// Whether proxies from the environment apply to this source.
    pub trust_env: bool,
    /// More certificate authorities to trust, PEM.
    pub ca_pem: Option<Cow<'static, [u8]>>,
    /// Whether the source can stream; if not, every call takes the plain path.
    pub can_stream: bool,
    /// Tokens that its context holds, prompt and answer together; `None`: not known. A call that
    /// needs more is not planned on it.
    pub context_tokens: Option<u64>,
    /// Whether its model can call tools. A call that brings tools is not planned on it otherwise.
    pub can_use_tools: bool,
    /// Whether its model can see images. A call that brings images is not planned on it otherwise.
    pub can_see_images: bool,
    /// Tier for the `ordered` selector: lower first.
    pub tier: u32,
    /// Weight for the `weighted` selector.
    pub weight: u32,
}

impl fmt::Debug for SourceConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Settings made by hand may hold a password in the URL before the guards refuse it.
        let (root, _) = self.base_url.split_once('?').unwrap_or((&self.base_url, ""));
        let host = root.rsplit_once('@').map_or(root, |(_, host)| host);
        f.debug_struct("SourceConfig")
            .field("name", &self.name)
            .field("provider", &self.provider)
            .field("base_url", &host)
            .field("api_key", &self.api_key)
            .field("model", &self.model)
            .field("timeouts", &self.timeouts)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

impl SourceConfig {
    /// A source with documented defaults for everything optional.
    #[must_use]
    pub fn new(
        name: impl Into<String>,
        provider: impl Into<String>,
        base_url: impl Into<String>,
        api_key: impl Into<SecretString>,
        model: impl Into<String>,
    ) -> Self {
        Self {
            name: name.into(),
            provider: provider.into(),
            base_url: base_url.into(),
            api_key: api_key.into(),
            model: model.into(),
            timeouts: Timeouts::default(),
            limits: Limits::default(),
            est_tokens: Self::DEFAULT_EST_TOKENS,
            enable_thinking: None,
            missing_done: AnomalyPolicy::Retry,
            malformed_frame: AnomalyPolicy::Retry,
            trust_env: true,
            ca_pem: None,
            can_stream: true,
            context_tokens: None,
            can_use_tools: true,
            can_see_images: true,
            tier: 0,
            weight: 1,
        }
    }

    /// The default of `est_tokens`.
    pub const DEFAULT_EST_TOKENS: u64 = 1_000;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CLI-037: neither the key nor a password in the URL shows.
    #[test]
    fn no_secret_of_a_source_shows() {
        let url = "https://user:canary@a.example/v1?key=canary";
        let source = SourceConfig::new("a", "generic", url, "canary", "m");
        let shown = format!("{source:?}");
        assert!(!shown.contains("canary") && shown.contains("a.example/v1"), "{shown}");
    }
}
