//! Request bodies, beyond the usual.

use std::collections::BTreeSet;

use pgw_types::{ChatRequest, Fault, Message, ProviderProfile, SourceConfig, Thinking};
use pgw_wire::chat::encode_request;
use serde::{
    Deserialize,
    de::{IgnoredAny, MapAccess, Visitor},
};
use serde_json::json;

use crate::fold::profile;

/// The names of an object's members, as often as they come.
struct Names(Vec<String>);

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameVisitor;

        impl<'de> Visitor<'de> for NameVisitor {
            type Value = Names;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Names, A::Error> {
                let mut names = Vec::new();
                while let Some((name, IgnoredAny)) = map.next_entry()? {
                    names.push(name);
                }
                Ok(Names(names))
            }
        }

        deserializer.deserialize_map(NameVisitor)
    }
}

fn encode(request: &ChatRequest, profile: &ProviderProfile) -> String {
    let source = SourceConfig::new("s", "generic", "https://a.example/v1", "key", "m");
    let body = encode_request(request, &source, profile, true).unwrap();
    String::from_utf8(body.to_vec()).unwrap()
}

/// GWY-026: no member comes twice, whichever two places name it.
#[test]
fn no_member_comes_twice() {
    let mut effort = profile("generic");
    effort.thinking_on = Some(r#"{"reasoning_effort":"high"}"#.into());
    let mut request = ChatRequest::new(vec![Message::user("hi")]);
    request.thinking = Some(Thinking::On { budget: None });
    request.reasoning_effort = Some("low".into());
    for name in ["model", "messages", "stream", "stream_options", "reasoning_effort", "user"] {
        request.options.insert(name.into(), json!("from options"));
    }
    request.provider_options.insert("user".into(), json!("from provider options"));
    let body = encode(&request, &effort);
    let Names(names) = serde_json::from_str(&body).unwrap();
    let once: BTreeSet<_> = names.iter().collect();
    assert_eq!(once.len(), names.len(), "{names:?}");
    let body: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert_eq!(body["user"], "from provider options");
    assert_eq!(body["stream"], true);
    assert_eq!(body["model"], "m");
    assert_eq!(body["messages"][0]["content"], "hi");
    // The switch of this call is what was asked for last.
    assert_eq!(body["reasoning_effort"], "high");
}

/// A profile whose table is wrong is refused; nothing that was asked for is dropped.
#[test]
fn a_budget_that_has_no_place_is_refused() {
    let mut odd = profile("generic");
    odd.thinking_on = Some(r#"{"reasoning":true}"#.into());
    odd.thinking_budget = Some("reasoning.max_tokens".into());
    let mut request = ChatRequest::new(vec![Message::user("hi")]);
    request.thinking = Some(Thinking::On { budget: Some(10) });
    let source = SourceConfig::new("s", "generic", "https://a.example/v1", "key", "m");
    let error = encode_request(&request, &source, &odd, true).unwrap_err();
    assert_eq!(error.fault(), Fault::UnsupportedParam);
}
