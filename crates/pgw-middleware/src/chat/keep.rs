//! Chat answers that are kept, and handed out again.

use pgw_ports::{Cacheable, CallCx, KeepRules};
use pgw_types::{
    CallRecord, CallTrace, ChatEvent, ChatRequest, Choice, Finish, FinishReason, LlmResponse,
    ToolCall, ToolDelta, UsageReport,
};
use serde_json::{Map, Value};

use super::Chat;
use crate::structured::structure;

impl Cacheable for Chat {
    /// Taken apart member by member: a member that is added does not compile until it is decided
    /// whether it shapes the answer.
    fn key_parts(request: &ChatRequest) -> Option<Value> {
        let ChatRequest {
            model: _,
            messages: _,
            temperature,
            top_p,
            n,
            stop,
            max_tokens,
            max_completion_tokens,
            seed,
            tools,
            tool_choice,
            parallel_tool_calls,
            response_format,
            structured,
            // Made from `structured`.
            native_format: _,
            reasoning_effort,
            thinking,
            options,
            provider_options,
        } = request;
        let mut parts = Parts(Map::new());
        parts.put("temperature", temperature.as_ref())?;
        parts.put("top_p", top_p.as_ref())?;
        parts.put("n", n.as_ref())?;
        parts.put("stop", stop.as_ref())?;
        parts.put("max_tokens", max_tokens.as_ref())?;
        parts.put("max_completion_tokens", max_completion_tokens.as_ref())?;
        parts.put("seed", seed.as_ref())?;
        parts.put("tools", (!tools.is_empty()).then_some(tools))?;
        parts.put("tool_choice", tool_choice.as_ref())?;
        parts.put("parallel_tool_calls", parallel_tool_calls.as_ref())?;
        parts.put("response_format", response_format.as_ref())?;
        parts.put("structured", (!structured.is_raw()).then_some(structured))?;
        parts.put("reasoning_effort", reasoning_effort.as_ref())?;
        parts.put("thinking", thinking.as_ref())?;
        parts.put("options", (!options.is_empty()).then_some(options))?;
        let own = (!provider_options.is_empty()).then_some(provider_options);
        parts.put("provider_options", own)?;
        Some(Value::Object(parts.0))
    }

    fn asked_model(request: &ChatRequest) -> Option<&str> {
        request.model.as_deref()
    }

    fn kept(response: &LlmResponse, rules: KeepRules) -> Option<Vec<u8>> {
        let whole = |reason: &FinishReason| match reason {
            FinishReason::Stop | FinishReason::ToolCalls => true,
            FinishReason::Length | FinishReason::ContentFilter => rules.keep_cut,
            // Nobody knows what it means.
            FinishReason::Other(_) => false,
        };
        let mut reasons = response.other_choices.iter().map(|choice| &choice.finish_reason);
        if response.salvaged || !whole(&response.finish_reason) || !reasons.all(whole) {
            return None;
        }
        // What became of the call that asked first is nobody else's business.
        let kept = LlmResponse { trace: CallTrace::default(), ..response.clone() };
        serde_json::to_vec(&kept).ok()
    }

    /// The value of a structured answer is never kept: it is read again, without any network.
    fn recalled(kept: &[u8], cx: &CallCx) -> Option<LlmResponse> {
        let mut response: LlmResponse = serde_json::from_slice(kept).ok()?;
        if let Some(call) = &cx.structured {
            structure(&mut response, call).ok()?;
        }
        Some(response)
    }

    fn mark_hit(response: &mut LlmResponse, call_id: &str) {
        response.cache_hit = true;
        call_id.clone_into(&mut response.call_id);
        response.latency_ms = 0;
        response.ttft_ms = None;
        response.max_inter_token_ms = None;
        response.cost = Some(0.0);
    }

    fn replayed(response: &LlmResponse) -> Vec<ChatEvent> {
        let mut events = vec![ChatEvent::MessageStart {
            id: response.response_id.clone(),
            model: response.model.clone(),
            request_id: response.upstream_request_id.clone(),
        }];
        let first = Choice {
            content: response.content.clone(),
            thinking: response.thinking.clone(),
            refusal: response.refusal.clone(),
            tool_calls: response.tool_calls.clone(),
            finish_reason: response.finish_reason.clone(),
            raw_finish_reason: response.raw_finish_reason.clone(),
            reasoning_items: response.reasoning_items.clone(),
            logprobs: response.logprobs.clone(),
        };
        let mut finish = Finish {
            warnings: response.warnings.clone(),
            salvaged: response.salvaged,
            ..Finish::default()
        };
        let choices = std::iter::once(first).chain(response.other_choices.iter().cloned());
        for (choice, answer) in (0..).zip(choices) {
            finish.reasons.push(answer.finish_reason.clone());
            finish.raw_reasons.push(answer.raw_finish_reason.clone());
            replay_choice(choice, answer, &mut events);
        }
        events.push(ChatEvent::Usage(UsageReport {
            prompt_tokens: Some(response.prompt_tokens),
            completion_tokens: Some(response.completion_tokens),
            cached_tokens: response.cached_tokens,
            reasoning_tokens: response.reasoning_tokens,
        }));
        events.push(ChatEvent::Finish(finish));
        events
    }

    fn hit_record(response: &LlmResponse) -> CallRecord {
        CallRecord {
            model: response.model.clone(),
            provider: response.provider.clone(),
            source_name: response.source_name.clone(),
            response: response.content.clone(),
            thinking: response.thinking.clone(),
            prompt_tokens: response.prompt_tokens,
            completion_tokens: response.completion_tokens,
            usage_source: response.usage_source,
            ..CallRecord::default()
        }
    }
}

/// Members that were said.
struct Parts(Map<String, Value>);

impl Parts {
    /// `None` if a value can't be written as JSON: then the request has no name.
    fn put<T: serde::Serialize>(&mut self, name: &str, value: Option<&T>) -> Option<()> {
        if let Some(value) = value {
            self.0.insert(name.to_owned(), serde_json::to_value(value).ok()?);
        }
        Some(())
    }
}

/// The events of one answer, each of its parts in one piece.
fn replay_choice(choice: u32, answer: Choice, events: &mut Vec<ChatEvent>) {
    let said = |text: &String| !text.is_empty();
    for item in answer.reasoning_items {
        events.push(ChatEvent::ReasoningItem { choice, item });
    }
    if let Some(text) = Some(answer.thinking).filter(said) {
        events.push(ChatEvent::ThinkingDelta { choice, text });
    }
    if let Some(text) = Some(answer.content).filter(said) {
        events.push(ChatEvent::ContentDelta { choice, text });
    }
    if let Some(text) = answer.refusal {
        events.push(ChatEvent::RefusalDelta { choice, text });
    }
    for (slot, call) in (0..).zip(answer.tool_calls) {
        let ToolCall { id, name, arguments, extra, .. } = call;
        events.push(ChatEvent::ToolDelta(ToolDelta {
            choice,
            slot,
            id: Some(id),
            name: Some(name),
            arguments,
            extra,
        }));
    }
    if let Some(value) = answer.logprobs {
        events.push(ChatEvent::Logprobs { choice, value });
    }
}
