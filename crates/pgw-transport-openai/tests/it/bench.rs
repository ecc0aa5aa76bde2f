//! A mock, and a transport that calls it.

use std::{sync::Arc, time::Duration};

use futures_util::StreamExt as _;
use pgw_mock::{Answer, Endpoint, MockServer, Scenario, Step};
use pgw_ports::{AttemptCx, EventStream, Transport as _};
use pgw_transport_openai::OpenAiTransport;
use pgw_types::{
    CallError, ChatEvent, ChatRequest, Finish, Message, ProviderProfile, SourceConfig,
    built_in_profiles,
};
use serde_json::{Value, json};

/// The key of every source here. It must never be shown.
pub(crate) const KEY: &str = "canary.0123456789";

pub(crate) struct Bench {
    pub(crate) mock: MockServer,
    pub(crate) transport: OpenAiTransport,
    pub(crate) source: Arc<SourceConfig>,
}

/// What came of a call: the events, and the error that ended them.
pub(crate) type Outcome = (Vec<ChatEvent>, Option<CallError>);

impl Bench {
    /// A mock that plays these answers, one a call.
    pub(crate) async fn new(answers: impl IntoIterator<Item = Answer>) -> Self {
        Self::with(answers, "generic", |_| {}).await
    }

    /// The same with another profile, and a source that is changed a little.
    pub(crate) async fn with(
        answers: impl IntoIterator<Item = Answer>,
        profile_name: &str,
        change: impl FnOnce(&mut SourceConfig),
    ) -> Self {
        let scenario = Scenario::new().endpoint(Endpoint::chat().answers(answers));
        let mock = MockServer::start(scenario).await.unwrap();
        let mut source = SourceConfig::new("s", profile_name, mock.base_url(), KEY, "m");
        // The grace is half of it.
        source.timeouts.inter_token = Duration::from_millis(40);
        change(&mut source);
        let transport = OpenAiTransport::new(&source, profile(profile_name), None).unwrap();
        Self { mock, transport, source: Arc::new(source) }
    }

    pub(crate) async fn open(
        &self,
        request: ChatRequest,
        stream: bool,
    ) -> Result<EventStream<ChatEvent>, CallError> {
        let source = Arc::clone(&self.source);
        let attempt = AttemptCx { source, call_id: "attempt".into(), stream };
        self.transport.open(&attempt, &Arc::new(request)).await
    }

    /// Asks for a stream and reads it to its end.
    pub(crate) async fn stream(&self) -> Outcome {
        self.call(true).await
    }

    /// Asks for a plain answer.
    pub(crate) async fn plain(&self) -> Outcome {
        self.call(false).await
    }

    async fn call(&self, stream: bool) -> Outcome {
        match self.open(hello(), stream).await {
            Ok(events) => read(events).await,
            Err(error) => (Vec::new(), Some(error)),
        }
    }
}

pub(crate) fn profile(name: &str) -> ProviderProfile {
    built_in_profiles().into_iter().find(|profile| profile.name == name).unwrap()
}

pub(crate) fn hello() -> ChatRequest {
    ChatRequest::new(vec![Message::user("hi")])
}

/// Reads to the end; nothing may follow an error, and something must end the answer.
pub(crate) async fn read(mut events: EventStream<ChatEvent>) -> Outcome {
    let mut seen = Vec::new();
    while let Some(event) = events.next().await {
        match event {
            Ok(event) => seen.push(event),
            Err(error) => {
                assert!(events.next().await.is_none(), "an event after an error");
                return (seen, Some(error));
            }
        }
    }
    assert!(matches!(seen.last(), Some(ChatEvent::Finish(_))), "no end: {seen:?}");
    (seen, None)
}

/// The content, the finish and the error of an outcome.
pub(crate) fn parts((events, error): Outcome) -> (String, Option<Finish>, Option<CallError>) {
    let mut content = String::new();
    let mut finish = None;
    for event in events {
        match event {
            ChatEvent::ContentDelta { text, .. } => content.push_str(&text),
            ChatEvent::Finish(end) => finish = Some(end),
            _ => {}
        }
    }
    (content, finish, error)
}

/// The content of a good answer.
pub(crate) fn content(outcome: Outcome) -> String {
    let (content, finish, error) = parts(outcome);
    assert!(error.is_none() && finish.is_some(), "{error:?}");
    content
}

pub(crate) fn failure(outcome: Outcome) -> CallError {
    outcome.1.unwrap()
}

pub(crate) fn text(text: &str) -> Value {
    json!({"id": "c1", "model": "m", "choices": [{"index": 0, "delta": {"content": text}}]})
}

pub(crate) fn stop() -> Value {
    json!({"id": "c1", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
}

/// A whole stream that says `hello`, up to and without `[DONE]`.
pub(crate) fn hello_steps() -> [Step; 2] {
    [Step::event(&text("hello")), Step::event(&stop())]
}

pub(crate) fn good() -> Answer {
    let [said, stopped] = hello_steps();
    Answer::sse([said, stopped, Step::done()])
}

/// A whole answer in one document.
pub(crate) fn document() -> Value {
    json!({"id": "c1", "object": "chat.completion", "model": "m", "choices": [
        {"index": 0, "message": {"role": "assistant", "content": "hello"}, "finish_reason": "stop"}
    ], "usage": {"prompt_tokens": 3, "completion_tokens": 1}})
}
