//! A small assembly, and ways to run bytes through the codec.

use std::sync::Arc;

use bytes::Bytes;
use pgw_types::{
    AnomalyPolicy, CallError, ChatEvent, FinishReason, ProviderProfile, SecretString, ToolCall,
    UsageReport, Warning, built_in_profiles,
};
use pgw_wire::{
    chat::{AnswerContext, ChunkDecoder},
    sse::SseDecoder,
};

/// What came of an answer.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) id: String,
    pub(crate) content: Option<String>,
    pub(crate) thinking: Option<String>,
    pub(crate) tool_calls: Vec<ToolCall>,
    pub(crate) usage: UsageReport,
    pub(crate) reason: Option<FinishReason>,
    pub(crate) raw_reason: Option<String>,
    pub(crate) warnings: Vec<Warning>,
    pub(crate) echo: Vec<serde_json::Value>,
    pub(crate) error: Option<CallError>,
}

pub(crate) fn profile(name: &str) -> ProviderProfile {
    built_in_profiles().into_iter().find(|profile| profile.name == name).unwrap()
}

pub(crate) fn context(malformed_frame: AnomalyPolicy) -> AnswerContext {
    AnswerContext {
        profile: Arc::new(profile("generic")),
        missing_done: AnomalyPolicy::Retry,
        malformed_frame,
        wanted: 1,
        call_id: "attempt".into(),
        request_id: None,
        secret: SecretString::from("canary-key-0123"),
    }
}

/// The events of a stream that comes in these pieces, and how it ended.
pub(crate) fn stream<'a>(
    context: AnswerContext,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<ChatEvent>, Result<(), CallError>) {
    body(context, pieces, true)
}

/// The same of a body that ended before HTTP says it should.
pub(crate) fn cut_stream(
    context: AnswerContext,
    bytes: &[u8],
) -> (Vec<ChatEvent>, Result<(), CallError>) {
    body(context, [bytes], false)
}

fn body<'a>(
    context: AnswerContext,
    pieces: impl IntoIterator<Item = &'a [u8]>,
    clean: bool,
) -> (Vec<ChatEvent>, Result<(), CallError>) {
    let mut decoder = ChunkDecoder::new(context);
    let mut frames = SseDecoder::default();
    let result = feed(&mut decoder, &mut frames, pieces, clean);
    (std::iter::from_fn(|| decoder.next_event()).collect(), result)
}

fn feed<'a>(
    decoder: &mut ChunkDecoder,
    frames: &mut SseDecoder,
    pieces: impl IntoIterator<Item = &'a [u8]>,
    clean: bool,
) -> Result<(), CallError> {
    for piece in pieces {
        frames.feed(Bytes::copy_from_slice(piece));
        while let Some(event) = frames.next_event().unwrap() {
            decoder.take(&event)?;
        }
    }
    while let Some(event) = frames.finish().unwrap() {
        decoder.take_last(&event)?;
    }
    decoder.finish(clean)
}

/// The events of one JSON document.
pub(crate) fn document(
    context: AnswerContext,
    body: &[u8],
) -> (Vec<ChatEvent>, Result<(), CallError>) {
    let mut decoder = ChunkDecoder::new(context);
    let result = decoder.take_json(body).and_then(|()| decoder.finish_whole());
    (std::iter::from_fn(|| decoder.next_event()).collect(), result)
}

/// What an assembly would make of the first answer.
pub(crate) fn fold((events, result): (Vec<ChatEvent>, Result<(), CallError>)) -> Seen {
    let mut seen = Seen { error: result.err(), ..Seen::default() };
    for event in events {
        match event {
            ChatEvent::MessageStart { id, .. } => seen.id = id,
            ChatEvent::ContentDelta { choice: 0, text } => append(&mut seen.content, &text),
            ChatEvent::ThinkingDelta { choice: 0, text } => append(&mut seen.thinking, &text),
            ChatEvent::ContentWasThinking { .. } => seen.thinking = seen.content.take(),
            ChatEvent::ToolDelta(delta) => {
                let slot = delta.slot as usize;
                assert!(slot <= seen.tool_calls.len(), "slots are dense");
                if slot == seen.tool_calls.len() {
                    seen.tool_calls.push(ToolCall::default());
                }
                let call = &mut seen.tool_calls[slot];
                call.id.push_str(&delta.id.unwrap_or_default());
                call.name.push_str(&delta.name.unwrap_or_default());
                call.arguments.push_str(&delta.arguments);
            }
            ChatEvent::ReasoningItem { item, .. } => seen.echo.push(item),
            ChatEvent::Usage(report) => seen.usage.merge(&report),
            ChatEvent::Finish(finish) => {
                seen.warnings = finish.warnings;
                seen.reason = finish.reasons.into_iter().next();
                seen.raw_reason = finish.raw_reasons.into_iter().next().flatten();
            }
            ChatEvent::ContentDelta { .. }
            | ChatEvent::ThinkingDelta { .. }
            | ChatEvent::RefusalDelta { .. }
            | ChatEvent::Logprobs { .. } => {}
        }
    }
    seen
}

fn append(slot: &mut Option<String>, text: &str) {
    slot.get_or_insert_default().push_str(text);
}
