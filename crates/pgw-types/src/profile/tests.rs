//! Tests of the tables: they are data, so their form is what can be wrong.

use std::collections::BTreeSet;

use super::*;

/// OAI-017, OAI-018: explicit entries, one per name.
#[test]
fn names_are_unique_and_plain() {
    let profiles = built_in_profiles();
    let names: BTreeSet<_> = profiles.iter().map(|profile| profile.name.as_ref()).collect();
    assert_eq!(names.len(), profiles.len());
    assert!(names.iter().all(|name| name.bytes().all(|b| b.is_ascii_lowercase())), "{names:?}");
    assert_eq!(profiles[0].name, "generic");
}

/// OAI-019, OAI-020: the switches are JSON objects, and come in pairs.
#[test]
fn thinking_switches_are_objects() {
    for profile in built_in_profiles() {
        assert_eq!(profile.thinking_on.is_some(), profile.thinking_off.is_some());
        for text in [&profile.thinking_on, &profile.thinking_off].into_iter().flatten() {
            let value: serde_json::Value = serde_json::from_str(text).unwrap();
            assert!(value.is_object(), "{}: {text}", profile.name);
        }
    }
}

#[test]
fn every_rule_has_a_condition_and_lower_case_texts() {
    for rule in known_error_rules() {
        let named = rule.status.is_some() || rule.code.is_some() || !rule.texts.is_empty();
        assert!(named, "{rule:?}");
        assert!(rule.texts.iter().all(|text| text.to_lowercase() == **text), "{rule:?}");
    }
}

/// Behind a relay the words of every provider are understood.
#[test]
fn every_profile_with_rules_is_in_the_union() {
    let union: Vec<_> = known_error_rules().collect();
    for profile in built_in_profiles() {
        for rule in profile.error_rules.iter() {
            assert!(union.contains(&rule), "{}: {rule:?}", profile.name);
        }
    }
}
