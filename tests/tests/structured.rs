//! Structured answers through the whole client, over real HTTP.
#![expect(clippy::unwrap_used, reason = "a test that can't be set up should fail there")]

use pgw_client::{
    CacheSettings, ChatEvent, FailureClass, GatewayClient, GatewaySettings, SourceConfig,
};
use pgw_mock::{Answer, ChatReply, Endpoint, MockServer, Scenario};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

#[derive(Debug, Deserialize, JsonSchema, PartialEq)]
struct City {
    name: String,
    inhabitants: u64,
}

async fn mock(texts: &[&str]) -> MockServer {
    let answers =
        texts.iter().map(|text| Answer::chat(ChatReply::new(*text).model("gpt-4o").usage(100, 10)));
    MockServer::start(Scenario::new().endpoint(Endpoint::chat().answers(answers))).await.unwrap()
}

fn settings(mock: &MockServer, provider: &str) -> GatewaySettings {
    let source = SourceConfig::new("only", provider, mock.base_url(), "key", "gpt-4o");
    GatewaySettings::new("LLM", vec![source])
}

fn client(mock: &MockServer, provider: &str) -> GatewayClient {
    GatewayClient::from_settings(settings(mock, provider)).unwrap()
}

const OSLO: &str = "Here you are:\n```json\n{'name': 'Oslo', 'inhabitants': 717_710}\n```";
const GOOD: &str = r#"{"name": "Oslo", "inhabitants": 717710}"#;

/// STR-001, STR-008, MID-120, MID-123, MID-129: a type is asked for, a wrong answer is asked for
/// again with what is wrong, and both are paid for.
#[tokio::test]
async fn a_value_of_a_type_is_asked_for_until_it_is_right() {
    let mock = mock(&[OSLO, GOOD]).await;
    let client = client(&mock, "openai");
    let answer = client.chat("Norway's capital?").structured::<City>().await.unwrap();
    assert_eq!(answer.value, City { name: "Oslo".into(), inhabitants: 717_710 });
    assert_eq!(answer.response.content, GOOD);
    assert_eq!((answer.response.prompt_tokens, answer.response.completion_tokens), (200, 20));
    assert_eq!(answer.response.trace.attempts.len(), 2);
    let price = answer.response.cost.unwrap();
    assert!((price - 2.0 * (100.0 * 2.5 + 10.0 * 10.0) / 1e6).abs() < 1e-12, "{price}");
    let bodies: Vec<_> = mock.requests().iter().map(|sent| sent.json().unwrap()).collect();
    assert_eq!(bodies.len(), 2);
    let format = &bodies[0]["response_format"];
    assert_eq!(
        (&format["type"], &format["json_schema"]["name"]),
        (&json!("json_schema"), &json!("City"))
    );
    assert_eq!(format["json_schema"]["strict"], true);
    let second = &bodies[1]["messages"];
    assert_eq!(second[1], json!({"role": "assistant", "content": OSLO}));
    let told = second[2]["content"].as_str().unwrap();
    assert!(told.contains("/inhabitants") && told.contains("717_710"), "{told}");
}

/// OAI-029, MID-126, MID-131: a provider without schemas gets none; a caller may keep it unsaid on the
/// first question, and the second says it.
#[tokio::test]
async fn the_schema_is_said_where_it_is_understood() {
    for (provider, unsaid, said) in [
        ("openai", false, [true, true]),
        ("openai", true, [false, true]),
        ("deepseek", false, [false, false]),
    ] {
        let mock = mock(&["no", GOOD]).await;
        let call = client(&mock, provider).chat("Norway's capital?");
        let call = if unsaid { call.schema_unsaid() } else { call };
        call.structured::<City>().await.unwrap();
        let sent = mock.requests();
        let formats = sent.iter().map(|sent| sent.json().unwrap().get("response_format").is_some());
        assert_eq!(formats.collect::<Vec<_>>(), said, "{provider}, {unsaid}");
    }
}

/// D67, MID-122, TYP-057: at the end of the ladder the error has the text and the faults; nothing is
/// asked more often than allowed, and the plan's bound counts every question.
#[tokio::test]
async fn the_end_of_the_ladder_tells_everything() {
    for reasks in [0, 2] {
        let mock = mock(&["{\"name\": 3}"]).await;
        let client = client(&mock, "openai");
        let call = client.chat("Norway's capital?").reasks(reasks).structured::<City>();
        let error = call.await.unwrap_err();
        assert_eq!(error.class(), Some(FailureClass::ResultInvalid));
        let call = error.call().unwrap();
        assert_eq!(call.partial().unwrap().content.as_deref(), Some("{\"name\": 3}"));
        let faults = &call.unreadable().unwrap().validation_errors;
        assert_eq!(faults.len(), 2, "{faults:?}");
        assert_eq!(u32::try_from(mock.requests().len()).unwrap(), reasks + 1);
    }
}

/// A schema as data, any JSON, and the caller's own change.
#[tokio::test]
async fn schemas_and_plain_json_give_data() {
    let mock = mock(&["Sure: {city: {name: 'Oslo'}}"]).await;
    let client = client(&mock, "deepseek");
    let any = client.chat("Norway's capital?").json().await.unwrap();
    assert_eq!(any.structured_data, Some(json!({"city": {"name": "Oslo"}})));
    let schema = json!({"type": "object", "required": ["name"]});
    let call = client.chat("Norway's capital?").normalize(|mut value| value["city"].take());
    let answer = call.json_schema("city", schema).await.unwrap();
    assert_eq!(answer.structured_data, Some(json!({"name": "Oslo"})));
    assert_eq!(answer.content, "Sure: {city: {name: 'Oslo'}}", "the text is what came");
}

/// Bad input: a name or a schema that is none is refused before anything is sent, by its field.
#[tokio::test]
async fn a_bad_schema_is_refused_before_anything_is_sent() {
    let mock = mock(&[GOOD]).await;
    let client = client(&mock, "openai");
    for (name, schema, field) in [
        ("two words", json!({}), "structured.name"),
        ("city", json!([]), "structured.schema"),
        ("city", json!({"type": "thing"}), "structured.schema/type"),
    ] {
        let error = client.chat("?").json_schema(name, schema).await.unwrap_err();
        assert_eq!(error.call().unwrap().param(), Some(field), "{error}");
    }
    assert_eq!(mock.requests().len(), 0);
}

/// A structured stream is handed out when it has passed, and a kept answer is read again.
#[tokio::test]
async fn streams_and_kept_answers_are_read_too() {
    let mock = mock(&["no", GOOD]).await;
    let mut settings = settings(&mock, "openai");
    settings.cache = Some(CacheSettings::new("lab", std::time::Duration::from_mins(1)));
    let client = GatewayClient::from_settings(settings).unwrap();
    for cache_hit in [false, true] {
        let call = client.chat("Norway's capital?").json_schema("city", json!({"type": "object"}));
        let mut stream = call.stream().await.unwrap();
        let mut text = String::new();
        while let Some(event) = stream.next_event().await {
            if let ChatEvent::ContentDelta { text: more, .. } = event.unwrap() {
                text += &more;
            }
        }
        let response = stream.into_response().unwrap();
        assert_eq!((text.as_str(), response.cache_hit), (GOOD, cache_hit));
        assert_eq!(response.structured_data.unwrap()["name"], "Oslo");
    }
    assert_eq!(mock.requests().len(), 2);
}
