//! Tests of the grammar: every rule, the variable's name in every fault, all at once.

use pgw_types::ExposeSecret as _;

use super::*;

mod documents;
mod origins;
mod secrets;

const URL: (&str, &str) = ("LLM__QWEN__1__BASE_URL", "https://a.example/v1");
const KEY: (&str, &str) = ("LLM__QWEN__1__API_KEY", "sk-canary-1");
const MODEL: (&str, &str) = ("LLM__QWEN__1__MODEL", "qwen-plus");

fn with(more: &[(&str, &str)]) -> Environment {
    let pairs = [URL, KEY, MODEL].iter().chain(more).map(|(name, value)| (*name, *value));
    Environment::from_pairs(pairs)
}

fn settings(more: &[(&str, &str)]) -> GatewaySettings {
    GatewaySettings::from_environment(&with(more), "LLM").unwrap()
}

fn faults(pairs: &[(&str, &str)]) -> Vec<String> {
    let environment = Environment::from_pairs(pairs.iter().copied());
    let error = GatewaySettings::from_environment(&environment, "LLM").unwrap_err();
    error.faults().iter().map(ToString::to_string).collect()
}

fn faults_with(more: &[(&str, &str)]) -> Vec<String> {
    let pairs: Vec<_> = [URL, KEY, MODEL].iter().chain(more).copied().collect();
    faults(&pairs)
}

/// CLI-009, CLI-010, CLI-011, CLI-012, CLI-013.
#[test]
fn a_numbered_source_is_read_with_all_its_fields() {
    let settings = settings(&[
        ("LLM__QWEN__1__NAME", "first"),
        ("LLM__QWEN__1__CONNECT_TIMEOUT_S", "2.5"),
        ("LLM__QWEN__1__TTFT_TIMEOUT_S", "20"),
        ("LLM__QWEN__1__INTER_TOKEN_TIMEOUT_S", "10"),
        ("LLM__QWEN__1__TIMEOUT_S", "300"),
        ("LLM__QWEN__1__MAX_CONCURRENCY", "4"),
        ("LLM__QWEN__1__RPM", "60"),
        ("LLM__QWEN__1__TPM", "100000"),
        ("LLM__QWEN__1__EST_TOKENS", "2000"),
        ("LLM__QWEN__1__ENABLE_THINKING", "false"),
        ("LLM__QWEN__1__MISSING_DONE", "salvage"),
        ("LLM__QWEN__1__MALFORMED_FRAME", "retry"),
        ("LLM__QWEN__1__TRUST_ENV", "no"),
        ("LLM__QWEN__1__STREAM", "off"),
        ("LLM__QWEN__1__CONTEXT_TOKENS", "8192"),
        ("LLM__QWEN__1__TOOLS", "no"),
        ("LLM__QWEN__1__IMAGES", "0"),
        ("LLM__QWEN__1__TIER", "2"),
        ("LLM__QWEN__1__WEIGHT", "3"),
    ]);
    let source = &settings.sources[0];
    assert_eq!((&*source.name, &*source.provider), ("first", "qwen"));
    assert_eq!(source.timeouts.connect, Duration::from_millis(2_500));
    assert_eq!(source.timeouts.total, Duration::from_mins(5));
    assert_eq!(source.limits.max_concurrency, Some(4));
    assert_eq!((source.limits.rpm, source.limits.tpm), (Some(60), Some(100_000)));
    assert_eq!((source.est_tokens, source.enable_thinking), (2_000, Some(false)));
    assert!(!source.trust_env && !source.can_stream);
    assert_eq!(source.context_tokens, Some(8_192));
    assert!(!source.can_use_tools && !source.can_see_images);
    assert_eq!((source.tier, source.weight), (2, 3));
}

#[test]
fn sources_of_several_providers_come_in_order_with_default_names() {
    let settings = settings(&[
        ("LLM__QWEN__2__BASE_URL", "https://b.example/v1/chat/completions/"),
        ("LLM__QWEN__2__API_KEY", "k"),
        ("LLM__QWEN__2__MODEL", "m"),
        ("LLM__DEEPSEEK__1__BASE_URL", "https://c.example/"),
        ("LLM__DEEPSEEK__1__API_KEY", "k"),
        ("LLM__DEEPSEEK__1__MODEL", "m"),
    ]);
    let names: Vec<_> = settings.sources.iter().map(|source| &*source.name).collect();
    assert_eq!(names, ["deepseek-1", "qwen-1", "qwen-2"]);
    assert_eq!(settings.sources[0].base_url, "https://c.example");
    assert_eq!(settings.sources[2].base_url, "https://b.example/v1");
}

