//! Scale: what a permit costs by the number of sources, and what a waiting call costs in memory.
//!
//! The targets: a permit taken and given back uncontended in 1 µs at most, no worse than linear in
//! the sources; 16 kB of resident memory at most for a call that waits; 10,000 calls in flight in
//! one process without an error.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a benchmark that can't run should stop and say why"
)]

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use futures_util::{future::join_all, poll, stream};
use pgw_backend_memory::{BreakerSettings, MemoryBreaker, MemoryLimiter};
use pgw_bench::{CpuMeter, Rounds, print_bytes, print_row, print_title, resident_bytes};
use pgw_client::{
    CallFuture, GatewayClient, GatewaySettings, Limits, LlmResponse, SourceConfig, gather_bounded,
};
use pgw_middleware::TokioClock;
use pgw_ports::{AttemptCx, Breaker as _, Clock, EventStream, Limiter as _, Transport};
use pgw_types::{
    Admission, CallError, ChatEvent, ChatRequest, Entry, Finish, FinishReason, UsageReport,
};
use tokio::time::sleep;

const ROUNDS: usize = 9;
const PERMITS: usize = 100_000;
const CALLS: usize = 10_000;

/// Binds nothing, but has every gate count.
const WIDE: Limits =
    Limits { max_concurrency: Some(u32::MAX), rpm: Some(u32::MAX), tpm: Some(u64::MAX / 2) };

/// A service that takes its time to the first token, and knows how many calls it has.
#[derive(Debug)]
struct Slow {
    takes: Duration,
    alive: AtomicUsize,
    most: AtomicUsize,
}

impl Slow {
    fn new(takes: Duration) -> Arc<Self> {
        Arc::new(Self { takes, alive: AtomicUsize::new(0), most: AtomicUsize::new(0) })
    }
}

#[async_trait]
impl Transport<ChatRequest, ChatEvent> for Slow {
    async fn open(
        &self,
        _: &AttemptCx,
        _: &Arc<ChatRequest>,
    ) -> Result<EventStream<ChatEvent>, CallError> {
        let alive = self.alive.fetch_add(1, Ordering::Relaxed) + 1;
        self.most.fetch_max(alive, Ordering::Relaxed);
        sleep(self.takes).await;
        self.alive.fetch_sub(1, Ordering::Relaxed);
        let usage = UsageReport {
            prompt_tokens: Some(3),
            completion_tokens: Some(2),
            ..UsageReport::default()
        };
        let events = [
            ChatEvent::ContentDelta { choice: 0, text: "Hello there".into() },
            ChatEvent::Usage(usage),
            ChatEvent::Finish(Finish { reasons: vec![FinishReason::Stop], ..Finish::default() }),
        ];
        Ok(Box::pin(stream::iter(events.map(Ok))))
    }
}

fn client(transport: Arc<Slow>, limits: Limits) -> GatewayClient {
    let mut source = SourceConfig::new("only", "generic", "http://localhost/v1", "key", "m");
    source.limits = limits;
    let settings = GatewaySettings::new("LLM", vec![source]);
    GatewayClient::builder().transport(transport).build(settings).unwrap()
}

fn clock() -> Arc<dyn Clock> {
    Arc::new(TokioClock::default())
}

fn names(count: usize) -> Vec<Arc<str>> {
    (0..count).map(|number| format!("source-{number}").into()).collect()
}

/// One permit after another, each on the next source.
async fn permits(sources: usize) -> Rounds {
    let names = names(sources);
    let each = names.iter().map(|name| (Arc::clone(name), WIDE));
    let limiter = MemoryLimiter::new(WIDE, each, Duration::from_mins(15), clock());
    let mut rounds = Rounds::default();
    for _ in 0..ROUNDS {
        let meter = CpuMeter::start(&[]);
        for name in names.iter().cycle().take(PERMITS) {
            match limiter.try_acquire(name, 1_000).await.unwrap() {
                Admission::Granted(lease) => limiter.release(&lease).await.unwrap(),
                Admission::Denied(denial) => panic!("{denial:?}"),
            }
        }
        rounds.add(meter.elapsed(), PERMITS);
    }
    rounds
}

