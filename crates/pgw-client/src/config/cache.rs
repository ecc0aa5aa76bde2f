//! The settings of the answer cache.

use std::time::Duration;

use pgw_types::ConfigError;
use serde_json::{Value, json};

use super::{defaults, values::Reader};

/// Where answers are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheStore {
    /// In this process.
    Memory {
        /// How many bytes it may hold; what was not used for longest makes room.
        max_bytes: usize,
    },
}

/// Which answers are kept, where, and for how long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheSettings {
    /// Where. A backend that is handed to the builder counts over it.
    pub store: CacheStore,
    /// The name space of calls that name none: a project or a tenant. Answers never cross it.
    pub namespace: String,
    /// How long, unless a call says otherwise; more than zero.
    pub ttl: Duration,
    /// Whether identical calls under way at once are sent once.
    pub coalesce: bool,
    /// Whether answers that the output limit or a content filter cut are kept too.
    pub keep_cut: bool,
}

impl CacheSettings {
    /// A cache in memory with the documented defaults. Name space and time have none: what is right
    /// depends on whose answers these are and how soon they are stale.
    #[must_use]
    pub fn new(namespace: impl Into<String>, ttl: Duration) -> Self {
        Self {
            store: CacheStore::Memory { max_bytes: defaults::CACHE_BYTES },
            namespace: namespace.into(),
            ttl,
            coalesce: false,
            keep_cut: false,
        }
    }

    /// How it takes part in the checksum.
    pub(super) fn picture(&self) -> Value {
        let CacheStore::Memory { max_bytes } = self.store;
        json!({
            "memory": max_bytes,
            "namespace": self.namespace,
            "ttl": self.ttl.as_secs_f64(),
            "coalesce": self.coalesce,
            "keep_cut": self.keep_cut,
        })
    }

    /// What is wrong with it: member, problem, fix.
    pub(super) fn faults(&self) -> Vec<(CacheKey, &'static str, &'static str)> {
        let CacheStore::Memory { max_bytes } = self.store;
        let mut faults = Vec::new();
        if self.namespace.trim().is_empty() {
            let fix = "name the project or tenant whose answers these are";
            faults.push((CacheKey::Namespace, "is empty", fix));
        }
        if self.ttl.is_zero() {
            faults.push((CacheKey::Ttl, "is 0", "write a time above zero"));
        }
        if max_bytes == 0 {
            let fix = "write how many bytes it may hold, or switch the cache off";
            faults.push((CacheKey::MaxBytes, "is 0", fix));
        }
        faults
    }
}

/// A setting of the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CacheKey {
    Backend,
    Namespace,
    Ttl,
    MaxBytes,
    Coalesce,
    KeepCut,
}

impl CacheKey {
    /// All, each with its variable and its path in the settings.
    pub(super) const ALL: [(Self, &'static str, &'static str); 6] = [
        (Self::Backend, "PGW_CACHE_BACKEND", "cache.store"),
        (Self::Namespace, "PGW_CACHE_NAMESPACE", "cache.namespace"),
        (Self::Ttl, "PGW_CACHE_TTL_S", "cache.ttl"),
        (Self::MaxBytes, "PGW_CACHE_MAX_BYTES", "cache.store.max_bytes"),
        (Self::Coalesce, "PGW_CACHE_COALESCE", "cache.coalesce"),
        (Self::KeepCut, "PGW_CACHE_KEEP_CUT", "cache.keep_cut"),
    ];

    fn names(self) -> (&'static str, &'static str) {
        let found = Self::ALL.iter().find(|(key, ..)| *key == self);
        found.map_or(("", ""), |(_, variable, path)| (variable, path))
    }

    pub(super) fn variable(self) -> &'static str {
        self.names().0
    }

    pub(super) fn path(self) -> &'static str {
        self.names().1
    }

    /// The value in force.
    pub(super) fn value(self, cache: Option<&CacheSettings>) -> Option<String> {
        let Some(cache) = cache else {
            return (self == Self::Backend).then(|| "off".to_owned());
        };
        let CacheStore::Memory { max_bytes } = cache.store;
        Some(match self {
            Self::Backend => "memory".to_owned(),
            Self::Namespace => cache.namespace.clone(),
            Self::Ttl => cache.ttl.as_secs_f64().to_string(),
            Self::MaxBytes => max_bytes.to_string(),
            Self::Coalesce => cache.coalesce.to_string(),
            Self::KeepCut => cache.keep_cut.to_string(),
        })
    }
}

/// Reads the cache's variables. A variable that would have no effect is a fault; a backend that is
/// not built in is handed back.
pub(super) fn read(
    reader: &mut Reader<'_>,
    absent: &mut Vec<ConfigError>,
) -> Option<CacheSettings> {
    let name = CacheKey::Backend.variable();
    let words = [("off", "off"), ("memory", "memory"), ("redis", "redis")];
    match reader.one_of(name, &words) {
        Some("memory") => {}
        Some("redis") => {
            absent.push(ConfigError::missing_feature(name, "redis"));
            return None;
        }
        Some(_) | None => {
            // If it can't be read, that is the fault, and enough.
            if !reader.unread.contains(name) {
                unused(reader);
            }
            return None;
        }
    }
    let namespace = reader.text(CacheKey::Namespace.variable());
    if namespace.is_none() {
        let fix = "name the project or tenant whose answers these are";
        reader.absent(CacheKey::Namespace.variable(), fix);
    }
    let ttl = reader.seconds(CacheKey::Ttl.variable());
    if ttl.is_none() && !reader.unread.contains(CacheKey::Ttl.variable()) {
        reader.absent(CacheKey::Ttl.variable(), "write how many seconds answers are kept");
    }
    let mut cache = CacheSettings::new(namespace.unwrap_or_default(), ttl.unwrap_or_default());
    if let Some(max_bytes) = reader.whole(CacheKey::MaxBytes.variable()) {
        cache.store = CacheStore::Memory { max_bytes };
    }
    cache.coalesce = reader.flag(CacheKey::Coalesce.variable()).unwrap_or(cache.coalesce);
    cache.keep_cut = reader.flag(CacheKey::KeepCut.variable()).unwrap_or(cache.keep_cut);
    Some(cache)
}

