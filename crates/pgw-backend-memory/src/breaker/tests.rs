//! The breaker behind its port: names, races, thresholds, sharing.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::{sync::Barrier, task::JoinSet, time};

use super::*;
use crate::doubles::{RuntimeClock, secs};

const SETTINGS: BreakerSettings = BreakerSettings {
    threshold: 2,
    cooldown: Duration::from_secs(30),
    dead_cooldown: Duration::from_mins(5),
    probe_lease: Duration::from_secs(10),
};

fn with(settings: BreakerSettings, sources: &[(&str, Option<u32>)]) -> Arc<MemoryBreaker> {
    let sources = sources.iter().map(|(name, concurrency)| ((*name).into(), *concurrency));
    Arc::new(MemoryBreaker::new(settings, sources, Arc::new(RuntimeClock::default())))
}

fn breaker() -> Arc<MemoryBreaker> {
    with(SETTINGS, &[("a", None), ("b", None)])
}

async fn enter(breaker: &MemoryBreaker, source: &str) -> Result<BreakerTicket, Duration> {
    match breaker.try_enter(&source.into()).await.unwrap() {
        Entry::Admitted(ticket) => Ok(ticket),
        Entry::Refused { retry_after } => Err(retry_after),
    }
}

async fn fail(breaker: &MemoryBreaker, source: &str) -> Option<Duration> {
    let ticket = enter(breaker, source).await.unwrap();
    breaker.record_failure(&ticket).await.unwrap()
}

fn names(error: &GateError, source: &str) -> bool {
    matches!(error, GateError::SourceNotConfigured { source_name } if source_name == source)
}

/// MEM-013: an unknown source is an error, never a closed breaker.
#[tokio::test(start_paused = true)]
async fn an_unknown_source_is_not_configured() {
    let breaker = breaker();
    let ticket = BreakerTicket { source_name: "c".into(), epoch: 0, probe: None };
    assert!(names(&breaker.try_enter(&ticket.source_name).await.unwrap_err(), "c"));
    assert!(names(&breaker.record_success(&ticket).await.unwrap_err(), "c"));
    assert!(names(&breaker.record_failure(&ticket).await.unwrap_err(), "c"));
    assert!(names(&breaker.force_open(&ticket).await.unwrap_err(), "c"));
    assert!(names(&breaker.release_probe(&ticket).await.unwrap_err(), "c"));
    breaker.abandon(&ticket);
    assert_eq!(breaker.state("c"), None);
}

/// PRT-010, MEM-006, MEM-007, MEM-011: the whole way round on the injected clock, for one source
/// without touching the other.
#[tokio::test(start_paused = true)]
async fn the_whole_way_round() {
    let breaker = breaker();
    assert_eq!(fail(&breaker, "a").await, None);
    assert_eq!(fail(&breaker, "b").await, None, "counts are per source");
    assert_eq!(fail(&breaker, "a").await, Some(secs(30)));
    assert_eq!(breaker.state("a"), Some(BreakerState::Open));
    assert_eq!(breaker.state("b"), Some(BreakerState::Closed));
    assert_eq!(enter(&breaker, "a").await, Err(secs(30)));

    time::advance(secs(30)).await;
    assert_eq!(breaker.state("a"), Some(BreakerState::HalfOpen));
    let probe = enter(&breaker, "a").await.unwrap();
    time::advance(secs(4)).await;
    assert_eq!(enter(&breaker, "a").await, Err(secs(6)));
    breaker.record_success(&probe).await.unwrap();
    assert_eq!(breaker.state("a"), Some(BreakerState::Closed));

    breaker.record_success(&probe).await.unwrap();
    assert_eq!(breaker.stale_verdicts(), 1);
    let ticket = enter(&breaker, "b").await.unwrap();
    assert_eq!(breaker.force_open(&ticket).await.unwrap(), secs(300));
    assert_eq!(breaker.state("b"), Some(BreakerState::Open));
    assert_eq!(breaker.state("a"), Some(BreakerState::Closed));
}

/// MEM-017: one burst on a busy source does not open its breaker.
#[tokio::test(start_paused = true)]
async fn the_threshold_follows_the_concurrency() {
    let breaker = with(SETTINGS, &[("busy", Some(10)), ("quiet", Some(1)), ("free", None)]);
    for (source, threshold) in [("busy", 20), ("quiet", 2), ("free", 2)] {
        for _ in 1..threshold {
            assert_eq!(fail(&breaker, source).await, None, "{source}");
        }
        assert_eq!(fail(&breaker, source).await, Some(secs(30)), "{source}");
    }
}

/// MEM-008, D39: of 100 tasks that race for a half-open breaker exactly one probes; when it is
/// given back, whichever way, exactly one more may.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn exactly_one_of_a_hundred_probes() {
    let at_once = BreakerSettings { cooldown: Duration::ZERO, ..SETTINGS };
    let long = BreakerSettings { probe_lease: secs(3_600), ..at_once };
    let breaker = with(long, &[("a", None)]);
    fail(&breaker, "a").await;
    fail(&breaker, "a").await;
    for round in 0..20 {
        let start = Arc::new(Barrier::new(100));
        let refused = Arc::new(AtomicUsize::new(0));
        let mut tasks = JoinSet::new();
        for _ in 0..100 {
            let (breaker, start, refused) =
                (Arc::clone(&breaker), Arc::clone(&start), Arc::clone(&refused));
            tasks.spawn(async move {
                start.wait().await;
                let entry = enter(&breaker, "a").await;
                refused.fetch_add(usize::from(entry.is_err()), Ordering::Relaxed);
                entry.ok()
            });
        }
        let probes: Vec<BreakerTicket> = tasks.join_all().await.into_iter().flatten().collect();
        assert_eq!((probes.len(), refused.load(Ordering::Relaxed)), (1, 99));
        match round % 3 {
            0 => breaker.abandon(&probes[0]),
            1 => breaker.release_probe(&probes[0]).await.unwrap(),
            _ => assert_eq!(breaker.record_failure(&probes[0]).await.unwrap(), None),
        }
    }
    assert_eq!(breaker.stale_verdicts(), 0);
}

/// MEM-015, MEM-016: who shares the instance shares the state; two instances share nothing.
#[tokio::test(start_paused = true)]
async fn sharing_is_explicit() {
    let (one, other) = (breaker(), breaker());
    let shared = Arc::clone(&one);
    fail(&one, "a").await;
    fail(&shared, "a").await;
    assert_eq!(shared.state("a"), Some(BreakerState::Open));
    assert_eq!(other.state("a"), Some(BreakerState::Closed));
}
