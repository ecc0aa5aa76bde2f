//! Secrets in every place where one can be, every fault that is known, and a search through everything
//! that comes out: logs, errors, `Debug`, records, reports.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that can't be set up should fail there"
)]

use std::{
    fmt::{Debug, Write as _},
    fs, io,
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use pgw_client::{
    CheckReport, Environment, GatewayClient, GatewaySettings, OnFull, PgwError, ProxyEnvironment,
    SourceConfig, TelemetrySettings,
};
use pgw_mock::{Answer, Endpoint, MockServer, Scenario, Step};

/// A key with letters that change when they are escaped.
const KEY: &str = "sk-CANARY+key/0123456789abcdef==";

/// The password of a proxy.
const PASSWORD: &str = "CANARYpassword0123";

/// Everything that must not be found: the secrets, as they are and as they look in URLs and headers.
fn canaries() -> Vec<String> {
    let percent = KEY.replace('+', "%2B").replace('/', "%2F").replace('=', "%3D");
    // `user:CANARYpassword0123` in base64, as a proxy is told it.
    let basic = "dXNlcjpDQU5BUllwYXNzd29yZDAxMjM".to_owned();
    // What any longer piece of them would hold.
    let pieces = ["CANARY+key", "key/0123456789", "CANARYpass"].map(str::to_owned);
    let mut all = vec![KEY.to_owned(), percent, PASSWORD.to_owned(), basic];
    all.extend(pieces);
    all
}

/// A log that can be read.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("nobody panics with it").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Everything that came out so far, with the name of what was going on.
#[derive(Default)]
struct Seen(Vec<(String, String)>);

impl Seen {
    fn see(&mut self, when: &str, what: impl Into<String>) {
        self.0.push((when.to_owned(), what.into()));
    }

    fn debug(&mut self, when: &str, what: &dyn Debug) {
        self.see(when, format!("{what:?} {what:#?}"));
    }

    fn error(&mut self, when: &str, error: &PgwError) {
        let mut text = format!("{error} {error:?} {error:#?}");
        let mut cause: Option<&dyn std::error::Error> = Some(error);
        while let Some(one) = cause {
            let _ = write!(text, "\n{one} {one:?}");
            cause = one.source();
        }
        text += &serde_json::to_string(&error.trace()).unwrap();
        if let Some(call) = error.call() {
            let _ = write!(text, "{:?} {:?} {:?}", call.code(), call.param(), call.partial());
        }
        self.see(when, text);
    }

    fn search(&self) {
        for (when, what) in &self.0 {
            for canary in canaries() {
                let at = what.find(&canary);
                let near = at.map(|at| {
                    let start =
                        (0..=at.saturating_sub(80)).rev().find(|at| what.is_char_boundary(*at));
                    what[start.unwrap_or(0)..].chars().take(200).collect::<String>()
                });
                assert_eq!(near, None, "{when}: {canary} came out");
            }
        }
    }
}

/// Answers that repeat the key, in each of the bodies of the corpus and in each place of a stream.
fn answers() -> Vec<(String, Answer)> {
    let said = format!("Incorrect API key provided: {KEY} (Authorization: Bearer {KEY}).");
    let mut answers = Vec::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/http");
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "txt") {
            continue;
        }
        let file = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
        let (head, body) = file.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let (field, wanted) = ("\"message\":\"", format!("\"message\":\"{said} "));
        let body = if body.contains(field) {
            body.replacen(field, &wanted, 1)
        } else if body.contains('>') {
            body.replacen('>', &format!(">{said}"), 1)
        } else {
            format!("{body}{said}")
        };
        let kind = if body.starts_with('<') { "text/html" } else { "application/json" };
        let answer = Answer::bytes(status, body).header("content-type", kind);
        answers.push((path.file_stem().unwrap().to_string_lossy().into_owned(), answer));
    }
    let stream = |name: &str, text: String| (name.to_owned(), Answer::sse([Step::data(text)]));
    let begun = r#"data: {"id":"a","choices":[{"index":0,"delta":{"content":"Hel"}}]}"#;
    answers.extend([
        stream(
            "error in a stream",
            format!("{begun}\n\ndata: {{\"error\":{{\"message\":\"{said}\"}}}}\n\n"),
        ),
        stream("error event", format!("event: error\ndata: {{\"message\":\"{said}\"}}\n\n")),
        stream("error field", format!("error: {{\"message\":\"{said}\"}}\n\n")),
        stream("damaged frame", format!("{begun}\n\ndata: {{\"id\":\"{said}\n\n{begun}\n\n")),
        stream("no frames at all", said.clone()),
        ("a page".to_owned(), Answer::text(200, format!("<html>{said}</html>"))),
        ("a bare text".to_owned(), Answer::text(200, format!("\"{said}\""))),
        (
            "a redirect".to_owned(),
            Answer::text(307, &*said).header("location", format!("/?key={KEY}")),
        ),
        (
            "a header".to_owned(),
            Answer::error(401, "invalid_api_key", &said).header("x-request-id", KEY),
        ),
        (
            "escaped".to_owned(),
            Answer::text(
                401,
                format!(
                    "{{\"error\":{{\"message\":\"{0}\",\"code\":\"{0}\"}}}}",
                    KEY.replace('/', "\\/")
                ),
            ),
        ),
        ("a code".to_owned(), Answer::error(400, KEY, &said)),
        ("too many".to_owned(), Answer::error(429, "rate_limit", &said).header("retry-after", "1")),
    ]);
    answers
}

