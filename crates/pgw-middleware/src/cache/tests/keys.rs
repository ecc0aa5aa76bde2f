//! Names of answers: equal only for calls that could have had each other's.

use pgw_types::{Content, Part, Plan, PlannedSource, Role, Structured, StructuredSpec, Thinking};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;

/// The layer that all names here are given by.
fn layer(sources: &[SourceConfig]) -> CacheLayer<Chat> {
    let rules = CacheRules {
        namespace: "tests".into(),
        ttl: HOUR,
        coalesce: false,
        keep: KeepRules::default(),
    };
    let clock: Arc<dyn Clock> = Arc::new(crate::TokioClock::default());
    let ledger = Ledger::new(None, Arc::new(crate::doubles::FlatPrice), Arc::clone(&clock));
    CacheLayer::new(Arc::new(FakeCache::default()), rules, sources, Arc::new(ledger), clock)
}

fn source(name: &str, provider: &str, model: &str, thinking: Option<bool>) -> SourceConfig {
    let mut source = SourceConfig::new(name, provider, "http://test", "key", model);
    source.enable_thinking = thinking;
    source
}

fn name_at(sources: &[SourceConfig], options: &CallOptions, request: &ChatRequest) -> Arc<str> {
    let planned = |source: &SourceConfig| PlannedSource {
        name: source.name.as_str().into(),
        provider: source.provider.as_str().into(),
        model: source.model.as_str().into(),
    };
    let plan = Plan {
        scope: "test".into(),
        config_checksum: "c".into(),
        candidates: sources.iter().map(planned).collect(),
        exclusions: Vec::new(),
        max_attempts: 1,
        upstream_call_bound: 1,
        deadline: None,
    };
    let cx = CallCx::new("call".into(), options.clone(), Arc::new(plan), Hand::Whole, None);
    layer(sources).key(&cx, &Arc::new(request.clone())).unwrap()
}

fn name(options: &CallOptions, request: &ChatRequest) -> Arc<str> {
    name_at(&[source("a", "generic", "m", None)], options, request)
}

