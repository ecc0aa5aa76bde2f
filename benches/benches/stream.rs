//! A streamed chunk, governed against bare: CPU per chunk.
//!
//! Both read the same stream of 2,000 deltas from the same responder over one connection. The bare
//! reader splits lines and decodes each chunk into a typed struct, and does nothing else.
#![expect(clippy::unwrap_used, reason = "a benchmark that can't run should stop and say why")]

use bytes::Bytes;
use futures_util::StreamExt as _;
use http_body_util::{BodyExt as _, Full};
use hyper_util::{
    client::legacy::{Client as HyperClient, connect::HttpConnector},
    rt::TokioExecutor,
};
use pgw_bench::{CpuMeter, Responder, Rounds, print_row, print_title};
use pgw_client::{ChatEvent, GatewayClient, GatewaySettings, SourceConfig};
use serde::Deserialize;

const ROUNDS: usize = 9;
const CALLS: usize = 20;
const CHUNKS: usize = 2_000;

#[derive(Deserialize)]
struct BareChunk<'a> {
    #[serde(borrow)]
    choices: Vec<BareChoice<'a>>,
}

#[derive(Deserialize)]
struct BareChoice<'a> {
    #[serde(borrow)]
    delta: BareDelta<'a>,
}

#[derive(Deserialize)]
struct BareDelta<'a> {
    #[serde(borrow)]
    content: Option<std::borrow::Cow<'a, str>>,
}

async fn bare(client: &HyperClient<HttpConnector, Full<Bytes>>, url: &str) {
    let body = r#"{"model":"m","messages":[{"role":"user","content":"go"}],"stream":true}"#;
    let request = http::Request::post(url)
        .header("content-type", "application/json")
        .body(Full::new(Bytes::from_static(body.as_bytes())))
        .unwrap();
    let mut body = client.request(request).await.unwrap().into_body();
    let (mut pending, mut content) = (Vec::new(), String::new());
    while let Some(frame) = body.frame().await {
        pending.extend_from_slice(&frame.unwrap().into_data().unwrap_or_default());
        let mut from = 0;
        while let Some(end) = memchr_line(&pending[from..]) {
            let line = &pending[from..from + end];
            from += end + 1;
            let Some(data) = line.strip_prefix(b"data: ") else { continue };
            if data == b"[DONE]" {
                continue;
            }
            let chunk: BareChunk<'_> = serde_json::from_slice(data).unwrap();
            for choice in chunk.choices {
                content.push_str(&choice.delta.content.unwrap_or_default());
            }
        }
        pending.drain(..from);
    }
    assert_eq!(content.len(), CHUNKS * 5);
}

fn memchr_line(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|byte| *byte == b'\n')
}

async fn whole(client: &GatewayClient) {
    let answer = client.chat("go").await.unwrap();
    assert_eq!(answer.content.len(), CHUNKS * 5);
}

async fn live(client: &GatewayClient) {
    let mut events = client.chat("go").stream().await.unwrap();
    let mut length = 0;
    while let Some(event) = events.next().await {
        if let ChatEvent::ContentDelta { text, .. } = event.unwrap() {
            length += text.len();
        }
    }
    assert_eq!(length, CHUNKS * 5);
}

fn answer() -> String {
    let chunk = |delta: &str, finish: &str| {
        format!(
            "data: {{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\
             \"created\":1700000000,\"model\":\"m\",\"choices\":[{{\"index\":0,\"delta\":{delta},\
             \"finish_reason\":{finish}}}]}}\n\n"
        )
    };
    let mut body = String::new();
    for _ in 0..CHUNKS {
        body.push_str(&chunk("{\"content\":\" word\"}", "null"));
    }
    body.push_str(&chunk("{}", "\"stop\""));
    body.push_str("data: [DONE]\n\n");
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn main() {
    if let Some(core) = core_affinity::get_core_ids().and_then(|cores| cores.first().copied()) {
        core_affinity::set_for_current(core);
    }
    let responder = Responder::start(answer());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(run(&responder));
}

async fn run(responder: &Responder) {
    let base_url = responder.base_url();
    let url = format!("{base_url}/chat/completions");
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    let hyper = HyperClient::builder(TokioExecutor::new()).build(connector);
    let source = SourceConfig::new("only", "generic", base_url, "key", "m");
    let client = GatewayClient::from_settings(GatewaySettings::new("LLM", vec![source])).unwrap();
    let mut figures: [Rounds; 3] = Default::default();
    for round in 0..=ROUNDS {
        // The first round warms up, and doesn't count.
        let mut warm_up: [Rounds; 3] = Default::default();
        let [b, w, l] = if round == 0 { &mut warm_up } else { &mut figures };
        let meter = CpuMeter::start(&[Responder::THREAD]);
        for _ in 0..CALLS {
            bare(&hyper, &url).await;
        }
        b.add(meter.elapsed(), CALLS * CHUNKS);
        let meter = CpuMeter::start(&[Responder::THREAD]);
        for _ in 0..CALLS {
            whole(&client).await;
        }
        w.add(meter.elapsed(), CALLS * CHUNKS);
        let meter = CpuMeter::start(&[Responder::THREAD]);
        for _ in 0..CALLS {
            live(&client).await;
        }
        l.add(meter.elapsed(), CALLS * CHUNKS);
    }
    let [b, w, l] = figures;
    print_title("a streamed chunk: CPU per chunk");
    let over = |rounds: &Rounds| format!("bare {:+.2} µs (≤ +1)", rounds.median() - b.median());
    print_row("bare hyper-util + serde_json", &b, "");
    print_row("governed, collected", &w, &over(&w));
    print_row("governed, handed out live", &l, &over(&l));
}
