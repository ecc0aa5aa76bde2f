//! Request bodies.
//!
//! What the caller did not say does not appear: no nulls, no defaults (BerriAI/litellm's vLLM
//! incident of 2026-02-16). What a service has no word for is refused, not dropped.

use bytes::Bytes;
use pgw_types::{
    CallError, ChatRequest, Fault, Message, ProviderProfile, SourceConfig, Thinking, TokenCapField,
};
use serde::{Serialize, Serializer, ser::SerializeMap as _};
use serde_json::{Map, Value};

/// The body of a chat request to `source`.
///
/// # Errors
/// If the request asks for something that the service has no word for.
pub fn encode_request(
    request: &ChatRequest,
    source: &SourceConfig,
    profile: &ProviderProfile,
    stream: bool,
) -> Result<Bytes, CallError> {
    let thinking = thinking_members(request, source, profile)?;
    let body = Body { request, source, profile, stream, thinking };
    let mut buffer = Vec::with_capacity(512);
    serde_json::to_writer(&mut buffer, &body).map_err(|error| {
        CallError::new(Fault::BadRequest, format!("the request can't be written: {error}"))
    })?;
    Ok(buffer.into())
}

/// What to add for the thinking switch: the call's word counts over the source's.
fn thinking_members(
    request: &ChatRequest,
    source: &SourceConfig,
    profile: &ProviderProfile,
) -> Result<Map<String, Value>, CallError> {
    let wanted = request.thinking.or(match source.enable_thinking {
        Some(true) => Some(Thinking::On { budget: None }),
        Some(false) => Some(Thinking::Off),
        None => None,
    });
    let (members, budget) = match wanted {
        None => return Ok(Map::new()),
        Some(Thinking::On { budget }) => (&profile.thinking_on, budget),
        Some(Thinking::Off) => (&profile.thinking_off, None),
    };
    let refuse = |what: &str| {
        let name = &profile.name;
        let text = format!(
            "provider {name} has no word for {what}; leave it unset, or send the service's own \
             members under provider_options"
        );
        Err(CallError::new(Fault::UnsupportedParam, text).with_param("thinking"))
    };
    let Some(text) = members else {
        return refuse("the thinking switch");
    };
    let Ok(mut members) = serde_json::from_str::<Map<String, Value>>(text) else {
        let name = &profile.name;
        let text = format!("the thinking switch of provider profile {name} is no JSON object");
        return Err(CallError::new(Fault::BadRequest, text).with_param("thinking"));
    };
    if let Some(budget) = budget {
        let Some(path) = &profile.thinking_budget else {
            return refuse("a thinking budget");
        };
        insert_at(&mut members, path, budget.into());
    }
    Ok(members)
}

/// Puts `value` at a dotted path.
fn insert_at(members: &mut Map<String, Value>, path: &str, value: Value) {
    match path.split_once('.') {
        None => {
            members.insert(path.to_owned(), value);
        }
        Some((first, rest)) => {
            let inner = members.entry(first).or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(inner) = inner {
                insert_at(inner, rest, value);
            }
        }
    }
}

struct Body<'a> {
    request: &'a ChatRequest,
    source: &'a SourceConfig,
    profile: &'a ProviderProfile,
    stream: bool,
    thinking: Map<String, Value>,
}

impl Body<'_> {
    /// The caps, under the name that the service wants.
    fn caps(&self) -> [(&'static str, Option<u64>); 2] {
        let (old, new) = (self.request.max_tokens, self.request.max_completion_tokens);
        let either = self.request.token_cap();
        match self.profile.token_cap {
            TokenCapField::AsGiven => [("max_tokens", old), ("max_completion_tokens", new)],
            TokenCapField::MaxTokens => [("max_tokens", either), ("max_completion_tokens", None)],
            TokenCapField::MaxCompletionTokens => {
                [("max_tokens", None), ("max_completion_tokens", either)]
            }
        }
    }
}

/// Writes members, leaving out those that `provider_options` writes itself: nothing comes twice.
struct Members<'a, M> {
    map: M,
    overridden: &'a Map<String, Value>,
}

impl<M: serde::ser::SerializeMap> Members<'_, M> {
    fn put<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<(), M::Error> {
        if self.overridden.contains_key(name) {
            return Ok(());
        }
        self.map.serialize_entry(name, value)
    }

    fn put_some<T: Serialize>(&mut self, name: &str, value: Option<&T>) -> Result<(), M::Error> {
        value.map_or(Ok(()), |value| self.put(name, value))
    }
}

impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let request = self.request;
        let map = serializer.serialize_map(None)?;
        let mut members = Members { map, overridden: &request.provider_options };
        members.put("model", request.model.as_deref().unwrap_or(&self.source.model))?;
        members.put::<[Message]>("messages", &request.messages)?;
        members.put_some("temperature", request.temperature.as_ref())?;
        members.put_some("top_p", request.top_p.as_ref())?;
        members.put_some("n", request.n.as_ref())?;
        members.put_some("stop", request.stop.as_ref())?;
        for (name, cap) in self.caps() {
            members.put_some(name, cap.as_ref())?;
        }
        members.put_some("seed", request.seed.as_ref())?;
        if !request.tools.is_empty() {
            members.put("tools", &request.tools)?;
        }
        members.put_some("tool_choice", request.tool_choice.as_ref())?;
        members.put_some("parallel_tool_calls", request.parallel_tool_calls.as_ref())?;
        members.put_some("response_format", request.response_format.as_ref())?;
        members.put_some("reasoning_effort", request.reasoning_effort.as_ref())?;
        for (name, value) in &request.options {
            members.put(name, value)?;
        }
        for (name, value) in &self.thinking {
            members.put(name, value)?;
        }
        // Said either way: some services stream unless told not to.
        members.put("stream", &self.stream)?;
        if self.stream && self.profile.stream_usage {
            let mut options = Map::new();
            options.insert("include_usage".into(), true.into());
            members.put("stream_options", &options)?;
        }
        for (name, value) in &request.provider_options {
            members.map.serialize_entry(name, value)?;
        }
        members.map.end()
    }
}

#[cfg(test)]
mod tests;
