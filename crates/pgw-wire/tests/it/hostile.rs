//! Bytes that no service should send: nothing panics, nothing depends on how they are cut.

use std::{fs, path::Path, sync::LazyLock};

use pgw_types::{AnomalyPolicy, ChatRequest, SourceConfig, built_in_profiles};
use pgw_wire::{
    chat::encode_request,
    error::{ErrorContext, classify, excerpt, in_band},
    sniff,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::fold::{context, document, profile, stream};

/// The bodies of the corpus.
static SEEDS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus");
    let mut seeds = Vec::new();
    for folder in ["sse", "http"] {
        for entry in fs::read_dir(corpus.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "txt") {
                let file = fs::read(path).unwrap();
                let head = file.windows(4).position(|four| four == b"\r\n\r\n" && folder == "http");
                seeds.push(file[head.map_or(0, |at| at + 4)..].to_vec());
            }
        }
    }
    // A failing case names its seed by number.
    seeds.sort();
    seeds
});

/// A place, how many bytes go, and what comes instead.
type Change = (prop::sample::Index, usize, Vec<u8>);

fn changed(mut bytes: Vec<u8>, changes: &[Change]) -> Vec<u8> {
    for (at, gone, instead) in changes {
        let at = at.index(bytes.len() + 1);
        let end = bytes.len().min(at + gone);
        bytes.splice(at..end, instead.iter().copied());
    }
    bytes
}

/// Signs of JSON and of the framing, and bytes of cut characters.
fn letters(most: usize) -> impl Strategy<Value = Vec<u8>> {
    let signs = prop::sample::select(&b"{}[]\",:\\ \n\r\r0a-.ntfeE\xef\xbb\xbf\xe4\xff\0"[..]);
    prop::collection::vec(prop_oneof![4 => signs, 1 => any::<u8>()], 0..most)
}

fn mutants() -> impl Strategy<Value = Vec<u8>> {
    let change = (any::<prop::sample::Index>(), 0..40_usize, letters(12));
    (0..SEEDS.len(), prop::collection::vec(change, 0..6))
        .prop_map(|(seed, changes)| changed(SEEDS[seed].clone(), &changes))
}

fn read_everywhere(bytes: &[u8]) {
    for policy in [AnomalyPolicy::Retry, AnomalyPolicy::Salvage] {
        let _ = stream(context(policy), [bytes]);
        let _ = document(context(policy), bytes);
    }
    let _ = sniff(bytes, true);
    for profile in built_in_profiles() {
        let headers = |_: &str| Some(String::from_utf8_lossy(bytes).into_owned());
        let context = ErrorContext { headers: &headers, ..ErrorContext::bare(&profile) };
        let error = classify(400, bytes, &context);
        assert!(!error.message().is_empty());
        let _ = in_band(&String::from_utf8_lossy(bytes), &context);
    }
}

