//! Tests of the line, without a store.

use super::*;
use crate::doubles::{bounds, ids, record};

fn offer(queue: &Queue, id: &str) -> Offered {
    queue.offer(record(id))
}

fn is_resolved(receipt: &mut oneshot::Receiver<()>) -> bool {
    !matches!(receipt.try_recv(), Err(oneshot::error::TryRecvError::Empty))
}

#[test]
fn a_full_line_drops_its_oldest_and_says_so_once() {
    let queue = Queue::new(bounds(2, 10));
    let mut first = offer(&queue, "a").receipt.unwrap();
    assert_eq!(offer(&queue, "b").dropped, Dropped::default());
    assert!(!is_resolved(&mut first));
    let one = |first| Dropped { rows: 1, first };
    assert_eq!(offer(&queue, "c").dropped, one(true));
    assert_eq!(offer(&queue, "d").dropped, one(false));
    // Nobody waits for a record that is gone.
    assert!(is_resolved(&mut first));
    let mut batch = VecDeque::new();
    assert!(queue.take(&mut batch));
    assert_eq!(ids(&batch), ["c", "d"]);
    assert_eq!(queue.settle(&mut batch), 2);
    // The next overflow is a new one.
    for id in ["e", "f"] {
        offer(&queue, id);
    }
    assert_eq!(offer(&queue, "g").dropped, one(true));
}

#[test]
fn bytes_are_bounded_too_but_one_large_record_fits() {
    let queue = Queue::new(Bounds { records: 100, bytes: 4_000, batch: 10 });
    let large = || CallRecord { messages: "x".repeat(3_000), ..record("large") };
    assert_eq!(queue.offer(large()).dropped.rows, 0);
    assert_eq!(queue.offer(large()).dropped.rows, 1);
    let larger = CallRecord { messages: "x".repeat(9_000), ..record("larger") };
    assert_eq!(queue.offer(larger).dropped.rows, 1);
    let mut batch = VecDeque::new();
    assert!(queue.take(&mut batch));
    assert_eq!(ids(&batch), ["larger"]);
    queue.settle(&mut batch);
    assert_eq!(queue.lock().bytes, 0);
}

#[test]
fn a_batch_is_bounded_and_in_order() {
    let queue = Queue::new(bounds(100, 2));
    for id in ["a", "b", "c"] {
        offer(&queue, id);
    }
    let mut batch = VecDeque::new();
    assert!(queue.take(&mut batch));
    assert_eq!(ids(&batch), ["a", "b"]);
    queue.settle(&mut batch);
    drop(queue.close());
    assert!(queue.take(&mut batch));
    assert_eq!(ids(&batch), ["c"]);
    queue.settle(&mut batch);
    assert!(!queue.take(&mut batch));
    assert_eq!(queue.lock().bytes, 0);
}

#[test]
fn receipts_and_flushes_resolve_when_their_row_is_settled() {
    let queue = Queue::new(bounds(100, 1));
    assert!(queue.flush().is_none());
    let mut one = offer(&queue, "a").receipt.unwrap();
    let mut flush = queue.flush().unwrap();
    let mut two = offer(&queue, "b").receipt.unwrap();
    let mut batch = VecDeque::new();
    assert!(queue.take(&mut batch));
    assert!(!is_resolved(&mut one) && !is_resolved(&mut flush));
    queue.settle(&mut batch);
    assert!(is_resolved(&mut one) && is_resolved(&mut flush));
    assert!(!is_resolved(&mut two));
    assert!(queue.flush().is_some());
}

#[test]
fn a_failing_store_lets_everybody_go_and_keeps_the_rows() {
    let queue = Queue::new(bounds(3, 1));
    let mut receipts: Vec<_> = ["a", "b"].map(|id| offer(&queue, id).receipt.unwrap()).into();
    let mut batch = VecDeque::new();
    assert!(queue.take(&mut batch));
    receipts.push(queue.flush().unwrap());
    assert_eq!(queue.give_back(&mut batch), Dropped::default());
    assert_eq!(queue.look(), (2, false));
    assert!(receipts.iter_mut().all(is_resolved));
    // While it fails, nobody waits.
    assert!(offer(&queue, "c").receipt.is_none());
    assert!(queue.flush().is_none());
    // The line stays bounded, by a batch that comes back too.
    assert!(queue.take(&mut batch));
    offer(&queue, "d");
    let one = Dropped { rows: 1, first: true };
    assert_eq!(queue.give_back(&mut batch), one);
    assert_eq!(queue.look(), (3, false));
    for expected in ["b", "c", "d"] {
        assert!(queue.take(&mut batch));
        assert_eq!(ids(&batch), [expected]);
        queue.settle(&mut batch);
    }
    assert!(offer(&queue, "e").receipt.is_some());
}

#[test]
fn a_closed_line_takes_nothing_more_and_tells_when_it_has_ended() {
    let queue = Queue::new(bounds(10, 10));
    offer(&queue, "a");
    let mut end = queue.close().unwrap();
    let late = offer(&queue, "b");
    assert!(late.receipt.is_none());
    assert_eq!(late.dropped.rows, 1);
    assert!(!queue.wait_for_end(Duration::ZERO));
    assert!(!is_resolved(&mut end));
    assert_eq!(queue.end(), 1);
    assert!(is_resolved(&mut end));
    assert!(queue.wait_for_end(Duration::ZERO));
    assert!(queue.close().is_none());
    assert!(queue.flush().is_none());
}
