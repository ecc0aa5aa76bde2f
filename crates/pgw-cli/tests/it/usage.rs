//! `pgw usage` over records that real calls have left.

use std::{path::Path, process::Output};

use pgw_client::{CacheSettings, GatewayClient, GatewaySettings, SourceConfig, TelemetrySettings};
use pgw_mock::{Answer, ChatReply, Endpoint, MockServer, Scenario};
use serde_json::Value;

fn usage(options: &[&str]) -> Output {
    std::process::Command::new(env!("CARGO_BIN_EXE_pgw"))
        .arg("usage")
        .args(options)
        .env_clear()
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// Two calls with one retry and one hit, of a priced model, in two sessions; and one that failed.
async fn records(path: &Path) {
    let reply = || Answer::chat(ChatReply::new("Hello").model("gpt-4o").usage(1_000, 100));
    let overloaded = Answer::error(503, "overloaded", "busy");
    let refused = Answer::error(400, "invalid_request_error", "no");
    let answers = [overloaded, reply(), reply(), refused];
    let scenario = Scenario::new().endpoint(Endpoint::chat().answers(answers));
    let mock = MockServer::start(scenario).await.unwrap();
    let source = SourceConfig::new("main", "openai", mock.base_url(), "key", "gpt-4o");
    let mut settings = GatewaySettings::new("LLM", vec![source]);
    settings.retry.base_delay = std::time::Duration::from_millis(1);
    settings.retry.max_delay = settings.retry.base_delay;
    settings.cache = Some(CacheSettings::new("lab", std::time::Duration::from_mins(1)));
    settings.telemetry = TelemetrySettings::Sqlite { path: path.to_owned() };
    let client = GatewayClient::from_settings(settings).unwrap();
    client.chat("One?").session("a").await.unwrap();
    client.chat("One?").session("a").await.unwrap();
    client.chat("Two?").session("b").await.unwrap();
    client.chat("Three?").session("b").await.unwrap_err();
    client.aclose().await;
}

/// TEL-013, TYP-015, MID-108: calls, attempts, failures, hits, tokens and cost, by session and in all.
#[tokio::test]
async fn the_records_add_up() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calls.sqlite");
    records(&path).await;
    let db = path.to_str().unwrap();
    let output = usage(&["--db", db, "--by", "session,model", "--json"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let rows: Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = rows["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    let of = |row: usize, members: [&str; 8]| members.map(|member| rows[row][member].clone());
    let members = [
        "session",
        "calls",
        "attempts",
        "failures",
        "cache_hits",
        "prompt_tokens",
        "saved_tokens",
        "unpriced",
    ];
    assert_eq!(
        Value::from(of(0, members).to_vec()),
        serde_json::json!(["a", 2, 2, 1, 1, 1000, 1100, 0])
    );
    assert_eq!(
        Value::from(of(1, members).to_vec()),
        serde_json::json!(["b", 2, 2, 1, 0, 1000, 0, 0])
    );
    let cost = rows[0]["cost"].as_f64().unwrap();
    assert!((cost - (1_000.0 * 2.5 + 100.0 * 10.0) / 1e6).abs() < 1e-12, "{cost}");
    let shares = ["error_rate", "cache_share", "estimated_share"];
    assert_eq!(shares.map(|share| rows[0][share].as_f64()), [Some(0.5), Some(0.5), Some(0.0)]);

    let output = usage(&["--db", db]);
    let table = text(&output.stdout);
    let lines: Vec<_> = table.lines().collect();
    assert_eq!(lines.len(), 2, "{table}");
    assert!(lines[0].contains("calls  attempts") && lines[0].contains("cost $"), "{table}");
    assert_eq!(
        lines[1].split_whitespace().take(4).collect::<Vec<_>>(),
        ["4", "4", "50.0%", "25.0%"]
    );
    assert!(lines[1].contains("0.007000"), "{table}");

    let none = usage(&["--db", db, "--until", "2020-01-01"]);
    assert!(text(&none.stdout).ends_with("no records\n"), "{}", text(&none.stdout));
    let day = usage(&["--db", db, "--by", "day", "--since", "7d", "--scope", "LLM", "--json"]);
    let day: Value = serde_json::from_slice(&day.stdout).unwrap();
    assert_eq!(day["rows"][0]["day"].as_str().unwrap().len(), 10);
}

/// Bad input: a file that isn't there or is none of ours, and times that are none.
#[test]
fn what_cant_be_read_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("nowhere.sqlite");
    let output = usage(&["--db", missing.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    let words = text(&output.stderr);
    assert!(words.contains("nowhere.sqlite") && words.contains("--db"), "{words}");
    let foreign = folder.path().join("notes.txt");
    std::fs::write(&foreign, "no database at all, but long enough to be looked at").unwrap();
    let output = usage(&["--db", foreign.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("is not a database"), "{}", text(&output.stderr));
    // An empty file is an empty database to SQLite: one without our table.
    std::fs::write(&foreign, "").unwrap();
    let output = usage(&["--db", foreign.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("holds no call log"), "{}", text(&output.stderr));
    assert_eq!(std::fs::read(&foreign).unwrap(), b"", "and it is left as it was");
    for since in ["yesterday", "2026-13-01", "2026-02-30", "-3d", "7"] {
        let output = usage(&["--since", since]);
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains("2026-12-01 or 7d"), "{}", text(&output.stderr));
    }
    for (since, until) in [("1d", "2d"), ("2026-12-01", "2026-12-01")] {
        let output = usage(&["--since", since, "--until", until]);
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains("--until is not after --since"));
    }
}