/// A change of a call that may change its answer.
type Change = (&'static str, fn(&mut CallOptions, &mut ChatRequest));

/// One change of each member that counts, at least.
const CHANGES: &[Change] = &[
    ("namespace", |options, _| options.cache_namespace = Some("other".into())),
    ("salt", |options, _| options.cache_salt = Some("s".into())),
    ("empty salt", |options, _| options.cache_salt = Some(String::new())),
    ("model", |_, request| request.model = Some("other".into())),
    ("a message more", |_, request| request.messages.push(Message::user("And?"))),
    ("role", |_, request| request.messages[0].role = Role::System),
    ("text", |_, request| request.messages[0] = Message::user("Hello? ")),
    ("null", |_, request| request.messages[0].content = Some(Content::Null)),
    ("absent", |_, request| request.messages[0].content = None),
    ("parts", |_, request| {
        request.messages[0] = Message::parts(Role::User, vec![Part::text("Hello?")]);
    }),
    ("image", |_, request| {
        let image = Part::image_url("data:image/png;base64,AAAA");
        request.messages[0] = Message::parts(Role::User, vec![image]);
    }),
    ("another image", |_, request| {
        let image = Part::image_url("data:image/png;base64,AAAB");
        request.messages[0] = Message::parts(Role::User, vec![image]);
    }),
    ("name", |_, request| {
        request.messages[0].extra.insert("name".into(), json!("bob"));
    }),
    ("temperature", |_, request| request.temperature = Some(0.5)),
    ("temperature 0", |_, request| request.temperature = Some(0.0)),
    ("top_p", |_, request| request.top_p = Some(0.5)),
    ("n", |_, request| request.n = Some(2)),
    ("stop", |_, request| request.stop = Some(json!("x"))),
    ("stop list", |_, request| request.stop = Some(json!(["x"]))),
    ("max_tokens", |_, request| request.max_tokens = Some(256)),
    ("max_tokens less", |_, request| request.max_tokens = Some(32)),
    ("max_completion_tokens", |_, request| request.max_completion_tokens = Some(256)),
    ("seed", |_, request| request.seed = Some(1)),
    ("tools", |_, request| request.tools = vec![json!({"type": "function"})]),
    ("tool_choice", |_, request| request.tool_choice = Some(json!("none"))),
    ("parallel_tool_calls", |_, request| request.parallel_tool_calls = Some(false)),
    ("response_format", |_, request| {
        request.response_format = Some(json!({"type": "json_object"}));
    }),
    ("json", |_, request| request.structured = Structured::Json),
    ("schema", |_, request| {
        let spec = StructuredSpec::new("x", json!({"type": "object"})).unwrap();
        request.structured = Structured::Schema(Arc::new(spec));
    }),
    ("another schema", |_, request| {
        let spec = StructuredSpec::new("x", json!({"type": "array"})).unwrap();
        request.structured = Structured::Schema(Arc::new(spec));
    }),
    ("reasoning_effort", |_, request| request.reasoning_effort = Some("low".into())),
    ("thinking", |_, request| request.thinking = Some(Thinking::On { budget: None })),
    ("thinking budget", |_, request| request.thinking = Some(Thinking::On { budget: Some(9) })),
    ("no thinking", |_, request| request.thinking = Some(Thinking::Off)),
    ("option", |_, request| {
        request.options.insert("frequency_penalty".into(), json!(1));
    }),
    ("provider option", |_, request| {
        request.provider_options.insert("frequency_penalty".into(), json!(1));
    }),
];

fn base() -> (CallOptions, ChatRequest) {
    (CallOptions::default(), ChatRequest::new(vec![Message::user("Hello?")]))
}

/// Applies some of the changes, each once, in this order.
fn changed(changes: &[usize]) -> (CallOptions, ChatRequest) {
    let (mut options, mut request) = base();
    for &change in changes {
        CHANGES[change].1(&mut options, &mut request);
    }
    (options, request)
}

/// D55, MID-080, MID-093, TYP-072: each change alone gives a name of its own.
#[tokio::test(start_paused = true)]
async fn whatever_shapes_an_answer_is_in_its_name() {
    let mut names = vec![("nothing", name(&base().0, &base().1))];
    for (change, (what, _)) in CHANGES.iter().enumerate() {
        let (options, request) = changed(&[change]);
        let new = name(&options, &request);
        for (known, name) in &names {
            assert_ne!(*name, new, "{known} and {what}");
        }
        names.push((what, new));
    }
}

/// What does not shape the answer is not in its name.
#[tokio::test(start_paused = true)]
async fn delivery_and_bookkeeping_are_not_in_the_name() {
    let (options, request) = base();
    let other = CallOptions {
        session_id: Some("session".into()),
        parent_call_id: Some("parent".into()),
        stream: false,
        deadline: Some(HOUR),
        request_id: Some("request".into()),
        cache: CacheUse::Refresh,
        cache_ttl: Some(HOUR),
        ..options.clone()
    };
    let native = ChatRequest { native_format: Some(json!({})), ..request.clone() };
    assert_eq!(name(&options, &request), name(&other, &native));
}

/// TYP-073: the order of members does not count.
#[tokio::test(start_paused = true)]
async fn the_order_of_members_does_not_count() {
    let (options, mut one) = base();
    let mut other = one.clone();
    let members = [("a", json!({"x": 1, "y": 2})), ("b", json!(2)), ("c", json!("3"))];
    let map = |members: &mut dyn Iterator<Item = &(&str, Value)>| -> Map<String, Value> {
        members.map(|(key, value)| ((*key).to_owned(), value.clone())).collect()
    };
    one.provider_options = map(&mut members.iter());
    other.provider_options = map(&mut members.iter().rev());
    other.provider_options.insert("a".into(), json!({"y": 2, "x": 1}));
    assert_eq!(name(&options, &one), name(&options, &other));
}

/// Without a model of the call, what the sources would answer with counts; accounts of one service
/// are alike.
#[tokio::test(start_paused = true)]
async fn what_may_answer_is_in_the_name() {
    let (options, request) = base();
    let at = |sources: &[SourceConfig]| name_at(sources, &options, &request);
    let one = at(&[source("a", "generic", "m", None)]);
    let accounts = [source("b", "generic", "m", None), source("c", "generic", "m", None)];
    assert_eq!(one, at(&accounts));
    for other in [
        at(&[source("a", "generic", "m2", None)]),
        at(&[source("a", "qwen", "m", None)]),
        at(&[source("a", "generic", "m", Some(true))]),
        at(&[source("a", "generic", "m", None), source("b", "generic", "m2", None)]),
    ] {
        assert_ne!(one, other);
    }
    let named = ChatRequest { model: Some("x".into()), ..request.clone() };
    let both = [source("a", "generic", "m", None), source("b", "generic", "m2", None)];
    assert_eq!(
        name_at(&both, &options, &named),
        name_at(&both[..1], &options, &named),
        "the call names the model"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None,
        ..ProptestConfig::default() })]

    /// D55: two tenants never meet: names are equal exactly if name space, salt and everything that
    /// shapes the answer are equal.
    #[test]
    fn names_are_equal_only_if_everything_is(
        one in prop::collection::vec(0..CHANGES.len(), 0..6),
        other in prop::collection::vec(0..CHANGES.len(), 0..6),
        same in any::<bool>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let _inside = runtime.enter();
        let (one, other) = (changed(&one), changed(if same { &one } else { &other }));
        prop_assert_eq!(name(&one.0, &one.1) == name(&other.0, &other.1), one == other);
    }
}
