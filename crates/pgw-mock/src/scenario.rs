//! What the mock plays: endpoints, the requests they fit, and their sequences of answers.

use std::fmt::{self, Write as _};

use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;

use crate::answer::Answer;
use crate::request::Request;

/// Paths below this prefix are the mock's own control endpoints.
pub(crate) const CONTROL_PREFIX: &str = "/__mock/";

/// The whole script of one mock: its endpoints in the order in which they are tried.
#[derive(Debug, Clone, Default)]
pub struct Scenario {
    endpoints: Vec<Endpoint>,
}

impl Scenario {
    /// A script without endpoints; every request would get a 404.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an endpoint after those already there.
    #[must_use]
    pub fn endpoint(mut self, endpoint: Endpoint) -> Self {
        self.endpoints.push(endpoint);
        self
    }

    /// Reads a scenario file; the crate's front page describes the format.
    ///
    /// # Errors
    /// [`ScenarioError`] with the path of each faulty field. A text that is not JSON of the right
    /// shape (an unknown field, a wrong type) is reported alone, because nothing after it can be
    /// trusted; all other faults are reported together.
    pub fn from_json(text: &str) -> Result<Self, ScenarioError> {
        crate::file::read(text)
    }

    /// Checks what the types can't say: unique names, statuses in range, at least one answer each.
    /// [`MockServer::start`](crate::MockServer::start) calls it.
    ///
    /// # Errors
    /// [`ScenarioError`] with all faults and their paths.
    pub fn check(&self) -> Result<(), ScenarioError> {
        let mut problems = Vec::new();
        self.collect_problems(&mut problems);
        ScenarioError::unless_empty(problems)
    }

    pub(crate) fn collect_problems(&self, problems: &mut Vec<Problem>) {
        for (index, endpoint) in self.endpoints.iter().enumerate() {
            let at = format!("endpoints[{index}]");
            endpoint.collect_problems(&at, problems);
            let first = self.endpoints.iter().position(|other| other.name() == endpoint.name());
            if let Some(first) = first.filter(|first| *first < index) {
                problems.push(Problem::new(
                    format!("{at}.name"),
                    format!(
                        "{:?} is already the name of endpoints[{first}]; give each endpoint its own \
                         name, the counters are kept by it",
                        endpoint.name()
                    ),
                ));
            }
        }
    }

    pub(crate) fn endpoints(&self) -> &[Endpoint] {
        &self.endpoints
    }

    /// The first endpoint that fits, by its position.
    pub(crate) fn find(&self, request: &Request) -> Option<usize> {
        self.endpoints.iter().position(|endpoint| endpoint.fits(request))
    }

    /// A list of all endpoints for the 404 answer.
    pub(crate) fn known(&self) -> String {
        if self.endpoints.is_empty() {
            return "none".to_owned();
        }
        let list: Vec<String> = self.endpoints.iter().map(Endpoint::describe).collect();
        list.join("; ")
    }
}

/// One scripted path: which requests it takes and what it answers, in order.
#[derive(Debug, Clone)]
pub struct Endpoint {
    path: String,
    method: Option<String>,
    name: Option<String>,
    matching: Match,
    answers: Vec<Answer>,
    after_last: AfterLast,
}

