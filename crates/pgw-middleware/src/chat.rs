//! Chat, as the onion sees it: how to weigh a request, and how to put an answer together.

use std::mem::take;

use pgw_ports::{Assembly, AttemptFacts, Operation, Recorded};
use pgw_types::{
    CallError, CallTrace, ChatEvent, ChatRequest, Choice, Fault, Finish, FinishReason, LlmResponse,
    Partial, SourceConfig, ToolCall, ToolDelta, Usage, UsageReport, UsageSource, Warning, digest,
};

mod keep;
mod weigh;

use weigh::{estimate_call, estimate_prompt, estimate_text};

/// The chat operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Chat;

impl Operation for Chat {
    const NAME: &'static str = "chat";

    type Request = ChatRequest;
    type Event = ChatEvent;
    type Response = LlmResponse;
    type Assembly = ChatAssembly;

    fn model<'a>(request: &'a ChatRequest, source: &'a SourceConfig) -> &'a str {
        request.model.as_deref().unwrap_or(&source.model)
    }

    /// The source's constant, or more if the prompt's length and the answer's cap say more.
    fn estimate_tokens(request: &ChatRequest, source: &SourceConfig) -> u64 {
        estimate_call(request).max(source.est_tokens)
    }

    fn unfit(request: &ChatRequest, source: &SourceConfig) -> Option<String> {
        weigh::unfit(request, source)
    }

    fn recorded_request(request: &ChatRequest) -> String {
        digest::canonical_json(&digest::digest_messages(&request.messages))
    }

    fn is_life(event: &ChatEvent) -> bool {
        event.is_life()
    }

    fn assembly(request: &ChatRequest, source: &SourceConfig) -> ChatAssembly {
        ChatAssembly {
            asked_model: Self::model(request, source).to_owned(),
            provider: source.provider.clone(),
            source_name: source.name.clone(),
            prompt_estimate: estimate_prompt(request),
            floor: source.est_tokens,
            ..ChatAssembly::default()
        }
    }

    fn set_trace(response: &mut LlmResponse, trace: CallTrace) {
        response.trace = trace;
    }
}

/// Puts a chat answer together.
#[derive(Debug, Default)]
pub struct ChatAssembly {
    asked_model: String,
    provider: String,
    source_name: String,
    prompt_estimate: u64,
    floor: u64,
    id: String,
    model: String,
    request_id: Option<String>,
    choices: Vec<Answer>,
    usage: UsageReport,
    finish: Option<Finish>,
}

/// One of the `n` answers under way. `None` means nothing of the kind was ever sent.
#[derive(Debug, Default)]
struct Answer {
    content: Option<String>,
    thinking: Option<String>,
    refusal: Option<String>,
    tool_calls: Vec<ToolCall>,
    reasoning_items: Vec<serde_json::Value>,
    logprobs: Option<serde_json::Value>,
}

impl Answer {
    fn has_thinking(&self) -> bool {
        self.thinking.as_deref().is_some_and(|text| !text.trim().is_empty())
    }

    fn is_empty(&self) -> bool {
        let blank = |text: &Option<String>| text.as_deref().is_none_or(|t| t.trim().is_empty());
        blank(&self.content) && blank(&self.refusal) && self.tool_calls.is_empty()
    }

    fn tool(&mut self, delta: &ToolDelta) {
        let slot = delta.slot as usize;
        while self.tool_calls.len() <= slot {
            self.tool_calls.push(ToolCall::default());
        }
        let call = &mut self.tool_calls[slot];
        if let Some(id) = &delta.id
            && call.id.is_empty()
        {
            call.id.clone_from(id);
        }
        if let Some(name) = &delta.name
            && call.name.is_empty()
        {
            call.name.clone_from(name);
        }
        call.arguments.push_str(&delta.arguments);
        for (key, value) in &delta.extra {
            call.extra.insert(key.clone(), value.clone());
        }
    }

