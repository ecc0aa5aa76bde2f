//! Finish reasons in everybody's words.

use pgw_types::FinishReason;

/// What a service's word means.
pub(crate) enum Finished {
    /// The answer ended, for this reason.
    Ended(FinishReason),
    /// Generation broke; this is no ending.
    Broke,
}

/// The words of services, and ours (wire.md, "Chunk contents"; Zhipu `sensitive` and
/// `network_error`; `DeepSeek` `insufficient_system_resource`; Google's and Anthropic's words as
/// relays pass them on).
pub(crate) fn meaning(word: &str) -> Finished {
    Finished::Ended(match word {
        "error" | "network_error" | "abort" | "insufficient_system_resource" => {
            return Finished::Broke;
        }
        "stop" | "eos" | "end_turn" | "STOP" | "stop_sequence" | "COMPLETE" | "complete" => {
            FinishReason::Stop
        }
        "length"
        | "max_tokens"
        | "MAX_TOKENS"
        | "model_length"
        | "model_context_window_exceeded" => FinishReason::Length,
        "tool_calls" | "function_call" | "tool_use" => FinishReason::ToolCalls,
        "content_filter" | "sensitive" | "SAFETY" | "PROHIBITED_CONTENT" | "RECITATION"
        | "BLOCKLIST" | "SPII" => FinishReason::ContentFilter,
        other => FinishReason::Other(other.to_owned()),
    })
}
