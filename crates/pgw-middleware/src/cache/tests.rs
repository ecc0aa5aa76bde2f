//! What is kept, what is handed out again, and what a cache that fails may cost: nothing.

mod keys;
mod together;

use pgw_ports::StructuredCall;
use pgw_types::{
    CallOptions, CallTrace, ChatEvent, ChatRequest, Fault, FinishReason, LlmResponse, Message,
    ScopeReason,
};

use super::*;
use crate::{
    Chat, StructuredLayer,
    doubles::{
        Bench, DropAfter, FakeCache, Script, Setup, Step, begin, consume, done, fault, pause, secs,
        text, thought, usage,
    },
};

const HOUR: Duration = Duration::from_hours(1);

/// A bench with a cache outside the structured layer, as the client assembles them.
fn with_cache(setup: Setup, coalesce: bool, keep_cut: bool) -> (Bench, Arc<FakeCache>) {
    let sources = setup.sources.clone();
    let mut bench = setup.build();
    let backend = Arc::new(FakeCache::default());
    let rules =
        CacheRules { namespace: "tests".into(), ttl: HOUR, coalesce, keep: KeepRules { keep_cut } };
    let layer = CacheLayer::<Chat>::new(
        Arc::clone(&backend) as _,
        rules,
        &sources,
        Arc::clone(&bench.ledger),
        Arc::clone(&bench.clock),
    );
    bench.layers.push(Arc::new(layer));
    bench.layers.push(Arc::new(StructuredLayer));
    (bench, backend)
}

fn cached() -> (Bench, Arc<FakeCache>) {
    with_cache(Setup::new(&["a"]), false, false)
}

async fn whole(bench: &Bench, options: CallOptions) -> Result<LlmResponse, PgwError> {
    bench.whole_with(options).await
}

async fn plain(bench: &Bench) -> LlmResponse {
    whole(bench, CallOptions::default()).await.unwrap()
}

/// MID-008, MID-091, MID-108, MID-009: the second call is a hit: same answer, no cost, no time, an
/// identity of its own, one record, and nothing inside is touched.
#[tokio::test(start_paused = true)]
async fn a_known_answer_costs_nothing() {
    let (bench, backend) = cached();
    let first = plain(&bench).await;
    assert!(!first.cache_hit && first.cost.is_some_and(|cost| cost > 0.0));
    let second = plain(&bench).await;
    assert_eq!((&*second.content, second.cache_hit), ("ok", true));
    assert_eq!((second.latency_ms, second.cost, second.ttft_ms), (0, Some(0.0), None));
    assert_eq!((second.prompt_tokens, second.completion_tokens), (10, 5), "tokens saved");
    assert_ne!(second.call_id, first.call_id);
    assert_eq!(&*second.trace.request_id, "call-1");
    assert_eq!(second.trace.attempts.len(), 0);
    assert_eq!(bench.upstream.made().len(), 1);
    assert_eq!(bench.limiter.count("try_acquire"), 1);
    let rows = bench.recorder.of("call-1");
    let [row] = &rows[..] else { panic!("{rows:?}") };
    assert_eq!(row.call_id, second.call_id);
    assert_eq!((row.cache_hit, row.latency_ms, row.cost), (true, 0, Some(0.0)));
    assert_eq!((row.attempt, row.error.as_deref()), (None, None));
    assert_eq!((&*row.source_name, &*row.response, row.prompt_tokens), ("a", "ok", 10));
    assert_eq!(row.messages, bench.recorder.of("call-0")[0].messages);
    assert_eq!((backend.keys().len(), backend.only_ttl()), (1, HOUR));
    assert!(backend.keys()[0].starts_with("pgw:cache:") && backend.keys()[0].len() == 74);
}

/// MID-005: a hit asks neither breaker nor limiter, and works while both are broken.
#[tokio::test(start_paused = true)]
async fn a_hit_needs_no_source_and_no_gate() {
    let (bench, _) = cached();
    plain(&bench).await;
    bench.breaker.open_for("a", secs(1_000));
    bench.limiter.break_operations(["try_acquire"]);
    bench.breaker.break_operations(["try_enter"]);
    assert!(plain(&bench).await.cache_hit);
}

