//! The price table at work in the choice of sources.

use pgw_client::{GatewayClient, GatewaySettings, OnFull, SourceConfig, UsageSource};
use pgw_mock::{Answer, ChatReply, Endpoint, Match, MockServer, Scenario};

/// GWY-083, GWY-085: over the built-in prices the cheaper model is asked first and the unpriced one
/// last, whatever order they are configured in; and what they cost is on the answer.
#[tokio::test]
async fn the_cheapest_source_is_asked_first() {
    const CHEAPEST_FIRST: [&str; 3] = ["gpt-4o-mini", "gpt-4o", "made-up-model"];
    // Each model refuses one call more than those before it, so the order shows.
    let mut scenario = Scenario::new();
    for model in CHEAPEST_FIRST {
        let refusal = Answer::error(429, "rate_limit_exceeded", "slow down");
        let reply = ChatReply::new("Hello there").model(model).usage(1_000_000, 1_000_000);
        let endpoint = Endpoint::chat().named(model).matching(Match::any().model(model));
        scenario = scenario.endpoint(
            endpoint.answer(Answer::chat(reply)).answer(refusal.header("retry-after", "60")),
        );
    }
    let mock = MockServer::start(scenario).await.unwrap();
    let source = |model: &&str| SourceConfig::new(*model, "openai", mock.base_url(), "key", *model);
    let sources = CHEAPEST_FIRST.iter().rev().map(source).collect();
    let mut settings = GatewaySettings::new("LLM", sources);
    settings.selector = "lowest_cost".into();
    settings.retry.max_attempts = 4;
    settings.retry.base_delay = std::time::Duration::from_millis(1);
    settings.retry.max_delay = settings.retry.base_delay;
    settings.backpressure.on_full = OnFull::FailFast;
    let client = GatewayClient::from_settings(settings).unwrap();
    let mut asked = Vec::new();
    let mut costs = Vec::new();
    for _ in CHEAPEST_FIRST {
        let answer = client.chat("Hello?").await.unwrap();
        asked.push(answer.source_name.clone());
        costs.push(answer.cost);
    }
    assert_eq!(asked, CHEAPEST_FIRST);
    assert!(costs[0].unwrap() < costs[1].unwrap(), "{costs:?}");
    assert_eq!(costs[2], None);
}

/// D73: equal usage costs the same streamed and whole, for every provider that reports it in both.
#[tokio::test]
async fn equal_usage_costs_the_same_streamed_and_whole() {
    let reply = ChatReply::new("Hello there").model("gpt-4o").usage(1_234, 567);
    let endpoint = Endpoint::chat().answer(Answer::chat(reply));
    let mock = MockServer::start(Scenario::new().endpoint(endpoint)).await.unwrap();
    let expected = (1_234.0 * 2.5 + 567.0 * 10.0) / 1e6;
    // The mock, like most services, reports usage in a stream only when it is asked to.
    let asking = pgw_types::built_in_profiles().into_iter().filter(|profile| profile.stream_usage);
    for profile in asking {
        let source = SourceConfig::new("s", &*profile.name, mock.base_url(), "key", "gpt-4o");
        let settings = GatewaySettings::new("LLM", vec![source]);
        let client = GatewayClient::from_settings(settings).unwrap();
        let streamed = client.chat("Hello?").await.unwrap();
        let whole = client.chat("Hello?").plain().await.unwrap();
        assert!(streamed.ttft_ms.is_some() && whole.ttft_ms.is_none(), "{}", profile.name);
        for answer in [streamed, whole] {
            assert_eq!(answer.usage_source, UsageSource::Measured, "{}", profile.name);
            assert!((answer.cost.unwrap() - expected).abs() < 1e-12, "{}", profile.name);
        }
    }
}
