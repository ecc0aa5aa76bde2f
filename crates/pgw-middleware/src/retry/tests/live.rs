//! Answers as they come: when they commit, and what holds after that.

use futures_util::StreamExt as _;
use pgw_types::{ChatEvent, Fault, FinishReason, LlmResponse, Partial, UsageSource};

use super::super::*;
use crate::{
    Chat,
    doubles::{Script, Setup, Step, begin, done, fault, ms, pause, secs, text, thought, usage},
};

/// All items of a stream: the texts, then how it ended.
async fn read(mut stream: LiveStream<Chat>) -> (Vec<String>, Result<LlmResponse, PgwError>) {
    let mut words = Vec::new();
    let mut end = None;
    while let Some(item) = stream.next().await {
        assert!(end.is_none(), "nothing comes after the end");
        match item {
            Ok(Live::Event(
                ChatEvent::ContentDelta { text, .. } | ChatEvent::ThinkingDelta { text, .. },
            )) => words.push(text),
            Ok(Live::Event(_)) => {}
            Ok(Live::Done(response)) => end = Some(Ok(*response)),
            Err(error) => end = Some(Err(error)),
        }
    }
    (words, end.expect("a live answer ends with Done or an error"))
}

/// Architecture §3: it commits with the first token, thinking included, and hands out everything in
/// order; the last item is the whole response with its trace.
#[tokio::test(start_paused = true)]
async fn it_commits_with_the_first_token() {
    let bench = Setup::new(&["a"]).build();
    let steps = [
        begin(),
        pause(2_000),
        thought("hm"),
        pause(3_000),
        text("yes"),
        usage(4, 2),
        done(FinishReason::Stop),
    ];
    bench.upstream.script("a", [Script::steps(steps)]);
    let mut stream = bench.live().await.unwrap();
    assert_eq!(bench.elapsed(), 2_000, "at the first token, not before");
    assert_eq!(bench.limiter.in_flight(), 1, "the permit travels inside");
    let first = stream.next().await.unwrap().unwrap();
    assert!(matches!(first, Live::Event(ChatEvent::MessageStart { .. })));
    let (words, end) = read(stream).await;
    assert_eq!(words, ["hm", "yes"]);
    let response = end.unwrap();
    assert_eq!(bench.elapsed(), 5_000);
    assert_eq!((&*response.thinking, &*response.content), ("hm", "yes"));
    assert_eq!(response.ttft_ms, Some(2_000.0));
    assert_eq!(response.max_inter_token_ms, Some(3_000.0));
    assert_eq!(response.trace.attempts.len(), 1);
    assert_eq!(*response.trace.attempts[0].call_id, *response.call_id);
    assert_eq!(bench.recorder.errors(), [None]);
    bench.assert_idle("after the end");
}

/// D05, D09: whatever dies before the first token is retried, and nothing of it is seen.
#[tokio::test(start_paused = true)]
async fn a_death_before_the_first_token_is_retried() {
    let deaths = [
        Script::fault(Fault::ServerError),
        Script::steps([begin(), Step::Fail(fault(Fault::DamagedFrame))]),
        Script::steps([begin(), usage(1, 1), done(FinishReason::Stop)]),
        Script::steps([begin()]),
    ];
    for death in deaths {
        let bench = Setup::new(&["a", "b"]).build();
        bench.upstream.script("a", [death]);
        let (words, end) = read(bench.live().await.unwrap()).await;
        let response = end.unwrap();
        assert_eq!((words, &*response.source_name), (vec!["ok".into()], "b"));
        assert_eq!(bench.upstream.sources(), ["a", "b"]);
        let faults: Vec<_> = response.trace.attempts.iter().map(|a| a.fault).collect();
        assert!(faults[0].is_some() && faults[1].is_none());
    }
}

/// D05: if no attempt brings a token the call itself fails.
#[tokio::test(start_paused = true)]
async fn without_any_token_the_call_fails() {
    let bench = Setup::new(&["a", "b"]).build();
    bench.upstream.otherwise(Script::steps([begin()]));
    let Err(error) = bench.live().await else { panic!("there is nothing to stream") };
    assert_eq!(error.unavailable().unwrap().reason(), ScopeReason::RetryExhausted);
    bench.assert_idle("after the failure");
}

