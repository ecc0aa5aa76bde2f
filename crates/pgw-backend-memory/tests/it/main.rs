//! The memory stores against the contracts of their ports.

mod histories;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use pgw_backend_memory::{
    BreakerSettings, BreakerState, MemoryBreaker, MemoryCache, MemoryLimiter,
};
use pgw_contract::{
    BreakerHarness, BreakerSpec, CacheHarness, LimiterHarness, LimiterSpec, ManualClock,
};
use pgw_ports::{Breaker, CacheBackend, Clock, Limiter};
use pgw_types::Entry;

/// Memory stores on a clock that goes when it is told to.
#[derive(Default)]
struct Memory {
    clock: Arc<ManualClock>,
}

impl Memory {
    fn clock(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.clock) as _
    }

    fn breaker(&self, spec: BreakerSpec) -> MemoryBreaker {
        let settings = BreakerSettings {
            threshold: spec.threshold,
            cooldown: spec.cooldown,
            dead_cooldown: spec.dead_cooldown,
            probe_lease: spec.probe_lease,
        };
        MemoryBreaker::new(settings, spec.sources, self.clock())
    }
}

#[async_trait]
impl LimiterHarness for Memory {
    async fn fresh(&self, spec: LimiterSpec) -> Arc<dyn Limiter> {
        let limiter = MemoryLimiter::new(spec.scope, spec.sources, spec.lease_ttl, self.clock());
        Arc::new(limiter)
    }

    async fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }
}

#[async_trait]
impl BreakerHarness for Memory {
    async fn fresh(&self, spec: BreakerSpec) -> Arc<dyn Breaker> {
        Arc::new(self.breaker(spec))
    }

    async fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }
}

/// MEM-001…005, MEM-013, MEM-015, MEM-016, PRT-003…009, PRT-022, PRT-025, D21, D23, D27.
mod limiter {
    pgw_contract::limiter_suite!(super::Memory::default());
}

/// MEM-006…013, MEM-016, MEM-017, PRT-010, PRT-011, PRT-022, PRT-025, D37, D39, D41, D91.
mod breaker {
    pgw_contract::breaker_suite!(super::Memory::default());
}

#[async_trait]
impl CacheHarness for Memory {
    async fn fresh(&self) -> Arc<dyn CacheBackend> {
        Arc::new(MemoryCache::new(16 << 20, self.clock()))
    }

    async fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }
}

/// MEM-014, MEM-016, PRT-012, PRT-025, MID-085, MID-093, MID-094.
mod cache {
    pgw_contract::cache_suite!(super::Memory::default());
}

/// PRT-010, D41: the state of a source and the count of stale verdicts can be looked at.
#[tokio::test]
async fn a_breaker_can_be_looked_at() {
    let memory = Memory::default();
    let breaker = memory.breaker(BreakerSpec {
        threshold: 1,
        cooldown: Duration::from_secs(30),
        dead_cooldown: Duration::from_mins(1),
        probe_lease: Duration::from_secs(10),
        sources: vec![("one".into(), None), ("two".into(), None)],
    });
    let Entry::Admitted(ticket) = breaker.try_enter(&"one".into()).await.unwrap() else {
        panic!("a new breaker is closed")
    };
    assert_eq!(breaker.state("one"), Some(BreakerState::Closed));
    breaker.record_failure(&ticket).await.unwrap();
    assert_eq!(breaker.state("one"), Some(BreakerState::Open));
    assert_eq!(breaker.state("two"), Some(BreakerState::Closed));
    assert_eq!(breaker.state("three"), None);
    assert_eq!(breaker.stale_verdicts(), 0);
    breaker.record_success(&ticket).await.unwrap();
    assert_eq!(breaker.stale_verdicts(), 1);
    memory.clock.advance(Duration::from_secs(30));
    assert_eq!(breaker.state("one"), Some(BreakerState::HalfOpen));
    let words = [BreakerState::Closed, BreakerState::Open, BreakerState::HalfOpen];
    assert_eq!(words.map(BreakerState::as_str), ["closed", "open", "half_open"]);
}
