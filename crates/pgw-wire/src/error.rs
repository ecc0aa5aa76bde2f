//! What an error means.
//!
//! Evidence, in order: the provider's own table, the tables of all known providers (behind a relay
//! anybody's words may come), the status. The tables are data in `pgw-types`; nothing here knows a
//! provider. Free text is never searched for bare numbers: bodies echo prompts
//! (BerriAI/litellm#11455).

use std::borrow::Cow;

use pgw_types::{CallError, ErrorRule, Fault, ProviderProfile, known_error_rules};

mod body;
mod redact;
mod wait;

pub use redact::{excerpt, without};

use body::Report;

/// Response headers, as far as errors need them.
pub type HeaderLookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// What is known around an error.
#[derive(Clone, Copy)]
pub struct ErrorContext<'a> {
    /// The manners of the service.
    pub profile: &'a ProviderProfile,
    /// Looks a header up by its lower-case name.
    pub headers: HeaderLookup<'a>,
    /// Milliseconds since 1970-01-01 UTC, for dates when the answer has none of its own.
    pub now_unix_ms: u64,
    /// The key that the request carried: never shown, should the service repeat it.
    pub secret: &'a str,
}

impl std::fmt::Debug for ErrorContext<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ErrorContext").field("profile", &self.profile.name).finish_non_exhaustive()
    }
}

impl<'a> ErrorContext<'a> {
    /// A context without headers: for errors in the middle of a stream.
    #[must_use]
    pub fn bare(profile: &'a ProviderProfile) -> Self {
        Self { profile, headers: &|_| None, now_unix_ms: 0, secret: "" }
    }

    /// The same, hiding this key.
    #[must_use]
    pub const fn hiding(mut self, secret: &'a str) -> Self {
        self.secret = secret;
        self
    }
}

/// Names the failure of an answer whose status is not 2xx.
#[must_use]
pub fn classify(status: u16, body: &[u8], context: &ErrorContext<'_>) -> CallError {
    let text = String::from_utf8_lossy(body);
    let text = without(&text, context.secret);
    build(Some(status), &Report::read(&text), &text, context)
}

/// Names an error that came in the place of an answer, under status 200: by its own code.
#[must_use]
pub fn in_band(text: &str, context: &ErrorContext<'_>) -> CallError {
    let text = without(text, context.secret);
    let report = Report::read(&text);
    build(report.status, &report, &text, context)
}

fn build(
    status: Option<u16>,
    report: &Report,
    text: &str,
    context: &ErrorContext<'_>,
) -> CallError {
    let wait = wait::asked_for(report, context);
    // Again: JSON may have written the key with escapes.
    let shown = |text: &str| excerpt(&without(text, context.secret));
    let fault = fault_of(status, report, wait.is_some(), context.profile);
    let said = report.message.trim();
    let mut message = if said.is_empty() {
        let what = status.map_or_else(String::new, |status| format!("HTTP {status} "));
        let words = shown(text);
        let lacking = if words.is_empty() { "a body" } else { "a message: " };
        format!("{what}without {lacking}{words}")
    } else {
        shown(said)
    };
    // What the service's support asks for; most put it into the message themselves.
    let id = |name: &str| (context.headers)(name).map(|id| shown(&id));
    if let Some(id) = id("x-request-id").or_else(|| id("request-id"))
        && !id.is_empty()
        && !message.contains(&id)
    {
        message = format!("{message} (request id: {id})");
    }
    let mut error = CallError::new(fault, message);
    if let Some(status) = status {
        error = error.with_status(status);
    }
    if let Some(code) = report.words.first() {
        error = error.with_code(shown(code));
    }
    if let Some(param) = param_of(fault, report) {
        error = error.with_param(shown(&param));
    }
    match wait {
        Some(wait) => error.with_retry_after(wait),
        None => error,
    }
}

fn fault_of(
    status: Option<u16>,
    report: &Report,
    has_wait: bool,
    profile: &ProviderProfile,
) -> Fault {
    let message = words_of_the_service(&report.message).to_lowercase();
    let fits = |rule: &&ErrorRule| {
        rule.status.is_none_or(|wanted| Some(wanted) == status)
            && rule
                .code
                .as_deref()
                .is_none_or(|wanted| report.words.iter().any(|word| is_word(wanted, word)))
            && rule.texts.iter().all(|text| message.contains(text))
    };
    // A budget in flight frees itself, and then a time is told; any other 402 is money, whatever
    // counters stand beside it (openrouter.ai, limits: "In-flight spending budget").
    if status == Some(402) && has_wait && report.is_in_flight {
        return Fault::RateLimit;
    }
    let own = profile.error_rules.iter().find(fits);
    if let Some(rule) = own.or_else(|| known_error_rules().find(fits)) {
        return rule.fault;
    }
    status.map_or_else(|| by_kind(report), |status| by_status(status, report))
}

/// The message without what it repeats of the request: validators print the faulty input, and a
/// prompt that talks of an empty account must not close the account's source.
fn words_of_the_service(message: &str) -> Cow<'_, str> {
    const ENOUGH: usize = 2_000;
    let end = message.find("input_value").unwrap_or(message.len()).min(ENOUGH);
    String::from_utf8_lossy(&message.as_bytes()[..end])
}

/// Whether a code of a table is this word; a `*` in it stands for any letters.
fn is_word(wanted: &str, word: &str) -> bool {
    let Some((head, tail)) = wanted.split_once('*') else {
        return wanted.eq_ignore_ascii_case(word);
    };
    let word = word.to_ascii_lowercase();
    word.len() >= head.len() + tail.len()
        && word.starts_with(&head.to_ascii_lowercase())
        && word.ends_with(&tail.to_ascii_lowercase())
}

/// What the kinds of errors mean that come under all sorts of statuses, where there is no status.
fn by_kind(report: &Report) -> Fault {
    let is = |wanted: &str| report.words.iter().any(|word| is_word(wanted, word));
    if report.is_page {
        Fault::BadEndpoint
    } else if is("invalid_request_error") || is("BadRequestError") || is("INVALID_ARGUMENT") {
        Fault::BadRequest
    } else {
        Fault::ServerError
    }
}

/// What a status means when nothing else is known (architecture, section 12).
fn by_status(status: u16, report: &Report) -> Fault {
    match status {
        401 | 403 => Fault::InvalidKey,
        402 => Fault::Quota,
        404 if report.mentions_model() && !report.is_page => Fault::ModelNotFound,
        300..=399 | 404 | 405 => Fault::BadEndpoint,
        408 | 504 | 522 | 524 => Fault::Timeout,
        409 | 425 => Fault::ServerError,
        413 => Fault::RequestTooLarge,
        429 => Fault::RateLimit,
        400..=499 => Fault::BadRequest,
        503 | 529 => Fault::Overloaded,
        _ => Fault::ServerError,
    }
}

/// Fields that services complain about by name without filling in `param`.
const NAMED_PARAMS: [&str; 12] = [
    "stream_options",
    "response_format",
    "max_completion_tokens",
    "max_tokens",
    "temperature",
    "top_p",
    "tool_choice",
    "parallel_tool_calls",
    "reasoning_effort",
    "logprobs",
    "seed",
    "tools",
];

fn param_of(fault: Fault, report: &Report) -> Option<String> {
    if let Some(param) = &report.param {
        return Some(param.clone());
    }
    if fault != Fault::UnsupportedParam {
        return None;
    }
    NAMED_PARAMS.iter().find(|name| report.message.contains(*name)).map(ToString::to_string)
}

#[cfg(test)]
mod tests;
