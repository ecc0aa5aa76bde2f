//! How a stream ends, and who decides that it has.

use std::{error::Error as _, time::Duration};

use futures_util::StreamExt as _;
use pgw_mock::{Answer, Step};
use pgw_types::{AnomalyPolicy, ChatEvent, Fault, Warning};
use tokio::time::timeout;

use crate::bench::{Bench, content, failure, good, hello, hello_steps, parts, text};

/// Long enough for anything here; reached only if a test fails.
const EVER: Duration = Duration::from_secs(20);

fn with_end(end: Step) -> Answer {
    let [said, stopped] = hello_steps();
    Answer::sse([said, stopped, end])
}

async fn salvaging(answer: Answer) -> Bench {
    let salvage = |source: &mut pgw_types::SourceConfig| {
        source.missing_done = AnomalyPolicy::Salvage;
    };
    Bench::with([answer], "generic", salvage).await
}

/// QuantumNous/new-api#7062: a service that keeps the connection open does not keep the caller.
#[tokio::test]
async fn silence_after_the_finish_reason_is_the_end() {
    let bench = Bench::new([with_end(Step::Stall)]).await;
    let outcome = timeout(EVER, bench.stream()).await.unwrap();
    assert_eq!(content(outcome), "hello");
}

/// Before it, silence is for the watchdog to judge.
#[tokio::test]
async fn silence_before_the_finish_reason_is_not() {
    let bench = Bench::new([Answer::sse([Step::event(&text("hello")), Step::Stall])]).await;
    let mut events = bench.open(hello(), true).await.unwrap();
    assert!(matches!(events.next().await, Some(Ok(ChatEvent::MessageStart { .. }))));
    assert!(matches!(events.next().await, Some(Ok(ChatEvent::ContentDelta { .. }))));
    // Five times the grace.
    assert!(timeout(Duration::from_millis(100), events.next()).await.is_err());
}

/// OAI-002: `[DONE]` ends the answer, and its connection serves the next call.
#[tokio::test]
async fn a_connection_is_used_again_after_done() {
    let bench = Bench::new([good()]).await;
    for _ in 0..3 {
        let mut events = bench.open(hello(), true).await.unwrap();
        while let Some(event) = events.next().await {
            // As the loop does it: nobody asks for more after the finish.
            if matches!(event.unwrap(), ChatEvent::Finish(_)) {
                break;
            }
        }
        drop(events);
    }
    assert_eq!(bench.mock.counters().accepted_connections, 1);
}

/// Behind `[DONE]` nothing is lost, and nothing is waited for.
#[tokio::test]
async fn done_is_the_end_whatever_follows() {
    for end in [Step::Stall, Step::Cut, Step::Reset] {
        let [said, stopped] = hello_steps();
        let junk = Step::data("data: junk\n\n");
        let bench = Bench::new([Answer::sse([said, stopped, Step::done(), junk, end])]).await;
        let outcome = timeout(EVER, bench.stream()).await.unwrap();
        assert_eq!(content(outcome), "hello");
    }
}

/// OAI-005, OAI-007: a body that breaks behind the finish reason, by the policy of its source.
#[tokio::test]
async fn a_cut_after_the_finish_reason_is_ruled_by_policy() {
    for end in [Step::Cut, Step::Reset] {
        let (partial, finish, error) =
            parts(Bench::new([with_end(end.clone())]).await.stream().await);
        assert_eq!((partial.as_str(), finish), ("hello", None));
        let error = error.unwrap();
        assert_eq!(error.fault(), Fault::Truncated);
        assert!(error.message().starts_with("the body was cut after the finish reason ("));
        let (said, finish, error) = parts(salvaging(with_end(end)).await.stream().await);
        assert!(error.is_none(), "{error:?}");
        let finish = finish.unwrap();
        assert_eq!((said.as_str(), finish.salvaged), ("hello", true));
        assert_eq!(finish.warnings, [Warning::MissingDone]);
    }
}

