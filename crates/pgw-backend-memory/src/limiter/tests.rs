//! The limiter behind its port: names, waking, cancellation, sharing.

use std::{future::Future, pin::pin};

use pgw_types::{Denial, Gate};
use tokio::{task::JoinSet, time};

use super::*;
use crate::doubles::{RuntimeClock, secs};

const TTL: Duration = Duration::from_mins(10);

fn limits(max_concurrency: Option<u32>, rpm: Option<u32>, tpm: Option<u64>) -> Limits {
    Limits { max_concurrency, rpm, tpm }
}

/// Sources `a` and `b` without limits of their own.
fn limiter(global: Limits) -> Arc<MemoryLimiter> {
    let sources = ["a", "b"].map(|name| (name.into(), Limits::default()));
    Arc::new(MemoryLimiter::new(global, sources, TTL, Arc::new(RuntimeClock::default())))
}

async fn ask(limiter: &MemoryLimiter, source: &str, tokens: u64) -> Result<Lease, Denial> {
    match limiter.try_acquire(&source.into(), tokens).await.unwrap() {
        Admission::Granted(lease) => Ok(lease),
        Admission::Denied(denial) => Err(denial),
    }
}

async fn load(limiter: &MemoryLimiter, source: &str) -> SourceLoad {
    limiter.source_load(&source.into()).await.unwrap()
}

fn names(error: &GateError, source: &str) -> bool {
    matches!(error, GateError::SourceNotConfigured { source_name } if source_name == source)
}

/// Whether the future is ready after everything that can run has run, without any time passing.
async fn is_ready(future: impl Future<Output = ()>) -> bool {
    tokio::select! {
        biased;
        () = future => true,
        () = tokio::task::yield_now() => false,
    }
}

/// MEM-013: an unknown source is an error, never an open gate.
#[tokio::test(start_paused = true)]
async fn an_unknown_source_is_not_configured() {
    let limiter = limiter(Limits::default());
    let unknown: Arc<str> = "c".into();
    let lease = Lease { id: 1, source_name: Arc::clone(&unknown), charged_tokens: 0 };
    ask(&limiter, "a", 0).await.unwrap();
    assert!(names(&limiter.try_acquire(&unknown, 0).await.unwrap_err(), "c"));
    assert!(names(&limiter.source_load(&unknown).await.unwrap_err(), "c"));
    assert!(names(&limiter.settle(&lease, 0).await.unwrap_err(), "c"));
    assert!(names(&limiter.renew(&lease).await.unwrap_err(), "c"));
    assert!(names(&limiter.release(&lease).await.unwrap_err(), "c"));
    limiter.abandon(&lease);
    assert_eq!(load(&limiter, "a").await.in_flight, 1);
}

/// PRT-003, MEM-002: the lease says what was charged, the refusal which gate and when.
#[tokio::test(start_paused = true)]
async fn a_lease_and_a_refusal_say_what_they_are() {
    let limiter = limiter(limits(None, Some(1), None));
    let lease = ask(&limiter, "a", 7).await.unwrap();
    assert_eq!((&*lease.source_name, lease.charged_tokens), ("a", 7));
    time::advance(secs(20)).await;
    let denial = ask(&limiter, "b", 7).await.unwrap_err();
    let retry_after = Some(secs(40));
    assert_eq!(denial, Denial { gate: Gate::GlobalRpm, retry_after, never_above: None });
    time::advance(secs(40)).await;
    ask(&limiter, "b", 7).await.unwrap();
}

/// MEM-003: the charge of an abandoned lease stays, its place comes free.
#[tokio::test(start_paused = true)]
async fn an_abandoned_lease_keeps_its_charge() {
    let limiter = limiter(limits(Some(1), None, Some(100)));
    let lease = ask(&limiter, "a", 60).await.unwrap();
    limiter.abandon(&lease);
    limiter.abandon(&lease);
    let load = load(&limiter, "a").await;
    assert_eq!(load, SourceLoad { in_flight: 0, calls_in_window: 1, tokens_in_window: 60 });
    assert_eq!(ask(&limiter, "a", 60).await.unwrap_err().gate, Gate::GlobalTpm);
    ask(&limiter, "a", 40).await.unwrap();
}

/// MEM-005: progress is the scope's.
#[tokio::test(start_paused = true)]
async fn progress_has_an_age() {
    let limiter = limiter(Limits::default());
    assert_eq!(limiter.progress_age().await.unwrap(), None);
    limiter.mark_progress().await.unwrap();
    time::advance(secs(7)).await;
    assert_eq!(limiter.progress_age().await.unwrap(), Some(secs(7)));
    limiter.mark_progress().await.unwrap();
    assert_eq!(limiter.progress_age().await.unwrap(), Some(secs(0)));
}

