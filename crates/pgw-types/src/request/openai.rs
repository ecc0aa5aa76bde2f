//! Reading a whole `OpenAI`-format request body.
//!
//! Strict where silence would hurt: every fault is reported at once with its field, and a field
//! that is neither published nor under `provider_options` is refused by name, never dropped.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{ChatRequest, Delivery, RequestFault, Thinking};
use crate::Message;

/// What a published field must look like.
#[derive(Clone, Copy)]
enum Shape {
    Text,
    Number,
    Integer,
    Flag,
    Object,
    List,
    Any,
}

impl Shape {
    const fn name(self) -> &'static str {
        match self {
            Self::Text => "a string",
            Self::Number => "a number",
            Self::Integer => "a whole number",
            Self::Flag => "true or false",
            Self::Object => "an object",
            Self::List => "a list",
            Self::Any => "any value",
        }
    }

    fn fits(self, value: &Value) -> bool {
        match self {
            Self::Text => value.is_string(),
            Self::Number => value.is_number(),
            Self::Integer => value.is_u64() || value.is_i64(),
            Self::Flag => value.is_boolean(),
            Self::Object => value.is_object(),
            Self::List => value.is_array(),
            Self::Any => true,
        }
    }
}

fn shape_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(number) if number.is_f64() => "a fraction",
        Value::Number(_) => "a whole number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Published chat fields that pass through unread (openai-python `completion_create_params.py`).
const PASSED_ON: &[(&str, Shape)] = &[
    ("frequency_penalty", Shape::Number),
    ("presence_penalty", Shape::Number),
    ("logit_bias", Shape::Object),
    ("logprobs", Shape::Flag),
    ("top_logprobs", Shape::Integer),
    ("user", Shape::Text),
    ("metadata", Shape::Object),
    ("store", Shape::Flag),
    ("service_tier", Shape::Text),
    ("modalities", Shape::List),
    ("audio", Shape::Object),
    ("prediction", Shape::Object),
    ("verbosity", Shape::Text),
    ("prompt_cache_key", Shape::Text),
    ("prompt_cache_retention", Shape::Text),
    ("safety_identifier", Shape::Text),
    ("web_search_options", Shape::Object),
    ("functions", Shape::List),
    ("function_call", Shape::Any),
];

impl ChatRequest {
    /// The published fields that are sent as they are.
    pub const PASSED_ON: [&'static str; PASSED_ON.len()] = {
        let mut names = [""; PASSED_ON.len()];
        let mut index = 0;
        while index < names.len() {
            names[index] = PASSED_ON[index].0;
            index += 1;
        }
        names
    };

    /// Reads a whole body as an `OpenAI` client would send it.
    ///
    /// # Errors
    /// Every fault of the body: fields of the wrong shape, unknown fields, contradictions.
    pub fn from_openai(body: Value) -> Result<(Self, Delivery), Vec<RequestFault>> {
        let Value::Object(fields) = body else {
            return Err(vec![RequestFault {
                field: "(body)".into(),
                problem: format!("is {}", shape_of(&body)),
                fix: "send one JSON object with at least `messages`".into(),
            }]);
        };
        let mut reader = Reader { request: Self::default(), ..Reader::default() };
        for (name, value) in fields {
            reader.read(&name, value);
        }
        reader.finish()
    }
}

#[derive(Default)]
struct Reader {
    request: ChatRequest,
    delivery: Delivery,
    saw_messages: bool,
    faults: Vec<RequestFault>,
}

impl Reader {
    fn fault(&mut self, field: &str, problem: impl Into<String>, fix: impl Into<String>) {
        let (problem, fix) = (problem.into(), fix.into());
        self.faults.push(RequestFault { field: field.into(), problem, fix });
    }

