//! The cancellation harness over real HTTP: a call dropped after its n-th poll, for every n, over the
//! mock's scenarios, awaited whole and taken live.
//!
//! After each drop: the upstream connection is closed, no permit and no probe is out, and the account
//! has one row per attempt and says that the call was cancelled. (MID-015, MID-026, OAI-026, D19, D21)
#![expect(clippy::unwrap_used, reason = "a test that can't be set up should fail there")]

use std::{
    future::{Future, poll_fn},
    pin::pin,
    sync::{Arc, Mutex},
    task::Poll,
    time::Duration,
};

use async_trait::async_trait;
use pgw_backend_memory::{BreakerSettings, BreakerState, MemoryBreaker, MemoryLimiter};
use pgw_client::{GatewayClient, GatewaySettings, Limits, PgwError, SourceConfig, Timeouts};
use pgw_middleware::TokioClock;
use pgw_mock::{Answer, ChatReply, Endpoint, Fault, MockServer, Scenario};
use pgw_ports::{Clock, Limiter, Receipt, TelemetryRecorder};
use pgw_types::CallRecord;

const SOURCES: [&str; 2] = ["a", "b"];

/// Keeps records in memory.
#[derive(Debug, Default)]
struct Rows(Mutex<Vec<CallRecord>>);

#[async_trait]
impl TelemetryRecorder for Rows {
    fn offer(&self, record: CallRecord) -> Receipt {
        self.0.lock().unwrap().push(record);
        Box::pin(std::future::ready(()))
    }

    async fn flush(&self) {}

    async fn close(&self) {}
}

/// A client over two sources of one mock, with everything in sight that could leak.
struct Bench {
    client: GatewayClient,
    limiter: Arc<MemoryLimiter>,
    breaker: Arc<MemoryBreaker>,
    rows: Arc<Rows>,
}

impl Bench {
    fn new(mock: &MockServer) -> Self {
        let clock: Arc<dyn Clock> = Arc::new(TokioClock::default());
        let timeouts = Timeouts {
            connect: Duration::from_secs(5),
            ttft: Duration::from_millis(60),
            inter_token: Duration::from_millis(40),
            total: Duration::from_secs(20),
        };
        let limits = Limits { max_concurrency: Some(1), ..Limits::default() };
        let sources = SOURCES.map(|name| {
            let base_url = mock.base_url().replace("/v1", &format!("/{name}/v1"));
            let mut source = SourceConfig::new(name, "generic", base_url, "key", "m");
            source.timeouts = timeouts;
            source.limits = limits;
            source
        });
        let names = || SOURCES.map(Arc::<str>::from);
        let limiter = Arc::new(MemoryLimiter::new(
            limits,
            names().map(|name| (name, limits)),
            Duration::from_mins(1),
            Arc::clone(&clock),
        ));
        let rules = BreakerSettings {
            threshold: 50,
            cooldown: Duration::from_secs(30),
            dead_cooldown: Duration::from_secs(30),
            probe_lease: Duration::from_mins(1),
        };
        let breaker = Arc::new(MemoryBreaker::new(rules, names().map(|name| (name, None)), clock));
        let rows = Arc::new(Rows::default());
        let mut settings = GatewaySettings::new("LLM", sources.to_vec());
        settings.retry.base_delay = Duration::from_millis(5);
        settings.retry.max_delay = Duration::from_millis(5);
        settings.selector = "ordered".into();
        let client = GatewayClient::builder()
            .limiter(limiter.clone())
            .breaker(breaker.clone())
            .recorder(rows.clone())
            .build(settings)
            .unwrap();
        Self { client, limiter, breaker, rows }
    }

    async fn assert_clean(&self, mock: &MockServer, finished: bool, place: &str) {
        let quiet = mock.wait_until(|counters| counters.in_progress() == 0);
        let quiet = tokio::time::timeout(Duration::from_secs(10), quiet).await;
        assert!(quiet.is_ok(), "{place}: an upstream call goes on: {:?}", mock.counters());
        for name in SOURCES {
            let load = self.limiter.source_load(&name.into()).await.unwrap();
            assert_eq!(load.in_flight, 0, "{place}: a permit of {name} is out");
            let state = self.breaker.state(name);
            assert_ne!(state, Some(BreakerState::HalfOpen), "{place}: a probe of {name} is out");
        }
        let rows = self.rows.0.lock().unwrap();
        let attempts: Vec<_> = rows.iter().filter_map(|row| row.attempt).collect();
        let expected: Vec<_> = (0..).take(attempts.len()).collect();
        assert_eq!(attempts, expected, "{place}: {rows:#?}");
        let cancelled =
            rows.iter().filter(|row| row.error.as_deref() == Some(CallRecord::CANCELLED)).count();
        assert_eq!(cancelled, usize::from(!finished), "{place}: {rows:#?}");
    }
}

