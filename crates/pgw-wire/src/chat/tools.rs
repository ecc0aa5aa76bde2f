//! Which tool call a piece belongs to.
//!
//! Ids come on the first piece, on each, late, empty or never; indexes are absent, all zero or right.
//! The rule that survives all of them (derived in wire.md from vllm-project/vllm#16340,
//! InternLM/lmdeploy#3412, openai/openai-python#2806 and others):
//!
//! 1. an id seen before: that call;
//! 2. a new id: a new call, even under a used index; unless the call opened last under that index
//!    still waits for its id;
//! 3. no id, a known index: the call opened last under that index;
//! 4. no id, no index: the call opened last;
//! 5. else: a new call with an id of our own.
//!
//! A piece that brings a name and arguments although the arguments that it would go on with are
//! complete opens a call by 3 and 4 too: a whole call, sent without anything to tell it by. In a
//! whole answer every element is a call of its own.
//!
//! Names are never joined: the first that is not empty stands (1CatAI/1Cat-vLLM#240).

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use pgw_types::ToolDelta;
use serde_json::Map;

use super::{
    chunk::{FunctionPiece, ToolPiece},
    depth::Depth,
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
    /// Whether the id is of our own making, so that the service's may still come.
    own_id: bool,
    index: Option<i64>,
    named: bool,
    arguments: Depth,
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
    /// Whether this is a whole answer and not a stream.
    pub(crate) whole: bool,
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
        let function = piece.function.0.unwrap_or_default();
        let id = piece.id.id();
        let (slot, id) = self.slot(place, id.as_deref(), piece.index.integer(), &function)?;
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
        let (slot, id) = self.slot(place, None, None, &function)?;
        Ok(self.delta(place, slot, id, function))
    }

    /// The slot of a piece, and the call's id if the piece opens it.
    fn slot(
        &mut self,
        place: Place<'_>,
        id: Option<&str>,
        index: Option<i64>,
        function: &FunctionPiece<'_>,
    ) -> Result<(usize, Option<String>), TooMany> {
        let same_id = id.and_then(|id| self.calls.iter().rposition(|call| call.id == id));
        // An id can't name two calls of a whole answer: the second gets one of our own.
        let id = id.filter(|_| !(place.whole && same_id.is_some()));
        let known =
            if place.whole { None } else { same_id.or_else(|| self.open(id, index, function)) };
        if let Some(slot) = known {
            if let Some(late) = id.filter(|_| self.calls[slot].own_id) {
                // Its pieces are known by the service's id from now on; ours was given out already.
                late.clone_into(&mut self.calls[slot].id);
                self.calls[slot].own_id = false;
            }
            return Ok((slot, None));
        }
        let slot = self.calls.len();
        if slot == Self::MOST {
            return Err(TooMany);
        }
        let own_id = id.is_none();
        let id = id.map_or_else(|| make_id(place, slot), str::to_owned);
        let arguments = Depth::default();
        self.calls.push(Call { id: id.clone(), own_id, index, named: false, arguments });
        Ok((slot, Some(id)))
    }

    /// The call that a piece without a known id goes on with.
    fn open(
        &self,
        id: Option<&str>,
        index: Option<i64>,
        function: &FunctionPiece<'_>,
    ) -> Option<usize> {
        let slot = match index {
            Some(_) => self.calls.iter().rposition(|call| call.index == index)?,
            None => self.calls.len().checked_sub(1)?,
        };
        let call = &self.calls[slot];
        let brings_name = function.name.text().is_some();
        let goes_on = match id {
            // A late id comes with an index, and names a call that has its name or gets it now.
            Some(_) => index.is_some() && call.own_id && !(call.named && brings_name),
            None => !(call.arguments.is_complete() && brings_name && function.has_arguments()),
        };
        goes_on.then_some(slot)
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
        call.arguments.read(&arguments);
        let slot = u32::try_from(slot).unwrap_or(u32::MAX);
        ToolDelta { choice: place.choice, slot, id, name, arguments, extra: Map::new() }
    }
}

/// An id for a call that came without one. It is short, since ids of more than 40 letters are
/// refused when they are sent back (`OpenAI`), and differs from answer to answer, since a
/// conversation may hold several.
fn make_id(place: Place<'_>, slot: usize) -> String {
    let mut hasher = DefaultHasher::new();
    (place.answer_id, place.call_id, place.choice, slot).hash(&mut hasher);
    format!("call_{:016x}", hasher.finish())
}
