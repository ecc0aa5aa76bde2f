//! A chunk of an answer, as loosely as services write them.

use pgw_types::UsageReport;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::loose::{self, Branch, Leaf, List, loose};

loose! {
    /// One frame of a stream, or a whole answer.
    struct Chunk<'a> {
        id: Leaf<'a> = "id",
        model: Leaf<'a> = "model",
        object: Leaf<'a> = "object",
        kind: Leaf<'a> = "type",
        error: Leaf<'a> = "error",
        code: Leaf<'a> = "code",
        message: Leaf<'a> = "message",
        msg: Leaf<'a> = "msg",
        detail: Leaf<'a> = "detail",
        choices: List<ChunkChoice<'a>> = "choices",
        usage: Branch<Box<Counts<'a>>> = "usage",
    }

    struct ChunkChoice<'a> {
        index: Leaf<'a> = "index",
        delta: Branch<Delta<'a>> = "delta",
        message: Branch<Delta<'a>> = "message",
        finish_reason: Leaf<'a> = "finish_reason",
        logprobs: Leaf<'a> = "logprobs",
        /// Moonshot puts usage here (earendil-works/pi#2017).
        usage: Branch<Box<Counts<'a>>> = "usage",
    }

    struct Delta<'a> {
        content: Leaf<'a> = "content",
        reasoning_content: Leaf<'a> = "reasoning_content",
        reasoning: Leaf<'a> = "reasoning",
        reasoning_details: Leaf<'a> = "reasoning_details",
        refusal: Leaf<'a> = "refusal",
        tool_calls: List<ToolPiece<'a>> = "tool_calls",
        /// The form of before tools existed.
        function_call: Branch<Box<FunctionPiece<'a>>> = "function_call",
    }

    struct ToolPiece<'a> {
        index: Leaf<'a> = "index",
        id: Leaf<'a> = "id",
        function: Branch<FunctionPiece<'a>> = "function",
        /// A thought signature that must be echoed (noho/dayu-agent#57).
        extra_content: Leaf<'a> = "extra_content",
    }

    struct FunctionPiece<'a> {
        name: Leaf<'a> = "name",
        arguments: Leaf<'a> = "arguments",
    }

    /// Token counts. Relays write both spellings side by side, one of them with zeros
    /// (QuantumNous/new-api `dto`).
    struct Counts<'a> {
        prompt: Leaf<'a> = "prompt_tokens",
        completion: Leaf<'a> = "completion_tokens",
        total: Leaf<'a> = "total_tokens",
        input: Leaf<'a> = "input_tokens",
        output: Leaf<'a> = "output_tokens",
        prompt_details: Branch<Details<'a>> = "prompt_tokens_details",
        completion_details: Branch<Details<'a>> = "completion_tokens_details",
        input_details: Branch<Details<'a>> = "input_tokens_details",
        output_details: Branch<Details<'a>> = "output_tokens_details",
        /// Moonshot writes it here as well.
        cached: Leaf<'a> = "cached_tokens",
        /// `DeepSeek`'s spelling; hits and misses make up the prompt.
        cache_hit: Leaf<'a> = "prompt_cache_hit_tokens",
        reasoning: Leaf<'a> = "reasoning_tokens",
    }

    struct Details<'a> {
        cached: Leaf<'a> = "cached_tokens",
        reasoning: Leaf<'a> = "reasoning_tokens",
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Chunk<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        loose::object(deserializer)
    }
}

impl Chunk<'_> {
    /// Whether this is an error in the place of a chunk, in any of the shapes that services use:
    /// `{"error": …}`, `{"object": "error"}`, `{"type": "error"}`, or a code and a message and
    /// nothing else.
    pub(crate) fn is_error(&self) -> bool {
        let marked = self.object.text() == Some("error") || self.kind.text() == Some("error");
        let says = !self.message.is_null() || !self.msg.is_null();
        let bare = self.choices.0.is_empty()
            && self.usage.0.is_none()
            && ((says && !self.code.is_null()) || !self.detail.is_null());
        let given = match &self.error {
            Leaf::Null => false,
            Leaf::Text(text) => !text.is_empty(),
            Leaf::Number(number) => number.as_f64() != Some(0.0),
            Leaf::Other(value) => match &**value {
                Value::Bool(flag) => *flag,
                Value::Array(items) => !items.is_empty(),
                Value::Object(members) => !members.is_empty(),
                _ => true,
            },
        };
        given || marked || bare
    }
}

impl ChunkChoice<'_> {
    /// Which of the answers it belongs to: the first, unless it says otherwise.
    pub(crate) fn number(&self) -> usize {
        self.index.count().and_then(|n| usize::try_from(n).ok()).unwrap_or(0)
    }
}

impl ToolPiece<'_> {
    /// Whether the piece tells anything at all: some services send empty ones along.
    pub(crate) fn says_something(&self) -> bool {
        let function = self
            .function
            .0
            .as_ref()
            .is_some_and(|function| function.has_arguments() || function.name.text().is_some());
        function || self.id.id().is_some() || !self.extra_content.is_null()
    }
}

impl FunctionPiece<'_> {
    /// Whether the piece brings arguments, or a part of them.
    pub(crate) fn has_arguments(&self) -> bool {
        match &self.arguments {
            Leaf::Null => false,
            Leaf::Text(text) => !text.is_empty(),
            Leaf::Number(_) | Leaf::Other(_) => true,
        }
    }
}

impl Counts<'_> {
    /// Cached tokens come in several spellings at once: one is taken, none are added
    /// (Bike4Mind/bike4mind#1089). No prompt has zero tokens: services that don't count write zeros.
    pub(crate) fn report(&self) -> UsageReport {
        let positive = |leaf: &Leaf<'_>| leaf.count().filter(|count| *count > 0);
        let prompt = positive(&self.prompt).or_else(|| positive(&self.input));
        let completion = positive(&self.completion)
            .or_else(|| positive(&self.output))
            .or_else(|| self.total.count()?.checked_sub(prompt?))
            .or_else(|| self.completion.count())
            .or_else(|| self.output.count());
        let details = |branch: &Branch<Details<'_>>, pick: fn(&Details<'_>) -> Option<u64>| {
            branch.0.as_ref().and_then(pick)
        };
        // A relay fills the spellings it does not know with zeros.
        let first = |spellings: &[Option<u64>]| {
            let said = || spellings.iter().copied().flatten();
            said().find(|count| *count > 0).or_else(|| said().next())
        };
        UsageReport {
            prompt_tokens: prompt,
            completion_tokens: completion.filter(|count| *count > 0 || prompt.is_some()),
            cached_tokens: first(&[
                details(&self.prompt_details, |d| d.cached.count()),
                details(&self.input_details, |d| d.cached.count()),
                self.cached.count(),
                self.cache_hit.count(),
            ]),
            reasoning_tokens: first(&[
                details(&self.completion_details, |d| d.reasoning.count()),
                details(&self.output_details, |d| d.reasoning.count()),
                self.reasoning.count(),
            ]),
        }
    }
}
