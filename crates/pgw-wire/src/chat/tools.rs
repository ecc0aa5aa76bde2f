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

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

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

/// More calls than any model asks for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooMany;

/// What makes ids of our own unique: the answer they are made for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    /// The service's id of the answer.
    pub(crate) answer_id: &'a str,
    /// Our id of the attempt.
    pub(crate) call_id: &'a str,
    pub(crate) choice: u32,
}

impl Tools {
    /// The most calls of one answer: enough for anybody, and no way to fill the memory.
    pub(crate) const MOST: usize = 4_096;

    pub(crate) const fn any(&self) -> bool {
        !self.calls.is_empty()
    }

    /// The delta for a piece; none if the piece says nothing.
    pub(crate) fn take(
        &mut self,
        place: Place<'_>,
        piece: ToolPiece<'_>,
    ) -> Result<Option<ToolDelta>, TooMany> {
        if !piece.says_something() {
            return Ok(None);
        }
        let (slot, id) = self.slot(place, piece.id.text(), piece.index.integer())?;
        let function = piece.function.0.unwrap_or_default();
        let mut delta = self.delta(place, slot, id, function);
        if !piece.extra_content.is_null() {
            delta.extra.insert("extra_content".into(), piece.extra_content.into_value());
        }
        Ok(Some(delta))
    }

    /// The delta for a piece in the form of before tools existed: one call, without id and index.
    pub(crate) fn take_function(
        &mut self,
        place: Place<'_>,
        function: FunctionPiece<'_>,
    ) -> Result<ToolDelta, TooMany> {
        let (slot, id) = self.slot(place, None, None)?;
        Ok(self.delta(place, slot, id, function))
    }

    /// The slot of a piece, and the call's id if the piece opens it.
    fn slot(
        &mut self,
        place: Place<'_>,
        id: Option<&str>,
        index: Option<i64>,
    ) -> Result<(usize, Option<String>), TooMany> {
        let known = match (id, index) {
            (Some(id), _) => self.calls.iter().rposition(|call| call.id == id),
            (None, Some(index)) => self.calls.iter().rposition(|call| call.index == Some(index)),
            (None, None) => self.calls.len().checked_sub(1),
        };
        if let Some(slot) = known {
            return Ok((slot, None));
        }
        let slot = self.calls.len();
        if slot == Self::MOST {
            return Err(TooMany);
        }
        let id = id.map_or_else(|| own_id(place, slot), str::to_owned);
        self.calls.push(Call { id: id.clone(), index, named: false });
        Ok((slot, Some(id)))
    }

    fn delta(
        &mut self,
        place: Place<'_>,
        slot: usize,
        id: Option<String>,
        function: FunctionPiece<'_>,
    ) -> ToolDelta {
        let call = &mut self.calls[slot];
        let name = function.name.text().filter(|_| !call.named).map(str::to_owned);
        call.named |= name.is_some();
        let arguments = match function.arguments {
            Leaf::Null => String::new(),
            Leaf::Text(text) => text.into_owned(),
            // llama.cpp sends the object itself (0xPlaygrounds/rig#1408).
            other @ (Leaf::Number(_) | Leaf::Other(_)) => other.into_value().to_string(),
        };
        let slot = u32::try_from(slot).unwrap_or(u32::MAX);
        ToolDelta { choice: place.choice, slot, id, name, arguments, extra: Map::new() }
    }
}

/// An id for a call that came without one. It is short, since ids of more than 40 letters are
/// refused when they are sent back (`OpenAI`), and differs from answer to answer, since a
/// conversation may hold several.
fn own_id(place: Place<'_>, slot: usize) -> String {
    let mut hasher = DefaultHasher::new();
    (place.answer_id, place.call_id, place.choice, slot).hash(&mut hasher);
    format!("call_{:016x}", hasher.finish())
}
