//! Messages of a conversation, in the form in which callers bring them and services take them.
//!
//! The JSON form is `OpenAI`'s. What this library does not need to understand is kept as it came:
//! content parts and unknown members pass through untouched.

use std::fmt;

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, Visitor},
    ser::SerializeMap,
};
use serde_json::{Map, Value};

/// Who speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Instructions of the operator.
    System,
    /// Instructions of the developer (newer name of system).
    Developer,
    /// The user.
    #[default]
    User,
    /// The model.
    Assistant,
    /// The result of a tool call.
    Tool,
}

/// One message.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said. `None` leaves the member out; [`Content::Null`] sends `null`.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub content: Option<Content>,
    /// The tools the assistant asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// Which call a tool message answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// Every other member, passed through untouched (`name`, `refusal`, `reasoning_content`, …).
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Message {
    /// A text message.
    #[must_use]
    pub fn text(role: Role, text: impl Into<String>) -> Self {
        Self { role, content: Some(Content::Text(text.into())), ..Self::default() }
    }

    /// A text message of the user.
    #[must_use]
    pub fn user(text: impl Into<String>) -> Self {
        Self::text(Role::User, text)
    }

    /// A system message.
    #[must_use]
    pub fn system(text: impl Into<String>) -> Self {
        Self::text(Role::System, text)
    }

    /// A text message of the assistant.
    #[must_use]
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::text(Role::Assistant, text)
    }

    /// A message of several parts, such as images and text.
    #[must_use]
    pub fn parts(role: Role, parts: Vec<Part>) -> Self {
        Self { role, content: Some(Content::Parts(parts)), ..Self::default() }
    }

    /// The result of a tool call.
    #[must_use]
    pub fn tool(call_id: impl Into<String>, result: impl Into<String>) -> Self {
        Self { tool_call_id: Some(call_id.into()), ..Self::text(Role::Tool, result) }
    }
}

impl From<&str> for Message {
    fn from(text: &str) -> Self {
        Self::user(text)
    }
}

impl From<String> for Message {
    fn from(text: String) -> Self {
        Self::user(text)
    }
}

/// Tells an explicit `null` from an absent member.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Content>, D::Error> {
    Content::deserialize(deserializer).map(Some)
}

/// What a message says.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// An explicit `null`, as assistants with tool calls have it.
    Null,
    /// Text.
    Text(String),
    /// Parts, in order.
    Parts(Vec<Part>),
}

impl Serialize for Content {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_none(),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Parts(parts) => parts.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ContentVisitor;

        impl<'de> Visitor<'de> for ContentVisitor {
            type Value = Content;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string, a list of content parts, or null")
            }

            fn visit_unit<E: de::Error>(self) -> Result<Content, E> {
                Ok(Content::Null)
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Content, E> {
                Ok(Content::Text(text.to_owned()))
            }

            fn visit_string<E: de::Error>(self, text: String) -> Result<Content, E> {
                Ok(Content::Text(text))
            }

            fn visit_seq<A: de::SeqAccess<'de>>(self, seq: A) -> Result<Content, A::Error> {
                Vec::deserialize(de::value::SeqAccessDeserializer::new(seq)).map(Content::Parts)
            }
        }

        deserializer.deserialize_any(ContentVisitor)
    }
}

/// One part of a message: text, an image, a file, or whatever a service may take.
///
/// A part is an open object. Its members pass through in their order and spelling.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Part {
    /// All members, `type` among them.
    pub fields: Map<String, Value>,
}

impl Part {
    /// A text part.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::with("text", "text", Value::String(text.into()))
    }

    /// An image by URL: `https://…` or `data:image/png;base64,…`.
    #[must_use]
    pub fn image_url(url: impl Into<String>) -> Self {
        let mut inner = Map::new();
        inner.insert("url".into(), Value::String(url.into()));
        Self::with("image_url", "image_url", Value::Object(inner))
    }

    fn with(kind: &str, member: &str, value: Value) -> Self {
        let mut fields = Map::new();
        fields.insert("type".into(), Value::String(kind.into()));
        fields.insert(member.into(), value);
        Self { fields }
    }

    /// The `type` of the part; empty if it has none.
    #[must_use]
    pub fn kind(&self) -> &str {
        self.fields.get("type").and_then(Value::as_str).unwrap_or_default()
    }

    /// The text of a text part.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self.kind() {
            "text" => self.fields.get("text").and_then(Value::as_str),
            _ => None,
        }
    }
}

/// A call of a function that the model asks for.
///
/// JSON form: `{"id", "type": "function", "function": {"name", "arguments"}, …}`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolCall {
    /// Names the call; the tool message that answers it repeats this.
    pub id: String,
    /// The function.
    pub name: String,
    /// Its arguments: JSON text, exactly as the model wrote it. It may be invalid JSON.
    pub arguments: String,
    /// Other members, kept for the echo (such as `extra_content` with a thought signature).
    pub extra: Map<String, Value>,
}

impl Serialize for ToolCall {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Function<'a> {
            name: &'a str,
            arguments: &'a str,
        }

        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("id", &self.id)?;
        map.serialize_entry("type", "function")?;
        let function = Function { name: &self.name, arguments: &self.arguments };
        map.serialize_entry("function", &function)?;
        for (key, value) in &self.extra {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for ToolCall {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Function {
            name: String,
            #[serde(default)]
            arguments: Value,
        }

        #[derive(Deserialize)]
        struct Loose {
            #[serde(default)]
            id: String,
            function: Function,
            #[serde(flatten)]
            extra: Map<String, Value>,
        }

        let mut loose = Loose::deserialize(deserializer)?;
        loose.extra.remove("type");
        // Some clients echo arguments as an object (0xPlaygrounds/rig#1408); the wire wants text.
        let arguments = match loose.function.arguments {
            Value::Null => String::new(),
            Value::String(text) => text,
            other => other.to_string(),
        };
        Ok(Self { id: loose.id, name: loose.function.name, arguments, extra: loose.extra })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// TYP-026, OAI-028: a conversation survives the round trip to the letter.
    #[test]
    fn messages_round_trip_with_unknown_members() {
        let conversation = json!([
            {"role": "developer", "content": "be short"},
            {"role": "user", "content": [
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA", "x": 1}},
                {"type": "text", "text": "what?", "cache_control": {"type": "ephemeral"}},
                {"type": "novel", "anything": [1, null]}
            ], "name": "u"},
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"},
                 "extra_content": {"google": {"thought_signature": "c2ln"}}}
            ], "reasoning_content": "hm"},
            {"role": "tool", "content": "4", "tool_call_id": "a"}
        ]);
        let messages: Vec<Message> = serde_json::from_value(conversation.clone()).unwrap();
        assert_eq!(messages[2].content, Some(Content::Null));
        assert_eq!(
            serde_json::to_string(&messages).unwrap(),
            serde_json::to_string(&conversation).unwrap()
        );
    }

    #[test]
    fn an_absent_content_stays_absent() {
        let message: Message = serde_json::from_value(json!({"role": "assistant"})).unwrap();
        assert_eq!(serde_json::to_value(&message).unwrap(), json!({"role": "assistant"}));
    }

    #[test]
    fn the_wrong_shape_of_content_is_named() {
        let error = serde_json::from_value::<Message>(json!({"role": "user", "content": 4}));
        let text = error.unwrap_err().to_string();
        assert!(text.contains("a string, a list of content parts, or null"), "{text}");
    }
}
