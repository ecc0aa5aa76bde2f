//! `pgw mock`: serves its script, counts, and ends when asked.

use std::io::{BufRead as _, BufReader, Read as _};

use crate::pgw::{Desk, Ended};

const SCENARIO: &str = r#"{"endpoints": [{
    "path": "/v1/chat/completions", "name": "chat",
    "answers": [{"chat": {"content": "Hello there", "usage": [5, 2]}}]
}]}"#;

/// GWY-120, GWY-122: `pgw chat` talks to `pgw mock`, and the mock has counted it.
#[cfg(unix)]
#[test]
fn it_serves_until_ctrl_c_and_prints_its_counters() {
    let desk = Desk::new();
    desk.write("scenario.json", SCENARIO);
    let mut child = desk.command(&["mock", "--scenario", "scenario.json"]).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut url = String::new();
    out.read_line(&mut url).unwrap();
    let url = url.trim_end();
    assert!(url.starts_with("http://127.0.0.1:"), "{url}");

    desk.write(
        ".env",
        &format!(
            "LLM__GENERIC__1__BASE_URL={url}\nLLM__GENERIC__1__API_KEY=k\n\
             LLM__GENERIC__1__MODEL=m\n"
        ),
    );
    let ended = desk.run(&["chat", "--no-telemetry", "Hello?"]).with_code(0);
    assert_eq!(ended.out, "Hello there\n");

    crate::pgw::signal(&child, "INT");
    let mut counters = String::new();
    out.read_to_string(&mut counters).unwrap();
    Ended::from(child.wait_with_output().unwrap()).with_code(0);
    let counters: serde_json::Value = serde_json::from_str(&counters).unwrap();
    assert_eq!(counters["endpoints"][0]["name"], "chat");
    assert_eq!(counters["endpoints"][0]["answered"], 1);
}

#[test]
fn a_script_at_fault_is_told_with_every_fault() {
    let desk = Desk::new();
    desk.write(
        "bad.json",
        r#"{"endpoints": [{"path": "v1", "answers": []}, {"path": "/x", "answers": []}]}"#,
    );
    let ended = desk.run(&["mock", "--scenario", "bad.json"]).with_code(2);
    for place in ["endpoints[0].path", "endpoints[0].answers", "endpoints[1].answers"] {
        assert!(ended.err.contains(place), "{place} is not in {}", ended.err);
    }
    let ended = desk.run(&["mock", "--scenario", "none.json"]).with_code(2);
    assert!(ended.err.contains("none.json"), "{}", ended.err);
}
