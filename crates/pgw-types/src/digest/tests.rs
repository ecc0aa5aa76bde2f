//! Tests of the digest: stability, sensitivity, size.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{Part, Role};

fn image(payload: &str) -> Message {
    let url = format!("data:image/png;base64,{payload}");
    Message::parts(Role::User, vec![Part::image_url(url), Part::text("what?")])
}

/// TYP-070, TEL-011: the payload is gone, the text is not.
#[test]
fn binary_parts_are_replaced_and_text_is_kept() {
    let stored = digest_messages(&[image(&"A".repeat(2_000_000))]).to_string();
    assert!(stored.len() < 10_000, "{}", stored.len());
    assert!(stored.contains("sha256:") && stored.contains("what?"));
    assert!(!stored.contains("AAAA"));
}

#[test]
fn bare_base64_members_are_payloads_too() {
    let part = json!({"type": "input_audio", "input_audio": {"data": "QUJD", "format": "wav"}});
    let part: Part = serde_json::from_value(part).unwrap();
    let stored = digest_messages(&[Message::parts(Role::User, vec![part])]).to_string();
    assert!(!stored.contains("QUJD") && stored.contains("wav"));
}

/// TYP-073.
#[test]
fn canonical_json_does_not_depend_on_insertion_order() {
    let one: Value = serde_json::from_str(r#"{"b": [1, {"y": 1, "x": "é\n"}], "a": 1.0}"#).unwrap();
    let two: Value = serde_json::from_str(r#"{"a":1.0,"b":[1,{"x":"é\u000a","y":1}]}"#).unwrap();
    assert_eq!(canonical_json(&one), canonical_json(&two));
    assert_eq!(canonical_json(&one), r#"{"a":1.0,"b":[1,{"x":"é\n","y":1}]}"#);
}

proptest! {
    /// TYP-072: equal bytes give equal digests, any changed byte gives another.
    #[test]
    fn a_changed_byte_changes_the_digest(
        payload in "[A-Za-z0-9+/]{1,200}", place in any::<prop::sample::Index>(), text in ".*",
    ) {
        let digest = |payload: &str, text: &str| {
            let mut message = image(payload);
            message.extra.insert("name".into(), text.into());
            messages_digest(&[message])
        };
        prop_assert_eq!(digest(&payload, &text), digest(&payload, &text));
        let mut changed = payload.clone().into_bytes();
        let at = place.index(changed.len());
        changed[at] = if changed[at] == b'x' { b'y' } else { b'x' };
        let changed = String::from_utf8(changed).unwrap();
        prop_assert_ne!(digest(&payload, &text), digest(&changed, &text));
        let longer = format!("{text}x");
        prop_assert_ne!(digest(&payload, &text), digest(&payload, &longer));
    }
}
