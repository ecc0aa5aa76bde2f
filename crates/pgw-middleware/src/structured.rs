//! The structured layer: the answer is the value that was asked for, or the call says why not.
//!
//! It stands inside the cache and outside the retry loop. So a second question passes quotas and
//! breakers and is recorded like any other call, a wrong answer is never kept, and asking again for
//! the form is counted apart from trying again for the service.
//!
//! The ladder: the native format where the provider takes one; then reading (mend, normalise,
//! check) without any network; then, a bounded number of times, the same conversation with the wrong
//! answer and what is wrong with it; then an error with all that is known.

use std::{fmt::Write as _, sync::Arc};

use async_trait::async_trait;
use pgw_ports::{CallCx, Middleware, Next, Reply, StructuredCall};
use pgw_types::{
    CallError, ChatRequest, Fault, FinishReason, LlmResponse, Message, Partial, PgwError,
    Unreadable,
};

use crate::{Chat, live::collected};

mod spent;

use spent::Spent;

/// How many faults a second question tells, and an error message.
const FAULTS_TOLD: usize = 3;

/// How many characters of each.
const FAULT_CHARS: usize = 200;

/// How many characters of a wrong answer a second question repeats. Every second question starts
/// from the caller's own messages, so prompts never grow by more than this and the faults
/// (567-labs/instructor#2210).
const ECHO_CHARS: usize = 64 * 1024;

/// Holds answers to the form that the call asked for. Calls without one pass untouched.
#[derive(Clone, Copy, Debug, Default)]
pub struct StructuredLayer;

#[async_trait]
impl Middleware<Chat> for StructuredLayer {
    fn name(&self) -> &'static str {
        "structured"
    }

    async fn handle(
        &self,
        cx: &Arc<CallCx>,
        request: Arc<ChatRequest>,
        next: Next<'_, Chat>,
    ) -> Result<Reply<Chat>, PgwError> {
        match &cx.structured {
            None => next.run(cx, request).await,
            // Boxed: calls without structure need not carry the room for it.
            Some(call) => Box::pin(climb(call, cx, request, next)).await,
        }
    }
}

async fn climb(
    call: &StructuredCall,
    cx: &Arc<CallCx>,
    request: Arc<ChatRequest>,
    next: Next<'_, Chat>,
) -> Result<Reply<Chat>, PgwError> {
    if let Some(n) = request.n.filter(|n| *n > 1) {
        let text = format!("n is {n}, but a structured call reads one answer; leave n out");
        return Err(CallError::new(Fault::BadRequest, text).with_param("n").into());
    }
    let mut asked = Arc::clone(&request);
    let mut spent = Spent::default();
    let mut asks_left = call.reasks;
    loop {
        let mut response = match next.run(cx, asked).await? {
            Reply::Whole(response) => response,
            // Nothing is handed out before it has passed.
            Reply::Live(events) => collected(events).await?,
        };
        let unreadable = match structure(&mut response, call) {
            Ok(()) => {
                spent.add_to(&mut response);
                return Ok(Reply::Whole(response));
            }
            Err(unreadable) => unreadable,
        };
        spent.take(&response);
        if asks_left == 0 || !may_be_mended(&response) {
            let asks = call.reasks - asks_left + 1;
            return Err(exhausted(*response, unreadable, asks).into());
        }
        asks_left -= 1;
        let feedback = feedback(&unreadable);
        tracing::info!(
            request_id = &*cx.request_id,
            faults = unreadable.faults().count(),
            answer_bytes = response.content.len(),
            asks_left,
            "the answer is not of the form that was asked for; asking again"
        );
        let mut messages = request.messages.clone();
        messages.push(Message::assistant(cut(&response.content, ECHO_CHARS)));
        messages.push(Message::user(feedback));
        asked = Arc::new(ChatRequest {
            messages,
            native_format: call.output.native_format(),
            ..(*request).clone()
        });
        cx.resume_trace(std::mem::take(&mut response.trace));
        cx.between_attempts();
    }
}

/// Reads the value out of an answer, and puts it there. An answer without text that asks for tools
/// or refuses is none to read: it passes as it is.
///
/// # Errors
/// Why the text is not the value.
pub(crate) fn structure(
    response: &mut LlmResponse,
    call: &StructuredCall,
) -> Result<(), Unreadable> {
    let says_something_else = response.refusal.is_some() || !response.tool_calls.is_empty();
    if says_something_else && response.content.trim().is_empty() {
        return Ok(());
    }
    response.structured_data = Some(call.output.read(&response.content)?);
    Ok(())
}

/// Whether asking again could help: an answer that was cut will be cut again.
const fn may_be_mended(response: &LlmResponse) -> bool {
    !matches!(response.finish_reason, FinishReason::Length | FinishReason::ContentFilter)
}

fn exhausted(response: LlmResponse, mut unreadable: Unreadable, asks: u32) -> CallError {
    unreadable.truncated |= !may_be_mended(&response);
    let why = match response.finish_reason {
        FinishReason::Length => "the output limit cut the answer; raise max_tokens",
        FinishReason::ContentFilter => "the content filter cut the answer",
        FinishReason::Stop | FinishReason::ToolCalls | FinishReason::Other(_) => {
            "the answer is not of the form that was asked for"
        }
    };
    let message = format!("{why} (asked {asks} times): {}", told(&unreadable).join("; "));
    let partial = Partial {
        content: Some(response.content),
        thinking: Some(response.thinking).filter(|text| !text.is_empty()),
        tool_calls: response.tool_calls,
    };
    CallError::new(Fault::InvalidResult, message)
        .at(Arc::clone(&response.trace.scope), response.source_name.into())
        .with_partial(partial)
        .with_unreadable(unreadable)
        .with_trace(response.trace)
}

/// What the model is told of a wrong answer. The template is fixed (MID-124): only what is wrong
/// varies.
fn feedback(unreadable: &Unreadable) -> String {
    let mut text = "Your last answer could not be used. What is wrong with it:\n".to_owned();
    for fault in told(unreadable) {
        // Writing to a String can't fail.
        let _ = writeln!(text, "- {fault}");
    }
    text += "Answer again with the whole corrected JSON value and nothing else: no explanation, \
             no code fence.";
    text
}

/// The first faults, each cut to a bearable length.
fn told(unreadable: &Unreadable) -> Vec<String> {
    unreadable.faults().take(FAULTS_TOLD).map(|fault| cut(fault, FAULT_CHARS)).collect()
}

/// At most `most` characters of a text.
fn cut(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}

#[cfg(test)]
mod tests;
