//! The name of an answer: two calls with equal names could have had each other's.

use std::{collections::BTreeSet, sync::Arc};

use pgw_ports::{Cacheable, CallCx};
use pgw_types::{SourceConfig, digest};
use serde_json::{Value, json};

use super::CacheLayer;

/// The version of the key's form and of what is kept: a release that changes either changes this, and
/// old answers are simply not found.
const VERSION: u32 = 1;

/// What of a source shapes its answers. Accounts of one service with one model are alike; two services
/// are not, even if they call a model the same.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Identity {
    provider: String,
    model: String,
    thinking: Option<bool>,
}

impl Identity {
    pub(super) fn of(source: &SourceConfig) -> Self {
        Self {
            provider: source.provider.clone(),
            model: source.model.clone(),
            thinking: source.enable_thinking,
        }
    }
}

impl<O: Cacheable> CacheLayer<O> {
    /// The key of a call; `None`: its answer is not to be kept.
    pub(super) fn key(&self, cx: &CallCx, request: &Arc<O::Request>) -> Option<Arc<str>> {
        let parts = O::key_parts(request)?;
        let asked = O::asked_model(request);
        // Which sources may answer, as far as it makes a difference.
        let planned = |name: &Arc<str>| cx.plan.candidates.iter().any(|one| one.name == *name);
        let identities = self.identities.iter().filter(|(name, _)| planned(name));
        let identities: BTreeSet<Identity> = identities
            .map(|(_, identity)| match asked {
                Some(model) => Identity { model: model.to_owned(), ..identity.clone() },
                None => identity.clone(),
            })
            .collect();
        let models: Vec<Value> = identities
            .into_iter()
            .map(|one| json!([one.provider, one.model, one.thinking]))
            .collect();
        let namespace = cx.options.cache_namespace.as_ref();
        let picture = json!({
            "version": VERSION,
            "operation": O::NAME,
            "namespace": namespace.unwrap_or(&self.parts.rules.namespace),
            "salt": cx.options.cache_salt,
            "model": models,
            "messages_digest": digest::sha256_hex(cx.written::<O>(request).as_bytes()),
            "request": parts,
        });
        let name = digest::sha256_hex(digest::canonical_json(&picture).as_bytes());
        Some(format!("pgw:cache:{name}").into())
    }
}