/// D57, MID-087, MID-088, MID-090: nothing that is wrong, cut, empty or salvaged is kept.
#[tokio::test(start_paused = true)]
async fn nothing_wrong_is_kept() {
    let finish = |reason| Script::steps([begin(), text("half"), usage(10, 5), done(reason)]);
    let salvaged = Step::Event(ChatEvent::Finish(pgw_types::Finish {
        reasons: vec![FinishReason::Stop],
        raw_reasons: vec![None],
        salvaged: true,
        ..pgw_types::Finish::default()
    }));
    let broken = Step::Fail(fault(Fault::Truncated));
    let wrong: Vec<(&str, Script)> = vec![
        ("length", finish(FinishReason::Length)),
        ("content_filter", finish(FinishReason::ContentFilter)),
        ("unknown", finish(FinishReason::Other("load".into()))),
        ("salvaged", Script::steps([begin(), text("half"), salvaged])),
        ("empty", Script::steps([begin(), done(FinishReason::Stop)])),
        ("thinking only", Script::steps([begin(), thought("hm"), done(FinishReason::Length)])),
        ("cut", Script::steps([begin(), text("half"), broken])),
        ("transient", Script::fault(Fault::ServerError)),
        ("dead", Script::fault(Fault::Quota)),
        ("rejected", Script::fault(Fault::BadRequest)),
    ];
    for (name, script) in wrong {
        for hand in [Hand::Whole, Hand::Live] {
            let (bench, backend) = with_cache(Setup::new(&["a"]).fail_fast(), false, false);
            bench.upstream.otherwise(script.clone());
            let cx = bench.cx(hand, CallOptions::default());
            if let Ok(reply) = bench.send(&cx, ChatRequest::default()).await {
                let _ = consume(reply).await;
            }
            assert_eq!(backend.keys(), Vec::<String>::new(), "{name}, {hand:?}");
        }
    }
}

/// D57: who asks for it gets cut answers kept.
#[tokio::test(start_paused = true)]
async fn cut_answers_are_kept_on_demand() {
    let (bench, backend) = with_cache(Setup::new(&["a"]), false, true);
    let steps = [begin(), text("half"), usage(10, 5), done(FinishReason::Length)];
    bench.upstream.otherwise(Script::steps(steps));
    plain(&bench).await;
    assert_eq!(backend.keys().len(), 1);
    let hit = plain(&bench).await;
    assert_eq!((hit.cache_hit, hit.finish_reason), (true, FinishReason::Length));
}

/// MID-089, D57: an answer that is not of the form that was asked for is not kept; the one that
/// passes is, under the key of the first question.
#[tokio::test(start_paused = true)]
async fn only_what_passed_the_ladder_is_kept() {
    use pgw_ports::StructuredOutput;
    use pgw_types::Unreadable;
    use serde_json::{Value, json};

    #[derive(Debug)]
    struct Good;

    impl StructuredOutput for Good {
        fn read(&self, text: &str) -> Result<Value, Unreadable> {
            let wrong = || Unreadable { repair_error: Some("no".into()), ..Unreadable::default() };
            (text == "good").then(|| json!({"is": text})).ok_or_else(wrong)
        }

        fn native_format(&self) -> Option<Value> {
            None
        }
    }

    let (bench, backend) = cached();
    let ask = async || {
        let cx = Arc::into_inner(bench.cx(Hand::Whole, CallOptions::default())).unwrap();
        let call = StructuredCall { output: Arc::new(Good), reasks: 1 };
        let cx = Arc::new(cx.with_structured(call));
        consume(bench.send(&cx, ChatRequest::default()).await?).await
    };
    bench.upstream.script("a", [Script::answer("bad"), Script::answer("bad")]);
    ask().await.unwrap_err();
    assert_eq!(backend.keys().len(), 0);
    bench.upstream.script("a", [Script::answer("bad"), Script::answer("good")]);
    let first: LlmResponse = ask().await.unwrap();
    assert_eq!((first.prompt_tokens, backend.keys().len()), (20, 1));
    // TYP-018, MID-092: the value is read again, not kept.
    let hit: LlmResponse = ask().await.unwrap();
    assert_eq!((hit.cache_hit, hit.structured_data), (true, Some(json!({"is": "good"}))));
    assert_eq!(bench.upstream.made().len(), 4);
}

/// MID-083, MID-082, D55: another salt or another name space is another answer.
#[tokio::test(start_paused = true)]
async fn salt_and_name_space_keep_answers_apart() {
    let (bench, backend) = cached();
    let of = |namespace: Option<&str>, salt: Option<&str>| CallOptions {
        cache_namespace: namespace.map(str::to_owned),
        cache_salt: salt.map(str::to_owned),
        ..CallOptions::default()
    };
    let all = [
        of(None, None),
        of(Some("tenant-1"), None),
        of(Some("tenant-2"), None),
        of(None, Some("epoch-1")),
        of(Some("tenant-1"), Some("epoch-1")),
    ];
    for options in &all {
        assert!(!whole(&bench, options.clone()).await.unwrap().cache_hit);
    }
    assert_eq!(backend.keys().len(), all.len());
    for options in all {
        assert!(whole(&bench, options).await.unwrap().cache_hit);
    }
    let by_name = whole(&bench, of(Some("tests"), None)).await.unwrap();
    assert!(by_name.cache_hit, "the assembled name space, named");
}