impl Endpoint {
    /// An endpoint for any method on `path`, named like the path.
    #[must_use]
    pub fn new(path: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            method: None,
            name: None,
            matching: Match::any(),
            answers: Vec::new(),
            after_last: AfterLast::RepeatLast,
        }
    }

    /// `POST /v1/chat/completions`, named `chat`.
    #[must_use]
    pub fn chat() -> Self {
        Self::new("/v1/chat/completions").method("POST").named("chat")
    }

    /// Takes only requests of this method.
    #[must_use]
    pub fn method(mut self, method: impl Into<String>) -> Self {
        self.method = Some(method.into());
        self
    }

    /// Names the endpoint's counters; the name must be unique in the scenario.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Takes only requests that fit `matching`.
    #[must_use]
    pub fn matching(mut self, matching: Match) -> Self {
        self.matching = matching;
        self
    }

    /// Adds an answer after those already there.
    #[must_use]
    pub fn answer(mut self, answer: Answer) -> Self {
        self.answers.push(answer);
        self
    }

    /// Adds several answers after those already there.
    #[must_use]
    pub fn answers(mut self, answers: impl IntoIterator<Item = Answer>) -> Self {
        self.answers.extend(answers);
        self
    }

    /// Says what follows the last answer.
    #[must_use]
    pub fn then(mut self, after_last: AfterLast) -> Self {
        self.after_last = after_last;
        self
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    pub(crate) fn name(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.path)
    }

    /// The answer for the `position`-th request (from 0); `None` when the script is used up.
    pub(crate) fn answer_at(&self, position: usize) -> Option<&Answer> {
        let count = self.answers.len();
        if position < count {
            return self.answers.get(position);
        }
        match self.after_last {
            AfterLast::RepeatLast => self.answers.last(),
            AfterLast::Cycle => self.answers.get(position.checked_rem(count)?),
            AfterLast::NotFound => None,
        }
    }

    fn fits(&self, request: &Request) -> bool {
        self.path == request.path()
            && self.method.as_deref().is_none_or(|method| method == request.method)
            && self.matching.fits(request)
    }

    fn describe(&self) -> String {
        let method = self.method.as_deref().unwrap_or("ANY");
        let mut text = format!("{method} {} ({})", self.path, self.name());
        self.matching.describe(&mut text);
        text
    }

    fn collect_problems(&self, at: &str, problems: &mut Vec<Problem>) {
        if !self.path.starts_with('/') || self.path.contains(['?', '#', ' ']) {
            problems.push(Problem::new(
                format!("{at}.path"),
                format!(
                    "{:?} is not a path; start it with / and leave out query and fragment",
                    self.path
                ),
            ));
        }
        if self.path.starts_with(CONTROL_PREFIX) {
            problems.push(Problem::new(
                format!("{at}.path"),
                format!(
                    "{CONTROL_PREFIX} is kept for the mock's own endpoints; choose another path"
                ),
            ));
        }
        if self.answers.is_empty() {
            problems
                .push(Problem::new(format!("{at}.answers"), "is empty; give at least one answer"));
        }
        for (index, answer) in self.answers.iter().enumerate() {
            answer.collect_problems(&format!("{at}.answers[{index}]"), problems);
        }
    }
}

/// What an endpoint does with a request after its last answer was played.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AfterLast {
    /// Plays the last answer again.
    #[default]
    RepeatLast,
    /// Starts again with the first answer.
    Cycle,
    /// Answers 404 with the code `mock_script_used_up`.
    #[serde(rename = "404")]
    NotFound,
}

/// Conditions on a request beside path and method; those not set fit everything.
#[derive(Debug, Clone, Default)]
pub struct Match {
    model: Option<String>,
    stream: Option<bool>,
    bearer: Option<SecretString>,
}

impl Match {
    /// Fits every request.
    #[must_use]
    pub fn any() -> Self {
        Self::default()
    }

    /// Fits requests whose JSON body has this `model`.
    #[must_use]
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// Fits requests whose JSON body has this `stream` flag; an absent flag counts as `false`.
    #[must_use]
    pub fn stream(mut self, stream: bool) -> Self {
        self.stream = Some(stream);
        self
    }

    /// Fits requests that carry `Authorization: Bearer KEY`.
    #[must_use]
    pub fn bearer(mut self, key: impl Into<SecretString>) -> Self {
        self.bearer = Some(key.into());
        self
    }

    fn fits(&self, request: &Request) -> bool {
        let facts = &request.facts;
        self.model.as_ref().is_none_or(|model| facts.model.as_ref() == Some(model))
            && self.stream.is_none_or(|stream| facts.stream == stream)
            && self.bearer.as_ref().is_none_or(|key| request.bearer() == Some(key.expose_secret()))
    }

    fn describe(&self, text: &mut String) {
        // Writing into a String can't fail.
        if let Some(model) = &self.model {
            let _ = write!(text, " model={model}");
        }
        if let Some(stream) = self.stream {
            let _ = write!(text, " stream={stream}");
        }
        if self.bearer.is_some() {
            text.push_str(" with a certain bearer key");
        }
    }
}

/// One fault of a scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    path: String,
    message: String,
}

impl Problem {
    pub(crate) fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { path: path.into(), message: message.into() }
    }

    /// Where the fault is, for example `endpoints[0].answers[1].status`.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// What is wrong and what to write instead.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}

/// A scenario that can't be played, with every fault found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the scenario has faults:{}", list(problems))]
pub struct ScenarioError {
    problems: Vec<Problem>,
}

impl ScenarioError {
    /// The faults in the order of the file; never empty.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    pub(crate) fn unless_empty(problems: Vec<Problem>) -> Result<(), Self> {
        if problems.is_empty() { Ok(()) } else { Err(Self { problems }) }
    }

    pub(crate) fn one(problem: Problem) -> Self {
        Self { problems: vec![problem] }
    }
}

fn list(problems: &[Problem]) -> String {
    problems.iter().fold(String::new(), |mut text, problem| {
        // Writing into a String can't fail.
        let _ = write!(text, "\n  {problem}");
        text
    })
}
