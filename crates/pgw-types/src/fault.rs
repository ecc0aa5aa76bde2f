//! The taxonomy of failure: what happened, what to do about it, what to tell a client.
//!
//! A transport names the [`Fault`] once. Its [`FailureClass`] decides retry, switch, breaker and
//! cache; its [`ErrorKind`] decides what a client of the server sees. Both follow from tables in
//! this file that have no catch-all arm: a new fault does not compile until each table knows it.

use serde::{Deserialize, Serialize};

/// What to do about a failed call. There are exactly four.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureClass {
    /// The service stumbled: retry after a backoff, elsewhere if possible; counts for the breaker.
    Transient,
    /// This source can't serve now whatever is asked (bad key, no money, model not served there):
    /// leave it at once; its breaker is forced open.
    SourceDead,
    /// The request itself is at fault: no retry, no other source, no breaker count.
    RequestRejected,
    /// The service answered, but the answer is of no use. The service is healthy: the breaker
    /// records success, and only the structured ladder may ask again.
    ResultInvalid,
}

impl FailureClass {
    /// All four, in the order of the table in the architecture.
    pub const ALL: [Self; 4] =
        [Self::Transient, Self::SourceDead, Self::RequestRejected, Self::ResultInvalid];

    /// The stable spelling, for logs, records and JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Transient => "transient",
            Self::SourceDead => "source_dead",
            Self::RequestRejected => "request_rejected",
            Self::ResultInvalid => "result_invalid",
        }
    }

    /// Whether the same request may be sent to the same source again, after a backoff.
    #[must_use]
    pub const fn may_retry(self) -> bool {
        match self {
            Self::Transient => true,
            Self::SourceDead | Self::RequestRejected | Self::ResultInvalid => false,
        }
    }

    /// Whether another source may be tried.
    #[must_use]
    pub const fn may_switch(self) -> bool {
        match self {
            Self::Transient | Self::SourceDead => true,
            Self::RequestRejected | Self::ResultInvalid => false,
        }
    }
}

/// Which limit of the stream watchdog fired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Liveness {
    /// No first token in time.
    Ttft,
    /// Too long a silence between two tokens.
    InterToken,
    /// The whole answer took too long.
    Total,
}

impl Liveness {
    /// The stable spelling: `ttft`, `inter_token` or `total`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ttft => "ttft",
            Self::InterToken => "inter_token",
            Self::Total => "total",
        }
    }
}

