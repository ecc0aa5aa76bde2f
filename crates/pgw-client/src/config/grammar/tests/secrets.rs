//! Tests that a key is read as it should be, and shown nowhere.

use proptest::prelude::*;

use super::*;

#[test]
fn a_key_file_is_read_and_trimmed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key");
    std::fs::write(&path, "sk-from-file\n").unwrap();
    let pairs = [URL, MODEL, ("LLM__QWEN__1__API_KEY_FILE", path.to_str().unwrap())];
    let settings =
        GatewaySettings::from_environment(&Environment::from_pairs(pairs), "LLM").unwrap();
    assert_eq!(settings.sources[0].api_key.expose_secret(), "sk-from-file");
    std::fs::write(&path, "\n").unwrap();
    assert_eq!(faults(&pairs), ["LLM__QWEN__1__API_KEY_FILE: is empty; set the account's key"]);
    std::fs::write(&path, "sk-canary\nsk-canary\n").unwrap();
    let two = faults(&pairs);
    assert!(two[0].starts_with("LLM__QWEN__1__API_KEY_FILE: has a blank"), "{two:?}");
    assert!(!two.concat().contains("canary"), "{two:?}");
    std::fs::remove_file(&path).unwrap();
    let gone = faults(&pairs);
    assert_eq!(gone.len(), 1, "{gone:?}");
    assert!(gone[0].starts_with("LLM__QWEN__1__API_KEY_FILE: can't be read:"), "{gone:?}");
}

/// A key in the wrong variable is longer than any number or word.
#[test]
fn a_key_in_the_wrong_variable_is_not_repeated() {
    for name in ["LLM__QWEN__1__RPM", "LLM__SELECTOR", "PGW_QUOTA_FULL", "LLM__QWEN__1__TRUST_ENV"]
    {
        let faults = faults_with(&[(name, "sk-canary-canary-canary")]);
        assert!(faults[0].starts_with(&format!("{name}: is 23 characters long")), "{faults:?}");
        assert!(!faults.concat().contains("canary"), "{faults:?}");
    }
}

#[test]
fn the_checksum_follows_every_setting_and_shows_no_secret() {
    let base = settings(&[]);
    assert_eq!(base.checksum(), settings(&[]).checksum());
    assert_eq!(base.checksum().len(), 16);
    for (name, value) in [
        ("LLM__QWEN__1__API_KEY", "other"),
        ("LLM__QWEN__1__MODEL", "other"),
        ("LLM__QWEN__1__CONTEXT_TOKENS", "8192"),
        ("LLM__QWEN__1__TOOLS", "false"),
        ("LLM__QWEN__1__IMAGES", "false"),
        ("LLM__RETRY__MAX_ATTEMPTS", "8"),
        ("LLM__GLOBAL__RPM", "8"),
        ("LLM__SELECTOR", "ordered"),
        ("LLM__QWEN__1__TTFT_TIMEOUT_S", "100.5"),
        ("LLM__BREAKER__COOLDOWN_S", "8"),
        ("LLM__DEADLINE_S", "8"),
        ("PGW_QUOTA_FULL", "fail_fast"),
        ("PGW_TELEMETRY_PATH", "other.sqlite"),
    ] {
        let pairs = [URL, KEY, MODEL].into_iter().filter(|(known, _)| *known != name);
        let environment = Environment::from_pairs(pairs.chain([(name, value)]));
        let other = GatewaySettings::from_environment(&environment, "LLM").unwrap();
        assert_ne!(base.checksum(), other.checksum(), "{name}");
    }
}

proptest! {
    /// CLI-037: whatever the keys and however the rest is broken, no key is ever shown.
    #[test]
    fn no_key_is_ever_shown(
        key in "[!-~]{0,3}cAnArY[ -~]{0,6}", broken in "[a-z0-9:/@.-]{0,12}", misspelt in any::<bool>(),
    ) {
        let name = if misspelt { "LLM__QWEN__1__API_KY" } else { "LLM__QWEN__1__API_KEY" };
        let environment = Environment::from_pairs([
            ("LLM__QWEN__1__BASE_URL", broken.as_str()),
            (name, key.as_str()),
            ("LLM__QWEN__1__RPM", broken.as_str()),
            ("HTTP_PROXY", key.as_str()),
        ]);
        let mut shown = format!("{environment:?}{:?}", environment.proxy());
        match crate::CheckReport::load(&environment, "LLM") {
            Ok(report) => shown = format!("{shown}{report}{report:?}"),
            Err(error) => shown = format!("{shown}{error}{error:?}"),
        }
        if let Ok(settings) = GatewaySettings::from_environment(&environment, "LLM") {
            shown = format!("{shown}{settings:?}");
        }
        prop_assert!(!shown.contains("cAnArY"), "{shown}");
    }
}
