//! Tests of the classifier: evidence in its order, shapes of bodies.

use pgw_types::built_in_profiles;

use super::*;

fn named(name: &str, status: u16, body: &str) -> CallError {
    let profile = built_in_profiles().into_iter().find(|profile| profile.name == name).unwrap();
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
        assert_eq!(fault(status, r#"{"error":{"message":"x"}}"#), wanted, "{status}");
    }
}

/// OAI-012, OAI-013: no money under any status, and the exceptions that only look like it.
#[test]
fn codes_and_words_outrank_the_status() {
    for (status, body, wanted) in [
        (429, r#"{"error":{"code":"insufficient_quota","message":"x"}}"#, Fault::Quota),
        (403, r#"{"error":{"code":"insufficient_user_quota","message":"x"}}"#, Fault::Quota),
        (400, r#"{"code":"Arrearage","message":"x","request_id":"r"}"#, Fault::Quota),
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
        (503, r#"{"error":{"code":"model_not_found","message":"x"}}"#, Fault::ModelUnavailable),
        (404, r#"{"error":{"code":"model_not_found","message":"x"}}"#, Fault::ModelNotFound),
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
        (404, "<html><head><title>404 Not Found</title></head></html>", Fault::BadEndpoint),
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
    assert_eq!(classify(400, body("E42").as_bytes(), &context).fault(), Fault::Quota);
    let error = classify(429, body("insufficient_quota").as_bytes(), &context);
    assert_eq!(error.fault(), Fault::RateLimit);
}

#[test]
fn a_message_is_never_empty_and_says_what_the_service_said() {
    let empty = named("generic", 400, r#"{"error":{"type":"","message":""},"type":"error"}"#);
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
    let page = named("generic", 502, "<html><body><h1>Bad</h1> gateway</body></html>");
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
        (r#"{"error":{"code":"429","message":"x"}}"#, Some(429), Fault::RateLimit),
        (r#"{"error":{"message":"x","code":"invalid_api_key"}}"#, None, Fault::InvalidKey),
        (r#"{"error":"something"}"#, None, Fault::ServerError),
    ] {
        let error = in_band(text, &context);
        assert_eq!((error.status(), error.fault()), (status, wanted), "{text}");
    }
}

/// OAI-012, OAI-013: who says what, by status, code and text. (wire.md, section c)
#[test]
fn the_words_of_every_provider_are_known() {
    use Fault::{
        BadEndpoint, BadRequest, ContentFilter, ContextLength, InvalidKey, ModelNotFound,
        ModelUnavailable, Overloaded, Quota, RateLimit, RequestTooLarge, UnsupportedParam,
    };
    for (status, code, message, wanted) in [
        (429, "rate_limit_exceeded", "", RateLimit),
        (429, "Throttling.AllocationQuota", "", RateLimit),
        (429, "1302", "", RateLimit),
        (429, "1313", "", RateLimit),
        (429, "rate_limit_reached_error", "", RateLimit),
        (429, "rate_limit_error", "", RateLimit),
        (429, "RESOURCE_EXHAUSTED", "", RateLimit),
        (503, "", "Server Overloaded", Overloaded),
        (529, "overloaded_error", "", Overloaded),
        (429, "engine_overloaded_error", "", Overloaded),
        (429, "1312", "", Overloaded),
        (429, "billing_hard_limit_reached", "", Quota),
        (402, "", "Insufficient Balance", Quota),
        (402, "billing_error", "", Quota),
        (400, "invalid_request_error", "you have reached your spend limit", Quota),
        (400, "Arrearage", "", Quota),
        (429, "1113", "", Quota),
        (429, "1310", "", Quota),
        (403, "", "usage limit for this billing cycle", Quota),
        (403, "30001", "", Quota),
        (401, "CreditsError", "", Quota),
        (403, "pre_consume_token_quota_failed", "", Quota),
        (403, "entitlement_daily_limit_exceeded", "", Quota),
        (400, "INVALID_ARGUMENT", "API key not valid", InvalidKey),
        (401, "incorrect_api_key_error", "", InvalidKey),
        (401, "1002", "", InvalidKey),
        (400, "", "the prompt is longer than the model's context length", ContextLength),
        (400, "", "Input tokens exceed the configured limit of 9 tokens", ContextLength),
        (400, "", "too large for model with 9 maximum context length", ContextLength),
        (400, "", "length of all messages is too long", ContextLength),
        (400, "exceed_context_size_error", "", ContextLength),
        (400, "", "prompt is too long: 9 tokens > 8 maximum", ContextLength),
        (400, "", "exceeds the maximum number of tokens allowed", ContextLength),
        (400, "", "exceeded model token limit", ContextLength),
        (400, "", "total message size 9 exceeds limit 8", ContextLength),
        (400, "1261", "", ContextLength),
        (400, "", "Current length is 9 while limit is 8", ContextLength),
        (400, "", "Range of input length should be [1, 8]", ContextLength),
        (400, "string_above_max_length", "string too long", BadRequest),
        (413, "rate_limit_exceeded", "Limit 8, Requested 9", RequestTooLarge),
        (429, "", "Request too large for m on tokens per min", RequestTooLarge),
        (413, "request_too_large", "", RequestTooLarge),
        (400, "content_policy_violation", "", ContentFilter),
        (400, "DataInspectionFailed", "", ContentFilter),
        (400, "1301", "", ContentFilter),
        (403, "", "your input requires moderation", ContentFilter),
        (400, "sensitive_words_detected", "", ContentFilter),
        (400, "", "Content Exists Risk", ContentFilter),
        (404, "NotFoundError", "", ModelNotFound),
        (404, "", "Not found the model k or Permission denied", ModelNotFound),
        (400, "1211", "", ModelNotFound),
        (404, "DeploymentNotFound", "", ModelNotFound),
        (404, "", "m not found, try pulling it first", ModelNotFound),
        (503, "", "no available channel for m", ModelUnavailable),
        (400, "unsupported_value", "", UnsupportedParam),
        (400, "", "property 'x' is unsupported", UnsupportedParam),
        (422, "", "Extra inputs are not permitted", UnsupportedParam),
        (422, "", "Failed to deserialize the JSON body into the target type", UnsupportedParam),
        (400, "", "invalid temperature: only 1 is allowed for this model", UnsupportedParam),
        (500, "", "extraneous key [x] is not permitted", UnsupportedParam),
        (400, "", "Missing `reasoning_content` field in the assistant message", BadRequest),
        (405, "", "Method Not Allowed", BadEndpoint),
        (404, "", "Not Found", BadEndpoint),
    ] {
        let code = Some(code).filter(|code| !code.is_empty());
        let body = serde_json::json!({"error": {"code": code, "message": message}});
        assert_eq!(fault(status, &body.to_string()), wanted, "{status} {body}");
        // The type word will do as well as the code.
        let body =
            serde_json::json!({"type": "error", "error": {"type": code, "message": message}});
        assert_eq!(fault(status, &body.to_string()), wanted, "{status} {body}");
    }
}

/// What a validator repeats of the prompt decides nothing (BerriAI/litellm#11455).
#[test]
fn an_echoed_prompt_decides_nothing() {
    let body = r#"{"detail":[{"loc":["body","messages"],"type":"string_type",
        "msg":"should be a string, input_value='insufficient balance, api key not valid'"}]}"#;
    assert_eq!(fault(422, body), Fault::BadRequest);
    let long = format!(r#"{{"error":{{"message":"bad: {}spend limit"}}}}"#, "x ".repeat(2_000));
    assert_eq!(fault(400, &long), Fault::BadRequest);
}

#[test]
fn reports_within_reports_are_found() {
    for (status, body, wanted) in [
        // What the provider behind OpenRouter said.
        (
            400,
            r#"{"error":{"code":400,"message":"Provider returned error","metadata":
               {"raw":"{\"error\":{\"message\":\"maximum context length is 8\"}}"}}}"#,
            Fault::ContextLength,
        ),
        (
            400,
            r#"{"error":{"code":"x","innererror":{"code":"ResponsibleAIPolicyViolation"}}}"#,
            Fault::ContentFilter,
        ),
        (
            429,
            r#"[{"error":{"code":429,"message":"q","status":"RESOURCE_EXHAUSTED","details":
            [{"violations":[{"quotaId":"GenerateRequestsPerDayPerProject"}]}]}}]"#,
            Fault::Quota,
        ),
        (400, r#"{"header":{"message":"prompt is too long"}}"#, Fault::ContextLength),
        (400, r#"{"response":{"error":{"message":"prompt is too long"}}}"#, Fault::ContextLength),
        (400, r#"{"response":{"error":"prompt is too long"}}"#, Fault::ContextLength),
        (400, r#"{"error_msg":"prompt is too long"}"#, Fault::ContextLength),
        (404, "<html><title>404: this model of a page</title></html>", Fault::BadEndpoint),
    ] {
        assert_eq!(fault(status, body), wanted, "{body}");
    }
}

#[test]
fn an_in_band_error_without_a_status_goes_by_its_kind() {
    let profile = ProviderProfile::plain("x", &[]);
    let context = ErrorContext::bare(&profile);
    for (text, wanted) in [
        (r#"{"type":"error","error":{"type":"invalid_request_error"}}"#, Fault::BadRequest),
        (r#"{"object":"error","type":"BadRequestError","code":400}"#, Fault::BadRequest),
        (r#"{"status":429,"error":"LABEL","message":"x"}"#, Fault::RateLimit),
        (r#"{"code":"Throttling.Any","message":"x"}"#, Fault::RateLimit),
        ("<html>gone</html>", Fault::BadEndpoint),
        ("gone", Fault::ServerError),
    ] {
        assert_eq!(in_band(text, &context).fault(), wanted, "{text}");
    }
}
