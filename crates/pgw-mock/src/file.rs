//! The JSON form of a scenario and its translation, with a path for every fault.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::answer::{Answer, Content, Framing, JSON, Split, Step, error_body, error_type};
use crate::chat::ChatReply;
use crate::scenario::{AfterLast, Endpoint, Match, Problem, Scenario, ScenarioError};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScenarioForm {
    endpoints: Vec<EndpointForm>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EndpointForm {
    path: String,
    method: Option<String>,
    name: Option<String>,
    #[serde(rename = "match", default)]
    matching: MatchForm,
    answers: Vec<AnswerForm>,
    #[serde(default)]
    then: AfterLast,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct MatchForm {
    model: Option<String>,
    stream: Option<bool>,
    bearer: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AnswerForm {
    status: Option<u16>,
    #[serde(default)]
    headers: Map<String, Value>,
    #[serde(default)]
    delay_ms: u64,
    body: Option<BodyForm>,
    sse: Option<Vec<ChunkForm>>,
    raw: Option<BodyForm>,
    chat: Option<ChatReply>,
    error: Option<ErrorForm>,
    framing: Option<Framing>,
    #[serde(default)]
    split: Split,
    #[serde(default)]
    close: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum BodyForm {
    Json(Value),
    Text(String),
    Base64(String),
    Chunks(Vec<ChunkForm>),
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum ChunkForm {
    Json(Value),
    Text(String),
    Base64(String),
    PauseMs(u64),
    Stall,
    Cut,
    Reset,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ErrorForm {
    status: u16,
    code: Option<String>,
    #[serde(default)]
    message: String,
    #[serde(rename = "type")]
    kind: Option<String>,
    param: Option<String>,
}

/// Reads and checks a scenario.
pub(crate) fn read(text: &str) -> Result<Scenario, ScenarioError> {
    let mut source = serde_json::Deserializer::from_str(text);
    let form: ScenarioForm = serde_path_to_error::deserialize(&mut source).map_err(|fault| {
        ScenarioError::one(Problem::new(fault.path().to_string(), fault.inner().to_string()))
    })?;
    source.end().map_err(|fault| ScenarioError::one(Problem::new(".", fault.to_string())))?;

    let mut problems = Vec::new();
    let mut scenario = Scenario::new();
    for (index, endpoint) in form.endpoints.into_iter().enumerate() {
        let at = format!("endpoints[{index}]");
        scenario = scenario.endpoint(endpoint.build(&at, &mut problems));
    }
    scenario.collect_problems(&mut problems);
    ScenarioError::unless_empty(problems)?;
    Ok(scenario)
}

impl EndpointForm {
    fn build(self, at: &str, problems: &mut Vec<Problem>) -> Endpoint {
        let mut matching = Match::any();
        if let Some(model) = self.matching.model {
            matching = matching.model(model);
        }
        if let Some(stream) = self.matching.stream {
            matching = matching.stream(stream);
        }
        if let Some(key) = self.matching.bearer {
            matching = matching.bearer(key);
        }
        let mut endpoint = Endpoint::new(self.path).matching(matching).then(self.then);
        if let Some(method) = self.method {
            endpoint = endpoint.method(method);
        }
        if let Some(name) = self.name {
            endpoint = endpoint.named(name);
        }
        for (index, answer) in self.answers.into_iter().enumerate() {
            endpoint = endpoint.answer(answer.build(&format!("{at}.answers[{index}]"), problems));
        }
        endpoint
    }
}

impl AnswerForm {
    fn build(self, at: &str, problems: &mut Vec<Problem>) -> Answer {
        let given: Vec<&str> = [
            ("body", self.body.is_some()),
            ("sse", self.sse.is_some()),
            ("raw", self.raw.is_some()),
            ("chat", self.chat.is_some()),
            ("error", self.error.is_some()),
        ]
        .into_iter()
        .filter_map(|(name, given)| given.then_some(name))
        .collect();
        if given.len() > 1 {
            let given = given.join(", ");
            problems.push(Problem::new(at, format!("has {given} at once; keep one of them")));
        }
        if self.status.is_some() && (self.raw.is_some() || self.error.is_some()) {
            problems.push(Problem::new(
                format!("{at}.status"),
                "belongs into raw or error here; remove this one",
            ));
        }

        let mut answer = if let Some(body) = self.body {
            Answer::of(body.content(&format!("{at}.body"), problems))
        } else if let Some(chunks) = self.sse {
            Answer::sse(steps(chunks, Step::event, &format!("{at}.sse"), problems))
        } else if let Some(raw) = self.raw {
            Answer::raw_steps(raw.steps(&format!("{at}.raw"), problems))
        } else if let Some(reply) = self.chat {
            Answer::chat(reply)
        } else if let Some(error) = self.error {
            error.build()
        } else {
            Answer::empty(200)
        };
        if let Some(status) = self.status {
            answer = answer.status(status);
        }
        for (name, value) in self.headers {
            let at = format!("{at}.headers.{name}");
            for value in header_values(&name, value, &at, problems) {
                answer = answer.header(name.clone(), value);
            }
        }
        answer.delay = Duration::from_millis(self.delay_ms);
        answer.framing = self.framing;
        answer.split = self.split;
        answer.close = self.close;
        answer
    }
}

impl BodyForm {
    fn content(self, at: &str, problems: &mut Vec<Problem>) -> Content {
        match self {
            Self::Json(value) => {
                Content::Whole { media: Some(JSON), bytes: value.to_string().into() }
            }
            Self::Text(text) => {
                Content::Whole { media: Some("text/plain; charset=utf-8"), bytes: text.into() }
            }
            Self::Base64(text) => {
                let at = format!("{at}.base64");
                Content::Whole { media: None, bytes: decode(&text, &at, problems) }
            }
            Self::Chunks(chunks) => {
                let at = format!("{at}.chunks");
                Content::Stepped { media: JSON, steps: steps(chunks, plain, &at, problems) }
            }
        }
    }

    fn steps(self, at: &str, problems: &mut Vec<Problem>) -> Vec<Step> {
        match self {
            Self::Json(value) => vec![plain(&value)],
            Self::Text(text) => vec![Step::data(text)],
            Self::Base64(text) => {
                vec![Step::Data(decode(&text, &format!("{at}.base64"), problems))]
            }
            Self::Chunks(chunks) => steps(chunks, plain, &format!("{at}.chunks"), problems),
        }
    }
}

impl ErrorForm {
    fn build(self) -> Answer {
        let kind = self.kind.as_deref().unwrap_or(error_type(self.status));
        let body = error_body(&self.message, kind, self.param.as_deref(), self.code.as_deref());
        Answer::json(self.status, &body)
    }
}

fn plain(value: &Value) -> Step {
    Step::data(value.to_string())
}

fn steps(
    chunks: Vec<ChunkForm>,
    json: fn(&Value) -> Step,
    at: &str,
    problems: &mut Vec<Problem>,
) -> Vec<Step> {
    let step = |(index, chunk)| match chunk {
        ChunkForm::Json(value) => json(&value),
        ChunkForm::Text(text) => Step::data(text),
        ChunkForm::Base64(text) => {
            Step::Data(decode(&text, &format!("{at}[{index}].base64"), problems))
        }
        ChunkForm::PauseMs(milliseconds) => Step::pause_ms(milliseconds),
        ChunkForm::Stall => Step::Stall,
        ChunkForm::Cut => Step::Cut,
        ChunkForm::Reset => Step::Reset,
    };
    chunks.into_iter().enumerate().map(step).collect()
}

fn decode(text: &str, at: &str, problems: &mut Vec<Problem>) -> Bytes {
    match STANDARD.decode(text) {
        Ok(bytes) => bytes.into(),
        Err(fault) => {
            let message =
                format!("is not base64 ({fault}); use the standard alphabet with padding");
            problems.push(Problem::new(at, message));
            Bytes::new()
        }
    }
}

fn header_values(name: &str, value: Value, at: &str, problems: &mut Vec<Problem>) -> Vec<String> {
    if http::HeaderName::from_bytes(name.as_bytes()).is_err() {
        problems.push(Problem::new(at, "is not a header name; use letters, digits and hyphens"));
    }
    let values = match value {
        Value::Array(values) => values,
        value => vec![value],
    };
    let mut texts = Vec::with_capacity(values.len());
    for value in values {
        match value {
            // A line break would end the header; broken heads are written with `raw`.
            Value::String(text) if !text.contains(['\r', '\n', '\0']) => texts.push(text),
            Value::String(_) => {
                problems.push(Problem::new(at, "holds a line break; use raw for a broken head"));
            }
            _ => problems.push(Problem::new(at, "must be text or a list of texts; add quotes")),
        }
    }
    texts
}
