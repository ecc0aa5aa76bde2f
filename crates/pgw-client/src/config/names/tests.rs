//! Tests of what is judged, what is suggested, and what is left alone.

use super::{super::environment::Environment, *};

fn faults(scope: &str, names: &[&str]) -> Vec<String> {
    let environment = Environment::from_pairs(names.iter().map(|name| (*name, "canary")));
    let mut reader = Reader::new(&environment);
    judge(&mut reader, scope);
    reader.faults.iter().map(ToString::to_string).collect()
}

/// Expectations D85: no key that resembles ours is ignored.
#[test]
fn a_slip_is_told_with_the_name_that_was_meant() {
    for (name, wanted) in [
        ("LLM__QWEN__1__API_KY", "has the unknown field API_KY; did you mean API_KEY?"),
        ("LLM__QWEN__1__api_key", "has the unknown field api_key; did you mean API_KEY?"),
        ("LLM__QWEN__1__COLOUR", "has the unknown field COLOUR; write one of NAME, BASE_URL,"),
        ("LLM__QWEN__1__PROVIDER", "has the unknown field PROVIDER; write one of NAME,"),
        ("LLM__QWEN__01__API_KEY", "has `01` where a source's number belongs; number the sources"),
        ("LLM__QWEN__+1__API_KEY", "has `+1` where a source's number belongs"),
        (
            "LLM__QWEN_1__API_KEY",
            "has its underscores in other places; did you mean LLM__QWEN__1__",
        ),
        (
            "LLM__RETRY_MAX_ATTEMPTS",
            "has its underscores in other places; did you mean LLM__RETRY__",
        ),
        (
            "LLM__RETRY__MAX_ATEMPTS",
            "is no setting of this scope; did you mean RETRY__MAX_ATTEMPTS?",
        ),
        ("LLM__WHATEVER", "is no setting of this scope; write LLM__{PROVIDER}__{N}__{FIELD}"),
        (
            "LLM_QWEN_1_API_KEY",
            "has single underscores where two belong; did you mean LLM__QWEN__1",
        ),
        ("LLM_SELECTOR", "has single underscores where two belong; did you mean LLM__SELECTOR?"),
        (
            "llm__qwen__1__api_key",
            "is not written in capitals; did you mean LLM__QWEN__1__API_KEY?",
        ),
        ("LLM_TIMEOUTS", "is not a known variable; did you mean LLM_TIMEOUT?"),
        ("LLM_MODLE", "is not a known variable; did you mean LLM_MODEL?"),
        ("PGW_QUOTA_FUL", "is not a known variable; did you mean PGW_QUOTA_FULL?"),
        (
            "PGW_COLOUR",
            "is not a known variable; leave it out, or write one of PGW_LIMITER_BACKEND",
        ),
    ] {
        let faults = faults("LLM", &[name]);
        assert_eq!(faults.len(), 1, "{name}: {faults:?}");
        assert!(faults[0].starts_with(&format!("{name}: {wanted}")), "{faults:?}");
        assert!(!faults[0].contains("canary"), "{faults:?}");
    }
}

#[test]
fn a_roles_flat_names_are_judged_strictly() {
    for (name, wanted) in [
        ("SEARCH_LLM_MODLE", "is not a known variable; did you mean SEARCH_LLM_MODEL?"),
        ("SEARCH_LLM_COLOUR", "is not a known variable; write a setting of the scope, SEARCH__…"),
        ("SEARCH_QWEN_1_MODEL", "has single underscores where two belong"),
    ] {
        let faults = faults("SEARCH", &[name]);
        assert_eq!(faults.len(), 1, "{name}: {faults:?}");
        assert!(faults[0].starts_with(&format!("{name}: {wanted}")), "{faults:?}");
    }
}

#[test]
fn other_peoples_names_are_left_alone() {
    let names = [
        "LLM__QWEN__1__API_KEY",
        "LLM__GLOBAL__RPM",
        "LLM_TIMEOUT",
        "LLM_BASE_URL",
        "LLM_HOME",
        "LLMS",
        "VLM__TYPO",
        "VLM_LLM_TYPO",
        "PATH",
    ];
    assert_eq!(faults("LLM", &names), [""; 0]);
    assert_eq!(faults("SEARCH", &["LLM_MODEL", "LLM__TYPO", "SEARCH_LLM_API_KEY_FILE"]), [""; 0]);
}
