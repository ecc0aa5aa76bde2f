//! The codec alone: framing and assembling a streamed answer, without any network.
//!
//! A stream of 2,000 deltas is read in large pieces (16 kB) and in pieces of one chunk each. The
//! baselines of the same run split the same lines with `memchr` and read each chunk with
//! `serde_json`: into a typed struct that borrows its text, and into a `Value`. Neither handles errors, thinking, tools, usage,
//! damage or size limits.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark that can't run should stop and say why"
)]

use std::{borrow::Cow, hint::black_box, sync::Arc};

use bytes::Bytes;
use pgw_bench::{CpuMeter, Rounds, print_row, print_title};
use pgw_types::{AnomalyPolicy, ChatEvent, SecretString, built_in_profiles};
use pgw_wire::{
    chat::{AnswerContext, ChunkDecoder},
    sse::SseDecoder,
};
use serde::Deserialize;
use serde_json::Value;

const ROUNDS: usize = 9;
const PASSES: usize = 200;
const CHUNKS: usize = 2_000;
const LARGE_READ: usize = 16 << 10;

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
    content: Option<Cow<'a, str>>,
}

/// The data lines of a body, as the baselines split it.
fn lines(body: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = body;
    std::iter::from_fn(move || {
        let end = memchr::memchr(b'\n', rest)?;
        let line = &rest[..end];
        rest = &rest[end + 1..];
        Some(line)
    })
    .filter_map(|line| line.strip_prefix(b"data: "))
    .filter(|data| *data != b"[DONE]")
}

fn bare(body: &[u8]) -> usize {
    let mut content = String::new();
    for line in lines(body) {
        let chunk: BareChunk<'_> = serde_json::from_slice(line).unwrap();
        for choice in chunk.choices {
            content.push_str(&choice.delta.content.unwrap_or_default());
        }
    }
    content.len()
}

fn value(body: &[u8]) -> usize {
    let mut content = String::new();
    for line in lines(body) {
        let chunk: Value = serde_json::from_slice(line).unwrap();
        content.push_str(chunk["choices"][0]["delta"]["content"].as_str().unwrap_or_default());
    }
    content.len()
}

/// Frames, decodes and assembles a body that comes in `pieces`.
fn assembled(answer: &AnswerContext, pieces: &[Bytes]) -> usize {
    let mut frames = SseDecoder::default();
    let mut decoder = ChunkDecoder::new(answer.clone());
    let mut content = String::new();
    for piece in pieces {
        frames.feed(piece.clone());
        while let Some(event) = frames.next_event().unwrap() {
            decoder.take(&event).unwrap();
            while let Some(event) = decoder.next_event() {
                if let ChatEvent::ContentDelta { text, .. } = event {
                    content.push_str(&text);
                }
            }
        }
    }
    decoder.finish(true).unwrap();
    content.len()
}

fn body() -> Bytes {
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
    body.into()
}

/// The body in pieces of at most `size` bytes.
fn pieces(body: &Bytes, size: usize) -> Vec<Bytes> {
    (0..body.len())
        .step_by(size)
        .map(|start| body.slice(start..body.len().min(start + size)))
        .collect()
}

/// The body in pieces of one event each.
fn events(body: &Bytes) -> Vec<Bytes> {
    let mut rest = body.clone();
    let mut pieces = Vec::new();
    while let Some(end) = memchr::memmem::find(&rest, b"\n\n") {
        pieces.push(rest.split_to(end + 2));
    }
    pieces
}

fn main() {
    if let Some(core) = core_affinity::get_core_ids().and_then(|cores| cores.first().copied()) {
        core_affinity::set_for_current(core);
    }
    let profile = built_in_profiles().into_iter().find(|profile| profile.name == "openai");
    let context = AnswerContext {
        profile: Arc::new(profile.unwrap()),
        missing_done: AnomalyPolicy::Retry,
        malformed_frame: AnomalyPolicy::Retry,
        wanted: 1,
        call_id: "call".into(),
        request_id: None,
        secret: SecretString::from("key"),
    };
    let body = body();
    let (large, single) = (pieces(&body, LARGE_READ), events(&body));
    let contenders: [(&str, &dyn Fn() -> usize); 4] = [
        ("bare: typed serde_json, borrowed", &|| bare(&body)),
        ("bare: serde_json::Value", &|| value(&body)),
        ("codec, reads of 16 kB", &|| assembled(&context, &large)),
        ("codec, one chunk a read", &|| assembled(&context, &single)),
    ];
    let mut figures: [Rounds; 4] = Default::default();
    for round in 0..=ROUNDS {
        for ((_, run), rounds) in contenders.iter().zip(&mut figures) {
            let meter = CpuMeter::start(&[]);
            for _ in 0..PASSES {
                assert_eq!(black_box(run()), CHUNKS * 5);
            }
            // The first round warms up, and doesn't count.
            if round > 0 {
                rounds.add(meter.elapsed(), PASSES * CHUNKS);
            }
        }
    }
    print_title("framing and assembling: CPU per chunk (≤ 0.5 µs, ≥ 500 MB/s in large reads)");
    #[expect(clippy::cast_precision_loss, reason = "a body is small")]
    let bytes = body.len() as f64 / CHUNKS as f64;
    for ((name, _), rounds) in contenders.iter().zip(&figures) {
        print_row(name, rounds, &format!("{:.0} MB/s", bytes / rounds.median()));
    }
    println!("  {bytes:.0} bytes a chunk");
}