/// What a call says of the cache is done.
#[tokio::test(start_paused = true)]
async fn each_use_of_the_cache_does_what_it_says() {
    let of = |cache| CallOptions { cache, ..CallOptions::default() };
    let (bench, backend) = cached();
    for cache in [CacheUse::Off, CacheUse::ReadOnly] {
        assert!(!whole(&bench, of(cache)).await.unwrap().cache_hit);
        assert_eq!(backend.keys().len(), 0);
    }
    bench.upstream.script("a", [Script::answer("one"), Script::answer("two")]);
    plain(&bench).await;
    assert_eq!(whole(&bench, of(CacheUse::ReadOnly)).await.unwrap().content, "one");
    assert_eq!(whole(&bench, of(CacheUse::Refresh)).await.unwrap().content, "two");
    assert_eq!(plain(&bench).await.content, "two");
    assert_eq!(whole(&bench, of(CacheUse::Off)).await.unwrap().content, "ok");
    assert_eq!(plain(&bench).await.content, "two");
}

/// A call may say how long; no time at all is refused by name.
#[tokio::test(start_paused = true)]
async fn a_call_says_how_long_its_answer_is_kept() {
    let (bench, backend) = cached();
    let of = |ttl| CallOptions { cache_ttl: Some(ttl), ..CallOptions::default() };
    let error = whole(&bench, of(Duration::ZERO)).await.unwrap_err();
    assert_eq!(error.call().unwrap().param(), Some("cache_ttl"));
    whole(&bench, of(secs(7))).await.unwrap();
    assert_eq!(backend.only_ttl(), secs(7));
}

/// MID-086: a cache that fails costs nothing: the call is made, the store is left alone for a while,
/// and used again afterwards.
#[tokio::test(start_paused = true)]
async fn a_broken_cache_is_as_good_as_an_empty_one() {
    let (bench, backend) = cached();
    plain(&bench).await;
    backend.set_broken(true);
    for _ in 0..3 {
        assert!(!plain(&bench).await.cache_hit);
    }
    assert_eq!(backend.asked(), 3, "get and set of the first, and one that failed");
    backend.set_broken(false);
    assert!(!plain(&bench).await.cache_hit, "it is still left alone");
    tokio::time::advance(secs(5)).await;
    assert!(plain(&bench).await.cache_hit);
}

/// MID-086: a cache that hangs holds a call up for a moment, once.
#[tokio::test(start_paused = true)]
async fn a_silent_cache_holds_nobody_up_for_long() {
    let (bench, backend) = cached();
    backend.set_silent(true);
    plain(&bench).await;
    assert_eq!(bench.elapsed(), 250);
    plain(&bench).await;
    assert_eq!(bench.elapsed(), 250);
    assert_eq!(backend.asked(), 1);
}

/// MID-096: what can't be read is a miss, and gives way to the new answer.
#[tokio::test(start_paused = true)]
async fn a_corrupt_value_is_a_miss() {
    let (bench, backend) = cached();
    plain(&bench).await;
    backend.corrupt();
    assert!(!plain(&bench).await.cache_hit);
    assert!(plain(&bench).await.cache_hit);
}

fn rich() -> Script {
    use pgw_types::ToolDelta;

    let call = |slot, id: &str, name: &str| {
        Step::Event(ChatEvent::ToolDelta(ToolDelta {
            slot,
            id: Some(id.into()),
            name: Some(name.into()),
            arguments: "{\"x\":1}".into(),
            ..ToolDelta::default()
        }))
    };
    let other = Step::Event(ChatEvent::ContentDelta { choice: 1, text: "other".into() });
    let item = serde_json::json!({"type": "reasoning.encrypted"});
    let finish = pgw_types::Finish {
        reasons: vec![FinishReason::ToolCalls, FinishReason::Stop],
        raw_reasons: vec![Some("stop".into()), None],
        ..pgw_types::Finish::default()
    };
    Script::steps([
        begin(),
        Step::Event(ChatEvent::ReasoningItem { choice: 0, item }),
        thought("hm"),
        text("ye"),
        text("s"),
        call(0, "c0", "f"),
        call(1, "c1", "g"),
        other,
        Step::Event(ChatEvent::Logprobs { choice: 0, value: serde_json::json!({"content": []}) }),
        usage(10, 5),
        Step::Event(ChatEvent::Finish(finish)),
    ])
}