macro_rules! faults {
    ($( $(#[$doc:meta])* $name:ident = $text:literal => $class:ident, $kind:ident; )*) => {
        /// What exactly happened to one attempt.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum Fault { $( $(#[$doc])* #[serde(rename = $text)] $name, )* }

        impl Fault {
            /// Every fault, for tests and generated tables.
            pub const ALL: &'static [Self] = &[$( Self::$name, )*];

            /// The stable spelling, for logs, records and JSON.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $( Self::$name => $text, )* }
            }

            /// What to do about it.
            #[must_use]
            pub const fn class(self) -> FailureClass {
                match self { $( Self::$name => FailureClass::$class, )* }
            }

            /// What to tell a client about it.
            #[must_use]
            pub const fn kind(self) -> ErrorKind {
                match self { $( Self::$name => ErrorKind::$kind, )* }
            }
        }
    };
}

faults! {
    /// The service asks us to slow down.
    RateLimit = "rate_limit" => Transient, UpstreamRateLimit;
    /// The service is over its capacity.
    Overloaded = "overloaded" => Transient, UpstreamServerError;
    /// The service failed (5xx and the like).
    ServerError = "server_error" => Transient, UpstreamServerError;
    /// The service took too long, or the watchdog fired.
    Timeout = "timeout" => Transient, Timeout;
    /// No connection, or the connection broke before an answer.
    Network = "network" => Transient, UpstreamServerError;
    /// The answer broke off.
    Truncated = "truncated" => Transient, PartialStream;
    /// A frame of the stream could not be read, and the source's policy is to retry.
    DamagedFrame = "damaged_frame" => Transient, PartialStream;
    /// Complete, but nothing in it: no content, no tool call, no refusal.
    EmptyResponse = "empty_response" => Transient, UpstreamServerError;
    /// Not an answer in the expected form.
    BadResponse = "bad_response" => Transient, UpstreamServerError;
    /// The address answers, but it isn't the API (a login page, a wrong path).
    BadEndpoint = "bad_endpoint" => Transient, UpstreamServerError;
    /// The key is refused.
    InvalidKey = "invalid_key" => SourceDead, UpstreamAuthError;
    /// The account has no money or its allowance for the period is spent.
    Quota = "quota" => SourceDead, UpstreamAuthError;
    /// The service does not know the model.
    ModelNotFound = "model_not_found" => SourceDead, ModelNotFound;
    /// A relay has no route to the model at the moment.
    ModelUnavailable = "model_unavailable" => SourceDead, ModelNotFound;
    /// The prompt is longer than the model's context.
    ContextLength = "context_length" => RequestRejected, InvalidRequest;
    /// The request is larger than the account's budget can ever admit.
    RequestTooLarge = "request_too_large" => RequestRejected, InvalidRequest;
    /// The service's content filter refused the request.
    ContentFilter = "content_filter" => RequestRejected, InvalidRequest;
    /// A parameter isn't supported there.
    UnsupportedParam = "unsupported_param" => RequestRejected, UnsupportedCapability;
    /// The request is malformed or refused for another reason of its own.
    BadRequest = "bad_request" => RequestRejected, InvalidRequest;
    /// The output limit was spent on thinking alone; asking again can't help.
    ThinkingOnly = "thinking_only" => ResultInvalid, InvalidResult;
    /// The answer is not of the form that was asked for.
    InvalidResult = "invalid_result" => ResultInvalid, InvalidResult;
    /// The call's own deadline passed. Says nothing about the source.
    Deadline = "deadline" => Transient, Timeout;
}

impl Fault {
    /// Whether this fault is of our own making and so says nothing about the source: its breaker
    /// gets no verdict (bagowix/interlock PR #194).
    #[must_use]
    pub const fn is_local(self) -> bool {
        matches!(self, Self::Deadline)
    }
}

macro_rules! kinds {
    ($( $(#[$doc:meta])* $name:ident = $text:literal, $status:literal, retry $retry:literal,
        fallback $fallback:literal, $public:literal; )*) => {
        /// What a client is told: fourteen stable categories, each with one HTTP status.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum ErrorKind { $( $(#[$doc])* #[serde(rename = $text)] $name, )* }

        impl ErrorKind {
            /// All fourteen.
            pub const ALL: &'static [Self] = &[$( Self::$name, )*];

            /// The stable name: the wire code and the metric label.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $( Self::$name => $text, )* }
            }

            /// The HTTP status a server answers with.
            #[must_use]
            pub const fn http_status(self) -> u16 {
                match self { $( Self::$name => $status, )* }
            }

            /// Whether the same request may succeed later.
            #[must_use]
            pub const fn is_retryable(self) -> bool {
                match self { $( Self::$name => $retry, )* }
            }

            /// Whether another source may be tried for the same request.
            #[must_use]
            pub const fn is_fallback_allowed(self) -> bool {
                match self { $( Self::$name => $fallback, )* }
            }

            /// The sentence a client may see. It holds nothing of the upstream's words.
            #[must_use]
            pub const fn public_message(self) -> &'static str {
                match self { $( Self::$name => $public, )* }
            }
        }
    };
}

