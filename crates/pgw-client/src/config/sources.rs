//! From variables to one source.

use std::{borrow::Cow, fs};

use pgw_types::{SourceConfig, Timeouts};

use super::{
    defaults,
    keys::{FLAT_SOURCE, Field, Flat, field_name, shorthand},
    values::Reader,
};

/// Where a source's variables are.
#[derive(Clone, Debug)]
pub(super) struct SourceKeys {
    /// What its variables begin with: `LLM__QWEN__1__`.
    pub(super) prefix: String,
    /// What they begin with in the flat form: `LLM_`.
    pub(super) flat: Option<String>,
    pub(super) provider: String,
    pub(super) default_name: String,
}

impl SourceKeys {
    /// The variable of a field. The flat form has few; for the others it is the shorthand, or else
    /// the one that the numbered form would have.
    pub(super) fn variable(&self, field: Field) -> String {
        let name = field_name(field);
        match (&self.flat, shorthand(Flat::Source(field))) {
            (Some(flat), _) if FLAT_SOURCE.contains(&field) => format!("{flat}{name}"),
            (Some(_), Some(short)) => short.to_owned(),
            _ => format!("{}{name}", self.prefix),
        }
    }

    /// Whether the form that the source is written in has a variable for a field.
    pub(super) fn has(&self, field: Field) -> bool {
        match self.flat {
            Some(_) => FLAT_SOURCE.contains(&field) || shorthand(Flat::Source(field)).is_some(),
            None => field != Field::Provider,
        }
    }
}

/// Reads one source. What has no default and is missing is a fault, and empty here, so that the
/// guards can still look at the rest.
pub(super) fn read(reader: &mut Reader<'_>, keys: &SourceKeys) -> SourceConfig {
    let base_url = required(
        reader,
        keys,
        Field::BaseUrl,
        "set the API root, such as https://api.example.com/v1",
    );
    let model = required(reader, keys, Field::Model, "set the model to ask for");
    let api_key = key(reader, keys);
    let name = reader.text(&keys.variable(Field::Name)).unwrap_or(keys.default_name.clone());
    let timeouts = timeouts(reader, keys);
    let mut source =
        SourceConfig::new(name, keys.provider.clone(), normal_url(&base_url), api_key, model);
    source.timeouts = timeouts;
    source.limits.max_concurrency = reader.whole(&keys.variable(Field::MaxConcurrency));
    source.limits.rpm = reader.whole(&keys.variable(Field::Rpm));
    source.limits.tpm = reader.whole(&keys.variable(Field::Tpm));
    if let Some(tokens) = reader.whole(&keys.variable(Field::EstTokens)) {
        source.est_tokens = tokens;
    }
    source.enable_thinking = reader.flag(&keys.variable(Field::EnableThinking));
    if let Some(policy) = reader.anomaly(&keys.variable(Field::MissingDone)) {
        source.missing_done = policy;
    }
    if let Some(policy) = reader.anomaly(&keys.variable(Field::MalformedFrame)) {
        source.malformed_frame = policy;
    }
    if let Some(trust) = reader.flag(&keys.variable(Field::TrustEnv)) {
        source.trust_env = trust;
    }
    source.ca_pem = ca_file(reader, keys).map(Cow::Owned);
    if let Some(stream) = reader.flag(&keys.variable(Field::Stream)) {
        source.can_stream = stream;
    }
    source.context_tokens = reader.whole(&keys.variable(Field::ContextTokens));
    if let Some(tools) = reader.flag(&keys.variable(Field::Tools)) {
        source.can_use_tools = tools;
    }
    if let Some(images) = reader.flag(&keys.variable(Field::Images)) {
        source.can_see_images = images;
    }
    if let Some(tier) = reader.whole(&keys.variable(Field::Tier)) {
        source.tier = tier;
    }
    if let Some(weight) = reader.whole(&keys.variable(Field::Weight)) {
        source.weight = weight;
    }
    source
}

fn required(reader: &mut Reader<'_>, keys: &SourceKeys, field: Field, fix: &str) -> String {
    let variable = keys.variable(field);
    let text = reader.text(&variable);
    if text.is_none() {
        reader.absent(&variable, fix);
    }
    text.unwrap_or_default()
}

/// The key, from its variable or from the file that another names. Neither is ever shown.
fn key(reader: &mut Reader<'_>, keys: &SourceKeys) -> String {
    let (variable, file) = (keys.variable(Field::ApiKey), keys.variable(Field::ApiKeyFile));
    let direct = reader.text(&variable);
    let path = reader.text(&file);
    match (direct, path) {
        (Some(key), None) => return key,
        (Some(key), Some(_)) => {
            reader.fault(&file, format!("stands beside {variable}"), "keep one of the two");
            return key;
        }
        (None, Some(path)) => match fs::read_to_string(&path) {
            // A key read from a file usually ends in a line break (openai-php/client#82).
            Ok(key) => return key.trim().to_owned(),
            Err(error) => {
                reader.bad(&file, format!("can't be read: {error}"), "name a readable file");
            }
        },
        (None, None) => {
            let fix = format!("set the account's key, or name a file that holds it in {file}");
            reader.absent(&variable, fix);
        }
    }
    String::new()
}

fn ca_file(reader: &mut Reader<'_>, keys: &SourceKeys) -> Option<Vec<u8>> {
    let variable = keys.variable(Field::CaFile);
    let path = reader.text(&variable)?;
    match fs::read(&path) {
        Ok(pem) => Some(pem),
        Err(error) => {
            reader.bad(&variable, format!("can't be read: {error}"), "name a PEM file");
            None
        }
    }
}

/// A source's own limits count over the flat shorthands, those over the defaults.
fn timeouts(reader: &mut Reader<'_>, keys: &SourceKeys) -> Timeouts {
    let standard = Timeouts::default();
    let mut read = |field: Field, default| {
        let own = reader.seconds(&keys.variable(field));
        let flat = shorthand(Flat::Source(field)).and_then(|name| reader.seconds(name));
        own.or(flat).unwrap_or(default)
    };
    Timeouts {
        connect: read(Field::ConnectTimeout, standard.connect),
        ttft: read(Field::TtftTimeout, standard.ttft),
        inter_token: read(Field::InterTokenTimeout, standard.inter_token),
        total: read(Field::Timeout, standard.total),
    }
}

/// The API root without what callers often leave at its end.
fn normal_url(url: &str) -> String {
    let (root, query) = match url.split_once('?') {
        Some((root, query)) => (root, format!("?{query}")),
        None => (url, String::new()),
    };
    let root = root.trim_end_matches('/');
    let root = root.strip_suffix("/chat/completions").unwrap_or(root).trim_end_matches('/');
    format!("{root}{query}")
}

/// The provider of the flat form.
pub(super) fn flat_provider(reader: &mut Reader<'_>, prefix: &str) -> String {
    let variable = format!("{prefix}{}", field_name(Field::Provider));
    reader.text(&variable).unwrap_or_else(|| defaults::PROVIDER.to_owned()).to_ascii_lowercase()
}
