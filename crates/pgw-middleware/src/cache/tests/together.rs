//! Calls that are the same and under way at once.

use super::*;
use crate::doubles::ms;

fn together() -> (Bench, Arc<FakeCache>) {
    with_cache(Setup::new(&["a"]), true, false)
}

async fn crowd(bench: &Bench, callers: usize) -> Vec<Result<LlmResponse, PgwError>> {
    futures_util::future::join_all((0..callers).map(|_| whole(bench, CallOptions::default()))).await
}

/// Twenty of the same are one call and nineteen hits, even if nothing is kept.
#[tokio::test(start_paused = true)]
async fn the_same_calls_at_once_are_sent_once() {
    for broken in [false, true] {
        let (bench, backend) = together();
        backend.set_broken(broken);
        bench.upstream.otherwise(Script::answer("ok").after(secs(2)));
        let answers = crowd(&bench, 20).await;
        let hits = answers.iter().filter(|answer| answer.as_ref().unwrap().cache_hit).count();
        assert_eq!((hits, bench.upstream.made().len()), (19, 1));
        assert_eq!(bench.elapsed(), 2_000);
        let rows = bench.recorder.all();
        assert_eq!(rows.iter().filter(|row| row.cache_hit).count(), 19);
        assert_eq!(rows.len(), 20);
    }
}

/// Different calls are not held up by each other.
#[tokio::test(start_paused = true)]
async fn different_calls_do_not_wait_for_each_other() {
    let (bench, _) = together();
    bench.upstream.otherwise(Script::answer("ok").after(secs(2)));
    let salted =
        |salt: usize| CallOptions { cache_salt: Some(salt.to_string()), ..CallOptions::default() };
    let calls = (0..5).map(|salt| whole(&bench, salted(salt)));
    futures_util::future::join_all(calls).await;
    assert_eq!((bench.upstream.made().len(), bench.elapsed()), (5, 2_000));
}

/// A failure is everybody's: the same question would meet the same fate, and no storm follows it.
#[tokio::test(start_paused = true)]
async fn a_failure_is_shared() {
    let (bench, _) = together();
    bench.upstream.otherwise(Script::fault(Fault::ServerError).after(secs(1)));
    let answers = crowd(&bench, 10).await;
    for (number, answer) in answers.iter().enumerate() {
        let error = answer.as_ref().unwrap_err();
        assert_eq!(error.unavailable().unwrap().reason(), ScopeReason::RetryExhausted);
        assert_eq!(&*error.trace().unwrap().request_id, format!("call-{number}"));
    }
    assert_eq!(bench.upstream.made().len(), 3, "the attempts of one call");
    assert_eq!(bench.recorder.all().len(), 3 + 9, "and a record of each that followed");
}

/// An answer that is not to be kept is nobody else's: the others ask for themselves.
#[tokio::test(start_paused = true)]
async fn an_answer_that_is_not_kept_is_not_shared() {
    let (bench, _) = together();
    let steps = [begin(), text("half"), usage(10, 5), done(FinishReason::Length)];
    bench.upstream.otherwise(Script::steps(steps).after(secs(1)));
    let answers = crowd(&bench, 4).await;
    assert!(answers.iter().all(|answer| !answer.as_ref().unwrap().cache_hit));
    assert_eq!((bench.upstream.made().len(), bench.elapsed()), (4, 2_000));
}

/// The one who asked walks away: the next one asks, and one only.
#[tokio::test(start_paused = true)]
async fn when_the_first_walks_away_the_next_one_asks() {
    let (bench, _) = together();
    bench.upstream.otherwise(Script::answer("ok").after(secs(2)));
    let first = async {
        let call = whole(&bench, CallOptions::default());
        assert!(tokio::time::timeout(secs(1), call).await.is_err());
    };
    let rest = async {
        tokio::time::sleep(ms(10)).await;
        crowd(&bench, 5).await
    };
    let ((), answers) = tokio::join!(first, rest);
    assert!(answers.iter().all(Result::is_ok));
    assert_eq!((bench.upstream.made().len(), bench.elapsed()), (2, 3_000));
}

/// Each keeps its own deadline, and nobody fails by somebody else's.
#[tokio::test(start_paused = true)]
async fn deadlines_are_everybodys_own() {
    let by = |deadline| CallOptions { deadline, ..CallOptions::default() };
    // The follower runs out of time first.
    let (bench, _) = together();
    bench.upstream.otherwise(Script::answer("ok").after(secs(10)));
    let (leads, follows) = tokio::join!(whole(&bench, by(None)), whole(&bench, by(Some(secs(3)))));
    leads.unwrap();
    assert_eq!(follows.unwrap_err().call().unwrap().fault(), Fault::Deadline);
    // The leader runs out of time first; the follower has more and goes on.
    let (bench, _) = together();
    bench.upstream.otherwise(Script::answer("ok").after(secs(10)));
    let (leads, follows) =
        tokio::join!(whole(&bench, by(Some(secs(3)))), whole(&bench, by(Some(secs(60)))));
    assert_eq!(leads.unwrap_err().call().unwrap().fault(), Fault::Deadline);
    assert!(!follows.unwrap().cache_hit);
    assert_eq!((bench.upstream.made().len(), bench.elapsed()), (2, 13_000));
}

/// Live callers want each token as it comes: they neither lead nor follow.
#[tokio::test(start_paused = true)]
async fn live_calls_go_by_themselves() {
    let (bench, _) = together();
    bench.upstream.otherwise(Script::answer("ok").after(secs(2)));
    let live = async || {
        let cx = bench.cx(Hand::Live, CallOptions::default());
        consume(bench.send(&cx, ChatRequest::default()).await?).await
    };
    let (one, other) = tokio::join!(live(), live());
    assert!(!one.unwrap().cache_hit && !other.unwrap().cache_hit);
    assert_eq!((bench.upstream.made().len(), bench.elapsed()), (2, 2_000));
}
