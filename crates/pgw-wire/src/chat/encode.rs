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
        if !insert_at(&mut members, path, budget.into()) {
            return refuse("a thinking budget beside its switch");
        }
    }
    Ok(members)
}

/// Puts `value` at a dotted path; false if something that is no object stands in the way.
fn insert_at(members: &mut Map<String, Value>, path: &str, value: Value) -> bool {
    match path.split_once('.') {
        None => {
            members.insert(path.to_owned(), value);
            true
        }
        Some((first, rest)) => {
            let inner = members.entry(first).or_insert_with(|| Value::Object(Map::new()));
            match inner {
                Value::Object(inner) => insert_at(inner, rest, value),
                _ => false,
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

/// Writes members, each name once: what was written first stands.
struct Members<'a, M> {
    map: M,
    written: Vec<&'a str>,
}

impl<'a, M: serde::ser::SerializeMap> Members<'a, M> {
    fn put<T: Serialize + ?Sized>(&mut self, name: &'a str, value: &T) -> Result<(), M::Error> {
        if self.written.contains(&name) {
            return Ok(());
        }
        self.written.push(name);
        self.map.serialize_entry(name, value)
    }

    fn put_some<T: Serialize>(&mut self, name: &'a str, value: Option<&T>) -> Result<(), M::Error> {
        value.map_or(Ok(()), |value| self.put(name, value))
    }
}

impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let request = self.request;
        let map = serializer.serialize_map(None)?;
        let mut members = Members { map, written: Vec::with_capacity(24) };
        // What overrides comes first, since the first word stands.
        for (name, value) in &request.provider_options {
            members.put(name, value)?;
        }
        // A word of the call counts over the source's switch, not over the call's own.
        if request.thinking.is_none() {
            members.put_some("reasoning_effort", request.reasoning_effort.as_ref())?;
        }
        for (name, value) in &self.thinking {
            members.put(name, value)?;
        }
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
        if self.profile.native_schema {
            members.put_some("response_format", request.native_format.as_ref())?;
        }
        members.put_some("reasoning_effort", request.reasoning_effort.as_ref())?;
        // Said either way: some services stream unless told not to.
        members.put("stream", &self.stream)?;
        if self.stream && self.profile.stream_usage {
            let mut options = Map::new();
            options.insert("include_usage".into(), true.into());
            members.put("stream_options", &options)?;
        }
        for (name, value) in &request.options {
            members.put(name, value)?;
        }
        members.map.end()
    }
}

#[cfg(test)]
mod tests;
