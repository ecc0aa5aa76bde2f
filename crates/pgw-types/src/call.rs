//! What a caller may say about one call beside the request itself.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What a call wants of the answer cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheUse {
    /// An answer that is kept, else a new one, which is kept.
    #[default]
    Default,
    /// Nothing: the answer is new and is not kept.
    Off,
    /// An answer that is kept, else a new one, which is not.
    ReadOnly,
    /// A new answer, which takes the place of the kept one.
    Refresh,
}

/// Options of one call that do not go over the wire.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CallOptions {
    /// The caller's session; stands on every record of the call.
    pub session_id: Option<String>,
    /// The caller's step that made this call; stands on every record of the call.
    pub parent_call_id: Option<String>,
    /// Another name space for the answer cache than the assembled one.
    pub cache_namespace: Option<String>,
    /// Changes the cache key without changing the request, to sample anew.
    pub cache_salt: Option<String>,
    /// What the call wants of the answer cache.
    pub cache: CacheUse,
    /// How long its answer is kept; `None`: as the assembly says. More than zero.
    pub cache_ttl: Option<Duration>,
    /// Whether the answer is streamed from the service (the default): the watchdog then sees each
    /// token. `false` asks for one plain answer, without watchdog.
    pub stream: bool,
    /// How long the whole call may take: waits, backoff and attempts together. `None`: no limit
    /// of the call's own.
    pub deadline: Option<Duration>,
    /// The identity of the call; made up when `None`.
    pub request_id: Option<String>,
}

impl Default for CallOptions {
    fn default() -> Self {
        Self {
            session_id: None,
            parent_call_id: None,
            cache_namespace: None,
            cache_salt: None,
            cache: CacheUse::Default,
            cache_ttl: None,
            stream: true,
            deadline: None,
            request_id: None,
        }
    }
}
