//! Through the transport, over real HTTP.

use std::{num::NonZeroUsize, sync::Arc};

use futures_util::StreamExt as _;
use pgw_mock::{Answer, Endpoint, Match, MockServer, Scenario, Split, Step};
use pgw_ports::{AttemptCx, Transport as _};
use pgw_transport_openai::OpenAiTransport;
use pgw_types::{
    CallError, ChatEvent, ChatRequest, Message, ProviderProfile, SourceConfig, built_in_profiles,
};

use crate::{
    case::{Case, Seen, cases},
    put_together,
};

/// Words in file names, and the profile of the service that they name.
const PROVIDERS: &[(&str, &str)] = &[
    ("anthropic", "anthropic"),
    ("azure", "azure"),
    ("dashscope", "qwen"),
    ("deepseek", "deepseek"),
    ("gemini", "gemini"),
    ("groq", "groq"),
    ("kimi", "moonshot"),
    ("llamacpp", "llamacpp"),
    ("lmstudio", "lmstudio"),
    ("mistral", "mistral"),
    ("newapi", "newapi"),
    ("oneapi", "newapi"),
    ("openrouter", "openrouter"),
    ("scaleway", "scaleway"),
    ("siliconflow", "siliconflow"),
    ("zhipu", "glm"),
];

/// The generic profile, and that of the provider if the name tells it.
fn profiles(case: &Case) -> Vec<ProviderProfile> {
    let own = PROVIDERS.iter().find(|(word, _)| case.name.contains(word));
    let names = ["generic"].into_iter().chain(own.map(|(_, name)| *name));
    let profile =
        |name| built_in_profiles().into_iter().find(|profile| profile.name == name).unwrap();
    names.map(profile).collect()
}

/// One way to play a case and to ask for it.
struct Run {
    way: &'static str,
    answer: fn(&Case) -> Answer,
    stream: bool,
}

fn sse(case: &Case, split: Split) -> Answer {
    Answer::sse([Step::data(case.input.clone())]).split(split)
}

const STREAMS: [Run; 4] = [
    Run { way: "one", answer: |case| sse(case, Split::One), stream: true },
    Run { way: "every byte", answer: |case| sse(case, Split::EveryByte), stream: true },
    Run {
        way: "every 7",
        answer: |case| sse(case, Split::EveryN(NonZeroUsize::new(7).unwrap())),
        stream: true,
    },
    // A stream although none was asked for.
    Run { way: "unasked", answer: |case| sse(case, Split::One), stream: false },
];

const RESPONSES: [Run; 2] = [
    Run { way: "streamed", answer: |case| Answer::raw(case.input.clone()), stream: true },
    Run { way: "plain", answer: |case| Answer::raw(case.input.clone()), stream: false },
];

/// OAI-004 … OAI-016, OAI-021, OAI-030, D11: any split of a stream gives the same.
#[tokio::test]
async fn streams() {
    judge("sse", 39, &STREAMS).await;
}

/// OAI-008, OAI-010 … OAI-015, OAI-022.
#[tokio::test]
async fn responses() {
    judge("http", 31, &RESPONSES).await;
}

async fn judge(folder: &str, least: usize, runs: &[Run]) {
    let cases = cases(folder);
    assert!(cases.len() >= least, "{} cases only", cases.len());
    let mut scenario = Scenario::new();
    let plays = || cases.iter().flat_map(|case| runs.iter().map(move |run| (case, run)));
    let named = |case: &Case, run: &Run| format!("{} {}", case.name, run.way);
    for (case, run) in plays() {
        let name = named(case, run);
        let endpoint = Endpoint::chat().named(&*name).matching(Match::any().model(name));
        scenario = scenario.endpoint(endpoint.answer((run.answer)(case)));
    }
    let mock = MockServer::start(scenario).await.unwrap();
    let mut wrong = Vec::new();
    for (case, run) in plays() {
        for profile in profiles(case) {
            let at = format!("{} as {}", named(case, run), profile.name);
            let seen = call(&mock, case, named(case, run), profile, run.stream).await;
            wrong.extend(case.differences(&seen).into_iter().map(|found| format!("{at}: {found}")));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert_eq!(mock.counters().unmatched, 0);
    mock.shutdown().await;
}

async fn call(
    mock: &MockServer,
    case: &Case,
    model: String,
    profile: ProviderProfile,
    stream: bool,
) -> Seen {
    let mut source =
        SourceConfig::new("s", profile.name.clone(), mock.base_url(), "key-0123456", model);
    source.malformed_frame = case.malformed_frame();
    let request = Arc::new(ChatRequest::new(vec![Message::user("hi")]));
    let transport = OpenAiTransport::new(&source, profile, None).unwrap();
    let attempt = AttemptCx { source: Arc::new(source), call_id: "attempt".into(), stream };
    let mut events = Vec::new();
    let result = collect(&transport, &attempt, &request, &mut events).await;
    put_together(events, result)
}

async fn collect(
    transport: &OpenAiTransport,
    attempt: &AttemptCx,
    request: &Arc<ChatRequest>,
    events: &mut Vec<ChatEvent>,
) -> Result<(), CallError> {
    let mut stream = transport.open(attempt, request).await?;
    while let Some(event) = stream.next().await {
        events.push(event?);
    }
    Ok(())
}