    fn read(&mut self, name: &str, value: Value) {
        let is_null = value.is_null();
        match name {
            "messages" => self.messages(value),
            "provider_options" => match value {
                Value::Object(map) => self.request.provider_options = map,
                other => self.expect(name, "an object", &other),
            },
            "stream_options" => self.stream_options(name, value),
            "thinking" => self.thinking(name, &value),
            "stop" => match &value {
                Value::String(_) => self.request.stop = Some(value),
                Value::Array(items) if items.iter().all(Value::is_string) => {
                    self.request.stop = Some(value);
                }
                _ if is_null => {}
                other => self.expect(name, "a string or a list of strings", other),
            },
            "tools" => match value {
                Value::Array(tools) => self.tools(tools),
                _ if is_null => {}
                other => self.expect(name, "a list of tool objects", &other),
            },
            "tool_choice" => match &value {
                Value::String(_) | Value::Object(_) => self.request.tool_choice = Some(value),
                _ if is_null => {}
                other => self.expect(name, "a word (none, auto, required) or an object", other),
            },
            "response_format" => match &value {
                Value::Object(map) if map.get("type").is_some_and(Value::is_string) => {
                    self.request.response_format = Some(value);
                }
                _ if is_null => {}
                other => self.expect(name, "an object with a `type`", other),
            },
            // An explicit null says what an absent field says (openai-python sends none).
            _ if is_null => self.known_or_fault(name),
            "model" => self.request.model = self.typed(name, "a string", value),
            "temperature" => self.request.temperature = self.typed(name, "a number", value),
            "top_p" => self.request.top_p = self.typed(name, "a number", value),
            "n" => self.request.n = self.typed(name, "a whole number from 1", value),
            "seed" => self.request.seed = self.typed(name, "a whole number", value),
            "max_tokens" => {
                self.request.max_tokens = self.typed(name, "a whole number from 1", value);
            }
            "max_completion_tokens" => {
                self.request.max_completion_tokens =
                    self.typed(name, "a whole number from 1", value);
            }
            "parallel_tool_calls" => {
                self.request.parallel_tool_calls = self.typed(name, "true or false", value);
            }
            "reasoning_effort" => {
                self.request.reasoning_effort = self.typed(name, "a string", value);
            }
            "stream" => {
                self.delivery.stream = self.typed(name, "true or false", value).unwrap_or(false);
            }
            "enable_thinking" => match self.typed(name, "true or false", value) {
                Some(true) => self.set_thinking(name, Thinking::On { budget: None }),
                Some(false) => self.set_thinking(name, Thinking::Off),
                None => {}
            },
            _ => self.passed_on(name, value),
        }
    }

    fn passed_on(&mut self, name: &str, value: Value) {
        match PASSED_ON.iter().find(|(known, _)| *known == name) {
            Some((_, shape)) if shape.fits(&value) => {
                self.request.options.insert(name.into(), value);
            }
            Some((_, shape)) => self.expect(name, shape.name(), &value),
            None => self.unknown(name),
        }
    }

    fn known_or_fault(&mut self, name: &str) {
        const TYPED: [&str; 11] = [
            "model",
            "temperature",
            "top_p",
            "n",
            "seed",
            "max_tokens",
            "max_completion_tokens",
            "parallel_tool_calls",
            "reasoning_effort",
            "stream",
            "enable_thinking",
        ];
        if !TYPED.contains(&name) && !PASSED_ON.iter().any(|(known, _)| *known == name) {
            self.unknown(name);
        }
    }

    fn unknown(&mut self, name: &str) {
        self.fault(
            name,
            "is not a published field of a chat request",
            "check its spelling, or put it under `provider_options` to send it as it is",
        );
    }

    fn expect(&mut self, name: &str, wanted: &str, got: &Value) {
        self.fault(name, format!("is {}", shape_of(got)), format!("write {wanted}"));
    }

    fn typed<T: DeserializeOwned>(&mut self, name: &str, wanted: &str, value: Value) -> Option<T> {
        let shape = shape_of(&value);
        if let Ok(typed) = serde_json::from_value(value) {
            return Some(typed);
        }
        self.fault(name, format!("is {shape}"), format!("write {wanted}"));
        None
    }

    fn messages(&mut self, value: Value) {
        self.saw_messages = true;
        let Value::Array(items) = value else {
            return self.expect("messages", "a list of message objects", &value);
        };
        if items.is_empty() {
            self.fault("messages", "is an empty list", "give at least one message");
        }
        for (index, item) in items.into_iter().enumerate() {
            let shape = shape_of(&item);
            match serde_json::from_value::<Message>(item) {
                Ok(message) => self.request.messages.push(message),
                Err(error) => self.fault(
                    &format!("messages[{index}]"),
                    format!("is {shape} that is no message: {error}"),
                    "write {\"role\": …, \"content\": …}",
                ),
            }
        }
    }