    fn logprobs(&mut self, value: &serde_json::Value) {
        // Each delta brings the tokens of its own; the lists run on.
        match (&mut self.logprobs, value) {
            (Some(serde_json::Value::Object(known)), serde_json::Value::Object(more)) => {
                for (key, value) in more {
                    match (known.get_mut(key), value) {
                        (Some(serde_json::Value::Array(list)), serde_json::Value::Array(more)) => {
                            list.extend(more.iter().cloned());
                        }
                        _ => {
                            known.insert(key.clone(), value.clone());
                        }
                    }
                }
            }
            (slot, value) => *slot = Some(value.clone()),
        }
    }
}

/// Why answer `index` stopped, and the service's own word for it.
fn reason(finish: &Finish, index: usize) -> (FinishReason, Option<String>) {
    (
        finish.reasons.get(index).cloned().unwrap_or_default(),
        finish.raw_reasons.get(index).cloned().flatten(),
    )
}

fn append(slot: &mut Option<String>, text: &str) {
    match slot {
        Some(known) => known.push_str(text),
        None => *slot = Some(text.to_owned()),
    }
}

impl ChatAssembly {
    fn choice(&mut self, index: u32) -> &mut Answer {
        let index = index as usize;
        while self.choices.len() <= index {
            self.choices.push(Answer::default());
        }
        &mut self.choices[index]
    }

    /// Complete, but is it an answer?
    fn check(&self) -> Result<(), CallError> {
        if !self.choices.iter().all(Answer::is_empty) {
            return Ok(());
        }
        let first_reason = self.finish.as_ref().and_then(|finish| finish.reasons.first());
        // Services that hide the thinking tell it by the usage alone.
        let thought = self.usage.reasoning_tokens.is_some_and(|count| count > 0)
            || self.choices.first().is_some_and(Answer::has_thinking);
        Err(match first_reason {
            Some(FinishReason::Length) if thought => CallError::new(
                Fault::ThinkingOnly,
                "the output limit was spent on thinking alone; raise max_tokens or switch \
                 thinking off",
            ),
            Some(FinishReason::ContentFilter) => {
                CallError::new(Fault::ContentFilter, "the content filter withheld the whole answer")
            }
            _ => CallError::new(
                Fault::EmptyResponse,
                "the answer is complete but has no content, no tool call and no refusal",
            ),
        })
    }
}

impl Assembly<Chat> for ChatAssembly {
    fn push(&mut self, event: &ChatEvent) {
        match event {
            ChatEvent::MessageStart { id, model, request_id } => {
                self.id.clone_from(id);
                self.model.clone_from(model);
                self.request_id.clone_from(request_id);
            }
            ChatEvent::ContentDelta { choice, text } => {
                append(&mut self.choice(*choice).content, text);
            }
            ChatEvent::ThinkingDelta { choice, text } => {
                append(&mut self.choice(*choice).thinking, text);
            }
            ChatEvent::ContentWasThinking { choice } => {
                let answer = self.choice(*choice);
                if let Some(content) = answer.content.take() {
                    let after = answer.thinking.take().unwrap_or_default();
                    answer.thinking = Some(content + &after);
                }
            }
            ChatEvent::RefusalDelta { choice, text } => {
                append(&mut self.choice(*choice).refusal, text);
            }
            ChatEvent::ToolDelta(delta) => self.choice(delta.choice).tool(delta),
            ChatEvent::ReasoningItem { choice, item } => {
                self.choice(*choice).reasoning_items.push(item.clone());
            }
            ChatEvent::Logprobs { choice, value } => self.choice(*choice).logprobs(value),
            ChatEvent::Usage(report) => self.usage.merge(report),
            ChatEvent::Finish(finish) => self.finish = Some(finish.clone()),
        }
    }

    fn absorb(&mut self, event: ChatEvent) {
        match event {
            ChatEvent::MessageStart { id, model, request_id } => {
                self.id = id;
                self.model = model;
                self.request_id = request_id;
            }
            ChatEvent::ContentDelta { choice, text } => {
                let content = &mut self.choice(choice).content;
                match content {
                    Some(known) => known.push_str(&text),
                    None => *content = Some(text),
                }
            }
            ChatEvent::Finish(finish) => self.finish = Some(finish),
            other => self.push(&other),
        }
    }

    fn is_finished(&self) -> bool {
        self.finish.is_some()
    }

    fn usage(&self) -> UsageReport {
        self.usage
    }