fn settings(base_url: String, path: &Path) -> GatewaySettings {
    let mut source = SourceConfig::new("only", "generic", base_url, KEY, "m");
    source.timeouts.connect = Duration::from_secs(2);
    let mut settings = GatewaySettings::new("LLM", vec![source]);
    settings.retry.max_attempts = 1;
    settings.backpressure.on_full = OnFull::FailFast;
    settings.telemetry = TelemetrySettings::Sqlite { path: path.to_owned() };
    settings
}

/// Asks once whole and once live; each client is new, so that none knows its source as dead.
async fn ask(seen: &mut Seen, name: &str, build: impl Fn() -> GatewayClient) {
    for live in [false, true] {
        let client = build();
        seen.debug(name, &client);
        let call = client.chat("Hello?").session(name);
        seen.debug(name, &call);
        if !live {
            match call.await {
                Ok(answer) => seen.debug(name, &answer.trace),
                Err(error) => seen.error(name, &error),
            }
            client.aclose().await;
            continue;
        }
        match call.stream().await {
            Err(error) => seen.error(name, &error),
            Ok(mut stream) => {
                seen.debug(name, &stream);
                while let Some(event) = stream.next_event().await {
                    if let Err(error) = event {
                        seen.error(name, &error);
                    }
                }
            }
        }
        client.aclose().await;
    }
}

/// D83, CLI-037: over every fault, no secret comes out anywhere.
#[tokio::test]
async fn no_secret_comes_out_anywhere() {
    let log = Log::default();
    let writer = log.clone();
    tracing_subscriber::fmt()
        .with_max_level(tracing_subscriber::filter::LevelFilter::TRACE)
        .with_writer(move || writer.clone())
        .init();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calls.sqlite");
    let mut seen = Seen::default();
    for (name, answer) in answers() {
        let endpoint = Endpoint::chat().answer(answer);
        let mock = MockServer::start(Scenario::new().endpoint(endpoint)).await.unwrap();
        let settings = settings(mock.base_url(), &path);
        seen.debug(&name, &settings);
        let build = || GatewayClient::from_settings(settings.clone()).unwrap();
        ask(&mut seen, &name, build).await;
        assert!(!mock.requests().is_empty(), "{name}: nothing was asked");
    }
    // No connection, no TLS, no proxy.
    let mock = MockServer::start(Scenario::new()).await.unwrap();
    let plain = mock.base_url();
    let dead = "http://127.0.0.1:9".to_owned();
    let proxied = ProxyEnvironment {
        http: Some(format!("http://user:{PASSWORD}@127.0.0.1:9")),
        ..ProxyEnvironment::default()
    };
    seen.debug("proxy", &proxied);
    for (name, base_url, proxy) in [
        ("refused", dead, ProxyEnvironment::default()),
        ("no TLS", plain.replace("http:", "https:"), ProxyEnvironment::default()),
        ("no proxy", "http://api.example/v1".to_owned(), proxied),
    ] {
        let build = || {
            let builder = GatewayClient::builder().proxy(proxy.clone());
            builder.build(settings(base_url.clone(), &path)).unwrap()
        };
        ask(&mut seen, name, build).await;
    }
    configurations(&mut seen);
    seen.see("the log", String::from_utf8_lossy(&log.0.lock().expect("whole")).into_owned());
    for entry in fs::read_dir(folder.path()).unwrap() {
        let file = entry.unwrap().path();
        let bytes = fs::read(&file).unwrap();
        seen.see(&file.display().to_string(), String::from_utf8_lossy(&bytes).into_owned());
    }
    assert!(seen.0.len() > 200, "{} things were seen", seen.0.len());
    seen.search();
}

/// Secrets in the places of the configuration, right and wrong ones.
fn configurations(seen: &mut Seen) {
    for (name, lines) in [
        (
            "right",
            format!("LLM__QWEN__1__BASE_URL=https://a.example\nLLM__QWEN__1__API_KEY={KEY}\n"),
        ),
        ("in the URL", format!("LLM__QWEN__1__BASE_URL=https://u:{PASSWORD}@a.example\n")),
        ("in the query", format!("LLM__QWEN__1__BASE_URL=https://a.example?key={KEY}\n")),
        ("as a number", format!("LLM__QWEN__1__RPM={KEY}\n")),
        ("as a word", format!("LLM__SELECTOR={KEY}\nPGW_QUOTA_FULL={KEY}\n")),
        ("as a provider", format!("LLM_PROVIDER={KEY}\nLLM_BASE_URL={KEY}\n")),
        ("with a blank", format!("LLM__QWEN__1__API_KEY={KEY} {KEY}\n")),
        ("twice", format!("LLM__QWEN__1__API_KEY={KEY}\nLLM__QWEN__1__API_KEY={KEY}\n")),
        ("garbled", format!("LLM__QWEN__1__API_KEY:{KEY}\n{KEY}\n")),
        ("as a file", format!("LLM__QWEN__1__API_KEY_FILE=/nowhere/{KEY}\n")),
    ] {
        match Environment::from_dotenv(&(lines + "LLM__QWEN__1__MODEL=m\n")) {
            Err(error) => seen.see(name, format!("{error} {error:?}")),
            Ok(environment) => {
                seen.debug(name, &environment);
                match CheckReport::load(&environment, "LLM") {
                    Err(error) => seen.see(name, format!("{error} {error:?}")),
                    Ok(report) => {
                        seen.debug(name, &report);
                        seen.see(
                            name,
                            format!("{report}{}", serde_json::to_string(&report).unwrap()),
                        );
                    }
                }
            }
        }
    }
}