fn unused(reader: &mut Reader<'_>) {
    for (_, name, _) in CacheKey::ALL.iter().filter(|(key, ..)| *key != CacheKey::Backend) {
        if reader.environment.get(name).is_some() {
            let fix = format!("set {}=memory, or leave it out", CacheKey::Backend.variable());
            reader.fault(name, "is set, but the cache is off", fix);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::environment::Environment, *};
    use crate::config::GatewaySettings;

    const SOURCE: [(&str, &str); 3] = [
        ("LLM__QWEN__1__BASE_URL", "https://a.example/v1"),
        ("LLM__QWEN__1__API_KEY", "key"),
        ("LLM__QWEN__1__MODEL", "m"),
    ];

    fn load(cache: &[(&str, &str)]) -> Result<GatewaySettings, Vec<String>> {
        let environment = Environment::from_pairs(SOURCE.iter().chain(cache).copied());
        GatewaySettings::from_environment(&environment, "LLM")
            .map_err(|error| error.faults().iter().map(ToString::to_string).collect())
    }

    #[test]
    fn a_cache_is_off_until_it_is_asked_for() {
        assert_eq!(load(&[]).unwrap().cache, None);
        assert_eq!(load(&[("PGW_CACHE_BACKEND", "off")]).unwrap().cache, None);
        let on = [
            ("PGW_CACHE_BACKEND", "memory"),
            ("PGW_CACHE_NAMESPACE", "lab"),
            ("PGW_CACHE_TTL_S", "3600"),
        ];
        let settings = load(&on).unwrap();
        let expected = CacheSettings::new("lab", Duration::from_hours(1));
        assert_eq!(settings.cache, Some(expected.clone()));
        assert_ne!(settings.checksum(), load(&[]).unwrap().checksum());
        let more = [
            ("PGW_CACHE_MAX_BYTES", "1000"),
            ("PGW_CACHE_COALESCE", "on"),
            ("PGW_CACHE_KEEP_CUT", "true"),
        ];
        let all: Vec<_> = on.into_iter().chain(more).collect();
        let expected = CacheSettings {
            store: CacheStore::Memory { max_bytes: 1_000 },
            coalesce: true,
            keep_cut: true,
            ..expected
        };
        assert_eq!(load(&all).unwrap().cache, Some(expected));
    }

    /// MID-081, MID-085, CLI-026: a cache needs a name space and a time, and nothing is ignored.
    #[test]
    fn a_cache_at_fault_is_refused_with_place_and_fix() {
        let faults = |cache: &[(&str, &str)]| load(cache).unwrap_err();
        assert_eq!(
            faults(&[("PGW_CACHE_BACKEND", "memory")]),
            [
                "PGW_CACHE_NAMESPACE: is missing; name the project or tenant whose answers these \
                 are",
                "PGW_CACHE_TTL_S: is missing; write how many seconds answers are kept",
            ]
        );
        assert_eq!(
            faults(&[
                ("PGW_CACHE_BACKEND", "memory"),
                ("PGW_CACHE_NAMESPACE", " "),
                ("PGW_CACHE_TTL_S", "0"),
                ("PGW_CACHE_MAX_BYTES", "0"),
                ("PGW_CACHE_COALESCE", "perhaps"),
            ]),
            [
                "PGW_CACHE_NAMESPACE: is blank, so not set; name the project or tenant whose \
                 answers these are",
                "PGW_CACHE_TTL_S: is `0`; write seconds above zero, such as 30 or \
                 0.5",
                "PGW_CACHE_COALESCE: is `perhaps`; write true or false",
                "PGW_CACHE_MAX_BYTES: is 0; write how many bytes it may hold, or \
                 switch the cache off",
            ]
        );
        assert_eq!(
            faults(&[("PGW_CACHE_TTL_S", "60")]),
            ["PGW_CACHE_TTL_S: is set, but the cache is off; set \
              PGW_CACHE_BACKEND=memory, or leave it out"]
        );
        assert_eq!(
            faults(&[("PGW_CACHE_BACKEND", "disk"), ("PGW_CACHE_TTL_S", "60")]),
            ["PGW_CACHE_BACKEND: is `disk`; write one of off, memory, redis"]
        );
        let missing = faults(&[("PGW_CACHE_BACKEND", "redis")]);
        assert!(missing[0].contains("redis"), "{missing:?}");
    }

    /// The same by hand, with paths.
    #[test]
    fn settings_made_by_hand_pass_the_same_guards() {
        let mut settings = load(&[]).unwrap();
        settings.cache = Some(CacheSettings {
            store: CacheStore::Memory { max_bytes: 0 },
            ..CacheSettings::new("", Duration::ZERO)
        });
        let error = settings.validate().unwrap_err();
        let paths: Vec<_> = error.faults().iter().map(|fault| &*fault.path).collect();
        assert_eq!(paths, ["cache.namespace", "cache.ttl", "cache.store.max_bytes"]);
    }
}
