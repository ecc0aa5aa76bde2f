//! Tests of the report.

use super::*;

fn report(text: &str) -> CheckReport {
    let environment = Environment::from_dotenv(text).unwrap();
    CheckReport::load(&environment, "LLM").unwrap_or_else(|error| panic!("{error}"))
}

const SOURCE: &str = "LLM__QWEN__1__BASE_URL=https://a.example/v1/\n\
                      LLM__QWEN__1__API_KEY=sk-canary\nLLM__QWEN__1__MODEL=m\n";

fn find<'a>(report: &'a CheckReport, name: &str) -> (&'a str, &'a str) {
    let setting = report.settings.iter().find(|setting| setting.name == name);
    setting.map_or(("", ""), |setting| (&setting.value, &setting.origin))
}

/// CLI-027, CLI-037.
#[test]
fn every_setting_is_listed_with_its_origin() {
    let text = format!(
        "{SOURCE}LLM_TTFT_TIMEOUT=100\nLLM__RETRY__MAX_ATTEMPTS=4\nLLM_CIRCUIT_BREAKER_COOLDOWN=9\n\
         LLM__QWEN__1__MAX_CONCURRENCY=8\n"
    );
    let report = report(&text);
    for (name, value, origin) in [
        ("LLM__QWEN__1__NAME", "qwen-1", "default"),
        ("LLM__QWEN__1__BASE_URL", "https://a.example/v1", ".env line 1"),
        ("LLM__QWEN__1__API_KEY", "set, 9 characters", ".env line 2"),
        ("LLM__QWEN__1__API_KEY_FILE", "", ""),
        ("LLM__QWEN__1__TTFT_TIMEOUT_S", "100", ".env line 4, LLM_TTFT_TIMEOUT"),
        ("LLM__QWEN__1__TIMEOUT_S", "600", "default"),
        ("LLM__QWEN__1__RPM", "no limit", "default"),
        ("LLM__RETRY__MAX_ATTEMPTS", "4", ".env line 5"),
        ("LLM__BREAKER__COOLDOWN_S", "9", ".env line 6, LLM_CIRCUIT_BREAKER_COOLDOWN"),
        ("PGW_TELEMETRY_PATH", "pgw-telemetry.sqlite", "default"),
        ("PGW_QUOTA_FULL", "wait", "default"),
    ] {
        assert_eq!(find(&report, name), (value, origin), "{name}");
    }
    assert_eq!(report.sources[0].breaker_threshold, 16);
    assert_eq!(report.upstream_call_bound, 4);
    let json = serde_json::to_string(&report).unwrap();
    let shown = format!("{report}{report:?}{json}");
    assert!(!shown.contains("canary"), "{shown}");
    assert!(shown.contains("LLM__QWEN__1__API_KEY = set, 9 characters (.env line 2)"), "{shown}");
    assert!(shown.contains("\n    LLM__SELECTOR = round_robin\n"), "{shown}");
}

#[test]
fn the_flat_form_lists_its_own_names() {
    let report =
        report("LLM_BASE_URL=https://a.example\nLLM_API_KEY=k\nLLM_MODEL=m\nLLM_TIMEOUT=300\n");
    assert_eq!(find(&report, "LLM_MODEL"), ("m", ".env line 3"));
    assert_eq!(find(&report, "LLM_PROVIDER"), ("generic", "default"));
    assert_eq!(find(&report, "LLM_TIMEOUT"), ("300", ".env line 4"));
    assert!(!report.settings.iter().any(|setting| setting.name.starts_with("LLM__GENERIC")));
}