/// CLI-014: each flat key alone changes exactly its parameter.
#[test]
fn each_flat_key_changes_exactly_its_parameter() {
    let picture = |settings: &GatewaySettings| {
        let timeouts = settings.sources[0].timeouts;
        [
            format!("{:?}", timeouts.total),
            format!("{:?}", timeouts.ttft),
            format!("{:?}", timeouts.inter_token),
            settings.retry.max_attempts.to_string(),
            format!("{:?}", settings.retry.base_delay),
            format!("{:?}", settings.retry.max_delay),
            settings.breaker.fail_threshold.to_string(),
            format!("{:?}", settings.breaker.cooldown),
        ]
    };
    let standard = picture(&settings(&[]));
    for (place, (name, value, wanted)) in [
        ("LLM_TIMEOUT", "500", "500s"),
        ("LLM_TTFT_TIMEOUT", "100", "100s"),
        ("LLM_INTER_TOKEN_TIMEOUT", "5.5", "5.5s"),
        ("LLM_MAX_RETRIES", "4", "5"),
        ("LLM_RETRY_BASE_DELAY", "0.25", "250ms"),
        ("LLM_RETRY_MAX_DELAY", "9", "9s"),
        ("LLM_CIRCUIT_BREAKER_THRESHOLD", "7", "7"),
        ("LLM_CIRCUIT_BREAKER_COOLDOWN", "11", "11s"),
    ]
    .into_iter()
    .enumerate()
    {
        let mut expected = standard.clone();
        expected[place] = wanted.to_owned();
        assert_eq!(picture(&settings(&[(name, value)])), expected, "{name}");
    }
}

/// CLI-015, CLI-016: the scope's own variable counts over the flat one.
#[test]
fn scope_keys_count_over_flat_ones() {
    let settings = settings(&[
        ("LLM_MAX_RETRIES", "9"),
        ("LLM__RETRY__MAX_ATTEMPTS", "2"),
        ("LLM_CIRCUIT_BREAKER_COOLDOWN", "9"),
        ("LLM__BREAKER__COOLDOWN_S", "7"),
        ("LLM_TTFT_TIMEOUT", "100"),
        ("LLM__QWEN__1__TTFT_TIMEOUT_S", "90"),
        ("LLM__SELECTOR", "Weighted"),
        ("LLM__GLOBAL__MAX_CONCURRENCY", "8"),
        ("LLM__GLOBAL__RPM", "80"),
        ("LLM__GLOBAL__TPM", "8000"),
        ("LLM__BACKPRESSURE__STALL_WINDOW_S", "200"),
        ("LLM__DEADLINE_S", "30"),
    ]);
    assert_eq!(settings.retry.max_attempts, 2);
    assert_eq!(settings.breaker.cooldown, Duration::from_secs(7));
    assert_eq!(settings.sources[0].timeouts.ttft, Duration::from_secs(90));
    assert_eq!(settings.selector, "weighted");
    assert_eq!(settings.global.max_concurrency, Some(8));
    assert_eq!((settings.global.rpm, settings.global.tpm), (Some(80), Some(8_000)));
    assert_eq!(settings.backpressure.stall_window, Duration::from_secs(200));
    assert_eq!(settings.deadline, Some(Duration::from_secs(30)));
}

/// CLI-017, CLI-019: two scopes of one environment have nothing in common.
#[test]
fn scopes_are_read_apart() {
    let environment = with(&[
        ("VLM__QWEN__1__BASE_URL", "https://v.example/v1"),
        ("VLM__QWEN__1__API_KEY", "k"),
        ("VLM__QWEN__1__MODEL", "qwen-vl"),
        ("VLM__RETRY__MAX_ATTEMPTS", "9"),
        ("VLM__TYPO", "left alone when LLM is read"),
    ]);
    assert_eq!(environment.scopes(), ["LLM", "VLM"]);
    let llm = GatewaySettings::from_environment(&environment, "LLM").unwrap();
    assert_eq!((llm.retry.max_attempts, llm.sources.len()), (3, 1));
    let error = GatewaySettings::from_environment(&environment, "VLM").unwrap_err();
    assert_eq!(error.faults()[0].path, "VLM__TYPO");
}

