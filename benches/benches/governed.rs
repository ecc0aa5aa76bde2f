//! A governed call against a bare one, and against an ungoverned SDK: CPU per call.
//!
//! All contenders send the same request body and read the same answer from the same responder, one
//! plain answer each (no stream), at 1, 32 and 256 calls in flight.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark that can't run should stop and say why"
)]

use std::{future::Future, sync::Arc};

use async_openai::{
    Client as SdkClient,
    config::OpenAIConfig,
    types::chat::{ChatCompletionRequestUserMessageArgs, CreateChatCompletionRequestArgs},
};
use bytes::Bytes;
use futures_util::{StreamExt as _, stream::FuturesUnordered};
use http_body_util::{BodyExt as _, Full};
use hyper_util::{
    client::legacy::{Client as HyperClient, connect::HttpConnector},
    rt::TokioExecutor,
};
use pgw_bench::{CpuMeter, Responder, Rounds, print_row, print_title};
use pgw_client::{GatewayClient, GatewaySettings, TelemetrySettings};
use pgw_types::SourceConfig;
use serde::{Deserialize, Serialize};

const ROUNDS: usize = 7;
const CALLS: usize = 4_000;
const PROMPT: &str = "Say in one short sentence what the weather is like on a clear day in spring.";
const ANSWER: &str = r#"{"id":"chatcmpl-1","object":"chat.completion","created":1700000000,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"On a clear day in spring the air is mild, the light is bright, and the sky is blue from end to end."},"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":21,"completion_tokens":26,"total_tokens":47}}"#;

#[derive(Serialize)]
struct BareRequest<'a> {
    model: &'a str,
    messages: [BareMessage<'a>; 1],
}

#[derive(Serialize)]
struct BareMessage<'a> {
    role: &'a str,
    content: &'a str,
}

#[derive(Deserialize)]
struct BareAnswer {
    choices: Vec<BareChoice>,
    usage: BareUsage,
}

#[derive(Deserialize)]
struct BareChoice {
    message: BareContent,
}

#[derive(Deserialize)]
struct BareContent {
    content: String,
}

#[derive(Deserialize)]
struct BareUsage {
    total_tokens: u64,
}

async fn bare(client: HyperClient<HttpConnector, Full<Bytes>>, url: Arc<str>) {
    let body =
        BareRequest { model: "m", messages: [BareMessage { role: "user", content: PROMPT }] };
    let request = http::Request::post(&*url)
        .header("authorization", "Bearer key")
        .header("content-type", "application/json")
        .body(Full::new(Bytes::from(serde_json::to_vec(&body).unwrap())))
        .unwrap();
    let response = client.request(request).await.unwrap();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    let answer: BareAnswer = serde_json::from_slice(&body).unwrap();
    assert!(!answer.choices[0].message.content.is_empty() && answer.usage.total_tokens == 47);
}

async fn sdk(client: SdkClient<OpenAIConfig>) {
    let message =
        ChatCompletionRequestUserMessageArgs::default().content(PROMPT).build().unwrap().into();
    let request =
        CreateChatCompletionRequestArgs::default().model("m").messages([message]).build().unwrap();
    let answer = client.chat().create(request).await.unwrap();
    assert!(answer.choices[0].message.content.is_some());
}

async fn governed(client: GatewayClient) {
    let answer = client.chat(PROMPT).plain().await.unwrap();
    assert!(!answer.content.is_empty() && answer.prompt_tokens == 21);
}

/// Keeps `in_flight` calls going until `calls` are done.
async fn drive<F: Future<Output = ()>>(calls: usize, in_flight: usize, make: impl Fn() -> F) {
    let mut running = FuturesUnordered::new();
    let mut started = 0;
    while started < calls.min(in_flight) {
        running.push(make());
        started += 1;
    }
    while running.next().await.is_some() {
        if started < calls {
            running.push(make());
            started += 1;
        }
    }
}

async fn measure<F: Future<Output = ()>>(
    rounds: &mut Rounds,
    in_flight: usize,
    make: impl Fn() -> F,
) {
    let meter = CpuMeter::start(&[Responder::THREAD]);
    drive(CALLS, in_flight, make).await;
    rounds.add(meter.elapsed(), CALLS);
}

fn client(base_url: &str, telemetry: TelemetrySettings) -> GatewayClient {
    let source = SourceConfig::new("only", "generic", base_url, "key", "m");
    let settings = GatewaySettings { telemetry, ..GatewaySettings::new("LLM", vec![source]) };
    GatewayClient::from_settings(settings).unwrap()
}

fn main() {
    if let Some(core) = core_affinity::get_core_ids().and_then(|cores| cores.first().copied()) {
        core_affinity::set_for_current(core);
    }
    let answer = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{ANSWER}",
        ANSWER.len()
    );
    let responder = Responder::start(answer);
    let folder = tempfile::tempdir().expect("a folder for the records");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(run(&responder, folder.path()));
}

async fn run(responder: &Responder, folder: &std::path::Path) {
    let base_url = responder.base_url();
    let url: Arc<str> = format!("{base_url}/chat/completions").into();
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    let hyper = HyperClient::builder(TokioExecutor::new()).build(connector);
    let sdk_config = OpenAIConfig::new().with_api_base(&base_url).with_api_key("key");
    let sdk_client = SdkClient::with_config(sdk_config);
    let off = client(&base_url, TelemetrySettings::Off);
    let on = client(&base_url, TelemetrySettings::Sqlite { path: folder.join("calls.sqlite") });

    for in_flight in [1, 32, 256] {
        let mut figures: [Rounds; 4] = Default::default();
        for round in 0..=ROUNDS {
            // The first round warms up pools, caches and allocators, and doesn't count.
            let mut warm_up: [Rounds; 4] = Default::default();
            let [b, s, g, t] = if round == 0 { &mut warm_up } else { &mut figures };
            measure(b, in_flight, || bare(hyper.clone(), Arc::clone(&url))).await;
            measure(s, in_flight, || sdk(sdk_client.clone())).await;
            measure(g, in_flight, || governed(off.clone())).await;
            measure(t, in_flight, || governed(on.clone())).await;
        }
        let [b, s, g, t] = figures;
        print_title(&format!("{in_flight} in flight: CPU per call"));
        let over = |rounds: &Rounds| format!("bare {:+.1} µs", rounds.median() - b.median());
        print_row("bare hyper-util + serde_json", &b, "");
        print_row("async-openai, ungoverned", &s, &over(&s));
        print_row("governed, telemetry off", &g, &format!("{} (≤ +12)", over(&g)));
        print_row("governed, telemetry on", &t, &format!("{} (≤ +20)", over(&t)));
    }
    on.aclose().await;
    println!();
}
