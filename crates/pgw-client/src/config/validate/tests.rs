//! Tests of the guards, on settings made by hand.

use pgw_types::Timeouts;

use super::*;

fn source(name: &str) -> SourceConfig {
    SourceConfig::new(name, "generic", "https://a.example/v1", "key", "m")
}

fn faults(change: impl FnOnce(&mut GatewaySettings)) -> Vec<String> {
    let mut settings = GatewaySettings::new("LLM", vec![source("a"), source("b")]);
    change(&mut settings);
    match settings.validate() {
        Ok(()) => Vec::new(),
        Err(error) => error.faults().iter().map(ToString::to_string).collect(),
    }
}

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn the_defaults_hold() {
    assert!(faults(|_| {}).is_empty());
}

/// CLI-025, MID-153.
#[test]
fn limits_in_time_must_be_in_order() {
    let found = faults(|settings| {
        settings.sources[0].timeouts = Timeouts {
            connect: Duration::ZERO,
            ttft: secs(10),
            inter_token: secs(10),
            total: secs(10),
        };
    });
    assert_eq!(
        found,
        [
            "sources[a].timeouts.connect: is 0; write a time above zero",
            "sources[a].timeouts.inter_token: is 10 s, not less than sources[a].timeouts.ttft \
             (10 s); lower it, or raise sources[a].timeouts.ttft",
            "sources[a].timeouts.ttft: is 10 s, not less than sources[a].timeouts.total (10 s); \
             lower it, or raise sources[a].timeouts.total",
        ]
    );
}

/// CLI-023.
#[test]
fn a_lease_outlives_the_attempt() {
    let found = faults(|settings| settings.lease_ttl = secs(599));
    assert_eq!(found.len(), 2);
    assert_eq!(
        found[0],
        "sources[a].timeouts.total: is 600 s, longer than a permit's lease of 599 s; lower it, or \
         raise lease_ttl to 600 s at least"
    );
}

/// CLI-024.
#[test]
fn the_stall_window_covers_the_slowest_first_token() {
    let found = faults(|settings| settings.backpressure.stall_window = secs(119));
    assert_eq!(
        found,
        ["backpressure.stall_window: is 119 s, less than the 120 s that source b may take to its \
          first token; raise it to 120 s at least"]
    );
}

/// One probe at a time: the lease must not end before the probe may.
#[test]
fn a_probe_lease_outlives_the_probe() {
    let found = faults(|settings| settings.breaker.probe_lease = secs(599));
    assert_eq!(
        found,
        ["breaker.probe_lease: is 599 s, less than the 600 s that a probe of source b may take; \
          raise it to 600 s at least"]
    );
}

/// Issue 3, bad input: a limit below one call's charge names the number needed.
#[test]
fn a_limit_below_one_call_names_the_number_needed() {
    let found = faults(|settings| {
        settings.sources[1].limits.tpm = Some(999);
        settings.global.tpm = Some(500);
    });
    assert!(found.contains(
        &"sources[b].limits.tpm: is 999, less than the 1000 tokens each call is charged; raise it \
          to 1000 at least, or lower sources[b].est_tokens"
            .to_owned()
    ));
    let global = found.iter().filter(|fault| fault.starts_with("global.tpm: is 500"));
    assert_eq!(global.count(), 1, "{found:?}");
}

#[test]
fn every_other_guard_names_its_place() {
    type Change = fn(&mut GatewaySettings);
    let cases: [(Change, &str); 26] = [
        (|s| s.sources.clear(), "sources: there is no source"),
        (|s| s.sources[1].name = "a".into(), "sources[a].name: is `a`, the name of another"),
        (|s| s.sources[0].base_url = "a.example".into(), "sources[a].base_url: is no URL"),
        (
            |s| s.sources[0].base_url = "file:///x".into(),
            "sources[a].base_url: has the scheme file",
        ),
        (
            |s| s.sources[0].base_url = "canary:secret@a.example".into(),
            "sources[a].base_url: has no http:// or https://; write the API root",
        ),
        (
            |s| s.sources[0].base_url = "https://u:p@a.example".into(),
            "sources[a].base_url: holds a user name or password",
        ),
        (
            |s| s.sources[0].base_url = "https://a.example?v=1&api_Key=x".into(),
            "sources[a].base_url: holds a secret in its query (api_Key)",
        ),
        (
            |s| s.sources[0].base_url = "https://a.example/#x".into(),
            "sources[a].base_url: has a part after #",
        ),
        (|s| s.sources[0].api_key = "".into(), "sources[a].api_key: is empty"),
        (|s| s.sources[0].api_key = "a\nb".into(), "sources[a].api_key: has a blank"),
        (|s| s.sources[0].model = " ".into(), "sources[a].model: is empty"),
        (
            |s| s.sources[0].provider = "x".into(),
            "sources[a].provider: names an unknown provider: `x`",
        ),
        (|s| s.sources[0].enable_thinking = Some(true), "sources[a].enable_thinking: is set, but"),
        (|s| s.sources[0].weight = 0, "sources[a].weight: is 0"),
        (|s| s.sources[0].context_tokens = Some(0), "sources[a].context_tokens: is 0"),
        (|s| s.sources[0].est_tokens = 0, "sources[a].est_tokens: is 0"),
        (|s| s.sources[0].limits.rpm = Some(0), "sources[a].limits.rpm: is 0"),
        (
            |s| s.sources[0].limits.max_concurrency = Some(0),
            "sources[a].limits.max_concurrency: is",
        ),
        (|s| s.retry.max_attempts = 0, "retry.max_attempts: is 0"),
        (|s| s.retry.base_delay = Duration::ZERO, "retry.base_delay: is 0"),
        (|s| s.breaker.fail_threshold = 0, "breaker.fail_threshold: is 0"),
        (|s| s.deadline = Some(Duration::ZERO), "deadline: is 0"),
        (|s| s.retry.base_delay = secs(31), "retry.base_delay: is 31 s, more than"),
        (|s| s.breaker.cooldown = Duration::ZERO, "breaker.cooldown: is 0"),
        (|s| s.backpressure.max_queue = 0, "backpressure.max_queue: is 0"),
        (|s| s.selector = "x".into(), "selector: is `x`; write one of round_robin"),
    ];
    for (change, wanted) in cases {
        let found = faults(change);
        assert!(found.iter().any(|fault| fault.starts_with(wanted)), "{wanted}: {found:?}");
    }
}

#[test]
fn each_direction_of_the_thinking_switch_needs_a_word() {
    let mut profile = ProviderProfile::plain("generic", &[]);
    profile.thinking_on = Some("{}".into());
    let mut settings = GatewaySettings::new("LLM", vec![source("a")]);
    settings.sources[0].enable_thinking = Some(true);
    assert!(settings.validate_with(std::slice::from_ref(&profile)).is_ok());
    settings.sources[0].enable_thinking = Some(false);
    let error = settings.validate_with(&[profile]).unwrap_err();
    let fault = &error.faults()[0];
    assert_eq!(fault.path, "sources[a].enable_thinking");
    assert_eq!(fault.problem, "is set, but generic has no word for thinking off");
}
