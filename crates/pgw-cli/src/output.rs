//! What became of a call, for programs (JSON) and for people (a few plain lines).

use std::{
    fmt::{self, Write as _},
    io,
    time::Duration,
};

use pgw_client::{AttemptTrace, CallTrace, LlmResponse};
use serde::Serialize;

mod failure;
mod words;

pub(crate) use failure::Failure;
pub(crate) use words::warning;

/// One JSON object on one line.
pub(crate) fn json(value: &impl Serialize) -> io::Result<String> {
    let mut text = serde_json::to_string(value)?;
    text.push('\n');
    Ok(text)
}

/// How an answer came about: each attempt, then where the answer is from and what it cost.
pub(crate) fn story(response: &LlmResponse) -> String {
    let mut text = Steps(&response.trace).to_string();
    let cost = match response.cost {
        Some(cost) => format!("cost {cost:.6}"),
        None => "no price known".into(),
    };
    let counted = response.usage_source.as_str();
    let _ = writeln!(
        text,
        "answer from {} ({}), finish {}, {} + {} tokens ({counted}), {cost}",
        response.source_name,
        response.model,
        response.finish_reason,
        response.prompt_tokens,
        response.completion_tokens,
    );
    if let Some(ttft) = response.ttft_ms {
        let silence = response.max_inter_token_ms.unwrap_or_default();
        let _ = writeln!(
            text,
            "first token after {ttft:.0} ms, longest silence {silence:.0} ms, all in {} ms",
            response.latency_ms
        );
    }
    let _ = writeln!(text, "call {}, request {}", response.call_id, response.trace.request_id);
    text
}

/// The steps of a call, one a line: attempts, then the sources that were passed over or left out.
pub(crate) struct Steps<'a>(pub(crate) &'a CallTrace);

impl fmt::Display for Steps<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let trace = self.0;
        for attempt in &trace.attempts {
            if attempt.waited_ms > 0 {
                writeln!(f, "  waited {} ms", attempt.waited_ms)?;
            }
            let (name, took) = (&attempt.source_name, attempt.latency_ms);
            write!(f, "  {name}: {}, {took} ms", outcome(attempt))?;
            if !attempt.message.is_empty() {
                write!(f, ": {}", one_line(&attempt.message))?;
            }
            writeln!(f)?;
        }
        for skip in &trace.skips {
            write!(f, "  {}: not asked, {}", skip.source_name, words::source_reason(skip.reason))?;
            if let Some(gate) = skip.gate {
                write!(f, " ({gate})")?;
            }
            writeln!(f)?;
        }
        for exclusion in &trace.exclusions {
            let reason = one_line(&exclusion.reason);
            writeln!(f, "  {}: can't serve this request, {reason}", exclusion.source_name)?;
        }
        Ok(())
    }
}

/// How an attempt ended, in words.
pub(crate) fn outcome(attempt: &AttemptTrace) -> String {
    let Some(fault) = attempt.fault else {
        return "answered".into();
    };
    let mut text = words::fault(fault).to_owned();
    if let Some(status) = attempt.status.filter(|status| *status != 200) {
        let _ = write!(text, " (HTTP {status})");
    }
    if let Some(wait) = attempt.retry_after_ms {
        let _ = write!(text, ", asks to wait {}", seconds(Duration::from_millis(wait)));
    }
    text
}

/// A time for people: `1.5 s`.
pub(crate) fn seconds(time: Duration) -> String {
    format!("{} s", (time.as_secs_f64() * 1_000.0).ceil() / 1_000.0)
}

/// The words of a service on one line, without anything that a terminal would obey.
pub(crate) fn one_line(text: &str) -> String {
    text.replace(|letter: char| letter.is_control(), " ")
}

#[cfg(test)]
mod tests;
