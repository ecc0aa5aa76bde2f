//! A chunk of an answer, as loosely as services write them.

use pgw_types::UsageReport;
use serde::Deserialize;

use super::loose::{Branch, Leaf, List};

/// One frame of a stream, or a whole answer.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Chunk<'a> {
    #[serde(borrow)]
    pub(crate) id: Leaf<'a>,
    #[serde(borrow)]
    pub(crate) model: Leaf<'a>,
    #[serde(borrow)]
    pub(crate) object: Leaf<'a>,
    #[serde(borrow, rename = "type")]
    pub(crate) kind: Leaf<'a>,
    #[serde(borrow)]
    pub(crate) error: Leaf<'a>,
    #[serde(borrow)]
    pub(crate) code: Leaf<'a>,
    #[serde(borrow)]
    pub(crate) message: Leaf<'a>,
    #[serde(borrow)]
    pub(crate) detail: Leaf<'a>,
    #[serde(borrow)]
    pub(crate) choices: List<ChunkChoice<'a>>,
    #[serde(borrow)]
    pub(crate) usage: Branch<UsageDto<'a>>,
}

impl Chunk<'_> {
    /// Whether this is an error in the place of a chunk, in any of the shapes that services use:
    /// `{"error": …}`, `{"object": "error"}`, `{"type": "error"}`, or a code and a message and
    /// nothing else.
    pub(crate) fn is_error(&self) -> bool {
        let marked = self.object.text() == Some("error") || self.kind.text() == Some("error");
        let bare = self.choices.0.is_empty()
            && self.usage.0.is_none()
            && ((!self.message.is_null() && !self.code.is_null()) || !self.detail.is_null());
        let given = match &self.error {
            Leaf::Null => false,
            Leaf::Text(text) => !text.is_empty(),
            Leaf::Other(value) => {
                value.as_bool() != Some(false)
                    && value.as_object().is_none_or(|error| !error.is_empty())
            }
        };
        given || marked || bare
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ChunkChoice<'a> {
    #[serde(borrow)]
    pub(crate) index: Leaf<'a>,
    #[serde(borrow)]
    pub(crate) delta: Branch<Delta<'a>>,
    #[serde(borrow)]
    pub(crate) message: Branch<Delta<'a>>,
    #[serde(borrow)]
    pub(crate) finish_reason: Leaf<'a>,
    #[serde(borrow)]
    pub(crate) logprobs: Leaf<'a>,
    /// Moonshot puts usage here (earendil-works/pi#2017).
    #[serde(borrow)]
    pub(crate) usage: Branch<UsageDto<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Delta<'a> {
    #[serde(borrow)]
    pub(crate) content: Leaf<'a>,
    #[serde(borrow)]
    pub(crate) reasoning_content: Leaf<'a>,
    #[serde(borrow)]
    pub(crate) reasoning: Leaf<'a>,
    #[serde(borrow)]
    pub(crate) reasoning_details: Leaf<'a>,
    #[serde(borrow)]
    pub(crate) refusal: Leaf<'a>,
    #[serde(borrow)]
    pub(crate) tool_calls: List<ToolPiece<'a>>,
    /// The form of before tools existed.
    #[serde(borrow)]
    pub(crate) function_call: Branch<FunctionPiece<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ToolPiece<'a> {
    #[serde(borrow)]
    pub(crate) index: Leaf<'a>,
    #[serde(borrow)]
    pub(crate) id: Leaf<'a>,
    #[serde(borrow)]
    pub(crate) function: Branch<FunctionPiece<'a>>,
    /// A thought signature that must be echoed (noho/dayu-agent#57).
    #[serde(borrow)]
    pub(crate) extra_content: Leaf<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct FunctionPiece<'a> {
    #[serde(borrow)]
    pub(crate) name: Leaf<'a>,
    #[serde(borrow)]
    pub(crate) arguments: Leaf<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct UsageDto<'a> {
    #[serde(borrow, alias = "input_tokens")]
    prompt_tokens: Leaf<'a>,
    #[serde(borrow, alias = "output_tokens")]
    completion_tokens: Leaf<'a>,
    #[serde(borrow)]
    prompt_tokens_details: Branch<DetailsDto<'a>>,
    #[serde(borrow)]
    completion_tokens_details: Branch<DetailsDto<'a>>,
    /// Moonshot writes it here as well.
    #[serde(borrow)]
    cached_tokens: Leaf<'a>,
    /// `DeepSeek`'s spelling; hits and misses make up the prompt.
    #[serde(borrow)]
    prompt_cache_hit_tokens: Leaf<'a>,
    #[serde(borrow)]
    reasoning_tokens: Leaf<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct DetailsDto<'a> {
    #[serde(borrow)]
    cached_tokens: Leaf<'a>,
    #[serde(borrow)]
    reasoning_tokens: Leaf<'a>,
}

impl UsageDto<'_> {
    /// Cached tokens come in several spellings at once: one is taken, none are added
    /// (Bike4Mind/bike4mind#1089).
    pub(crate) fn report(&self) -> UsageReport {
        let details = |branch: &Branch<DetailsDto<'_>>,
                       pick: fn(&DetailsDto<'_>) -> Option<u64>| {
            branch.0.as_ref().and_then(pick)
        };
        UsageReport {
            prompt_tokens: self.prompt_tokens.count(),
            completion_tokens: self.completion_tokens.count(),
            cached_tokens: details(&self.prompt_tokens_details, |d| d.cached_tokens.count())
                .or_else(|| self.cached_tokens.count())
                .or_else(|| self.prompt_cache_hit_tokens.count()),
            reasoning_tokens: details(&self.completion_tokens_details, |d| {
                d.reasoning_tokens.count()
            })
            .or_else(|| self.reasoning_tokens.count()),
        }
    }
}
