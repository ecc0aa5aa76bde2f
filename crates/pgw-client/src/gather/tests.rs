//! Order, bound, errors, cancellation and progress of gathered calls. (CLI-028, CLI-029)

use std::{cell::Cell, future, rc::Rc, task::Waker, time::Duration};

use pgw_types::{CallError, Fault};
use tokio::time::sleep;

use super::*;

/// How many calls are in flight, and how many ever were at once.
#[derive(Clone, Default)]
struct Gauge(Rc<[Cell<usize>; 2]>);

impl Gauge {
    fn enter(&self) -> Self {
        let [now, most] = &*self.0;
        now.set(now.get() + 1);
        most.set(most.get().max(now.get()));
        self.clone()
    }

    fn now(&self) -> usize {
        self.0[0].get()
    }

    fn most(&self) -> usize {
        self.0[1].get()
    }
}

/// In flight until it is dropped.
struct InFlight(Gauge);

impl Drop for InFlight {
    fn drop(&mut self) {
        let [now, _] = &*self.0.0;
        now.set(now.get() - 1);
    }
}

async fn call(gauge: Gauge, number: usize, seconds: u64) -> Result<usize, PgwError> {
    let _guard = InFlight(gauge.enter());
    sleep(Duration::from_secs(seconds)).await;
    Ok(number)
}

fn numbers(results: Vec<Result<usize, PgwError>>) -> Vec<usize> {
    results.into_iter().map(Result::unwrap).collect()
}

#[tokio::test(start_paused = true)]
async fn results_come_in_the_order_of_the_calls() {
    let gauge = Gauge::default();
    // The later, the quicker.
    let calls = (0..10).map(|n| call(gauge.clone(), n, 20 - n as u64));
    assert_eq!(numbers(gather_bounded(calls, 10).await), (0..10).collect::<Vec<_>>());
    assert_eq!((gauge.now(), gauge.most()), (0, 10));
}

/// A slow call holds up its own place only, so 20 s of it cost no more than 20 s.
#[tokio::test(start_paused = true)]
async fn no_more_than_the_bound_run_and_no_place_stays_empty() {
    let began = tokio::time::Instant::now();
    let gauge = Gauge::default();
    let calls = (0..21).map(|n| call(gauge.clone(), n, if n == 0 { 20 } else { 2 }));
    assert_eq!(numbers(gather_bounded(calls, 3).await), (0..21).collect::<Vec<_>>());
    assert_eq!(gauge.most(), 3);
    assert_eq!(began.elapsed().as_secs(), 20);
}

#[tokio::test(start_paused = true)]
async fn a_bound_of_zero_counts_as_one() {
    let gauge = Gauge::default();
    let calls = (0..4).map(|n| call(gauge.clone(), n, 1));
    assert_eq!(numbers(gather_bounded(calls, 0).await), [0, 1, 2, 3]);
    assert_eq!(gauge.most(), 1);
}

#[tokio::test]
async fn no_calls_are_no_results() {
    let none: [future::Ready<Result<(), PgwError>>; 0] = [];
    assert!(gather_bounded(none, 8).await.is_empty());
}

#[tokio::test]
async fn one_error_does_not_end_the_others() {
    let calls = (0..5).map(|n| {
        future::ready(if n == 1 {
            Err(PgwError::from(CallError::new(Fault::BadRequest, "no such thing")))
        } else {
            Ok(n)
        })
    });
    let results = gather_bounded(calls, 2).await;
    let seen: Vec<_> = results.iter().map(|result| result.as_ref().ok().copied()).collect();
    assert_eq!(seen, [Some(0), None, Some(2), Some(3), Some(4)]);
    assert_eq!(results[1].as_ref().unwrap_err().call().unwrap().fault(), Fault::BadRequest);
}

#[tokio::test(start_paused = true)]
async fn dropping_the_whole_cancels_its_parts() {
    let gauge = Gauge::default();
    let calls = (0..10).map(|n| call(gauge.clone(), n, 1));
    let mut whole = gather_bounded(calls, 4);
    assert_eq!(gauge.now(), 0, "nothing begins before the first poll");
    let mut cx = Context::from_waker(Waker::noop());
    assert!(Pin::new(&mut whole).poll(&mut cx).is_pending());
    assert_eq!(gauge.now(), 4);
    assert_eq!(
        format!("{whole:?}"),
        "Gather { waiting: 6, running: 4, done: 0, concurrency: 4, .. }"
    );
    drop(whole);
    assert_eq!((gauge.now(), gauge.most()), (0, 4));
}

#[tokio::test(start_paused = true)]
async fn progress_counts_every_call_that_has_ended() {
    let gauge = Gauge::default();
    let calls = (0..4).map(|n| call(gauge.clone(), n, 4 - n as u64));
    let mut seen = Vec::new();
    gather_bounded(calls, 2).on_progress(|done, total| seen.push((done, total))).await;
    assert_eq!(seen, [(1, 4), (2, 4), (3, 4), (4, 4)]);
}

/// CLI-029: what is gathered may be spawned like any call.
#[test]
fn gathered_calls_may_cross_threads() {
    fn crosses<T: Send + 'static>(_: &T) {}
    crosses(&gather_bounded(Vec::<crate::ChatCall>::new(), 8));
}
