//! How much a chat request asks for: in tokens, and of what a model can.

use pgw_types::{ChatRequest, Content, Message, SourceConfig};

/// Bytes of text for one token, on the safe side for most languages: English has about four, Chinese
/// in UTF-8 about three to four and a half.
const BYTES_PER_TOKEN: u64 = 3;

/// Tokens charged for a part that isn't text, an image most often (a 1024 × 1024 image is 765 tokens
/// in OpenAI's high-detail tiling, platform.openai.com/docs/guides/images-vision).
const TOKENS_PER_PART: u64 = 1_000;

pub(super) fn estimate_text(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX).div_ceil(BYTES_PER_TOKEN)
}

/// What the prompt's length and the answer's cap say.
pub(super) fn estimate_call(request: &ChatRequest) -> u64 {
    estimate_prompt(request).saturating_add(request.token_cap().unwrap_or(0))
}

/// What of a request is more than a source declares that it can.
pub(super) fn unfit(request: &ChatRequest, source: &SourceConfig) -> Option<String> {
    if !source.can_use_tools && !request.tools.is_empty() {
        return Some("can't use tools, and the call brings some".to_owned());
    }
    if !source.can_see_images && request.messages.iter().any(brings_images) {
        return Some("can't see images, and the call brings some".to_owned());
    }
    let holds = source.context_tokens?;
    let needed = estimate_call(request);
    (needed > holds).then(|| format!("needs about {needed} tokens, its context holds {holds}"))
}

/// Whether a message has a part that shows an image. `image_url` is the word of `OpenAI`'s chat API;
/// the other two come through from callers of its Responses API and of Anthropic's.
fn brings_images(message: &Message) -> bool {
    match &message.content {
        Some(Content::Parts(parts)) => {
            parts.iter().any(|part| matches!(part.kind(), "image_url" | "input_image" | "image"))
        }
        Some(Content::Null | Content::Text(_)) | None => false,
    }
}

pub(super) fn estimate_prompt(request: &ChatRequest) -> u64 {
    request.messages.iter().map(estimate_message).fold(0, u64::saturating_add)
}

fn estimate_message(message: &Message) -> u64 {
    let content = match &message.content {
        None | Some(Content::Null) => 0,
        Some(Content::Text(text)) => estimate_text(text.len()),
        Some(Content::Parts(parts)) => parts
            .iter()
            .map(|part| part.as_text().map_or(TOKENS_PER_PART, |text| estimate_text(text.len())))
            .fold(0, u64::saturating_add),
    };
    let calls = message.tool_calls.iter().map(|call| estimate_text(call.arguments.len()));
    // Every message costs a few tokens of framing.
    calls.fold(content.saturating_add(4), u64::saturating_add)
}
