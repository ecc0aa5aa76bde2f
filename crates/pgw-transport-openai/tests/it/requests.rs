//! What goes out.

use pgw_mock::{Answer, MockServer, Scenario};
use pgw_ports::{AttemptCx, Transport as _};
use pgw_transport_openai::{OpenAiTransport, ProxyOptions, SetupError};
use pgw_types::{ChatRequest, Fault, ProviderProfile, SourceConfig};
use serde_json::json;
use std::sync::Arc;

use crate::bench::{Bench, KEY, content, good, hello, profile, read};

/// OAI-002: the key is preset, and the pool of the source keeps its connection.
#[tokio::test]
async fn two_calls_share_a_connection_and_carry_the_key() {
    let bench = Bench::new([good()]).await;
    for _ in 0..2 {
        assert_eq!(content(bench.stream().await), "hello");
    }
    assert_eq!(bench.mock.counters().accepted_connections, 1);
    for request in bench.mock.requests() {
        assert_eq!(request.bearer(), Some(KEY));
        assert_eq!((request.method(), request.path()), ("POST", "/v1/chat/completions"));
        assert_eq!(request.header("content-type"), Some("application/json"));
        assert_eq!(request.header("accept"), Some("text/event-stream"));
        // A proxy that compresses a stream delivers it in bursts (nexu-io/open-design#99).
        assert_eq!(request.header("accept-encoding"), Some("identity"));
    }
}

/// OAI-018: some services want the key in a header of their own.
#[tokio::test]
async fn a_profile_says_how_the_key_is_presented() {
    let bench = Bench::with([good()], "azure", |_| {}).await;
    bench.stream().await;
    let request = &bench.mock.requests()[0];
    assert_eq!((request.header("api-key"), request.bearer()), (Some(KEY), None));
}

#[tokio::test]
async fn a_source_without_a_key_sends_none() {
    let bench = Bench::with([good()], "generic", |source| source.api_key = "".into()).await;
    assert_eq!(content(bench.stream().await), "hello");
    assert_eq!(bench.mock.requests()[0].header("authorization"), None);
}

/// OAI-003: usage is asked for in every stream, and only there.
#[tokio::test]
async fn usage_is_asked_for_in_streams() {
    let bench = Bench::new([good()]).await;
    bench.stream().await;
    bench.plain().await;
    let bodies: Vec<_> = bench.mock.requests().iter().map(|r| r.json().unwrap()).collect();
    assert_eq!(bodies[0]["stream"], true);
    assert_eq!(bodies[0]["stream_options"], json!({"include_usage": true}));
    assert_eq!(bodies[1]["stream"], false);
    assert!(bodies[1].get("stream_options").is_none());
}

/// OAI-028: what a message holds goes out to the letter.
#[tokio::test]
async fn multimodal_messages_pass_through_byte_for_byte() {
    let messages = concat!(
        r#"[{"role":"user","content":[{"type":"image_url","image_url":{"url":"#,
        r#""data:image/png;base64,iVBORw0KGgo=","detail":"high"}},"#,
        r#"{"type":"text","text":"what is this? 你好 \"quoted\" \n"},"#,
        r#"{"type":"novel","z":[1,null,{"b":1.5,"a":true}]}],"name":"u"}]"#
    );
    let request = ChatRequest::new(serde_json::from_str(messages).unwrap());
    let bench = Bench::new([good()]).await;
    read(bench.open(request, true).await.unwrap()).await;
    let requests = bench.mock.requests();
    let sent = std::str::from_utf8(requests[0].body()).unwrap();
    assert!(sent.contains(&format!(r#""messages":{messages}"#)), "{sent}");
}

/// House rule 7: what the service has no word for is refused before anything is sent.
#[tokio::test]
async fn what_cannot_be_said_is_not_sent() {
    let bench = Bench::with([good()], "generic", |s| s.enable_thinking = Some(false)).await;
    let error = bench.open(hello(), true).await.err().unwrap();
    assert_eq!((error.fault(), error.param()), (Fault::UnsupportedParam, Some("thinking")));
    assert_eq!(bench.mock.counters().received(), 0);
}

/// OAI-022: a provider of one's own is one value.
#[tokio::test]
async fn a_registered_profile_is_all_that_a_new_provider_needs() {
    let mut own = ProviderProfile::plain("own", &[]);
    own.thinking_on = Some(r#"{"ponder":true}"#.into());
    own.error_rules = vec![pgw_types::ErrorRule::code("E7", Fault::Quota)].into();
    let mut bench = Bench::with([good(), Answer::error(418, "E7", "no")], "generic", |source| {
        source.enable_thinking = Some(true);
    })
    .await;
    bench.transport = OpenAiTransport::new(&bench.source, own, None).unwrap();
    assert_eq!(content(bench.stream().await), "hello");
    assert_eq!(bench.mock.requests()[0].json().unwrap()["ponder"], true);
    assert_eq!(bench.stream().await.1.unwrap().fault(), Fault::Quota);
}

/// OAI-033: proxies are handed in; nothing else can make a call take another way.
#[tokio::test]
async fn a_proxy_that_is_handed_in_is_used() {
    let proxy = MockServer::start(Scenario::new()).await.unwrap();
    let source = SourceConfig::new("s", "generic", "http://upstream.example/v1", KEY, "m");
    let through = ProxyOptions {
        http: Some(format!("http://{}", proxy.address())),
        ..ProxyOptions::default()
    };
    let transport = OpenAiTransport::new(&source, profile("generic"), Some(through)).unwrap();
    let attempt = AttemptCx { source: Arc::new(source), call_id: "a".into(), stream: true };
    assert!(transport.open(&attempt, &Arc::new(hello())).await.is_err());
    let target = "http://upstream.example/v1/chat/completions";
    assert_eq!(proxy.requests()[0].path(), target);
}

/// D83: what can't be set up is said without the secrets in it.
#[test]
fn faults_of_the_setup_show_no_secret() {
    let set_up = |url: &str, key: &str, auth: Option<&'static str>, proxy: Option<&str>| {
        let source = SourceConfig::new("s", "generic", url, key, "m");
        let mut profile = profile("generic");
        if let Some(name) = auth {
            profile.auth = pgw_types::Auth::Header(name.into());
        }
        let proxy = proxy.map(|all| ProxyOptions { all: Some(all.into()), ..Default::default() });
        let shown = proxy.as_ref().map(|proxy| format!("{proxy:?}")).unwrap_or_default();
        assert!(!shown.contains("canary"), "{shown}");
        OpenAiTransport::new(&source, profile, proxy).unwrap_err()
    };
    let url = "http://a.example/v1";
    let errors = [
        set_up("http://a b.example/canary", KEY, None, None),
        set_up(url, "canary\n", None, None),
        set_up(url, KEY, Some("not a name"), None),
        set_up(url, KEY, None, Some("gopher://u:canary@proxy.example")),
    ];
    let kinds = errors.iter().map(|error| match error {
        SetupError::Url(_) => "url",
        SetupError::Key => "key",
        SetupError::KeyHeader => "header",
        SetupError::Http(_) => "http",
    });
    assert_eq!(kinds.collect::<Vec<_>>(), ["url", "key", "header", "http"]);
    for error in &errors {
        let shown = format!("{error} {error:?}");
        assert!(!shown.contains("canary"), "{shown}");
    }
    let source = SourceConfig::new("s", "generic", "http://a.example/v1", KEY, "m");
    let transport = OpenAiTransport::new(&source, profile("generic"), None).unwrap();
    assert!(!format!("{transport:?}").contains(KEY));
}
