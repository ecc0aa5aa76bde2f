//! Tests of the classifier: evidence in its order, shapes of bodies.

use pgw_types::built_in_profiles;

use super::*;

fn named(name: &str, status: u16, body: &str) -> CallError {
    let profile = built_in_profiles()
        .into_iter()
        .find(|profile| profile.name == name)
        .unwrap();
    classify(status, body.as_bytes(), &ErrorContext::bare(&profile))
}

fn fault(status: u16, body: &str) -> Fault {
    named("generic", status, body).fault()
}

/// OAI-010 … OAI-014, architecture section 12: what a status means when nothing else is known.
#[test]
fn the_status_decides_when_nothing_else_does() {
    for (status, wanted) in [
        (301, Fault::BadEndpoint),
        (400, Fault::BadRequest),
        (401, Fault::InvalidKey),
        (402, Fault::Quota),
        (403, Fault::InvalidKey),
        (404, Fault::BadEndpoint),
        (405, Fault::BadEndpoint),
        (408, Fault::Timeout),
        (409, Fault::ServerError),
        (413, Fault::RequestTooLarge),
        (415, Fault::BadRequest),
        (422, Fault::BadRequest),
        (425, Fault::ServerError),
        (429, Fault::RateLimit),
        (451, Fault::BadRequest),
        (500, Fault::ServerError),
        (502, Fault::ServerError),
        (503, Fault::Overloaded),
        (504, Fault::Timeout),
        (520, Fault::ServerError),
        (524, Fault::Timeout),
        (529, Fault::Overloaded),
    ] {
        assert_eq!(
            fault(status, r#"{"error":{"message":"x"}}"#),
            wanted,
            "{status}"
        );
    }
}

/// OAI-012, OAI-013: no money under any status, and the exceptions that only look like it.
#[test]
fn codes_and_words_outrank_the_status() {
    for (status, body, wanted) in [
        (
            429,
            r#"{"error":{"code":"insufficient_quota","message":"x"}}"#,
            Fault::Quota,
        ),
        (
            403,
            r#"{"error":{"code":"insufficient_user_quota","message":"x"}}"#,
            Fault::Quota,
        ),
        (
            400,
            r#"{"code":"Arrearage","message":"x","request_id":"r"}"#,
            Fault::Quota,
        ),
        (
            429,
            r#"{"error":"INSUFFICIENT QUOTA","message":"limit of concurrent requests"}"#,
            Fault::RateLimit,
        ),
        (
            429,
            r#"{"error":{"code":"insufficient_quota","message":"Allocated quota exceeded"}}"#,
            Fault::RateLimit,
        ),
        (
            503,
            r#"{"error":{"code":"model_not_found","message":"x"}}"#,
            Fault::ModelUnavailable,
        ),
        (
            404,
            r#"{"error":{"code":"model_not_found","message":"x"}}"#,
            Fault::ModelNotFound,
        ),
        (
            404,
            r#"{"object":"error","message":"The model `m` does not exist.","code":404}"#,
            Fault::ModelNotFound,
        ),
        (
            400,
            r#"{"object":"error","message":"This model's maximum context length is 8 tokens","code":400}"#,
            Fault::ContextLength,
        ),
        (
            404,
            "<html><head><title>404 Not Found</title></head></html>",
            Fault::BadEndpoint,
        ),
        (
            500,
            r#"{"error":{"message":"{\"error\":{\"code\":\"context_length_exceeded\",\"message\":\"long\"}}"}}"#,
            Fault::ContextLength,
        ),
        (
            429,
            "id:1\nevent:error\n:HTTP_STATUS/429\ndata:{\"code\":\"Throttling\",\"message\":\"slow\"}",
            Fault::RateLimit,
        ),
    ] {
        assert_eq!(fault(status, body), wanted, "{body}");
    }
}

/// OAI-022: a registered profile's own lines come first.
#[test]
fn a_profiles_own_lines_come_first() {
    let mut profile = ProviderProfile::plain("mine", &[]);
    profile.error_rules = vec![
        ErrorRule::code("E42", Fault::Quota),
        ErrorRule::code("insufficient_quota", Fault::RateLimit),
    ]
    .into();
    let context = ErrorContext::bare(&profile);
    let body = |code: &str| format!(r#"{{"error":{{"code":"{code}","message":"x"}}}}"#);
    assert_eq!(
        classify(400, body("E42").as_bytes(), &context).fault(),
        Fault::Quota
    );
    let error = classify(429, body("insufficient_quota").as_bytes(), &context);
    assert_eq!(error.fault(), Fault::RateLimit);
}

#[test]
fn a_message_is_never_empty_and_says_what_the_service_said() {
    let empty = named(
        "generic",
        400,
        r#"{"error":{"type":"","message":""},"type":"error"}"#,
    );
    assert_eq!(
        empty.message(),
        r#"HTTP 400 without a message: {"error":{"type":"","message":""},"type":"error"}"#
    );
    let detail = named(
        "generic",
        422,
        r#"{"detail":[{"loc":["body","messages",0],"msg":"field required","type":"missing"}]}"#,
    );
    assert_eq!(detail.message(), "body.messages.0: field required");
    assert_eq!(detail.param(), Some("messages.0"));
    let page = named(
        "generic",
        502,
        "<html><body><h1>Bad</h1> gateway</body></html>",
    );
    assert_eq!(page.message(), "a page came: Bad gateway");
}

#[test]
fn an_in_band_error_goes_by_its_own_code() {
    let profile = ProviderProfile::plain("x", &[]);
    let context = ErrorContext::bare(&profile);
    for (text, status, wanted) in [
        (
            r#"{"error":{"code":502,"message":"Provider returned error"}}"#,
            Some(502),
            Fault::ServerError,
        ),
        (
            r#"{"error":{"code":"429","message":"x"}}"#,
            Some(429),
            Fault::RateLimit,
        ),
        (
            r#"{"error":{"message":"x","code":"invalid_api_key"}}"#,
            None,
            Fault::InvalidKey,
        ),
        (r#"{"error":"something"}"#, None, Fault::ServerError),
    ] {
        let error = in_band(text, &context);
        assert_eq!((error.status(), error.fault()), (status, wanted), "{text}");
    }
}
