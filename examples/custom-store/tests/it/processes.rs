//! What the contract can't ask of every store: state that is shared through the file and outlives
//! its process, and callers that leave.

use std::{
    fs::{self, File},
    process::Command,
    sync::Arc,
    task::{Context, Waker},
    time::Duration,
};

use pgw_contract::BreakerSpec;
use pgw_ports::{Breaker, GateError};
use pgw_types::{BreakerTicket, Entry};

use super::Files;

pub(crate) fn spec() -> BreakerSpec {
    BreakerSpec {
        threshold: 1,
        cooldown: Duration::from_secs(30),
        dead_cooldown: Duration::from_mins(1),
        probe_lease: Duration::from_secs(10),
        sources: vec![("one".into(), None)],
    }
}

async fn enter(breaker: &impl Breaker) -> BreakerTicket {
    match breaker.try_enter(&"one".into()).await.unwrap() {
        Entry::Admitted(ticket) => ticket,
        Entry::Refused { retry_after } => panic!("refused for {retry_after:?}"),
    }
}

async fn refused(breaker: &impl Breaker) -> Duration {
    match breaker.try_enter(&"one".into()).await.unwrap() {
        Entry::Refused { retry_after } => retry_after,
        Entry::Admitted(ticket) => panic!("let in with {ticket:?}"),
    }
}

/// Four processes, one after the other: the example's own program.
#[test]
fn processes_share_a_breaker() {
    let files = Files::new();
    let says = || {
        let path = files.path("shared.json");
        let output = Command::new(env!("CARGO_BIN_EXE_custom-store")).arg(path).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().last().unwrap().to_owned()
    };
    assert_eq!(says(), "its breaker is still closed; run this again");
    assert_eq!(says(), "its breaker is still closed; run this again");
    assert_eq!(says(), "that opened its breaker for 600 s");
    assert!(says().starts_with("source one is kept free of calls for "));
}

/// Two handles on one file are one breaker; a third that opens it later goes on from there.
#[tokio::test]
async fn handles_on_one_file_share_its_state() {
    let files = Files::new();
    let (left, right) = (files.open("shared.json", spec()), files.open("shared.json", spec()));
    let ticket = enter(&left).await;
    left.record_failure(&ticket).await.unwrap();
    assert_eq!(refused(&right).await, Duration::from_secs(30));
    files.clock.advance(Duration::from_secs(30));
    let probe = enter(&right).await;
    assert_eq!(refused(&left).await, Duration::from_secs(10), "one probe among all handles");
    drop((left, right));
    let later = files.open("shared.json", spec());
    later.record_success(&probe).await.unwrap();
    assert_eq!(enter(&later).await.probe, None);
}

/// A caller that leaves with its question under way leaves no probe behind: neither before the file
/// has said yes, nor when the yes has come and was not yet heard.
#[tokio::test]
async fn a_caller_that_leaves_takes_no_probe_along() {
    for answered in [false, true] {
        let files = Files::new();
        let breaker = files.open("left.json", spec());
        let ticket = enter(&breaker).await;
        breaker.record_failure(&ticket).await.unwrap();
        files.clock.advance(Duration::from_secs(30));

        // Whoever holds this lock keeps the breaker's thread from the file.
        let lock = File::open(files.path("left.json.lock")).unwrap();
        lock.lock().unwrap();
        let source: Arc<str> = "one".into();
        let mut question = breaker.try_enter(&source);
        let mut cx = Context::from_waker(Waker::noop());
        assert!(question.as_mut().poll(&mut cx).is_pending());
        if answered {
            drop(lock);
            // The thread does one thing after the other: once this is done, that one is too.
            breaker.release_probe(&ticket).await.unwrap();
            drop(question);
        } else {
            drop(question);
            drop(lock);
            // The first answer may come before what was left behind goes back, the second can't.
            if let Entry::Admitted(probe) = breaker.try_enter(&source).await.unwrap() {
                breaker.release_probe(&probe).await.unwrap();
            }
        }
        assert!(enter(&breaker).await.probe.is_some());
    }
}

/// What is given back by a destructor is written before the last handle is gone.
#[tokio::test]
async fn what_is_given_back_last_is_written() {
    let files = Files::new();
    let breaker = files.open("last.json", spec());
    let ticket = enter(&breaker).await;
    breaker.record_failure(&ticket).await.unwrap();
    files.clock.advance(Duration::from_secs(30));
    let probe = enter(&breaker).await;
    breaker.abandon(&probe);
    drop(breaker);
    let next = files.open("last.json", spec());
    assert!(enter(&next).await.probe.is_some());
}

/// A gate that can't decide says so; it never lets a call pass.
#[tokio::test]
async fn a_spoilt_file_is_an_error() {
    let files = Files::new();
    let breaker = files.open("spoilt.json", spec());
    fs::write(files.path("spoilt.json"), "{").unwrap();
    let error = breaker.try_enter(&"one".into()).await.unwrap_err();
    assert!(matches!(&error, GateError::Backend { cause: Some(_), .. }), "{error:?}");
    assert!(error.to_string().starts_with("the file of breakers is of no use: EOF"), "{error}");
    fs::remove_file(files.path("spoilt.json")).unwrap();
    enter(&breaker).await;
}