/// Polls a future up to `polls` times and drops it then; `None` if it was dropped.
async fn drop_after<T>(polls: usize, future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    let mut polled = 0;
    poll_fn(|cx| {
        polled += 1;
        match future.as_mut().poll(cx) {
            Poll::Ready(value) => Poll::Ready(Some(value)),
            Poll::Pending if polled >= polls => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

async fn whole(client: GatewayClient) -> Result<String, PgwError> {
    client.chat("hello").await.map(|answer| answer.content)
}

async fn live(client: GatewayClient) -> Result<String, PgwError> {
    let mut events = client.chat("hello").stream().await?;
    while let Some(event) = events.next_event().await {
        event?;
    }
    Ok(events.into_response().map(|answer| answer.content).unwrap_or_default())
}

/// A scenario: what source `a` and source `b` answer.
fn scenario(a: impl IntoIterator<Item = Answer>, b: impl IntoIterator<Item = Answer>) -> Scenario {
    let endpoint = |name: &str, answers: Vec<Answer>| {
        Endpoint::new(format!("/{name}/v1/chat/completions"))
            .method("POST")
            .named(name)
            .answers(answers)
    };
    Scenario::new()
        .endpoint(endpoint("a", a.into_iter().collect()))
        .endpoint(endpoint("b", b.into_iter().collect()))
}

fn paced(text: &str) -> Answer {
    let deltas = text.split_inclusive(' ').map(str::to_owned);
    Answer::chat(ChatReply::from_deltas(deltas).usage(5, 2).pause_ms(3))
}

fn broken(fault: Fault) -> Answer {
    Answer::chat(ChatReply::from_deltas(["Hel", "lo"]).pause_ms(3).breaks(1, fault))
}

async fn drop_everywhere(name: &str, scenario: Scenario) {
    let mock = MockServer::start(scenario).await.unwrap();
    for hand in ["whole", "live"] {
        let mut finished = false;
        for polls in 1..2_000 {
            let place = format!("{name}, {hand}, dropped after poll {polls}");
            mock.reset();
            let bench = Bench::new(&mock);
            let client = bench.client.clone();
            let outcome = match hand {
                "whole" => drop_after(polls, whole(client)).await,
                _ => drop_after(polls, live(client)).await,
            };
            finished = outcome.is_some();
            bench.assert_clean(&mock, finished, &place).await;
            bench.client.aclose().await;
            if finished {
                break;
            }
        }
        assert!(finished, "{name}, {hand}: the call never ended");
    }
    mock.shutdown().await;
}

#[tokio::test]
async fn a_plain_answer() {
    drop_everywhere("paced", scenario([paced("Hello to you")], [paced("unused")])).await;
}

#[tokio::test]
async fn a_rate_limit_then_an_answer() {
    let limited = Answer::error(429, "rate_limit_exceeded", "slow down").header("retry-after", "1");
    drop_everywhere("429", scenario([limited], [paced("from b")])).await;
}

#[tokio::test]
async fn a_dead_source_then_an_answer() {
    let dead = Answer::error(401, "invalid_api_key", "no");
    drop_everywhere("401", scenario([dead], [paced("from b")])).await;
}

#[tokio::test]
async fn a_cut_stream_then_an_answer() {
    drop_everywhere("cut", scenario([broken(Fault::Cut)], [paced("from b")])).await;
}

#[tokio::test]
async fn a_reset_stream_then_an_answer() {
    drop_everywhere("reset", scenario([broken(Fault::Reset)], [paced("from b")])).await;
}

#[tokio::test]
async fn a_stalled_stream_then_an_answer() {
    drop_everywhere("stall", scenario([broken(Fault::Stall)], [paced("from b")])).await;
}

#[tokio::test]
async fn a_silent_service_then_an_answer() {
    let silent = Answer::empty(200).delay(Duration::from_secs(30));
    drop_everywhere("silent", scenario([silent], [paced("from b")])).await;
}

#[tokio::test]
async fn a_refused_request() {
    let refused = Answer::error(400, "invalid_value", "no such thing");
    drop_everywhere("400", scenario([refused], [paced("unused")])).await;
}
