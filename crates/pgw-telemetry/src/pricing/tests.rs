//! Tests of the price table.

use super::*;
use crate::doubles::Log;

fn usage(prompt: u64, completion: u64) -> Usage {
    Usage { prompt_tokens: prompt, completion_tokens: completion, ..Usage::default() }
}

fn close(found: Option<f64>, expected: f64) {
    let found = found.expect("a price is known");
    assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
}

fn table(models: &str) -> PriceTable {
    PriceTable::from_json(&format!("{{\"models\": {models}}}")).unwrap()
}

// REQ TEL-009
#[test]
fn the_built_in_table_is_sound_and_says_where_it_comes_from() {
    let table = PriceTable::built_in().unwrap();
    assert!(table.prices.len() >= 25);
    for (model, price) in &table.prices {
        assert!(!price.source.is_empty(), "{model}");
        assert_eq!(price.date.len(), 10, "{model}");
        assert!(price.cached_input.is_none_or(|cached| cached <= price.input), "{model}");
    }
    for model in ["gpt-4o", "gpt-4.1-mini", "o3", "deepseek-chat", "qwen-plus", "glm-4.5"] {
        assert!(table.price(model).is_some(), "{model}");
    }
}

// REQ TEL-009
#[test]
fn each_token_is_priced_once() {
    let table = table(
        r#"{"m": {"input": 2.0, "output": 8.0, "cached_input": 0.5, "reasoning": 10.0},
            "plain": {"input": 2.0, "output": 8.0}}"#,
    );
    close(table.cost("m", &usage(1_000_000, 500_000)), 6.0);
    let mut usage = usage(1_000, 100);
    usage.cached_tokens = Some(400);
    usage.reasoning_tokens = Some(60);
    // 600 × 2 + 400 × 0.5 + 40 × 8 + 60 × 10
    close(table.cost("m", &usage), 2_320.0 / 1e6);
    // Without rates of their own they are priced as what they are part of.
    close(table.cost("plain", &usage), 2_800.0 / 1e6);
    // More cached than sent can't be; it costs no more than all.
    usage.cached_tokens = Some(5_000);
    usage.reasoning_tokens = None;
    close(table.cost("m", &usage), (500.0 + 800.0) / 1e6);
    close(table.rank("m"), 10.0);
}

#[test]
fn a_free_model_costs_nothing_which_is_not_unknown() {
    let table = PriceTable::built_in().unwrap();
    assert_eq!(table.cost("glm-4.5-flash", &usage(10, 10)), Some(0.0));
}

#[test]
fn a_name_is_found_without_its_prefix_and_date() {
    let table = table(
        r#"{"a": {"input": 1, "output": 0}, "a-2024-05-13": {"input": 2, "output": 0},
            "relay/a": {"input": 3, "output": 0}}"#,
    );
    for (name, input) in [
        ("a", 1.0),
        ("a-2024-08-06", 1.0),
        ("a-20240806", 1.0),
        ("a-2024-05-13", 2.0),
        ("other/a", 1.0),
        ("x/other/a-2024-08-06", 1.0),
        ("other/a-2024-05-13", 2.0),
        ("relay/a", 3.0),
        ("relay/a-2024-08-06", 3.0),
    ] {
        close(table.rank(name), input);
    }
    for name in ["", "/", "b", "a-0806", "a-mini", "-2024-08-06", "é-2024-08-0é", "2024-08-06"] {
        assert_eq!(table.rank(name), None, "{name}");
    }
}

// REQ TEL-010
#[test]
fn an_unknown_model_has_no_cost_and_one_warning() {
    let table = PriceTable::built_in().unwrap();
    let log = Log::of(|| {
        for _ in 0..3 {
            assert_eq!(table.rank("nobody-knows"), None);
            assert_eq!(table.cost("nobody-knows", &usage(1, 1)), None);
        }
        assert_eq!(table.cost("nor-this", &usage(1, 1)), None);
    });
    assert_eq!(log.len(), 2, "{log:?}");
    assert!(log[0].contains("WARN") && log[0].contains("nobody-knows"));
}

#[test]
fn the_memory_of_warnings_is_bounded() {
    let table = PriceTable::default();
    let log = Log::of(|| {
        for number in 0..MOST_WARNINGS + 50 {
            table.cost(&format!("model {number}"), &usage(1, 1));
        }
    });
    assert_eq!(log.len(), MOST_WARNINGS + 1);
    assert!(log.last().unwrap().contains("no more"));
}

// REQ TEL-009
#[test]
fn the_entries_of_the_deployment_win() {
    let own =
        table(r#"{"gpt-4o": {"input": 0.1, "output": 0.2}, "mine": {"input": 1, "output": 1}}"#);
    let table = PriceTable::built_in().unwrap().with_overrides(own);
    close(table.rank("gpt-4o"), 0.1 + 0.2);
    close(table.rank("mine"), 2.0);
    assert!(table.rank("o3").is_some());
}

#[test]
fn what_is_wrong_is_named_with_its_model_and_field() {
    for (text, expected) in [
        (r#"{"models": {"m": {"input": "2", "output": 1}}}"#, "models.m.input"),
        (r#"{"models": {"m": {"input": 2}}}"#, "models.m"),
        (r#"{"models": {"m": {"input": 2}}}"#, "`output`"),
        (r#"{"models": {"m": {"input": 2, "output": 1, "cahced_input": 1}}}"#, "cahced_input"),
        (r#"{"models": {"m": {"input": 2, "output": -1}}}"#, "models.m.output: -1"),
        (r#"{"models": {}, "currency": "CNY"}"#, "CNY"),
        (r#"{"models": {}} more"#, "trailing"),
        ("", "wrong at"),
    ] {
        let error = PriceTable::from_json(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{error} lacks {expected}");
    }
}