fn seen(bytes: &[u8], cuts: &[usize], policy: AnomalyPolicy) -> String {
    let mut pieces = Vec::new();
    let mut from = 0;
    for &cut in cuts {
        pieces.push(&bytes[from..cut]);
        from = cut;
    }
    pieces.push(&bytes[from..]);
    let (events, result) = stream(context(policy), pieces);
    format!("{events:?} {:?}", result.map_err(|error| error.to_string()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None,
        ..ProptestConfig::default() })]

    /// GWY-063.
    #[test]
    fn no_bytes_make_it_panic(bytes in letters(400)) {
        read_everywhere(&bytes);
    }

    #[test]
    fn no_mutant_makes_it_panic(bytes in mutants()) {
        read_everywhere(&bytes);
    }

    #[test]
    fn any_split_of_a_mutant_gives_the_same(
        bytes in mutants(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
        salvage in any::<bool>(),
    ) {
        let policy = if salvage { AnomalyPolicy::Salvage } else { AnomalyPolicy::Retry };
        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.sort_unstable();
        let every: Vec<_> = (1..bytes.len()).collect();
        let whole = seen(&bytes, &[], policy);
        prop_assert_eq!(&seen(&bytes, &cuts, policy), &whole);
        prop_assert_eq!(&seen(&bytes, &every, policy), &whole);
    }

    /// OAI-028, TYP-026: a body that a client sends and we read and write again is the same body.
    #[test]
    fn a_request_survives_the_round_trip(body in bodies()) {
        let (request, delivery) = ChatRequest::from_openai(body.clone()).unwrap();
        let source = SourceConfig::new("s", "generic", "https://a.example/v1", "key", "m");
        let sent = encode_request(&request, &source, &profile("generic"), delivery.stream).unwrap();
        let sent: Value = serde_json::from_slice(&sent).unwrap();
        let mut wanted = body;
        wanted["stream"] = delivery.stream.into();
        if delivery.stream {
            wanted["stream_options"] = json!({"include_usage": true});
        }
        prop_assert_eq!(sent, wanted);
    }

    /// CLI-037: an excerpt is short, on one line, and shows no key.
    #[test]
    fn an_excerpt_is_short_and_shows_no_key(before in ".{0,600}", after in ".{0,40}") {
        let canary = "sk-CANARY0123456789abcdef";
        let shown = excerpt(&format!("{before}{canary}{after}"));
        prop_assert!(shown.chars().count() <= 501);
        prop_assert!(!shown.contains("CANARY"), "{}", shown);
        prop_assert!(!shown.contains(char::is_control), "{}", shown);
    }
}

/// Any JSON value, as far as requests have them.
fn json_values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map("[a-z]{1,8}", inner, 0..4)
                .prop_map(|members| members.into_iter().collect()),
        ]
    })
}

fn messages() -> impl Strategy<Value = Value> {
    let text = ".{0,40}".prop_map(Value::from);
    let parts = prop::collection::vec(("[a-z_]{1,10}", json_values()), 1..4).prop_map(|parts| {
        let parts = parts.into_iter().map(|(kind, value)| json!({"type": kind, "x": value}));
        parts.collect()
    });
    let role = prop::sample::select(&["system", "developer", "user", "assistant"][..]);
    (role, prop_oneof![text, parts], prop::option::of(".{0,8}")).prop_map(
        |(role, content, name)| {
            let mut message = json!({"role": role, "content": content});
            if let Some(name) = name {
                message["name"] = name.into();
            }
            message
        },
    )
}

/// Bodies in the published format, with any of its fields.
fn bodies() -> impl Strategy<Value = Value> {
    let number = || (0..=20_u32).prop_map(|tenths| json!(f64::from(tenths) / 10.0));
    let fields: Vec<(&str, BoxedStrategy<Value>)> = vec![
        ("temperature", number().boxed()),
        ("top_p", number().boxed()),
        ("n", (1..5_u32).prop_map(Value::from).boxed()),
        ("stop", ".{1,5}".prop_map(Value::from).boxed()),
        ("max_tokens", (1..100_u32).prop_map(Value::from).boxed()),
        ("seed", any::<i64>().prop_map(Value::from).boxed()),
        ("frequency_penalty", number().boxed()),
        ("logit_bias", Just(json!({"1": -5})).boxed()),
        ("logprobs", any::<bool>().prop_map(Value::from).boxed()),
        ("user", ".{0,9}".prop_map(Value::from).boxed()),
        ("metadata", Just(json!({"a": "b"})).boxed()),
        ("response_format", Just(json!({"type": "json_object"})).boxed()),
        ("reasoning_effort", Just(json!("low")).boxed()),
        ("parallel_tool_calls", any::<bool>().prop_map(Value::from).boxed()),
        ("stream", any::<bool>().prop_map(Value::from).boxed()),
    ];
    let names: Vec<_> = fields.iter().map(|(name, _)| *name).collect();
    let values: Vec<_> = fields.into_iter().map(|(_, value)| prop::option::of(value)).collect();
    (prop::collection::vec(messages(), 1..5), values).prop_map(move |(messages, values)| {
        let mut body = json!({"model": "m", "messages": messages});
        for (name, value) in names.iter().zip(values) {
            if let Some(value) = value {
                body[*name] = value;
            }
        }
        body
    })
}
