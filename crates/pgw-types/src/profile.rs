//! Provider profiles: the manners of a family of services, as plain data.
//!
//! A profile says how thinking is switched, which cap the answer's length has, whether usage can be
//! asked for in a stream, and what the service's error codes mean. There is one file per provider
//! below; adding one is adding data. Profiles that are not built in are registered at assembly.

use std::borrow::Cow;

use crate::Fault;

mod anthropic;
mod azure;
mod cerebras;
mod deepseek;
mod gemini;
mod generic;
mod glm;
mod groq;
mod llamacpp;
mod lmstudio;
mod mistral;
mod moonshot;
mod newapi;
mod ollama;
mod openai;
mod openrouter;
mod perplexity;
mod qwen;
mod scaleway;
mod sglang;
mod siliconflow;
mod vllm;
mod volcengine;

/// How a key is presented.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Auth {
    /// `Authorization: Bearer KEY`.
    #[default]
    Bearer,
    /// A header of its own, such as `api-key: KEY`.
    Header(Cow<'static, str>),
}

/// Under which name the longest answer is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TokenCapField {
    /// As the caller spelt it.
    #[default]
    AsGiven,
    /// `max_tokens`.
    MaxTokens,
    /// `max_completion_tokens`.
    MaxCompletionTokens,
}

/// One line of a table of error meanings.
///
/// A line applies if everything it names fits: the status, the code (the error's `code` or `type`
/// word, compared without regard to case; one `*` in it stands for any letters) and every text (in the message, without regard to case).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorRule {
    /// The HTTP status; `None`: any.
    pub status: Option<u16>,
    /// The code or type word; `None`: any.
    pub code: Option<Cow<'static, str>>,
    /// Lower-case texts that the message must hold, all of them.
    pub texts: Cow<'static, [&'static str]>,
    /// What it means.
    pub fault: Fault,
}

impl ErrorRule {
    /// A line that goes by the code alone.
    #[must_use]
    pub const fn code(code: &'static str, fault: Fault) -> Self {
        Self { status: None, code: Some(Cow::Borrowed(code)), texts: Cow::Borrowed(&[]), fault }
    }

    /// A line that goes by words of the message.
    #[must_use]
    pub const fn texts(texts: &'static [&'static str], fault: Fault) -> Self {
        Self { status: None, code: None, texts: Cow::Borrowed(texts), fault }
    }

    /// A line that goes by code and status together.
    #[must_use]
    pub const fn code_and_status(code: &'static str, status: u16, fault: Fault) -> Self {
        let code = Some(Cow::Borrowed(code));
        Self { status: Some(status), code, texts: Cow::Borrowed(&[]), fault }
    }

    /// A line that goes by the status alone.
    #[must_use]
    pub const fn status(status: u16, fault: Fault) -> Self {
        Self { status: Some(status), code: None, texts: Cow::Borrowed(&[]), fault }
    }
}

/// The manners of a family of services.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderProfile {
    /// The word that stands in a source's `provider`.
    pub name: Cow<'static, str>,
    /// How the key is presented.
    pub auth: Auth,
    /// What to add to the body to switch thinking on: a JSON object's text; `None`: no switch.
    pub thinking_on: Option<Cow<'static, str>>,
    /// What to add to the body to switch thinking off.
    pub thinking_off: Option<Cow<'static, str>>,
    /// The body member that caps thinking, in tokens; `None`: the provider has none.
    pub thinking_budget: Option<Cow<'static, str>>,
    /// Under which name the longest answer is asked for.
    pub token_cap: TokenCapField,
    /// Whether `stream_options.include_usage` is understood.
    pub stream_usage: bool,
    /// Whether think tags in the text are thinking. Relays put them there for any model, so this is
    /// on nearly everywhere (QuantumNous/new-api "thinking to content").
    pub think_tags: bool,
    /// Whether the service takes `response_format: json_schema`.
    pub native_schema: bool,
    /// What its errors mean, most specific first; [`known_error_rules`] and the status follow.
    pub error_rules: Cow<'static, [ErrorRule]>,
}

impl ProviderProfile {
    /// A profile without a thinking switch or a schema of its own, for a service that presents keys
    /// as bearer tokens, understands usage in streams, and may have think tags in its text.
    #[must_use]
    pub fn plain(name: &'static str, error_rules: &'static [ErrorRule]) -> Self {
        Self {
            name: Cow::Borrowed(name),
            auth: Auth::Bearer,
            thinking_on: None,
            thinking_off: None,
            thinking_budget: None,
            token_cap: TokenCapField::AsGiven,
            stream_usage: true,
            think_tags: true,
            native_schema: false,
            error_rules: Cow::Borrowed(error_rules),
        }
    }
}

/// The profiles that every build knows.
#[must_use]
pub fn built_in_profiles() -> Vec<ProviderProfile> {
    vec![
        generic::profile(),
        openai::profile(),
        azure::profile(),
        deepseek::profile(),
        qwen::profile(),
        glm::profile(),
        moonshot::profile(),
        siliconflow::profile(),
        openrouter::profile(),
        groq::profile(),
        gemini::profile(),
        mistral::profile(),
        anthropic::profile(),
        vllm::profile(),
        sglang::profile(),
        ollama::profile(),
        llamacpp::profile(),
        lmstudio::profile(),
        newapi::profile(),
        scaleway::profile(),
        cerebras::profile(),
        perplexity::profile(),
        volcengine::profile(),
    ]
}

/// The lines of all built-in providers, one after the other: behind a relay anybody's words may come.
/// Texts that correct a misleading code come first.
pub fn known_error_rules() -> impl Iterator<Item = &'static ErrorRule> {
    [
        scaleway::RULES,
        qwen::RULES,
        anthropic::RULES,
        newapi::RULES,
        groq::RULES,
        openai::RULES,
        azure::RULES,
        deepseek::RULES,
        glm::RULES,
        moonshot::RULES,
        siliconflow::RULES,
        openrouter::RULES,
        gemini::RULES,
        mistral::RULES,
        vllm::RULES,
        sglang::RULES,
        ollama::RULES,
        llamacpp::RULES,
        lmstudio::RULES,
        cerebras::RULES,
        perplexity::RULES,
        volcengine::RULES,
    ]
    .into_iter()
    .flatten()
}

#[cfg(test)]
mod tests;