kinds! {
    /// The request is malformed, too long or refused.
    InvalidRequest = "invalid_request", 400, retry false, fallback false,
        "the request was refused; change it before sending it again";
    /// The client's own key is missing or wrong.
    AuthenticationError = "authentication_error", 401, retry false, fallback false,
        "the key of this request is missing or not valid";
    /// The model does not exist here, or the client's key may not use it.
    ModelNotFound = "model_not_found", 404, retry false, fallback true,
        "the model is not served here";
    /// A field of the request is not supported by the chosen model.
    UnsupportedCapability = "unsupported_capability", 422, retry false, fallback false,
        "the request uses something that the model does not support";
    /// Our own quota is used up.
    RateLimited = "rate_limited", 429, retry true, fallback false,
        "the quota is used up for the moment";
    /// Too many calls are waiting already.
    GatewayOverloaded = "gateway_overloaded", 503, retry true, fallback false,
        "too many calls are waiting";
    /// No source can serve the scope now.
    NoAvailableSource = "no_available_source", 503, retry true, fallback false,
        "no source can serve the call at the moment";
    /// A limit in time passed.
    Timeout = "timeout", 504, retry true, fallback true,
        "the answer did not come in time";
    /// The upstream limits our rate.
    UpstreamRateLimit = "upstream_rate_limit", 429, retry true, fallback true,
        "the upstream limits the rate of calls";
    /// The upstream refuses our credential.
    UpstreamAuthError = "upstream_auth_error", 502, retry false, fallback true,
        "the upstream refused the gateway's credential";
    /// The upstream failed.
    UpstreamServerError = "upstream_server_error", 502, retry true, fallback true,
        "the upstream failed";
    /// The answer broke off.
    PartialStream = "partial_stream", 502, retry true, fallback true,
        "the answer broke off before its end";
    /// The answer is not of the form that was asked for.
    InvalidResult = "invalid_result", 502, retry false, fallback false,
        "the answer is not of the form that was asked for";
    /// A bug or a faulty assembly.
    InternalError = "internal_error", 500, retry false, fallback false,
        "an internal error; the request id finds it in the log";
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// TYP-030, GWY-029.
    #[test]
    fn four_classes_and_fourteen_kinds_with_stable_names() {
        let classes: Vec<_> = FailureClass::ALL.iter().map(|c| c.as_str()).collect();
        assert_eq!(classes, ["transient", "source_dead", "request_rejected", "result_invalid"]);
        let kinds: BTreeSet<_> = ErrorKind::ALL.iter().map(|k| k.as_str()).collect();
        assert_eq!(kinds.len(), 14);
        for kind in ErrorKind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
        }
    }

    /// GWY-030, architecture section 4.
    #[test]
    fn each_kind_has_its_documented_status() {
        let table: Vec<_> = ErrorKind::ALL.iter().map(|k| (k.as_str(), k.http_status())).collect();
        assert_eq!(
            table,
            [
                ("invalid_request", 400),
                ("authentication_error", 401),
                ("model_not_found", 404),
                ("unsupported_capability", 422),
                ("rate_limited", 429),
                ("gateway_overloaded", 503),
                ("no_available_source", 503),
                ("timeout", 504),
                ("upstream_rate_limit", 429),
                ("upstream_auth_error", 502),
                ("upstream_server_error", 502),
                ("partial_stream", 502),
                ("invalid_result", 502),
                ("internal_error", 500),
            ]
        );
    }

    /// TYP-032 … TYP-035.
    #[test]
    fn the_class_decides_retry_and_switch() {
        let table: Vec<_> =
            FailureClass::ALL.iter().map(|c| (c.may_retry(), c.may_switch())).collect();
        assert_eq!(table, [(true, true), (false, true), (false, false), (false, false)]);
    }

    /// Corpus mapping: each class of the fault corpus lands in the class that its README names.
    #[test]
    fn corpus_classes_map_as_documented() {
        for (class, names) in [
            (
                FailureClass::SourceDead,
                &["invalid_key", "quota", "model_not_found", "model_unavailable"][..],
            ),
            (
                FailureClass::Transient,
                &[
                    "rate_limit",
                    "overloaded",
                    "server_error",
                    "timeout",
                    "truncated",
                    "empty_response",
                    "bad_response",
                    "bad_endpoint",
                ][..],
            ),
            (
                FailureClass::RequestRejected,
                &[
                    "context_length",
                    "request_too_large",
                    "content_filter",
                    "unsupported_param",
                    "bad_request",
                ][..],
            ),
        ] {
            for name in names {
                let fault = Fault::ALL.iter().find(|f| f.as_str() == *name).unwrap();
                assert_eq!(fault.class(), class, "{name}");
            }
        }
    }
}