/// Clients.md: one source, flat; for a role, with the role in front.
#[test]
fn the_flat_form_is_one_source() {
    let flat = |prefix: &str, scope: &str| {
        let pairs = [("BASE_URL", "https://a.example/v1"), ("API_KEY", "k"), ("MODEL", "m")];
        let pairs = pairs.map(|(name, value)| (format!("{prefix}{name}"), value));
        GatewaySettings::from_environment(&Environment::from_pairs(pairs), scope).unwrap()
    };
    assert_eq!(flat("LLM_", "LLM").sources[0].name, "generic-1");
    assert_eq!(flat("SEARCH_LLM_", "SEARCH").sources[0].model, "m");
    let both = faults_with(&[("LLM_BASE_URL", "https://b.example/v1")]);
    assert_eq!(
        both,
        [
            "LLM_BASE_URL: stands beside numbered sources of the scope LLM; keep one of the two forms"
        ]
    );
}

/// CLI-007, the list: everything wrong is told at once, each with its variable and the fix.
#[test]
fn all_faults_of_a_broken_file_are_told_at_once() {
    let faults = faults(&[
        ("LLM__QWEN__1__BASE_URL", "ftp://a.example"),
        ("LLM__QWEN__1__API_KY", "sk-canary"),
        ("LLM__QWEN__1__MODEL", "m"),
        ("LLM__QWEN__3__BASE_URL", "https://u:canary@b.example/v1"),
        ("LLM__QWEN__3__API_KEY", "sk-canary two"),
        ("LLM__QWEN__3__MODEL", "m"),
        ("LLM__QWEN__3__RPM", "many"),
        ("LLM__QWEN__3__TTFT_TIMEOUT_S", "10"),
        ("LLM__QWEN__3__INTER_TOKEN_TIMEOUT_S", "10"),
        ("LLM__GLM__1__BASE_URL", "https://c.example"),
        ("LLM__GLM__1__API_KEY", "k"),
        ("LLM__GLM__1__MODEL", "m"),
        ("LLM__GLM__1__NAME", "qwen-3"),
        ("LLM__NOBODY__1__BASE_URL", "https://d.example"),
        ("LLM__NOBODY__1__API_KEY", "k"),
        ("LLM__NOBODY__1__MODEL", "m"),
        ("LLM__SELECTR", "ordered"),
        ("LLM__SELECTOR", "fastest"),
        ("LLM_MAX_RETRY", "3"),
        ("LLM_HOME", "somebody else's"),
        ("PGW_QUOTA_FULL", "panic"),
        ("PGW_COLOUR", "red"),
    ]);
    for wanted in [
        "LLM__QWEN__1__BASE_URL: has the scheme ftp; begin it with https:// or http://",
        "LLM__QWEN__1__API_KEY: is missing; set the account's key",
        "LLM__QWEN__1__API_KY: has the unknown field API_KY; did you mean API_KEY?",
        "LLM__QWEN__3__BASE_URL: comes after a gap: there is no LLM__QWEN__2__…; number the sources",
        "LLM__QWEN__3__BASE_URL: holds a user name or password",
        "LLM__QWEN__3__API_KEY: has a blank, a control character",
        "LLM__QWEN__3__RPM: is `many`; write a whole number, such as 60",
        "LLM__QWEN__3__INTER_TOKEN_TIMEOUT_S: is 10 s, not less than LLM__QWEN__3__TTFT_TIMEOUT_S (10 s)",
        "LLM__QWEN__3__NAME: is `qwen-3`, the name of another source (LLM__GLM__1__NAME)",
        "LLM__NOBODY__1__BASE_URL: names an unknown provider: `nobody`; name one of generic, openai",
        "LLM__SELECTR: is no setting of this scope; did you mean SELECTOR?",
        "LLM__SELECTOR: is `fastest`; write one of round_robin, least_inflight, ordered",
        "LLM_MAX_RETRY: is not a known variable; did you mean LLM_MAX_RETRIES?",
        "PGW_QUOTA_FULL: is `panic`; write one of wait, fail_fast",
        "PGW_COLOUR: is not a known variable; leave it out, or write one of PGW_LIMITER_BACKEND",
    ] {
        assert!(faults.iter().any(|f| f.starts_with(wanted)), "missing: {wanted}\nin {faults:#?}");
    }
    assert_eq!(faults.len(), 15, "{faults:#?}");
    assert!(!faults.concat().contains("canary"), "{faults:#?}");
}

#[test]
fn no_source_at_all_says_what_to_write() {
    assert_eq!(
        faults(&[]),
        ["LLM__{PROVIDER}__1__BASE_URL: is missing: there is no source; set it for at least one \
          source, with API_KEY and MODEL beside it"]
    );
    let other = faults(&[("VLM__QWEN__1__MODEL", "m"), ("SEARCH_LLM_BASE_URL", "u")]);
    assert_eq!(other.len(), 1);
    assert!(other[0].ends_with("or read a scope that has sources: SEARCH, VLM"), "{other:?}");
}