/// A live answer is kept at its end, and a live caller gets a kept one as events that make up the
/// same answer.
#[tokio::test(start_paused = true)]
async fn a_stream_is_kept_when_complete_and_replayed_as_events() {
    use futures_util::StreamExt as _;
    use pgw_ports::{Assembly as _, AttemptFacts, Operation as _};

    let (bench, backend) = cached();
    bench.upstream.script("a", [rich()]);
    let live = async || {
        let cx = bench.cx(Hand::Live, CallOptions::default());
        bench.send(&cx, ChatRequest::default()).await.unwrap()
    };
    let first = consume(live().await).await.unwrap();
    assert_eq!(backend.keys().len(), 1);
    let Reply::Live(mut events) = live().await else { panic!("not live") };
    let source = SourceConfig::new("a", "generic", "http://test", "key", "model");
    let mut again = Chat::assembly(&ChatRequest::default(), &source);
    let mut hit = None;
    while let Some(item) = events.next().await {
        match item.unwrap() {
            Live::Event(event) => again.push(&event),
            Live::Done(response) => hit = Some(*response),
        }
    }
    let same = |mut response: LlmResponse| {
        let facts = LlmResponse::default();
        response.trace = CallTrace::default();
        (response.call_id, response.latency_ms) = (facts.call_id, 0);
        (response.cost, response.cache_hit) = (None, false);
        (response.ttft_ms, response.max_inter_token_ms) = (None, None);
        response
    };
    let hit = hit.unwrap();
    assert!(hit.cache_hit);
    assert_eq!(same(hit), same(first.clone()));
    assert_eq!(same(*again.finish(AttemptFacts::default()).unwrap()), same(first));
    assert_eq!(bench.upstream.made().len(), 1);
}

/// A live answer that its caller walks away from is not kept.
#[tokio::test(start_paused = true)]
async fn a_stream_that_is_dropped_is_not_kept() {
    use futures_util::StreamExt as _;

    let (bench, backend) = cached();
    let steps = [begin(), text("ye"), pause(10), text("s"), done(FinishReason::Stop)];
    bench.upstream.script("a", [Script::steps(steps)]);
    let cx = bench.cx(Hand::Live, CallOptions::default());
    let Reply::Live(mut events) = bench.send(&cx, ChatRequest::default()).await.unwrap() else {
        panic!("not live")
    };
    events.next().await.unwrap().unwrap();
    events.next().await.unwrap().unwrap();
    drop(events);
    tokio::time::sleep(secs(1)).await;
    assert_eq!(backend.keys().len(), 0);
    bench.assert_idle("after the drop");
}

/// MID-015, MID-103: dropped at any poll, a call leaves nothing behind and one record at most; what
/// is kept then is a whole answer.
#[tokio::test(start_paused = true)]
async fn a_call_with_a_cache_dropped_at_any_poll_leaks_nothing() {
    for hits in [false, true] {
        for polls in 1.. {
            let (bench, backend) = with_cache(Setup::new(&["a"]), true, false);
            if hits {
                plain(&bench).await;
            }
            backend.slow_down();
            bench.recorder.set_deaf(true);
            bench.upstream.otherwise(Script::answer("ok").after(secs(1)));
            let cx = bench.cx(Hand::Whole, CallOptions::default());
            let request = ChatRequest::new(vec![Message::user("What is the answer?")]);
            let finished = DropAfter::new(bench.send(&cx, request), polls).await.is_some();
            tokio::time::sleep(secs(60)).await;
            bench.assert_idle(&format!("after {polls} polls"));
            let rows = bench.recorder.of(&cx.request_id);
            assert_eq!(rows.len(), 1, "after {polls} polls: {rows:?}");
            bench.recorder.set_deaf(false);
            let next = plain(&bench).await;
            assert_eq!(next.content, "ok", "nobody waits for a call that was dropped");
            if finished {
                assert!(polls > 2);
                break;
            }
        }
    }
}

/// A call that can't be served at all is still refused as before.
#[tokio::test(start_paused = true)]
async fn a_miss_without_sources_is_refused() {
    let (bench, _) = with_cache(Setup::new(&[]).fail_fast(), true, false);
    let error = whole(&bench, CallOptions::default()).await.unwrap_err();
    assert_eq!(error.unavailable().unwrap().reason(), ScopeReason::NoSources);
    assert_eq!(bench.recorder.all().len(), 1);
}
