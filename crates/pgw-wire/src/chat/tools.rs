//! Which tool call a piece belongs to.
//!
//! Ids come on the first piece, on each, late, empty or never; indexes are absent, all zero or right.
//! The rule that survives all of them (derived in wire.md from vllm-project/vllm#16340,
//! InternLM/lmdeploy#3412, openai/openai-python#2806 and others):
//!
//! 1. an id seen before: that call;
//! 2. a new id: a new call, even under a used index;
//! 3. no id, a known index: the call opened last under that index;
//! 4. no id, no index: the call opened last;
//! 5. else: a new call with an id of our own.
//!
//! Names are never joined: the first that is not empty stands (1CatAI/1Cat-vLLM#240).

use pgw_types::ToolDelta;
use serde_json::Map;

use super::{
    chunk::{FunctionPiece, ToolPiece},
    loose::Leaf,
};

/// The calls of one answer.
#[derive(Debug, Default)]
pub(crate) struct Tools {
    calls: Vec<Call>,
}

#[derive(Debug)]
struct Call {
    id: String,
    index: Option<i64>,
    named: bool,
}

impl Tools {
    pub(crate) const fn any(&self) -> bool {
        !self.calls.is_empty()
    }

    /// The delta for a piece. `answer_id` makes the ids of our own unique.
    pub(crate) fn take(&mut self, choice: u32, answer_id: &str, piece: ToolPiece<'_>) -> ToolDelta {
        let (slot, id) = self.place(choice, answer_id, piece.id.text(), piece.index.integer());
        let function = piece.function.0.unwrap_or_default();
        let mut extra = Map::new();
        if !piece.extra_content.is_null() {
            extra.insert("extra_content".into(), piece.extra_content.into_value());
        }
        self.delta(choice, slot, id, function, extra)
    }

    /// The delta for a piece in the form of before tools existed: one call, without id and index.
    pub(crate) fn take_function(
        &mut self,
        choice: u32,
        answer_id: &str,
        function: FunctionPiece<'_>,
    ) -> ToolDelta {
        let (slot, id) = self.place(choice, answer_id, None, None);
        self.delta(choice, slot, id, function, Map::new())
    }

    fn place(
        &mut self,
        choice: u32,
        answer_id: &str,
        id: Option<&str>,
        index: Option<i64>,
    ) -> (usize, Option<String>) {
        let known = match (id, index) {
            (Some(id), _) => self.calls.iter().position(|call| call.id == id),
            (None, Some(index)) => self
                .calls
                .iter()
                .rposition(|call| call.index == Some(index)),
            (None, None) => self.calls.len().checked_sub(1),
        };
        if let Some(slot) = known {
            return (slot, None);
        }
        let slot = self.calls.len();
        let id = id.map_or_else(
            || format!("call_{answer_id}_{choice}_{slot}"),
            str::to_owned,
        );
        self.calls.push(Call {
            id: id.clone(),
            index,
            named: false,
        });
        (slot, Some(id))
    }

    fn delta(
        &mut self,
        choice: u32,
        slot: usize,
        id: Option<String>,
        function: FunctionPiece<'_>,
        extra: Map<String, serde_json::Value>,
    ) -> ToolDelta {
        let call = &mut self.calls[slot];
        let name = function
            .name
            .text()
            .filter(|_| !call.named)
            .map(str::to_owned);
        call.named |= name.is_some();
        let arguments = match function.arguments {
            Leaf::Null => String::new(),
            Leaf::Text(text) => text.into_owned(),
            // llama.cpp sends the object itself (0xPlaygrounds/rig#1408).
            Leaf::Other(value) => value.to_string(),
        };
        let slot = u32::try_from(slot).unwrap_or(u32::MAX);
        ToolDelta {
            choice,
            slot,
            id,
            name,
            arguments,
            extra,
        }
    }
}
