//! The closed sets of the library in words, each as what a source did: "north … ".

use pgw_client::{Fault, SourceReason, Warning};

/// What a source did when an attempt on it failed so.
pub(crate) const fn fault(fault: Fault) -> &'static str {
    match fault {
        Fault::RateLimit => "limits our rate",
        Fault::Overloaded => "is overloaded",
        Fault::ServerError => "failed inside",
        Fault::Timeout => "took too long",
        Fault::Network => "can't be reached, or hung up",
        Fault::Truncated => "broke off in the middle",
        Fault::DamagedFrame => "sent a damaged stream",
        Fault::EmptyResponse => "sent an empty answer",
        Fault::BadResponse => "sent something that is no answer",
        Fault::BadEndpoint => "is not the API at this address",
        Fault::InvalidKey => "refuses the key",
        Fault::Quota => "has no money or quota left for us",
        Fault::ModelNotFound => "does not know the model",
        Fault::ModelUnavailable => "has no route to the model now",
        Fault::ContextLength => "finds the prompt too long for the model",
        Fault::RequestTooLarge => "can never admit a request of this size",
        Fault::ContentFilter => "refuses the content",
        Fault::UnsupportedParam => "does not support a parameter",
        Fault::BadRequest => "refuses the request",
        Fault::ThinkingOnly => "spent the whole answer on thinking",
        Fault::InvalidResult => "answered in another form than was asked for",
        Fault::Deadline => "was cut off by the call's own deadline",
    }
}

/// Why a source was not asked, or did not serve.
pub(crate) const fn source_reason(reason: SourceReason) -> &'static str {
    match reason {
        SourceReason::NetworkError => "it failed or can't be reached",
        SourceReason::Timeout => "it took too long",
        SourceReason::RateLimited => "its rate is limited",
        SourceReason::SourceDead => "bad key, no money, or the model is not served there",
        SourceReason::CircuitOpen => "its circuit breaker is open",
        SourceReason::Cooldown => "it cools down after a failure",
    }
}

/// What is odd about an answer.
pub(crate) const fn warning(warning: Warning) -> &'static str {
    match warning {
        Warning::DamagedFrame => "a part of the stream was damaged and left out or mended",
        Warning::MissingDone => "the stream ended without saying so; the answer may be cut",
        Warning::ReplacementChars => "the service cut a character in two (U+FFFD)",
        Warning::JsonInsteadOfStream => "the service sent a plain answer instead of a stream",
        Warning::UsageEstimated => "the service reported no usage; it is estimated",
        Warning::CommentAsData => "the service wrapped a keep-alive comment in a data line",
    }
}
