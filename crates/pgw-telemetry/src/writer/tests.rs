//! Tests of the loop, over a scripted store.

use std::sync::Arc;

use super::*;
use crate::{
    doubles::{Log, ScriptedSink, bounds, record},
    sink::{Failure, Written},
};

fn busy() -> Failure {
    Failure::for_tests("locked", false)
}

fn wrote(new: u64) -> Written {
    Written { new, ..Written::default() }
}

struct Ran {
    seen: Vec<Vec<String>>,
    stats: crate::RecorderStats,
    log: Vec<String>,
}

fn play(
    queue: Queue,
    prepared: Result<(), Failure>,
    answers: impl IntoIterator<Item = Result<Written, Failure>>,
) -> Ran {
    let queue = Arc::new(queue);
    let health = Health::new("store".to_owned());
    let mut sink = ScriptedSink {
        prepared,
        answers: answers.into_iter().collect(),
        closes: Arc::clone(&queue),
        seen: Vec::new(),
    };
    let log = Log::of(|| run(&queue, &health, &mut sink));
    assert!(queue.wait_for_end(Duration::ZERO));
    Ran { seen: sink.seen, stats: health.stats(), log }
}

fn line_of(ids: &[&str], batch: usize) -> Queue {
    let queue = Queue::new(bounds(100, batch));
    for id in ids {
        queue.offer(record(id));
    }
    queue
}

// REQ TEL-006 MID-102
#[test]
fn a_failed_write_is_tried_again_and_warned_of_once() {
    let answers = [Err(busy()), Err(busy()), Ok(wrote(2))];
    let ran = play(line_of(&["a", "b"], 10), Ok(()), answers);
    assert_eq!(ran.seen, vec![vec!["a", "b"]; 3]);
    assert_eq!((ran.stats.written, ran.stats.failed), (2, 0));
    assert!(ran.stats.healthy);
    assert_eq!(ran.log.len(), 2, "{:?}", ran.log);
    assert!(ran.log[0].contains("WARN") && ran.log[0].contains("locked"));
    assert!(ran.log[0].contains("waiting=2"));
    assert!(ran.log[1].contains("written again") && ran.log[1].contains("written=2"));
    assert!(!ran.log.concat().contains("a secret"));
}

// REQ TEL-006
#[test]
fn a_store_that_opens_late_gets_what_was_kept() {
    let ran = play(line_of(&["a"], 10), Err(busy()), [Ok(wrote(1))]);
    assert_eq!(ran.seen, [["a"]]);
    assert!(ran.stats.healthy);
    assert_eq!(ran.log.len(), 2, "{:?}", ran.log);
}

// REQ TEL-006
#[test]
fn an_unusable_store_is_warned_of_once_and_ends() {
    let queue = line_of(&["a", "b"], 10);
    let ran = play(queue, Err(Failure::for_tests("no database", true)), []);
    assert!(ran.seen.is_empty());
    assert_eq!(ran.stats.failed, 2);
    assert!(!ran.stats.healthy);
    assert_eq!(ran.log.len(), 1, "{:?}", ran.log);
    assert!(ran.log[0].contains("no database"));
}

// REQ TEL-006
#[test]
fn a_store_that_breaks_for_good_lets_the_rest_go() {
    let answers = [Ok(wrote(1)), Err(Failure::for_tests("corrupt", true))];
    let ran = play(line_of(&["a", "b", "c"], 1), Ok(()), answers);
    assert_eq!((ran.stats.written, ran.stats.failed), (1, 2));
    assert_eq!(ran.log.len(), 1, "{:?}", ran.log);
}

#[test]
fn a_closed_line_gets_one_last_try() {
    // The only answer closes the line while it is being given.
    let ran = play(line_of(&["a", "b"], 10), Ok(()), [Err(busy())]);
    assert_eq!(ran.seen.len(), 1);
    assert_eq!(ran.stats.failed, 2);
    assert!(ran.log.last().unwrap().contains("failed=2"));
}

#[test]
fn refused_rows_are_counted_and_warned_of_once() {
    let refused = || {
        Ok(Written { new: 0, duplicates: 0, refused: 1, refused_for: Some("too large".to_owned()) })
    };
    let queue = line_of(&["a", "b"], 1);
    let ran = play(queue, Ok(()), [refused(), refused()]);
    assert_eq!(ran.stats.failed, 2);
    assert!(ran.stats.healthy);
    assert_eq!(ran.log.len(), 1, "{:?}", ran.log);
}

#[test]
fn catching_up_after_an_overflow_is_said_with_the_count() {
    let queue = Queue::new(bounds(1, 10));
    for id in ["a", "b", "c"] {
        queue.offer(record(id));
    }
    let ran = play(queue, Ok(()), [Ok(wrote(1))]);
    assert_eq!(ran.seen, [["c"]]);
    assert_eq!(ran.log.len(), 1, "{:?}", ran.log);
    assert!(ran.log[0].contains("caught up") && ran.log[0].contains("dropped=2"));
}

// A panic of the store ends the thread; nobody may wait for it after that.
#[test]
fn a_panic_lets_everybody_go() {
    let queue = Arc::new(line_of(&["a"], 10));
    let mut receipt = queue.offer(record("b")).receipt.unwrap();
    let health = Health::new("store".to_owned());
    let mut sink = ScriptedSink {
        prepared: Ok(()),
        answers: VecDeque::new(),
        closes: Arc::clone(&queue),
        seen: Vec::new(),
    };
    let ended = std::thread::scope(|scope| scope.spawn(|| run(&queue, &health, &mut sink)).join());
    assert!(ended.is_err());
    assert!(receipt.try_recv().is_err());
    assert!(queue.wait_for_end(Duration::ZERO));
    assert_eq!(health.stats().failed, 2);
}
