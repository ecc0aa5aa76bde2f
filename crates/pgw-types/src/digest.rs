//! The one function that names messages: for cache keys and for telemetry.
//!
//! Text takes part as it is. Every binary payload (a `data:` URL, base64 audio, a file) is replaced
//! by its own sha256 first, so a picture of megabytes is hashed once and stored nowhere. Canonical
//! JSON makes the result independent of the order in which members were inserted.

use std::fmt::Write as _;

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use crate::{Content, Message};

/// The sha256 of `bytes`, in lower-case hex.
#[must_use]
pub fn sha256_hex(bytes: &[u8]) -> String {
    let hash = Sha256::digest(bytes);
    let mut text = String::with_capacity(64);
    for byte in hash {
        // Writing to a String can't fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// `value` as JSON with sorted keys and no blanks.
#[must_use]
pub fn canonical_json(value: &Value) -> String {
    let mut out = String::new();
    write_canonical(value, &mut out);
    out
}

fn write_canonical(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => {
            let mut members: Vec<_> = map.iter().collect();
            members.sort_unstable_by_key(|(key, _)| key.as_str());
            out.push('{');
            for (index, (key, member)) in members.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push(':');
                write_canonical(member, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_canonical(item, out);
            }
            out.push(']');
        }
        scalar @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => {
            out.push_str(&scalar.to_string());
        }
    }
}

/// Messages as a JSON value in which every binary payload is replaced by
/// `sha256:<hex>;bytes=<length of the payload's text>`.
#[must_use]
pub fn digest_messages(messages: &[Message]) -> Value {
    Value::Array(messages.iter().map(digest_message).collect())
}

/// The name of a conversation: sha256 over the canonical JSON of [`digest_messages`].
#[must_use]
pub fn messages_digest(messages: &[Message]) -> String {
    sha256_hex(canonical_json(&digest_messages(messages)).as_bytes())
}

fn digest_message(message: &Message) -> Value {
    let mut map = Map::new();
    let role = serde_json::to_value(message.role).unwrap_or_default();
    map.insert("role".into(), role);
    match &message.content {
        None => {}
        Some(Content::Null) => {
            map.insert("content".into(), Value::Null);
        }
        Some(Content::Text(text)) => {
            map.insert("content".into(), Value::String(text.clone()));
        }
        Some(Content::Parts(parts)) => {
            let parts = parts.iter().map(|part| match part.as_text() {
                // Text is text even where it spells out a data URL.
                Some(_) => Value::Object(part.fields.clone()),
                None => digest_object(&part.fields),
            });
            map.insert("content".into(), Value::Array(parts.collect()));
        }
    }
    if !message.tool_calls.is_empty() {
        let calls = serde_json::to_value(&message.tool_calls).unwrap_or_default();
        map.insert("tool_calls".into(), calls);
    }
    if let Some(id) = &message.tool_call_id {
        map.insert("tool_call_id".into(), Value::String(id.clone()));
    }
    for (key, value) in &message.extra {
        map.insert(key.clone(), digest_member(key, value));
    }
    Value::Object(map)
}

fn digest_object(fields: &Map<String, Value>) -> Value {
    let digested = fields.iter().map(|(key, value)| (key.clone(), digest_member(key, value)));
    Value::Object(digested.collect())
}

fn digest_member(key: &str, value: &Value) -> Value {
    match value {
        Value::String(text) if is_payload(key, text) => {
            let (hash, bytes) = (sha256_hex(text.as_bytes()), text.len());
            Value::String(format!("sha256:{hash};bytes={bytes}"))
        }
        Value::Object(fields) => digest_object(fields),
        Value::Array(items) => {
            Value::Array(items.iter().map(|item| digest_member(key, item)).collect())
        }
        scalar => scalar.clone(),
    }
}

/// Payloads are `data:` URLs anywhere in a part, and the members in which the `OpenAI` schema puts
/// bare base64: `input_audio.data`, `file.file_data`, `b64_json`.
fn is_payload(key: &str, text: &str) -> bool {
    text.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("data:"))
        || matches!(key, "data" | "file_data" | "b64_json")
}

#[cfg(test)]
mod tests;