    fn tools(&mut self, tools: Vec<Value>) {
        for (index, tool) in tools.iter().enumerate() {
            let named = tool.pointer("/function/name").is_some_and(Value::is_string);
            let is_function = tool.get("type").is_none_or(|kind| kind == "function");
            if !tool.is_object() || (is_function && !named) {
                self.fault(
                    &format!("tools[{index}]"),
                    "is not a tool object",
                    "write {\"type\": \"function\", \"function\": {\"name\": …}}",
                );
            }
        }
        self.request.tools = tools;
    }

    fn stream_options(&mut self, name: &str, value: Value) {
        match value {
            Value::Null => {}
            Value::Object(map) => {
                for (key, value) in map {
                    match (key.as_str(), &value) {
                        ("include_usage", Value::Bool(wanted)) => {
                            self.delivery.include_usage = *wanted;
                        }
                        // Padding against traffic analysis; we answer with our own frames.
                        ("include_obfuscation", Value::Bool(_)) => {}
                        ("include_usage" | "include_obfuscation", other) => {
                            self.expect(&format!("{name}.{key}"), "true or false", other);
                        }
                        _ => self.fault(
                            &format!("{name}.{key}"),
                            "is not a published stream option",
                            "write include_usage",
                        ),
                    }
                }
            }
            other => self.expect(name, "an object", &other),
        }
    }

    fn thinking(&mut self, name: &str, value: &Value) {
        let kind = value.get("type").and_then(Value::as_str).map(str::to_owned);
        match (kind.as_deref(), value) {
            (_, Value::Null) => {}
            (Some("enabled"), Value::Object(map)) => {
                let budget = map.get("budget_tokens").and_then(Value::as_u64);
                if map.keys().all(|key| matches!(key.as_str(), "type" | "budget_tokens")) {
                    self.set_thinking(name, Thinking::On { budget });
                } else {
                    self.pass_thinking(map.clone());
                }
            }
            (Some("disabled"), Value::Object(map)) if map.len() == 1 => {
                self.set_thinking(name, Thinking::Off);
            }
            // A word of some service that we have none for: sent as it is.
            (Some(_), Value::Object(map)) => self.pass_thinking(map.clone()),
            (_, Value::Bool(true)) => self.set_thinking(name, Thinking::On { budget: None }),
            (_, Value::Bool(false)) => self.set_thinking(name, Thinking::Off),
            (None, other) => {
                self.expect(name, "{\"type\": \"enabled\"} or {\"type\": \"disabled\"}", other);
            }
            (Some(_), other) => self.expect(name, "an object", other),
        }
    }

    fn pass_thinking(&mut self, map: Map<String, Value>) {
        self.request.provider_options.entry("thinking").or_insert(Value::Object(map));
    }

    fn set_thinking(&mut self, name: &str, thinking: Thinking) {
        let on = |value: Thinking| matches!(value, Thinking::On { .. });
        match self.request.thinking {
            Some(known) if on(known) != on(thinking) => self.fault(
                name,
                "contradicts the other thinking switch of this request",
                "keep one of `thinking` and `enable_thinking`",
            ),
            Some(Thinking::On { budget: Some(_) }) => {}
            Some(_) | None => self.request.thinking = Some(thinking),
        }
    }

    fn finish(mut self) -> Result<(ChatRequest, Delivery), Vec<RequestFault>> {
        if !self.saw_messages {
            self.fault("messages", "is missing", "give a list of message objects");
        }
        if self.request.max_tokens.is_some() && self.request.max_completion_tokens.is_some() {
            self.fault("max_completion_tokens", "stands beside max_tokens", "keep one of the two");
        }
        for (name, value) in [
            ("n", self.request.n.map(u64::from)),
            ("max_tokens", self.request.max_tokens),
            ("max_completion_tokens", self.request.max_completion_tokens),
        ] {
            if value == Some(0) {
                self.fault(name, "is 0", "write a whole number from 1");
            }
        }
        if self.faults.is_empty() { Ok((self.request, self.delivery)) } else { Err(self.faults) }
    }
}