/// A clean end with a finish reason needs no `[DONE]`; `[DONE]` without one proves nothing.
#[tokio::test]
async fn done_is_neither_needed_nor_enough() {
    let bench = Bench::new([Answer::sse(hello_steps())]).await;
    assert_eq!(content(bench.stream().await), "hello");
    let half = || Answer::sse([Step::event(&text("hello")), Step::done()]);
    let error = failure(Bench::new([half()]).await.stream().await);
    assert_eq!(error.fault(), Fault::Truncated);
    assert_eq!(content(salvaging(half()).await.stream().await), "hello");
}

/// OAI-009: what came before a reset is handed out, then the reset is named.
#[tokio::test]
async fn a_reset_in_mid_stream_keeps_what_came() {
    for end in [Step::Cut, Step::Reset] {
        // The last frame lacks its blank line: it is whole all the same.
        let last = Step::data(format!("data: {}\n", text(" there")));
        let steps = [Step::event(&text("hello")), last, end];
        let bench = Bench::new([Answer::sse(steps)]).await;
        let mut events = bench.open(hello(), true).await.unwrap();
        let mut said = String::new();
        let error = loop {
            match events.next().await.unwrap() {
                Ok(ChatEvent::ContentDelta { text, .. }) => said.push_str(&text),
                Ok(_) => {}
                Err(error) => break error,
            }
        };
        assert_eq!((said.as_str(), error.fault()), ("hello there", Fault::Truncated));
        assert!(error.source().is_some(), "the network's own words are kept");
        assert!(error.partial().is_none(), "the caller has the events");
    }
}

/// OAI-006: nothing at all is retried whatever the policy; the network's word names the fault.
#[tokio::test]
async fn an_early_end_is_never_salvaged() {
    for (end, fault) in [
        (Step::done(), Fault::EmptyResponse),
        (Step::Cut, Fault::Truncated),
        (Step::data(": PING\n\n"), Fault::EmptyResponse),
    ] {
        let answer = Answer::sse([Step::data(": PING\n\n"), end]);
        assert_eq!(failure(salvaging(answer).await.stream().await).fault(), fault);
    }
}

/// The end of one of two answers is not the end.
#[tokio::test]
async fn two_answers_have_two_ends() {
    let choice = |index: u32| {
        Step::event(&serde_json::json!({"choices": [
            {"index": index, "delta": {"content": "x"}, "finish_reason": "stop"}]}))
    };
    // Five times the grace between them.
    let steps = [choice(0), Step::pause_ms(100), choice(1), Step::Stall];
    let bench = Bench::new([Answer::sse(steps)]).await;
    let mut request = hello();
    request.n = Some(2);
    let events = bench.open(request, true).await.unwrap();
    let (_, finish, error) = parts(timeout(EVER, crate::bench::read(events)).await.unwrap());
    assert!(error.is_none(), "{error:?}");
    assert_eq!(finish.unwrap().reasons.len(), 2);
}

/// OAI-026: dropping the stream closes the connection.
#[tokio::test]
async fn dropping_a_stream_closes_its_connection() {
    let bench = Bench::new([Answer::sse([Step::event(&text("hello")), Step::Stall])]).await;
    let mut events = bench.open(hello(), true).await.unwrap();
    assert!(events.next().await.unwrap().is_ok());
    drop(events);
    let closed = bench.mock.wait_until(|seen| seen.closed_by_client() == 1);
    timeout(EVER, closed).await.unwrap();
}

/// OAI-026: and so does dropping the call before its answer has begun.
#[tokio::test]
async fn dropping_a_call_closes_its_connection() {
    let bench = Bench::new([good().delay(EVER * 3)]).await;
    tokio::select! {
        _ = bench.stream() => panic!("the answer is far away"),
        _ = bench.mock.wait_until(|seen| seen.received() == 1) => {}
    }
    let closed = bench.mock.wait_until(|seen| seen.closed_by_client() == 1);
    timeout(EVER, closed).await.unwrap();
}