/// Whoever was refused learns of a release, of tokens given back, and of nothing else.
#[tokio::test(start_paused = true)]
async fn a_change_is_what_may_have_freed_something() {
    let limiter = limiter(limits(Some(9), None, Some(100)));
    let lease = ask(&limiter, "a", 50).await.unwrap();
    let since = limiter.version();
    let mut changed = limiter.changed(since);
    assert!(!is_ready(&mut changed).await);

    limiter.renew(&lease).await.unwrap();
    limiter.mark_progress().await.unwrap();
    ask(&limiter, "b", 10).await.unwrap();
    ask(&limiter, "b", 90).await.unwrap_err();
    assert!(!is_ready(&mut changed).await);

    limiter.settle(&lease, 20).await.unwrap();
    assert!(is_ready(&mut changed).await);
    assert!(is_ready(limiter.changed(since)).await, "nor is a change before the wait missed");

    let since = limiter.version();
    limiter.settle(&lease, 0).await.unwrap();
    assert!(!is_ready(limiter.changed(since)).await, "the second settle frees nothing");
    limiter.release(&lease).await.unwrap();
    assert!(is_ready(limiter.changed(since)).await);
    let since = limiter.version();
    limiter.release(&lease).await.unwrap();
    assert!(!is_ready(limiter.changed(since)).await);
}

/// MEM-004, PRT-007: the expiry of a lease wakes those who wait, even of one that was granted after
/// they began to, and though nobody calls.
#[tokio::test(start_paused = true)]
async fn an_expiry_wakes() {
    let limiter = limiter(limits(Some(1), None, None));
    let start = time::Instant::now();
    let mut changed = pin!(limiter.changed(limiter.version()));
    assert!(!is_ready(&mut changed).await);
    time::advance(secs(5)).await;
    let lease = ask(&limiter, "a", 0).await.unwrap();
    time::advance(secs(100)).await;
    limiter.renew(&lease).await.unwrap();
    changed.await;
    assert_eq!(start.elapsed().as_secs(), 705);
    ask(&limiter, "a", 0).await.unwrap();
}

/// MEM-015, MEM-016: who shares the instance shares the gates; two instances share nothing.
#[tokio::test(start_paused = true)]
async fn sharing_is_explicit() {
    let (one, other) = (limiter(limits(Some(1), None, None)), limiter(limits(Some(1), None, None)));
    let shared = Arc::clone(&one);
    let lease = ask(&one, "a", 0).await.unwrap();
    ask(&shared, "b", 0).await.unwrap_err();
    ask(&other, "a", 0).await.unwrap();
    shared.release(&lease).await.unwrap();
    ask(&one, "b", 0).await.unwrap();
    ask(&other, "b", 0).await.unwrap_err();
}

/// A source named twice has its last limits.
#[tokio::test(start_paused = true)]
async fn the_last_limits_of_a_name_hold() {
    let sources = [(Arc::from("a"), Limits::default()), ("a".into(), limits(Some(1), None, None))];
    let clock = Arc::new(RuntimeClock::default());
    let limiter = MemoryLimiter::new(Limits::default(), sources, TTL, clock);
    ask(&limiter, "a", 0).await.unwrap();
    ask(&limiter, "a", 0).await.unwrap_err();
}

/// A lease of no time at all neither admits for ever nor makes a wait spin.
#[tokio::test(start_paused = true)]
async fn a_lease_lives_a_moment_at_least() {
    let clock = Arc::new(RuntimeClock::default());
    let sources = [("a".into(), limits(Some(1), None, None))];
    let limiter = MemoryLimiter::new(Limits::default(), sources, Duration::ZERO, clock);
    ask(&limiter, "a", 0).await.unwrap();
    ask(&limiter, "a", 0).await.unwrap_err();
    limiter.changed(limiter.version()).await;
    ask(&limiter, "a", 0).await.unwrap();
}

/// Gives its lease back on drop, as the middleware does.
struct Permit(Arc<MemoryLimiter>, Lease);

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.abandon(&self.1);
    }
}

/// D21 (BerriAI/litellm#27955): callers that race, wait and are cut off wherever they stand never
/// exceed the limit, and leave nothing in flight.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn racing_and_cancelled_callers_leak_nothing() {
    let limiter = limiter(limits(Some(5), None, None));
    let mut callers = JoinSet::new();
    for number in 0_usize..1_000 {
        let limiter = Arc::clone(&limiter);
        let call = async move {
            loop {
                let since = limiter.version();
                match ask(&limiter, ["a", "b"][number % 2], 1).await {
                    Err(_) => limiter.changed(since).await,
                    Ok(lease) => {
                        let permit = Permit(Arc::clone(&limiter), lease);
                        tokio::task::yield_now().await;
                        let flying = load(&limiter, "a").await.in_flight;
                        assert!(flying + load(&limiter, "b").await.in_flight <= 10);
                        assert!(flying <= 5);
                        drop(permit);
                        return;
                    }
                }
            }
        };
        let handle = callers.spawn(call);
        if number % 3 == 0 {
            tokio::task::yield_now().await;
            handle.abort();
        }
    }
    while let Some(end) = callers.join_next().await {
        assert!(end.is_ok() || end.is_err_and(|error| error.is_cancelled()));
    }
    for source in ["a", "b"] {
        assert_eq!(load(&limiter, source).await.in_flight, 0);
    }
    let leases = [ask(&limiter, "a", 0).await, ask(&limiter, "b", 0).await];
    assert!(leases.iter().all(Result::is_ok));
}