#[test]
fn a_scope_must_be_a_word() {
    for scope in ["", "A__B", "_A", "A-B", "A "] {
        let error = GatewaySettings::from_environment(&with(&[]), scope).unwrap_err();
        assert_eq!(error.faults().len(), 1);
        assert_eq!(error.faults()[0].path, "scope");
    }
}

/// The provider's name may be written in any case, but in one.
#[test]
fn a_provider_is_written_in_one_way() {
    let lower = [
        ("LLM__qwen__1__BASE_URL", "https://a.example/v1"),
        ("LLM__qwen__1__API_KEY", "k"),
        ("LLM__qwen__1__MODEL", "m"),
    ];
    let settings =
        GatewaySettings::from_environment(&Environment::from_pairs(lower), "LLM").unwrap();
    assert_eq!((&*settings.sources[0].provider, &*settings.sources[0].name), ("qwen", "qwen-1"));
    let both = faults_with(&lower);
    assert_eq!(
        both,
        ["LLM__QWEN__1__BASE_URL: is of a provider that is also written qwen; write it in one way"]
    );
}

/// A fault names the variable that somebody wrote, be it a shorthand, and says when nobody did.
#[test]
fn guards_name_what_was_written() {
    let second = [
        ("LLM__GLM__1__BASE_URL", "https://b.example/v1"),
        ("LLM__GLM__1__API_KEY", "k"),
        ("LLM__GLM__1__MODEL", "m"),
    ];
    let with_second = |more: &[(&str, &str)]| {
        let pairs: Vec<_> = second.iter().chain(more).copied().collect();
        faults_with(&pairs)
    };
    assert_eq!(
        with_second(&[("LLM_INTER_TOKEN_TIMEOUT", "50"), ("LLM_TTFT_TIMEOUT", "40")]),
        ["LLM_INTER_TOKEN_TIMEOUT: is 50 s, not less than LLM_TTFT_TIMEOUT (40 s); lower it, or \
          raise LLM_TTFT_TIMEOUT"]
    );
    assert_eq!(
        faults_with(&[("LLM__QWEN__1__TTFT_TIMEOUT_S", "50")]),
        ["LLM__QWEN__1__INTER_TOKEN_TIMEOUT_S: is 60 s by default, not less than \
          LLM__QWEN__1__TTFT_TIMEOUT_S (50 s); lower it, or raise LLM__QWEN__1__TTFT_TIMEOUT_S"]
    );
    assert_eq!(
        faults_with(&[("LLM_RETRY_BASE_DELAY", "31")]),
        [
            "LLM_RETRY_BASE_DELAY: is 31 s, more than the longest delay of 30 s by default; lower it, \
          or raise LLM__RETRY__MAX_DELAY_S"
        ]
    );
    assert_eq!(
        faults_with(&[("LLM__GLOBAL__TPM", "900"), ("LLM__QWEN__1__EST_TOKENS", "950")]),
        [
            "LLM__GLOBAL__TPM: is 900, less than the 950 tokens each call is charged; raise it to 950 \
          at least, or lower LLM__QWEN__1__EST_TOKENS"
        ]
    );
    assert_eq!(
        faults_with(&[("LLM_TIMEOUT", "1000"), ("LLM__BREAKER__PROBE_LEASE_S", "1000")]),
        ["LLM_TIMEOUT: is 1000 s, longer than a permit's lease of 900 s by default; lower it, or \
          raise LLM__LEASE_TTL_S to 1000 s at least"]
    );
    let bad = with_second(&[("LLM_TTFT_TIMEOUT", "long"), ("LLM_INTER_TOKEN_TIMEOUT", "130")]);
    let once = ["LLM_TTFT_TIMEOUT: is `long`; write seconds above zero, such as 30 or 0.5"];
    assert_eq!(bad, once, "once for all sources, and no guess about what it might have been");
    let flat = faults(&[
        ("LLM_BASE_URL", "https://a.example"),
        ("LLM_API_KEY", "k"),
        ("LLM_MODEL", "m"),
        ("LLM_PROVIDER", "nobody"),
    ]);
    assert!(flat[0].starts_with("LLM_PROVIDER: names an unknown provider: `nobody`"), "{flat:?}");
}

/// CLI-010: the owner's second example, with a profile that the caller registers.
#[test]
fn a_registered_provider_may_be_named() {
    let environment = Environment::from_pairs([
        ("OCR__MONKEY__1__BASE_URL", "http://a.example:7861"),
        ("OCR__MONKEY__1__API_KEY", "k"),
        ("OCR__MONKEY__1__MODEL", "m"),
    ]);
    let error = GatewaySettings::from_environment(&environment, "OCR").unwrap_err();
    assert!(error.faults()[0].problem.contains("unknown provider: `monkey`"), "{error}");
    let profiles = [ProviderProfile::plain("monkey", &[])];
    let settings = GatewaySettings::from_environment_with(&environment, "OCR", &profiles).unwrap();
    assert_eq!((&*settings.scope, &*settings.sources[0].name), ("OCR", "monkey-1"));
}

