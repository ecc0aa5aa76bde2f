//! The onion alone: what the governance of a call costs over ports that do nothing.
//!
//! A layer, the retry loop, both gates, watchdog and assembly run in full; the ports answer at once.
//! The target is 2 µs a call, and this is the figure that the shape of pgw-ports hangs on.
#![expect(clippy::unwrap_used, reason = "a benchmark that can't run should stop and say why")]

use std::{pin::Pin, sync::Arc, time::Duration};

use async_trait::async_trait;
use futures_util::stream;
use pgw_bench::{CpuMeter, Rounds, print_row, print_title};
use pgw_middleware::{
    Chat, Gates, GovernedSource, Ledger, OnFull, RandomJitter, RetryLoop, RetryPolicy,
    TelemetryLayer, TokioClock, WaitPolicy, selectors::RoundRobin,
};
use pgw_ports::{
    AttemptCx, Breaker, CallCx, Clock, EventStream, GateError, Hand, Limiter, Middleware, Next,
    Pricing, Reply, Transport,
};
use pgw_types::{
    Admission, BreakerTicket, CallError, CallOptions, ChatEvent, ChatRequest, Entry, Finish,
    FinishReason, Lease, Message, Plan, PlannedSource, SourceConfig, SourceLoad, Usage,
    UsageReport,
};

const ROUNDS: usize = 9;
const CALLS: usize = 100_000;

#[derive(Debug)]
struct Open;

#[async_trait]
impl Limiter for Open {
    async fn try_acquire(&self, name: &Arc<str>, tokens: u64) -> Result<Admission, GateError> {
        let source_name = Arc::clone(name);
        Ok(Admission::Granted(Lease { id: 1, source_name, charged_tokens: tokens }))
    }
    async fn settle(&self, _: &Lease, _: u64) -> Result<(), GateError> {
        Ok(())
    }
    async fn release(&self, _: &Lease) -> Result<(), GateError> {
        Ok(())
    }
    async fn renew(&self, _: &Lease) -> Result<(), GateError> {
        Ok(())
    }
    fn abandon(&self, _: &Lease) {}
    async fn mark_progress(&self) -> Result<(), GateError> {
        Ok(())
    }
    async fn progress_age(&self) -> Result<Option<Duration>, GateError> {
        Ok(None)
    }
    async fn source_load(&self, _: &Arc<str>) -> Result<SourceLoad, GateError> {
        Ok(SourceLoad::default())
    }
    fn version(&self) -> u64 {
        0
    }
    async fn changed(&self, _: u64) {}
}

#[async_trait]
impl Breaker for Open {
    async fn try_enter(&self, name: &Arc<str>) -> Result<Entry, GateError> {
        let source_name = Arc::clone(name);
        Ok(Entry::Admitted(BreakerTicket { source_name, epoch: 0, probe: None }))
    }
    async fn record_success(&self, _: &BreakerTicket) -> Result<(), GateError> {
        Ok(())
    }
    async fn record_failure(&self, _: &BreakerTicket) -> Result<Option<Duration>, GateError> {
        Ok(None)
    }
    async fn force_open(&self, _: &BreakerTicket) -> Result<Duration, GateError> {
        Ok(Duration::ZERO)
    }
    async fn release_probe(&self, _: &BreakerTicket) -> Result<(), GateError> {
        Ok(())
    }
    fn abandon(&self, _: &BreakerTicket) {}
}

impl Pricing for Open {
    fn cost(&self, _: &str, _: &Usage) -> Option<f64> {
        None
    }
    fn rank(&self, _: &str) -> Option<f64> {
        None
    }
}

fn answer() -> [Result<ChatEvent, CallError>; 4] {
    let usage = UsageReport {
        prompt_tokens: Some(3),
        completion_tokens: Some(2),
        ..UsageReport::default()
    };
    [
        Ok(ChatEvent::MessageStart { id: "c".into(), model: "m".into(), request_id: None }),
        Ok(ChatEvent::ContentDelta { choice: 0, text: "Hello there".into() }),
        Ok(ChatEvent::Usage(usage)),
        Ok(ChatEvent::Finish(Finish { reasons: vec![FinishReason::Stop], ..Finish::default() })),
    ]
}

