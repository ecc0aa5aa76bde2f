//! Tiers over real HTTP and the real gates: siblings first, then the next tier, whatever keeps the
//! first one from serving (songquanpeng/one-api#544).
#![expect(clippy::unwrap_used, reason = "a test that can't be set up should fail there")]

use std::time::Duration;

use pgw_client::{GatewayClient, GatewaySettings, LlmResponse, OnFull, SourceConfig, SourceReason};
use pgw_mock::{Answer, ChatReply, Endpoint, Match, MockServer, Scenario, Step};

/// The sources of the first tier.
const FIRST: [&str; 2] = ["first-1", "first-2"];

fn hello() -> Answer {
    Answer::chat(ChatReply::new("Hello there").model("m").usage(5, 2))
}

fn full() -> Answer {
    Answer::error(429, "rate_limit_exceeded", "slow down").header("retry-after", "60")
}

fn busy() -> Answer {
    Answer::sse([Step::Stall])
}

/// A mock that tells the accounts apart by their keys; each account is named like its source.
async fn mock(first: [Answer; 2]) -> MockServer {
    let account = |name: &str, answer: Answer| {
        let endpoint = Endpoint::chat().named(name).matching(Match::any().bearer(name));
        endpoint.answer(answer)
    };
    let [one, two] = first;
    let scenario = Scenario::new()
        .endpoint(account(FIRST[0], one))
        .endpoint(account(FIRST[1], two))
        .endpoint(account("second", hello()));
    MockServer::start(scenario).await.unwrap()
}

fn client(mock: &MockServer, on_full: OnFull) -> GatewayClient {
    let source = |name: &str, tier: u32| {
        let mut source = SourceConfig::new(name, "generic", mock.base_url(), name, "m");
        source.tier = tier;
        source.limits.max_concurrency = Some(1);
        source
    };
    // The order of the list must not matter.
    let sources = vec![source("second", 1), source(FIRST[0], 0), source(FIRST[1], 0)];
    let mut settings = GatewaySettings::new("LLM", sources);
    settings.selector = "ordered".into();
    settings.retry.base_delay = Duration::from_millis(2);
    settings.retry.max_delay = Duration::from_millis(2);
    settings.backpressure.on_full = on_full;
    GatewayClient::from_settings(settings).unwrap()
}

fn skipped(answer: &LlmResponse) -> Vec<(&str, SourceReason)> {
    answer.trace.skips.iter().map(|skip| (&*skip.source_name, skip.reason)).collect()
}

fn received(mock: &MockServer) -> [u64; 3] {
    let counters = mock.counters();
    [FIRST[0], FIRST[1], "second"].map(|name| counters.endpoint(name).unwrap().received)
}

/// D49, D43: every source of the first tier answers 429; the second tier serves this call, and the
/// next one without asking the first again.
#[tokio::test]
async fn a_tier_at_429_spills_to_the_next() {
    let mock = mock([full(), full()]).await;
    let client = client(&mock, OnFull::Wait);
    let answer = client.chat("Hello?").await.unwrap();
    assert_eq!((&*answer.source_name, answer.trace.attempts.len()), ("second", 3));
    assert_eq!(received(&mock), [1, 1, 1]);
    let next = client.chat("Hello?").await.unwrap();
    assert_eq!((&*next.source_name, next.trace.attempts.len()), ("second", 1));
    assert_eq!(received(&mock), [1, 1, 2], "cooling sources are not asked");
}

/// D49: every source of the first tier is at its own limit; the second tier serves, whether a call
/// would wait or fail.
#[tokio::test]
async fn a_tier_at_its_limit_spills_to_the_next() {
    for on_full in [OnFull::Wait, OnFull::FailFast] {
        let mock = mock([busy(), busy()]).await;
        let client = client(&mock, on_full);
        // They end with the set.
        let mut holders = tokio::task::JoinSet::new();
        for _ in FIRST {
            holders.spawn(client.chat("Hold the line.").into_future());
        }
        mock.wait_until(|counters| counters.in_progress() == 2).await;
        let answer = client.chat("Hello?").await.unwrap();
        assert_eq!((&*answer.source_name, answer.trace.waited_ms), ("second", 0));
        let mut skips = skipped(&answer);
        skips.sort_unstable_by_key(|(name, _)| *name);
        assert_eq!(skips, FIRST.map(|name| (name, SourceReason::RateLimited)), "{on_full:?}");
    }
}

/// D49: a sibling comes before the next tier.
#[tokio::test]
async fn a_sibling_serves_before_the_next_tier() {
    let mock = mock([full(), hello()]).await;
    let client = client(&mock, OnFull::Wait);
    for _ in 0..3 {
        let answer = client.chat("Hello?").await.unwrap();
        assert_eq!(answer.source_name, FIRST[1]);
    }
    assert_eq!(received(&mock), [1, 3, 0]);
}
