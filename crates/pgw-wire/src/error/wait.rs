//! How long a service asks us to wait.
//!
//! In order: `retry-after-ms`, `Retry-After` in seconds (whole or not) or as a date (RFC 9110
//! §10.2.3), the body's own words, and the reset of a rate-limit counter that stands at zero. Nonsense
//! (zero, negative, past, empty, not a number) counts as nothing said.

use std::time::{Duration, UNIX_EPOCH};

use super::{ErrorContext, body::Report};

/// Longer than this is no waiting time but an epoch in the wrong header
/// (`cloudfoundry/cloud_controller_ng`#2544).
const ABSURD: f64 = 366.0 * 24.0 * 3_600.0;

pub(super) fn asked_for(report: &Report, context: &ErrorContext<'_>) -> Option<Duration> {
    let header = |name: &str| (context.headers)(name);
    header("retry-after-ms")
        .and_then(|text| seconds(text.trim().parse::<f64>().ok()? / 1_000.0))
        .or_else(|| retry_after(&header("retry-after")?, context))
        .or_else(|| go_duration(report.retry_delay.as_deref()?))
        .or_else(|| from_text(&report.message))
        .or_else(|| from_counters(context))
}

fn seconds(value: f64) -> Option<Duration> {
    (value.is_finite() && value > 0.0 && value < ABSURD).then(|| Duration::from_secs_f64(value))
}

fn retry_after(text: &str, context: &ErrorContext<'_>) -> Option<Duration> {
    let text = text.trim();
    if let Ok(value) = text.parse::<f64>() {
        return seconds(value);
    }
    seconds(unix_seconds(text)? - now(context))
}

/// Seconds since 1970, by the service's own clock where it tells the time
/// (duolahypercho/codex-router#573).
fn now(context: &ErrorContext<'_>) -> f64 {
    let own = (context.headers)("date").and_then(|date| unix_seconds(&date));
    #[expect(clippy::cast_precision_loss, reason = "milliseconds of this century fit")]
    own.unwrap_or(context.now_unix_ms as f64 / 1_000.0)
}

fn unix_seconds(date: &str) -> Option<f64> {
    let date = httpdate::parse_http_date(date.trim()).ok()?;
    Some(date.duration_since(UNIX_EPOCH).ok()?.as_secs_f64())
}

/// `1m26.4s`, `18s`, `20ms`, `2h3m`: Go's notation of durations, with bare seconds allowed.
fn go_duration(text: &str) -> Option<Duration> {
    let mut rest = text.trim();
    let mut sum = 0.0;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let value: f64 = rest[..end].parse().ok()?;
        let unit_end =
            rest[end..].find(|c: char| !c.is_ascii_alphabetic()).map_or(rest.len(), |n| end + n);
        sum += value
            * match &rest[end..unit_end] {
                "ms" => 0.001,
                "s" | "" => 1.0,
                "m" => 60.0,
                "h" => 3_600.0,
                _ => return None,
            };
        rest = &rest[unit_end..];
    }
    seconds(sum)
}

/// `Please try again in 4.77s` (elizaOS/eliza#4040), `Please retry after 26 seconds` (Azure).
fn from_text(message: &str) -> Option<Duration> {
    let lower = message.to_ascii_lowercase();
    let leads = ["try again in ", "retry in ", "retry after ", "try again after "];
    let (_, after) = leads.iter().find_map(|lead| lower.split_once(lead))?;
    let end = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '.').unwrap_or(after.len());
    let amount = after[..end].trim_end_matches('.');
    if let Some(wait) = go_duration(amount).filter(|_| !bare_number(amount)) {
        return Some(wait);
    }
    // `try again in 20 seconds`
    let value: f64 = amount.parse().ok()?;
    let unit = after[end..].trim_start();
    let factor = match unit {
        unit if unit.starts_with("millisecond") || unit.starts_with("ms") => 0.001,
        unit if unit.starts_with("second") || unit.starts_with('s') => 1.0,
        unit if unit.starts_with("minute") || unit.starts_with("min") => 60.0,
        unit if unit.starts_with("hour") => 3_600.0,
        _ => return None,
    };
    seconds(value * factor)
}

fn bare_number(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit() || b == b'.')
}