    fn booked_usage(&self) -> (Usage, UsageSource) {
        let salvaged = self.finish.as_ref().is_some_and(|finish| finish.salvaged);
        let written: usize = self.choices.iter().map(Answer::written_bytes).sum();
        let completion = self.usage.completion_tokens.unwrap_or_else(|| estimate_text(written));
        // The source's constant is the floor: rather too many than too few.
        let guess = self.prompt_estimate.max(self.floor.saturating_sub(completion));
        let usage = Usage {
            prompt_tokens: self.usage.prompt_tokens.unwrap_or(guess),
            completion_tokens: completion,
            cached_tokens: self.usage.cached_tokens,
            reasoning_tokens: self.usage.reasoning_tokens,
            elapsed_ms: 0,
        };
        let measured = self.usage.is_complete() && !salvaged;
        (usage, if measured { UsageSource::Measured } else { UsageSource::Estimated })
    }

    fn answered_model(&self) -> &str {
        &self.model
    }

    fn partial(&self) -> Partial {
        let Some(first) = self.choices.first() else {
            return Partial::default();
        };
        Partial {
            content: first.content.clone(),
            thinking: first.thinking.clone(),
            tool_calls: first.tool_calls.clone(),
        }
    }

    fn recorded(&self) -> Recorded {
        let Some(first) = self.choices.first() else {
            return Recorded::default();
        };
        Recorded {
            response: first.content.clone().or_else(|| first.refusal.clone()).unwrap_or_default(),
            thinking: first.thinking.clone().unwrap_or_default(),
        }
    }

    fn finish(&mut self, facts: AttemptFacts) -> Result<Box<LlmResponse>, CallError> {
        self.check().map_err(|error| error.with_partial(self.partial()))?;
        let (usage, usage_source) = self.booked_usage();
        let finish = self.finish.take().unwrap_or_default();
        let mut warnings = finish.warnings.clone();
        if usage_source == UsageSource::Estimated {
            warnings.push(Warning::UsageEstimated);
        }
        let answers = take(&mut self.choices);
        let mut choices = answers.into_iter().enumerate().map(|(index, answer)| {
            let (finish_reason, raw_finish_reason) = reason(&finish, index);
            Choice {
                content: answer.content.unwrap_or_default(),
                thinking: answer.thinking.unwrap_or_default(),
                refusal: answer.refusal.filter(|text| !text.is_empty()),
                tool_calls: answer.tool_calls,
                finish_reason,
                raw_finish_reason,
                reasoning_items: answer.reasoning_items,
                logprobs: answer.logprobs,
            }
        });
        let first = choices.next().unwrap_or_default();
        let other_choices = choices.collect();
        Ok(Box::new(LlmResponse {
            content: first.content,
            thinking: first.thinking,
            model: take(if self.model.is_empty() {
                &mut self.asked_model
            } else {
                &mut self.model
            }),
            provider: take(&mut self.provider),
            prompt_tokens: usage.prompt_tokens,
            completion_tokens: usage.completion_tokens,
            latency_ms: facts.latency_ms,
            ttft_ms: facts.ttft_ms,
            max_inter_token_ms: facts.max_inter_token_ms,
            cache_hit: false,
            call_id: facts.call_id,
            source_name: take(&mut self.source_name),
            cost: facts.cost,
            usage_source,
            structured_data: None,
            finish_reason: first.finish_reason,
            raw_finish_reason: first.raw_finish_reason,
            refusal: first.refusal,
            tool_calls: first.tool_calls,
            cached_tokens: usage.cached_tokens,
            reasoning_tokens: usage.reasoning_tokens,
            other_choices,
            reasoning_items: first.reasoning_items,
            logprobs: first.logprobs,
            warnings,
            salvaged: finish.salvaged,
            response_id: take(&mut self.id),
            upstream_request_id: self.request_id.take(),
            trace: CallTrace::default(),
        }))
    }
}

impl Answer {
    fn written_bytes(&self) -> usize {
        let text = |slot: &Option<String>| slot.as_ref().map_or(0, String::len);
        let calls: usize = self.tool_calls.iter().map(|call| call.arguments.len()).sum();
        text(&self.content) + text(&self.thinking) + text(&self.refusal) + calls
    }
}

#[cfg(test)]
mod tests;