/// A closed breaker: asked, and told that all went well.
async fn breaker(sources: usize) -> Rounds {
    let names = names(sources);
    let rules = BreakerSettings {
        threshold: 5,
        cooldown: Duration::from_secs(30),
        dead_cooldown: Duration::from_mins(5),
        probe_lease: Duration::from_mins(15),
    };
    let each = names.iter().map(|name| (Arc::clone(name), None));
    let breaker = MemoryBreaker::new(rules, each, clock());
    let mut rounds = Rounds::default();
    for _ in 0..ROUNDS {
        let meter = CpuMeter::start(&[]);
        for name in names.iter().cycle().take(PERMITS) {
            match breaker.try_enter(name).await.unwrap() {
                Entry::Admitted(ticket) => breaker.record_success(&ticket).await.unwrap(),
                Entry::Refused { retry_after } => panic!("{retry_after:?}"),
            }
        }
        rounds.add(meter.elapsed(), PERMITS);
    }
    rounds
}

/// 10,000 calls, of which one may be in flight: what those in line hold. They are handed back as
/// they stand, so that their memory serves nobody else meanwhile.
async fn waiting() -> Vec<CallFuture<LlmResponse>> {
    let limits = Limits { max_concurrency: Some(1), ..Limits::default() };
    let client = client(Slow::new(Duration::from_micros(1)), limits);
    // What is allocated once and for all is no call's.
    client.chat("Hello?").await.unwrap();
    let mut calls = Vec::with_capacity(CALLS);
    let before = resident_bytes();
    for _ in 0..CALLS {
        let mut call = client.chat("Hello?").into_future();
        // The first is in flight, and the others are in line.
        assert!(poll!(&mut call).is_pending());
        calls.push(call);
    }
    print_bytes("waiting in line", per_call(before), "(≤ 16384)");
    calls
}

fn per_call(before: u64) -> u64 {
    resident_bytes().saturating_sub(before) / CALLS as u64
}

/// 10,000 calls in flight at once.
async fn in_flight() {
    let transport = Slow::new(Duration::from_secs(3));
    let client = client(Arc::clone(&transport), WIDE);
    let mut rounds = Rounds::default();
    let before = resident_bytes();
    let mut each = 0;
    for _ in 0..3 {
        let meter = CpuMeter::start(&[]);
        let calls = (0..CALLS).map(|_| client.chat("Hello?"));
        let mut first = true;
        let answers = gather_bounded(calls, CALLS)
            .on_progress(|_, _| {
                // The first is done: all have begun, and hold whatever they will.
                if std::mem::take(&mut first) {
                    each = per_call(before);
                }
            })
            .await;
        rounds.add(meter.elapsed(), CALLS);
        if let Some(error) = answers.into_iter().find_map(Result::err) {
            panic!("{error}");
        }
    }
    assert_eq!(transport.most.load(Ordering::Relaxed), CALLS);
    print_bytes("in flight, gathered", each, "");
    print_row("in flight, gathered: CPU a call", &rounds, "no error");
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        print_title("gates in memory, uncontended: CPU per permit");
        let one = permits(1).await;
        print_row("permit, 1 source", &one, "(≤ 1)");
        for sources in [10, 100] {
            let many = permits(sources).await;
            let ratio = many.median() / one.median();
            print_row(
                &format!("permit, {sources} sources"),
                &many,
                &format!("× {ratio:.2} (≤ 1, no worse than linear)"),
            );
        }
        print_row("breaker closed, 1 source", &breaker(1).await, "");
        print_row("breaker closed, 100 sources", &breaker(100).await, "");
        print_title("10,000 calls in one process: resident memory per call");
        let mut waiting = waiting().await;
        in_flight().await;
        // Of those in line most leave now, and the others are served.
        waiting.truncate(CALLS / 10);
        assert!(join_all(waiting).await.iter().all(Result::is_ok));
    });
}
