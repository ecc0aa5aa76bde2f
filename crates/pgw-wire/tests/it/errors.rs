//! What errors mean, beyond the corpus.

use pgw_types::{CallError, Fault};
use pgw_wire::error::{ErrorContext, classify, excerpt};
use serde_json::json;

use crate::fold::profile;

fn judge(status: u16, headers: &[(&str, &str)], body: &str) -> CallError {
    let profile = profile("generic");
    let lookup = |name: &str| {
        headers.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    };
    let context = ErrorContext {
        profile: &profile,
        headers: &lookup,
        now_unix_ms: 1_700_000_000_000,
        secret: "",
    };
    classify(status, body.as_bytes(), &context)
}

/// OAI-013: a 402 is money, unless it says that the budget is only in use at the moment
/// (openrouter.ai, "In-flight spending budget").
#[test]
fn a_budget_in_flight_is_waited_for_and_an_empty_account_is_not() {
    let in_flight = json!({"error": {"code": 402, "message": "budget in use",
        "metadata": {"limit_source": "openrouter_in_flight_budget"}}})
    .to_string();
    let broke = json!({"error": {"code": 402, "message": "Insufficient credits"}}).to_string();
    let wait = [("retry-after", "2")];
    let counters = [("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "60")];
    for (headers, body, fault) in [
        (&wait[..], &in_flight, Fault::RateLimit),
        (&[], &in_flight, Fault::Quota),
        (&wait, &broke, Fault::Quota),
        (&counters, &broke, Fault::Quota),
    ] {
        assert_eq!(judge(402, headers, body).fault(), fault, "{headers:?} {body}");
    }
}

/// One service's number is another's: in the union only what is meant by one alone may stand.
#[test]
fn numbers_that_several_services_use_go_by_the_status() {
    let body = |code: u32| json!({"error": {"code": code.to_string(), "message": "x"}}).to_string();
    for (status, code, fault) in [
        (401, 1_002, Fault::InvalidKey),
        (429, 1_002, Fault::RateLimit),
        (500, 1_000, Fault::ServerError),
        (504, 1_001, Fault::Timeout),
        (429, 1_113, Fault::Quota),
        (429, 1_302, Fault::RateLimit),
    ] {
        assert_eq!(judge(status, &[], &body(code)).fault(), fault, "{status} {code}");
    }
}

/// Waiting times in the words of more services.
#[test]
fn waiting_times_are_found_in_more_places() {
    for (headers, message, ms) in [
        (&[][..], "Please retry after 26 seconds.", Some(26_000)),
        (&[], "Rate limited, try again after 5s", Some(5_000)),
        (&[], "slow down", None),
        (
            // The counter's date is on the service's own clock.
            &[
                ("date", "Tue, 14 Nov 2023 22:13:10 GMT"),
                ("x-ratelimit-remaining", "0"),
                ("x-ratelimit-reset", "1700000000"),
            ],
            "slow down",
            Some(10_000),
        ),
    ] {
        let body = json!({"error": {"message": message}}).to_string();
        let wait = judge(429, headers, &body).retry_after().map(|wait| wait.as_millis());
        assert_eq!(wait, ms, "{headers:?} {message}");
    }
}

/// CLI-037: credentials in every URL of a compact document.
#[test]
fn every_url_is_masked() {
    let text =
        r#"{"a":"https://a.example/x","b":"https://u:hunter2@b.example/y?key=hunter2","c":"kept"}"#;
    let shown = excerpt(text);
    assert!(!shown.contains("hunter2"), "{shown}");
    assert!(shown.contains("a.example/x") && shown.contains("b.example/y"), "{shown}");
    assert!(shown.contains("kept"), "{shown}");
}

/// Nothing said is still said in a sentence.
#[test]
fn a_body_without_words_has_a_message() {
    assert_eq!(judge(502, &[], "").message(), "HTTP 502 without a body");
    assert_eq!(judge(502, &[], " \n").message(), "HTTP 502 without a body");
}
