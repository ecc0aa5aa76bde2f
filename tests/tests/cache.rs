//! The answer cache through the whole client, over real HTTP.
#![expect(clippy::unwrap_used, reason = "a test that can't be set up should fail there")]

use std::{sync::Arc, time::Duration};

use pgw_backend_memory::MemoryCache;
use pgw_client::{
    CacheSettings, CacheUse, ChatEvent, GatewayClient, GatewaySettings, PgwError, SourceConfig,
    TelemetrySettings,
};
use pgw_middleware::TokioClock;
use pgw_mock::{Answer, ChatReply, Endpoint, MockServer, Scenario};

/// Each answer is another one.
async fn mock() -> MockServer {
    let answers = (0..9).map(|number| {
        Answer::chat(ChatReply::new(format!("answer {number}")).model("m").usage(5, 2))
    });
    MockServer::start(Scenario::new().endpoint(Endpoint::chat().answers(answers))).await.unwrap()
}

fn settings(mock: &MockServer, namespace: &str) -> GatewaySettings {
    let source = SourceConfig::new("only", "generic", mock.base_url(), "key", "m");
    let mut settings = GatewaySettings::new("LLM", vec![source]);
    settings.cache = Some(CacheSettings::new(namespace, Duration::from_hours(1)));
    settings
}

/// MID-001, MID-008, MID-084, TEL-016: the second call is a hit, and its record says so.
#[tokio::test]
async fn a_second_call_is_a_hit() {
    let mock = mock().await;
    let folder = tempfile::tempdir().unwrap();
    let mut settings = settings(&mock, "lab");
    settings.telemetry = TelemetrySettings::Sqlite { path: folder.path().join("calls.sqlite") };
    let client = GatewayClient::from_settings(settings).unwrap();
    assert_eq!(client.describe(), "telemetry > cache > structured > retry");
    let first = client.chat("Hello?").session("s").await.unwrap();
    let second = client.chat("Hello?").session("s").await.unwrap();
    assert_eq!((&*second.content, second.cache_hit), (&*first.content, true));
    assert_eq!(mock.requests().len(), 1);
    client.aclose().await;
    let log = pgw_client::CallLog::open(folder.path().join("calls.sqlite")).unwrap();
    let rows = log.calls_of_session("s").unwrap();
    let told: Vec<_> = rows.iter().map(|row| (row.cache_hit, row.cost, row.attempt)).collect();
    assert_eq!(told, [(false, None, Some(0)), (true, Some(0.0), None)]);
}

/// D55: two tenants that send identical bodies never hit each other's answers, unless both name the
/// same shared name space; not even over one store.
#[tokio::test]
async fn tenants_never_meet_unless_they_say_so() {
    let mock = mock().await;
    let store = Arc::new(MemoryCache::new(1 << 20, Arc::new(TokioClock::default())));
    let client = |namespace: &str| {
        let builder = GatewayClient::builder().cache(Arc::clone(&store) as _);
        builder.build(settings(&mock, namespace)).unwrap()
    };
    let (one, other) = (client("tenant-1"), client("tenant-2"));
    let first = one.chat("Hello?").await.unwrap();
    let second = other.chat("Hello?").await.unwrap();
    assert!(!second.cache_hit && second.content != first.content);
    // One client that serves many tenants.
    let third = one.chat("Hello?").namespace("tenant-3").await.unwrap();
    assert!(!third.cache_hit);
    assert_eq!(one.chat("Hello?").namespace("tenant-2").await.unwrap().content, second.content);
    for client in [&one, &other] {
        client.chat("Shared?").namespace("everybody").await.unwrap();
    }
    assert_eq!(mock.requests().len(), 4, "the second of them was a hit");
}

/// The words of a call: salt, use, time.
#[tokio::test]
async fn a_call_has_its_say_about_the_cache() {
    let mock = mock().await;
    let client = GatewayClient::from_settings(settings(&mock, "lab")).unwrap();
    let ask = async |cache: CacheUse, salt: Option<&str>| {
        let call = client.chat("Hello?").cache(cache).cache_ttl(Duration::from_mins(1));
        let call = match salt {
            Some(salt) => call.salt(salt),
            None => call,
        };
        call.await.unwrap().content
    };
    assert_eq!(ask(CacheUse::Off, None).await, "answer 0");
    assert_eq!(ask(CacheUse::Default, None).await, "answer 1");
    assert_eq!(ask(CacheUse::Default, None).await, "answer 1");
    assert_eq!(ask(CacheUse::Default, Some("epoch-2")).await, "answer 2");
    assert_eq!(ask(CacheUse::Refresh, None).await, "answer 3");
    assert_eq!(ask(CacheUse::ReadOnly, None).await, "answer 3");
}

/// A stream is kept when it is complete, and a hit is handed out as a stream.
#[tokio::test]
async fn streams_are_kept_and_replayed() {
    let mock = mock().await;
    let client = GatewayClient::from_settings(settings(&mock, "lab")).unwrap();
    let mut texts = Vec::new();
    for _ in 0..2 {
        let mut stream = client.chat("Hello?").stream().await.unwrap();
        let mut text = String::new();
        while let Some(event) = stream.next_event().await {
            if let ChatEvent::ContentDelta { text: more, .. } = event.unwrap() {
                text += &more;
            }
        }
        texts.push((text, stream.into_response().unwrap().cache_hit));
    }
    let answer = "answer 0".to_owned();
    assert_eq!(texts, [(answer.clone(), false), (answer, true)]);
    assert_eq!(mock.requests().len(), 1);
}

/// CLI-026: a store without rules is refused at assembly.
#[tokio::test]
async fn a_store_without_rules_is_refused() {
    let mock = mock().await;
    let store = Arc::new(MemoryCache::new(1 << 20, Arc::new(TokioClock::default())));
    let settings = GatewaySettings { cache: None, ..settings(&mock, "lab") };
    let error = GatewayClient::builder().cache(store).build(settings).unwrap_err();
    assert!(matches!(error, PgwError::Config(_)), "{error}");
    assert!(error.to_string().contains("cache: has a backend but no settings"), "{error}");
}