#[async_trait]
impl Transport<ChatRequest, ChatEvent> for Open {
    async fn open(
        &self,
        _: &AttemptCx,
        _: &Arc<ChatRequest>,
    ) -> Result<EventStream<ChatEvent>, CallError> {
        Ok(Box::pin(stream::iter(answer())))
    }
}

struct Onion {
    layers: Vec<Arc<dyn Middleware<Chat>>>,
    retry: RetryLoop<Chat>,
    plan: Arc<Plan>,
}

impl Onion {
    fn new() -> Self {
        let clock: Arc<dyn Clock> = Arc::new(TokioClock::default());
        let ledger = Arc::new(Ledger::new(None, Arc::new(Open), Arc::clone(&clock)));
        let name: Arc<str> = "a".into();
        let config = SourceConfig::new("a", "generic", "http://localhost/v1", "key", "m");
        let source = GovernedSource {
            name: Arc::clone(&name),
            config: Arc::new(config),
            transport: Arc::new(Open) as Arc<dyn Transport<_, _>>,
        };
        let second = Duration::from_secs(1);
        let gates = Gates {
            limiter: Arc::new(Open),
            breaker: Arc::new(Open),
            selector: Arc::new(RoundRobin::default()),
            clock: Arc::clone(&clock),
            jitter: Arc::new(RandomJitter),
            ledger: Arc::clone(&ledger),
            retry: RetryPolicy {
                max_attempts: 3,
                base_delay: second,
                max_delay: second,
                retry_after_cap: second,
                rate_limit_cooldown: second,
            },
            wait: WaitPolicy {
                on_full: OnFull::Wait,
                stall_window: second,
                poll_interval: second,
                max_wait: second,
                max_queue: 10,
            },
            lease_ttl: Duration::from_mins(20),
        };
        let plan = Plan {
            scope: "LLM".into(),
            config_checksum: "none".into(),
            candidates: vec![PlannedSource { name, provider: "generic".into(), model: "m".into() }],
            exclusions: Vec::new(),
            max_attempts: 3,
            upstream_call_bound: 3,
            deadline: None,
        };
        Self {
            layers: vec![Arc::new(TelemetryLayer::<Chat>::new(ledger, clock))],
            retry: RetryLoop::new("LLM".into(), vec![source], gates),
            plan: Arc::new(plan),
        }
    }

    async fn call(&self, request: &Arc<ChatRequest>) {
        let id = "018f0000-0000-7000-8000-000000000000".into();
        let plan = Arc::clone(&self.plan);
        let cx = Arc::new(CallCx::new(id, CallOptions::default(), plan, Hand::Whole, None));
        let reply = Next::new(&self.layers, &self.retry).run(&cx, Arc::clone(request)).await;
        let Ok(Reply::Whole(response)) = reply else { unreachable!("the ports let all pass") };
        assert_eq!(response.content, "Hello there");
    }
}

/// The same events folded into a string, without any governance: what no onion could save.
async fn bare(request: &Arc<ChatRequest>) {
    let transport: &dyn Transport<ChatRequest, ChatEvent> = &Open;
    let attempt = AttemptCx {
        source: Arc::new(SourceConfig::new("a", "generic", "http://localhost/v1", "key", "m")),
        call_id: "x".into(),
        stream: true,
    };
    let mut events: Pin<_> = transport.open(&attempt, request).await.unwrap();
    let mut content = String::new();
    while let Some(event) = futures_util::StreamExt::next(&mut events).await {
        if let ChatEvent::ContentDelta { text, .. } = event.unwrap() {
            content.push_str(&text);
        }
    }
    assert_eq!(content, "Hello there");
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let onion = Onion::new();
        let request = Arc::new(ChatRequest::new(vec![Message::user("Hello?")]));
        let (mut governed, mut ungoverned) = (Rounds::default(), Rounds::default());
        for _ in 0..ROUNDS {
            let meter = CpuMeter::start(&[]);
            for _ in 0..CALLS {
                bare(&request).await;
            }
            ungoverned.add(meter.elapsed(), CALLS);
            let meter = CpuMeter::start(&[]);
            for _ in 0..CALLS {
                onion.call(&request).await;
            }
            governed.add(meter.elapsed(), CALLS);
        }
        print_title("the onion over ports that do nothing: CPU per call");
        print_row("transport alone", &ungoverned, "");
        let over = governed.median() - ungoverned.median();
        print_row("the whole onion", &governed, &format!("onion {over:+.2} µs (≤ +2)"));
    });
}
