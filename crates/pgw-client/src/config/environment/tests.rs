//! Tests of precedence, origins, scopes, and of what is never shown.

use super::*;

fn text(environment: &Environment, name: &str) -> Option<(String, String)> {
    environment.get(name).map(|variable| (variable.value.clone(), variable.origin.to_string()))
}

fn os(pairs: &[(&str, &str)]) -> impl Iterator<Item = (OsString, OsString)> {
    let pairs: Vec<_> =
        pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    pairs.into_iter()
}

/// OPEN-12: the process counts over the file, and an empty value there unsets the file's.
#[test]
fn the_process_counts_over_the_file() {
    let mut environment = Environment::from_dotenv("A=file\nB=file\n\nC=file\n").unwrap();
    environment.overlay(os(&[("A", "process"), ("B", " ")]));
    assert_eq!(text(&environment, "A"), Some(("process".into(), "environment".into())));
    assert_eq!(text(&environment, "B"), None);
    assert!(environment.is_blank("B") && !environment.is_blank("A"));
    assert_eq!(environment.place("B"), Some(&Origin::Process));
    assert_eq!(text(&environment, "C"), Some(("file".into(), ".env line 4".into())));
}

#[cfg(unix)]
#[test]
fn a_value_that_is_no_text_hides_the_files_and_is_remembered() {
    use std::os::unix::ffi::OsStringExt as _;

    let mut environment = Environment::from_dotenv("A=file\n").unwrap();
    let garbled = OsString::from_vec(vec![b'k', 0xff]);
    environment.overlay([("A".into(), garbled)].into_iter());
    assert_eq!(text(&environment, "A"), None);
    assert_eq!(environment.garbled().collect::<Vec<_>>(), ["A"]);
}

#[test]
fn a_file_is_named_in_origins_and_faults() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deploy.env");
    fs::write(&path, "A=1\n").unwrap();
    let environment = Environment::from_process(Some(&path)).unwrap();
    assert!(text(&environment, "A").unwrap().1.ends_with("deploy.env line 1"));
    fs::write(&path, "A=1\nnothing\n").unwrap();
    let error = Environment::from_process(Some(&path)).unwrap_err();
    assert!(error.faults()[0].path.ends_with("deploy.env line 2"), "{error}");
    let error = Environment::from_process(Some(&folder.path().join("none"))).unwrap_err();
    assert!(error.faults()[0].path.ends_with("none"), "{error}");
}

/// CLI-019.
#[test]
fn scopes_are_those_that_have_sources() {
    let names = [
        "VLM__QWEN__1__MODEL",
        "LLM_BASE_URL",
        "MY_SEARCH_LLM_BASE_URL",
        "MYLLM_BASE_URL",
        "TOOL__PART__1__COLOUR",
        "TOOL__PART__01__MODEL",
        "OTHER__RETRY__MAX_ATTEMPTS",
        "_LLM_BASE_URL",
    ];
    let environment = Environment::from_pairs(names.map(|name| (name, "x")));
    assert_eq!(environment.scopes(), ["LLM", "MY_SEARCH", "VLM"]);
}

/// As curl: the lower-case spelling first.
#[test]
fn proxies_are_read_in_both_spellings_and_not_shown() {
    let environment = Environment::from_pairs([
        ("HTTP_PROXY", "http://upper"),
        ("http_proxy", "http://u:canary@lower"),
        ("HTTPS_PROXY", "http://u:canary@secure"),
        ("all_proxy", "http://all"),
        ("NO_PROXY", "a.example"),
    ]);
    let proxy = environment.proxy();
    assert_eq!(proxy.http.as_deref(), Some("http://u:canary@lower"));
    assert_eq!(proxy.https.as_deref(), Some("http://u:canary@secure"));
    assert_eq!(
        (proxy.all.as_deref(), proxy.no_proxy.as_deref()),
        (Some("http://all"), Some("a.example"))
    );
    let shown = format!("{environment:?}{proxy:?}");
    assert!(!shown.contains("canary"), "{shown}");
}