#[test]
fn bad_numbers_flags_and_words_name_the_variable() {
    for (name, value, wanted) in [
        ("LLM__QWEN__1__TIMEOUT_S", "-5", "is `-5`; write seconds above zero, such as 30 or 0.5"),
        ("LLM__QWEN__1__TIMEOUT_S", "ten", "is `ten`; write seconds above zero"),
        ("LLM__QWEN__1__TRUST_ENV", "maybe", "is `maybe`; write true or false"),
        ("LLM__QWEN__1__MISSING_DONE", "keep", "is `keep`; write one of retry, salvage"),
        ("LLM__QWEN__1__MAX_CONCURRENCY", "0", "is 0; write a limit above zero"),
        ("LLM__QWEN__x__RPM", "1", "has `x` where a source's number belongs"),
        ("LLM__QWEN__1__API_KEY_FILE", "/nowhere", "stands beside LLM__QWEN__1__API_KEY"),
        ("LLM__QWEN__1__CA_FILE", "/nowhere/ca.pem", "can't be read:"),
        ("LLM__RETRY__MAX_ATTEMPTS", "0", "is 0; allow at least 1 attempt"),
        ("LLM__GLM__0__BASE_URL", "x", "is numbered 0; number the sources from 1"),
    ] {
        let faults = faults_with(&[(name, value)]);
        let wanted = format!("{name}: {wanted}");
        assert!(faults.iter().any(|f| f.starts_with(&wanted)), "{wanted}\nin {faults:#?}");
    }
}

/// CLI-018, CLI-031.
#[test]
fn a_backend_that_is_not_built_in_names_its_feature() {
    for (name, value, feature) in [
        ("PGW_LIMITER_BACKEND", "redis", "redis"),
        ("PGW_TELEMETRY_BACKEND", "postgres", "telemetry-postgres"),
    ] {
        let error = GatewaySettings::from_environment(&with(&[(name, value)]), "LLM").unwrap_err();
        assert_eq!(error.feature(), Some(feature));
        assert_eq!(error.faults()[0].path, name);
    }
    let faults = faults_with(&[
        ("PGW_LIMITER_BACKEND", "redis"),
        ("PGW_TELEMETRY_BACKEND", "postgres"),
        ("LLM__SELECTR", "x"),
    ]);
    let paths: Vec<_> = faults.iter().filter_map(|fault| fault.split(':').next()).collect();
    assert_eq!(paths, ["LLM__SELECTR", "PGW_LIMITER_BACKEND", "PGW_TELEMETRY_BACKEND"]);
    let unknown = faults_with(&[("PGW_LIMITER_BACKEND", "disk")]);
    assert_eq!(unknown, ["PGW_LIMITER_BACKEND: is `disk`; write one of memory, redis"]);
}

/// The owner's default: records are kept unless somebody says no.
#[test]
fn records_are_kept_by_default() {
    let path = |path: &str| TelemetrySettings::Sqlite { path: path.into() };
    assert_eq!(settings(&[]).telemetry, path("pgw-telemetry.sqlite"));
    assert_eq!(settings(&[("PGW_TELEMETRY_PATH", "x.db")]).telemetry, path("x.db"));
    assert_eq!(settings(&[("PGW_TELEMETRY_BACKEND", "off")]).telemetry, TelemetrySettings::Off);
    assert_eq!(settings(&[("PGW_QUOTA_FULL", "fail_fast")]).backpressure.on_full, OnFull::FailFast);
}

/// CLI-008, OPEN-12: the process counts over the file, and an empty value is no value.
#[test]
fn text_stays_text_and_blank_is_unset() {
    let text = "LLM__QWEN__1__BASE_URL=https://a.example/v1\nLLM__QWEN__1__MODEL=007\n\
                LLM__QWEN__1__API_KEY=\"  {x=1}  \"\nLLM__QWEN__1__RPM=\n";
    let environment = Environment::from_dotenv(text).unwrap();
    let settings = GatewaySettings::from_environment(&environment, "LLM").unwrap();
    assert_eq!(settings.sources[0].model, "007");
    assert_eq!(settings.sources[0].api_key.expose_secret(), "{x=1}");
    assert_eq!(settings.sources[0].limits.rpm, None);
}