/// D03: after the first token nothing is retried: one error with what had come, then the end.
#[tokio::test(start_paused = true)]
async fn after_the_first_token_nothing_is_retried() {
    let deaths = [
        vec![Step::Fail(fault(Fault::Truncated))],
        vec![Step::Fail(fault(Fault::InvalidKey))],
        vec![],
        vec![Step::Never],
    ];
    for death in deaths {
        for attempts in [1, 3, 100] {
            let bench = Setup::new(&["a", "b"]).attempts(attempts).build();
            let steps = [begin(), text("ha"), text("lf")].into_iter().chain(death.clone());
            bench.upstream.script("a", [Script::steps(steps)]);
            let (words, end) = read(bench.live().await.unwrap()).await;
            let error = end.unwrap_err();
            assert_eq!(words, ["ha", "lf"]);
            assert_eq!(bench.upstream.made().len(), 1);
            let partial = Partial { content: Some("half".into()), ..Partial::default() };
            assert_eq!(error.partial(), Some(&partial));
            assert_eq!(error.trace().unwrap().attempts.len(), 1);
            let rows = bench.recorder.all();
            assert_eq!(rows.len(), 1);
            assert_eq!(rows[0].response, "half");
            assert!(rows[0].error.is_some());
            assert_eq!(bench.breaker.verdicts(), 1);
            bench.assert_idle("after the error");
        }
    }
}

/// MID-015, MID-103, D21: a live answer that is dropped gives back permit and probe, closes its
/// connection and leaves a cancelled record with what had come.
#[tokio::test(start_paused = true)]
async fn a_dropped_stream_gives_everything_back() {
    let bench = Setup::new(&["a"]).build();
    bench.breaker.open_for("a", Duration::ZERO);
    let steps = [begin(), text("ha"), text("lf"), Step::Never];
    bench.upstream.script("a", [Script::steps(steps)]);
    let mut stream = bench.live().await.unwrap();
    for _ in 0..3 {
        stream.next().await.unwrap().unwrap();
    }
    assert_eq!((bench.limiter.in_flight(), bench.breaker.probes()), (1, 1));
    drop(stream);
    bench.assert_idle("after the drop");
    assert_eq!(bench.breaker.verdicts(), 0, "the caller's doing, not the source's");
    let rows = bench.recorder.all();
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].error.as_deref(), Some("cancelled"));
    assert_eq!(rows[0].response, "half");
    assert_eq!(rows[0].usage_source, UsageSource::Estimated);
    assert!(rows[0].completion_tokens > 0);
}

/// MID-150, MID-154: the watchdog goes with the stream: a silence after the commit is an error item
/// and closes the connection.
#[tokio::test(start_paused = true)]
async fn the_watchdog_goes_with_the_stream() {
    let mut setup = Setup::new(&["a", "b"]);
    setup.sources[0].timeouts.inter_token = secs(4);
    let bench = setup.build();
    let steps = [begin(), text("half"), pause(3_000), text("!"), Step::Never];
    bench.upstream.script("a", [Script::steps(steps)]);
    let (words, end) = read(bench.live().await.unwrap()).await;
    assert_eq!(words, ["half", "!"]);
    assert_eq!(end.unwrap_err().call().unwrap().fault(), Fault::Timeout);
    assert_eq!(bench.elapsed(), 7_000);
    bench.assert_idle("after the timeout");
}

/// MID-154: a head that never comes is given up at the first-token limit, and the next source asked.
#[tokio::test(start_paused = true)]
async fn a_silent_source_is_left_at_its_first_token_limit() {
    let mut setup = Setup::new(&["a", "b"]);
    setup.sources[0].timeouts.ttft = secs(3);
    let bench = setup.build();
    bench.upstream.script("a", [Script::silent()]);
    let (words, end) = read(bench.live().await.unwrap()).await;
    assert_eq!((words, end.is_ok()), (vec!["ok".into()], true));
    assert_eq!(bench.times(), [0, 4_000]);
    assert_eq!(bench.breaker.count("record_failure"), 1);
}

/// A caller that is slow to read is not the source's silence.
#[tokio::test(start_paused = true)]
async fn a_slow_reader_is_not_a_silent_source() {
    let mut setup = Setup::new(&["a"]);
    setup.sources[0].timeouts.inter_token = secs(4);
    let bench = setup.build();
    // What comes after the first token needs a moment of reading before it is there.
    let steps = [begin(), text("ha"), pause(10), text("lf"), done(FinishReason::Stop)];
    bench.upstream.script("a", [Script::steps(steps)]);
    let mut stream = bench.live().await.unwrap();
    stream.next().await.unwrap().unwrap();
    stream.next().await.unwrap().unwrap();
    tokio::time::sleep(secs(30) + ms(1)).await;
    let (words, end) = read(stream).await;
    assert_eq!(words, ["lf"]);
    let response = end.unwrap();
    assert_eq!(response.content, "half");
    assert_eq!(response.max_inter_token_ms, Some(10.0), "the reader's pause is not the source's");
}
