//! At the codec: no connection, every split.

use std::sync::Arc;

use bytes::Bytes;
use pgw_types::{AnomalyPolicy, CallError, ChatEvent, Fault, SecretString, built_in_profiles};
use pgw_wire::{
    BodyKind,
    chat::{AnswerContext, ChunkDecoder},
    error::{ErrorContext, classify},
    sniff,
    sse::SseDecoder,
};

use crate::{
    case::{Case, Seen, cases},
    put_together,
};

fn decoder(case: &Case) -> ChunkDecoder {
    ChunkDecoder::new(AnswerContext {
        profile: Arc::new(built_in_profiles().swap_remove(0)),
        missing_done: AnomalyPolicy::Retry,
        malformed_frame: case.malformed_frame(),
        wanted: 1,
        call_id: "attempt".into(),
        request_id: None,
        secret: SecretString::from("key-0123456"),
    })
}

fn events(decoder: &mut ChunkDecoder) -> Vec<ChatEvent> {
    std::iter::from_fn(|| decoder.next_event()).collect()
}

/// OAI-004 … OAI-016, OAI-021, OAI-030, D11: any split of a stream gives the same.
#[test]
fn streams() {
    let cases = cases("sse");
    let mut wrong = Vec::new();
    for case in &cases {
        for size in [case.input.len(), 1, 7] {
            let mut decoder = decoder(case);
            let end = feed(&mut decoder, case.input.chunks(size));
            let found = case.differences(&put_together(events(&mut decoder), end)).into_iter();
            wrong.extend(found.map(|found| format!("{} by {size}: {found}", case.name)));
        }
    }
    assert!(cases.len() >= 39, "{} cases only", cases.len());
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

fn feed<'a>(
    decoder: &mut ChunkDecoder,
    pieces: impl Iterator<Item = &'a [u8]>,
) -> Result<(), CallError> {
    let mut frames = SseDecoder::default();
    for piece in pieces {
        frames.feed(Bytes::copy_from_slice(piece));
        while let Some(event) = frames.next_event().unwrap() {
            decoder.take(&event)?;
        }
    }
    while let Some(event) = frames.finish().unwrap() {
        decoder.take_last(&event)?;
    }
    decoder.finish(true)
}

/// OAI-010 … OAI-015, OAI-022.
#[test]
fn responses() {
    let cases = cases("http");
    let mut wrong = Vec::new();
    for case in &cases {
        let found = case.differences(&response(case)).into_iter();
        wrong.extend(found.map(|found| format!("{}: {found}", case.name)));
    }
    assert!(cases.len() >= 31, "{} cases only", cases.len());
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

fn response(case: &Case) -> Seen {
    let text = std::str::from_utf8(&case.input).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let status: u16 = head.split(' ').nth(1).unwrap().parse().unwrap();
    let headers = |name: &str| {
        let mut lines = head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned())
    };
    let failed = |error| put_together(Vec::new(), Err(error));
    if status != 200 {
        let profile = &built_in_profiles()[0];
        let context = ErrorContext { headers: &headers, ..ErrorContext::bare(profile) };
        return failed(classify(status, body.as_bytes(), &context));
    }
    // What the transport makes of a body that is no JSON.
    let fault = match sniff(body.as_bytes(), true) {
        Some(BodyKind::Json) => {
            let mut decoder = decoder(case);
            let end = decoder.take_json(body.as_bytes()).and_then(|()| decoder.finish_whole());
            return put_together(events(&mut decoder), end);
        }
        Some(BodyKind::Html) => Fault::BadEndpoint,
        Some(BodyKind::Empty) => Fault::EmptyResponse,
        Some(BodyKind::BareString | BodyKind::Sse | BodyKind::Text) | None => Fault::BadResponse,
    };
    failed(CallError::new(fault, ""))
}
