//! Calls whose answer is a value: a Rust type, a JSON Schema, or any JSON.

use std::{fmt::Debug, future::IntoFuture, marker::PhantomData, sync::Arc};

use pgw_ports::{StructuredCall, StructuredOutput};
use pgw_structured::{Normalize, StructuredReader, spec_of};
use pgw_types::{
    CallError, ChatRequest, Fault, LlmResponse, PgwError, RequestFault, Structured, StructuredSpec,
    Unreadable,
};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::chat::{CallFuture, ChatCall};

/// How often a wrong answer is asked for again unless the call says otherwise.
const REASKS: u32 = 1;

/// What a call has said so far about the form of its answer.
#[derive(Clone)]
pub(crate) struct Structure {
    /// The form; `None` leaves it to the request.
    form: Option<Result<Structured, RequestFault>>,
    reasks: u32,
    native_first: bool,
    normalize: Option<Normalize>,
    /// Puts a check of its own around the reader: that of a Rust type.
    around: fn(StructuredReader) -> Arc<dyn StructuredOutput>,
}

impl Default for Structure {
    fn default() -> Self {
        let around = |reader| Arc::new(reader) as Arc<dyn StructuredOutput>;
        Self { form: None, reasks: REASKS, native_first: true, normalize: None, around }
    }
}

impl Debug for Structure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Structure")
            .field("form", &self.form)
            .field("reasks", &self.reasks)
            .field("native_first", &self.native_first)
            .finish_non_exhaustive()
    }
}

impl Structure {
    /// Makes the request ask for the form, and what reads the answer; `None` for a raw call.
    pub(crate) fn ready(
        self,
        request: &mut ChatRequest,
    ) -> Result<Option<StructuredCall>, CallError> {
        if let Some(form) = self.form {
            request.structured = form.map_err(refused)?;
        }
        let form = request.structured.clone();
        if form.is_raw() {
            return Ok(None);
        }
        // Without a schema there is nothing to say about what is wrong: one reading, no second ask.
        let reasks = if matches!(form, Structured::Schema(_)) { self.reasks } else { 0 };
        let reader = StructuredReader::new(form, self.normalize).map_err(refused)?;
        let output = (self.around)(reader);
        if self.native_first {
            request.native_format = output.native_format();
        }
        Ok(Some(StructuredCall { output, reasks }))
    }
}

fn refused(fault: RequestFault) -> CallError {
    CallError::new(Fault::BadRequest, fault.to_string()).with_param(fault.field)
}

impl ChatCall {
    /// Asks for a value of a Rust type: await it for the value and the response.
    ///
    /// The ladder: the schema goes to the service where its provider takes one; the answer is taken
    /// out of its wrapping and mended; it is checked against the schema and read into the type; if that
    /// fails, the model is asked again with what is wrong, [once](Self::reasks) by default; then the
    /// call fails, with the text and all faults in the error.
    pub fn structured<T: JsonSchema + DeserializeOwned + 'static>(mut self) -> TypedCall<T> {
        self.structure.form = Some(spec_of::<T>().map(|spec| Structured::Schema(Arc::new(spec))));
        self.structure.around = |reader| Arc::new(Typed::<T>::around(reader));
        TypedCall { call: self, kind: PhantomData }
    }

    /// Asks for a value of a JSON Schema, by the same ladder; it stands in the response's
    /// `structured_data`.
    pub fn json_schema(mut self, name: impl Into<String>, schema: Value) -> Self {
        let spec = StructuredSpec::new(name, schema);
        self.structure.form = Some(spec.map(|spec| Structured::Schema(Arc::new(spec))));
        self
    }

    /// Asks for any JSON value, mended if need be; it stands in the response's `structured_data`.
    /// Without a schema nothing is asked twice.
    pub fn json(mut self) -> Self {
        self.structure.form = Some(Ok(Structured::Json));
        self
    }

    /// How often an answer that is not of the form is asked for again, at most (1 if not said). 0 leaves
    /// it to somebody who looks at it.
    pub const fn reasks(mut self, most: u32) -> Self {
        self.structure.reasks = most;
        self
    }

    /// Changes each value before it is checked: quirks of a model that only the caller knows. Call it
    /// before [`structured`](Self::structured).
    pub fn normalize(mut self, change: impl Fn(Value) -> Value + Send + Sync + 'static) -> Self {
        self.structure.normalize = Some(Arc::new(change));
        self
    }

    /// Keeps the schema to ourselves on the first question, for models whose answers suffer from being
    /// held to one. A second question always tells it to a provider that takes one.
    pub const fn schema_unsaid(mut self) -> Self {
        self.structure.native_first = false;
        self
    }
}

/// A call for a value of a Rust type. It has not started yet; await it.
#[derive(Clone, Debug)]
#[must_use = "a call does nothing until it is awaited"]
pub struct TypedCall<T> {
    call: ChatCall,
    kind: PhantomData<fn() -> T>,
}

/// A value with the response it was read from.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer<T> {
    /// The value.
    pub value: T,
    /// The response, with usage and cost of all questions.
    pub response: LlmResponse,
}

impl<T: DeserializeOwned + 'static> IntoFuture for TypedCall<T> {
    type Output = Result<Answer<T>, PgwError>;
    type IntoFuture = CallFuture<Answer<T>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let mut response = self.call.await?;
            let Some(data) = response.structured_data.take() else {
                let what = match &response.refusal {
                    Some(refusal) => format!("the model refused: {refusal}"),
                    None => "the model asks for tools instead of answering".to_owned(),
                };
                let error = CallError::new(Fault::InvalidResult, what);
                return Err(error.with_trace(response.trace).into());
            };
            let value = T::deserialize(&data).map_err(|error| {
                // The reader has read it already; only a type that is read differently each time fails.
                CallError::new(Fault::InvalidResult, error.to_string())
                    .with_trace(response.trace.clone())
            })?;
            response.structured_data = Some(data);
            Ok(Answer { value, response })
        })
    }
}

/// A reader that also reads the value into a type: what serde refuses is a fault like any other.
struct Typed<T> {
    reader: StructuredReader,
    kind: PhantomData<fn() -> T>,
}

impl<T> Typed<T> {
    const fn around(reader: StructuredReader) -> Self {
        Self { reader, kind: PhantomData }
    }
}

impl<T> Debug for Typed<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Typed").field(&self.reader).finish()
    }
}

impl<T: DeserializeOwned + 'static> StructuredOutput for Typed<T> {
    fn read(&self, text: &str) -> Result<Value, Unreadable> {
        let value = self.reader.read(text)?;
        match T::deserialize(&value) {
            Ok(_) => Ok(value),
            Err(error) => Err(Unreadable {
                validation_errors: vec![error.to_string()],
                ..Unreadable::default()
            }),
        }
    }

    fn native_format(&self) -> Option<Value> {
        self.reader.native_format()
    }
}