/// The reset of a counter whose remainder is zero: OpenAI's `x-ratelimit-*` in Go's notation,
/// others in epoch seconds or milliseconds (OpenRouter), as a number of seconds, or as a date
/// (Anthropic).
fn from_counters(context: &ErrorContext<'_>) -> Option<Duration> {
    let header = |name: &str| (context.headers)(name);
    let empty = |name: &str| {
        header(name).is_some_and(|left| left.trim().parse::<f64>().is_ok_and(|left| left <= 0.0))
    };
    let anthropic = |kind: &str| {
        let left = format!("anthropic-ratelimit-{kind}-remaining");
        let reset = format!("anthropic-ratelimit-{kind}-reset");
        empty(&left).then(|| rfc3339(&header(&reset)?)).flatten()
    };
    let counters = [
        ("x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"),
        ("x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"),
        ("x-ratelimit-remaining", "x-ratelimit-reset"),
    ];
    let now = now(context);
    let waits = counters.iter().filter(|(left, _)| empty(left)).filter_map(|(_, reset)| {
        let text = header(reset)?;
        let Ok(number) = text.trim().parse::<f64>() else {
            return go_duration(&text);
        };
        match number {
            ms if ms > 1e11 => seconds(ms / 1_000.0 - now),
            epoch if epoch > 1e9 => seconds(epoch - now),
            plain => seconds(plain),
        }
    });
    let kinds = ["requests", "tokens", "input-tokens", "output-tokens"];
    let dates = kinds.into_iter().filter_map(anthropic).filter_map(|date| seconds(date - now));
    // All counters must have come back.
    waits.chain(dates).max()
}

/// Seconds since 1970 of a date as RFC 3339 §5.6 writes it, in UTC: `2026-01-02T03:04:05Z`.
fn rfc3339(text: &str) -> Option<f64> {
    let (date, time) = text.trim().strip_suffix('Z')?.split_once('T')?;
    let numbers = |text: &str, mark: char| -> Option<[f64; 3]> {
        let mut parts = text.split(mark).map(str::parse);
        let three = [parts.next()?.ok()?, parts.next()?.ok()?, parts.next()?.ok()?];
        parts.next().is_none().then_some(three)
    };
    let [year, month, day] = numbers(date, '-')?;
    let [hour, minute, second] = numbers(time, ':')?;
    // Years begin in March here, so that the leap day is the last of its year.
    let (year, month) = if month <= 2.0 { (year - 1.0, month + 9.0) } else { (year, month - 3.0) };
    let leap_days = (year / 4.0).floor() - (year / 100.0).floor() + (year / 400.0).floor();
    let day_of_year = ((153.0 * month + 2.0) / 5.0).floor() + day - 1.0;
    let days = year * 365.0 + leap_days + day_of_year - 719_468.0;
    Some(((days * 24.0 + hour) * 60.0 + minute) * 60.0 + second)
}

#[cfg(test)]
mod tests {
    use pgw_types::{ProviderProfile, built_in_profiles};

    use super::*;

    fn wait(headers: &[(&str, &str)], message: &str) -> Option<u128> {
        let profiles = built_in_profiles();
        let profile: &ProviderProfile = &profiles[0];
        let lookup = |name: &str| {
            headers.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        let context =
            ErrorContext { profile, headers: &lookup, now_unix_ms: 1_700_000_000_000, secret: "" };
        let report = Report { message: message.to_owned(), ..Report::default() };
        asked_for(&report, &context).map(|wait| wait.as_millis())
    }

    /// OAI-010, D53, architecture section 12.
    #[test]
    fn every_spelling_of_a_wait_is_understood() {
        for (headers, message, ms) in [
            (&[("retry-after-ms", "1500")][..], "", Some(1_500)),
            (&[("retry-after", "2")], "", Some(2_000)),
            (&[("retry-after", "0.5")], "", Some(500)),
            (
                &[
                    ("retry-after", "Wed, 21 Oct 2037 07:28:00 GMT"),
                    ("date", "Wed, 21 Oct 2037 07:27:40 GMT"),
                ],
                "",
                Some(20_000),
            ),
            (&[("retry-after", "Tue, 14 Nov 2023 22:13:50 GMT")], "", Some(30_000)),
            (&[], "Please try again in 4.77s. Visit …", Some(4_770)),
            (&[], "try again in 1m26.4s", Some(86_400)),
            (&[], "Please try again in 20ms.", Some(20)),
            (&[], "try again in 20 seconds", Some(20_000)),
            (
                &[("x-ratelimit-remaining-requests", "0"), ("x-ratelimit-reset-requests", "6m0s")],
                "",
                Some(360_000),
            ),
            (
                &[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1700000005000")],
                "",
                Some(5_000),
            ),
            (
                &[
                    ("anthropic-ratelimit-tokens-remaining", "0"),
                    ("anthropic-ratelimit-tokens-reset", "2023-11-14T22:13:45Z"),
                    ("anthropic-ratelimit-requests-remaining", "9"),
                    ("anthropic-ratelimit-requests-reset", "2023-11-14T23:00:00Z"),
                ],
                "",
                Some(25_000),
            ),
            (
                &[("x-ratelimit-remaining-tokens", "5"), ("x-ratelimit-reset-tokens", "1s")],
                "",
                None,
            ),
        ] {
            assert_eq!(wait(headers, message), ms, "{headers:?} {message:?}");
        }
    }

    #[test]
    fn nonsense_counts_as_nothing_said() {
        for bad in ["0", "-1", "", "NaN", "soon", "1700000000", "Tue, 14 Nov 2000 22:13:50 GMT"] {
            assert_eq!(wait(&[("retry-after", bad)], ""), None, "{bad:?}");
        }
        assert_eq!(wait(&[], "try again in a while"), None);
    }
}
