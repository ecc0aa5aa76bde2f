//! Every case of the corpus, put together as a caller gets it: at the codec, and through the
//! transport over real HTTP.
#![expect(clippy::unwrap_used, reason = "a test that can't be set up should fail there")]

use pgw_middleware::Chat;
use pgw_ports::{Assembly as _, AttemptFacts, Operation as _};
use pgw_types::{
    CallError, ChatEvent, ChatRequest, Choice, LlmResponse, SourceConfig, UsageReport, UsageSource,
};

mod case;
mod codec;
mod transport;

use case::Seen;

/// What a caller gets of these events and their end.
fn put_together(events: Vec<ChatEvent>, end: Result<(), CallError>) -> Seen {
    let source = SourceConfig::new("s", "generic", "https://a.example/v1", "key", "m");
    let mut assembly = Chat::assembly(&ChatRequest::default(), &source);
    for event in events {
        assembly.absorb(event);
    }
    let response = end.and_then(|()| {
        assert!(assembly.is_finished(), "an answer without Finish ends in an error");
        assembly.finish(AttemptFacts::default())
    });
    match response {
        Ok(response) => of_response(*response),
        Err(error) => {
            let partial = assembly.partial();
            Seen {
                content: partial.content,
                thinking: partial.thinking,
                tool_calls: partial.tool_calls,
                error: Some(error),
                ..Seen::default()
            }
        }
    }
}

fn of_response(response: LlmResponse) -> Seen {
    let reported = response.usage_source == UsageSource::Measured;
    let usage = UsageReport {
        prompt_tokens: reported.then_some(response.prompt_tokens),
        completion_tokens: reported.then_some(response.completion_tokens),
        cached_tokens: response.cached_tokens,
        reasoning_tokens: response.reasoning_tokens,
    };
    let first = (response.content.clone(), response.finish_reason, response.raw_finish_reason);
    let others = response
        .other_choices
        .into_iter()
        .map(|choice: Choice| (choice.content, choice.finish_reason, choice.raw_finish_reason));
    Seen {
        id: response.response_id,
        content: Some(response.content),
        thinking: Some(response.thinking),
        refusal: response.refusal,
        tool_calls: response.tool_calls,
        usage,
        choices: [first].into_iter().chain(others).collect(),
        warnings: response.warnings,
        echo: response.reasoning_items,
        error: None,
    }
}
