//! One simulated hour: 200 callers, five sources that misbehave at random, and every caller free to
//! walk away. On virtual time, through the whole client over the real gates; only the services and
//! the account are doubles.
//!
//! Whatever happens, the limits hold in every 60 s, nobody waits beyond the bound, each upstream
//! call is in the trace and in the account once, nothing is held at the end, and a fresh call is
//! served. (Architecture §5 and §6; MID-015, MID-026, MEM-001…MEM-004, CLI-020, D21, D23, D91)
//!
//! The seed fixes callers, services and jitter; it stands in every failure.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a test that can't be set up should fail there, and its figures are worth a line"
)]

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
    time::Duration,
};

use pgw_backend_memory::{BreakerSettings, BreakerState, MemoryBreaker, MemoryLimiter};
use pgw_client::{
    CallTrace, ChatCall, FailureClass, Fault, GatewayClient, GatewaySettings, Limits, PgwError,
    SourceConfig, SourceReason, Timeouts,
};
use pgw_middleware::TokioClock;
use pgw_ports::{Clock, Jitter, Limiter as _};
use pgw_types::{CallRecord, Gate};
use tokio::{
    task::JoinSet,
    time::{sleep, timeout},
};

mod gates;
mod upstream;

use gates::{Audited, Breaches, Rows};
use upstream::Upstream;

const HOUR: Duration = Duration::from_hours(1);
const CALLERS: usize = 200;
const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];

/// The timer ticks in milliseconds, and a wait may take a few ticks.
const TICKS: Duration = Duration::from_millis(10);

const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

const fn limits(max_concurrency: u32, rpm: u32, tpm: u64) -> Limits {
    Limits { max_concurrency: Some(max_concurrency), rpm: Some(rpm), tpm: Some(tpm) }
}

/// The limits of each source, and under the empty name the scope's: each binds at times.
fn all_limits() -> BTreeMap<Arc<str>, Limits> {
    let each = [
        ("", limits(18, 150, 90_000)),
        ("a", Limits { max_concurrency: Some(4), ..Limits::default() }),
        ("b", Limits { rpm: Some(25), ..Limits::default() }),
        ("c", Limits { tpm: Some(15_000), ..Limits::default() }),
        ("d", limits(8, 60, 60_000)),
        ("e", limits(6, 200, 30_000)),
    ];
    each.into_iter().map(|(name, limits)| (name.into(), limits)).collect()
}

fn settings(names: &[&str], selector: &str) -> GatewaySettings {
    let sources = names.iter().map(|name| {
        let mut source = SourceConfig::new(*name, "generic", "http://test/v1", "key", "m");
        source.limits = all_limits()[*name];
        source.est_tokens = 200;
        source.timeouts = Timeouts { connect: s(5), ttft: s(20), inter_token: s(10), total: s(60) };
        source
    });
    let mut settings = GatewaySettings::new("LLM", sources.collect());
    settings.selector = selector.into();
    settings.retry.base_delay = s(1);
    settings.retry.max_delay = s(8);
    settings.retry.retry_after_cap = s(30);
    settings.retry.rate_limit_cooldown = s(5);
    settings.breaker.cooldown = s(20);
    settings.breaker.dead_cooldown = s(60);
    settings.breaker.probe_lease = s(90);
    settings.backpressure.stall_window = s(30);
    settings.backpressure.poll_interval = s(2);
    settings.backpressure.max_wait = s(60);
    settings.backpressure.max_queue = 150;
    settings.lease_ttl = s(90);
    settings
}

/// The longest wait before the first attempt, and before any later one: a backoff, the wait for a
/// `Retry-After` with its jitter, and the wait in line.
fn longest_wait(settings: &GatewaySettings, attempt: u32) -> Duration {
    let in_line = settings.backpressure.max_wait + TICKS;
    if attempt == 0 {
        return in_line;
    }
    let retry = settings.retry;
    in_line + retry.max_delay * 3 / 2 + retry.retry_after_cap + retry.base_delay
}

/// The jitter of a seed.
#[derive(Debug)]
struct Seeded(Mutex<fastrand::Rng>);

impl Jitter for Seeded {
    fn unit(&self) -> f64 {
        self.0.lock().unwrap().f64()
    }
}

struct World {
    seed: u64,
    clock: Arc<dyn Clock>,
    breaches: Breaches,
    upstream: Arc<Upstream>,
    limiter: Arc<Audited>,
    breaker: Arc<MemoryBreaker>,
    rows: Arc<Rows>,
    client: GatewayClient,
}

impl World {
    fn new(seed: u64, selector: &str) -> Self {
        let clock: Arc<dyn Clock> = Arc::new(TokioClock::default());
        let breaches = Breaches::default();
        let settings = settings(&NAMES, selector);
        let rules = BreakerSettings {
            threshold: settings.breaker.fail_threshold,
            cooldown: settings.breaker.cooldown,
            dead_cooldown: settings.breaker.dead_cooldown,
            probe_lease: settings.breaker.probe_lease,
        };
        let all = all_limits();
        let each = || NAMES.map(|name| (Arc::<str>::from(name), all[name]));
        let limiter = MemoryLimiter::new(all[""], each(), settings.lease_ttl, Arc::clone(&clock));
        let (for_gates, for_services) = (breaches.clone(), breaches.clone());
        let limiter = Audited::new(limiter, Arc::clone(&clock), all.clone(), for_gates);
        let fuses = each().map(|(name, limits)| (name, limits.max_concurrency));
        let breaker = Arc::new(MemoryBreaker::new(rules, fuses, Arc::clone(&clock)));
        let upstream = Arc::new(Upstream::new(seed, Arc::clone(&clock), all.clone(), for_services));
        let (limiter, rows) = (Arc::new(limiter), Arc::new(Rows::default()));
        let parts = (Arc::clone(&limiter), Arc::clone(&breaker), Arc::clone(&upstream));
        let client = GatewayClient::builder()
            .limiter(parts.0)
            .breaker(parts.1)
            .transport(parts.2)
            .recorder(rows.clone())
            .clock(Arc::clone(&clock))
            .jitter(Arc::new(Seeded(Mutex::new(fastrand::Rng::with_seed(seed)))))
            .build(settings)
            .unwrap();
        Self { seed, clock, breaches, upstream, limiter, breaker, rows, client }
    }

    /// A client of one source that shares the gates.
    fn client_of(&self, name: &str) -> GatewayClient {
        GatewayClient::builder()
            .limiter(self.limiter.clone())
            .breaker(self.breaker.clone())
            .transport(self.upstream.clone())
            .clock(Arc::clone(&self.clock))
            .build(settings(&[name], "ordered"))
            .unwrap()
    }
}

/// How one call ended.
struct Ended {
    caller: usize,
    id: String,
    took: Duration,
    deadline: Option<Duration>,
    /// `None` if the caller dropped it.
    outcome: Option<Result<CallTrace, PgwError>>,
}

/// Asks, and asks again, until the hour is over.
async fn caller(world: Arc<World>, number: usize) -> Vec<Ended> {
    let mut chance = fastrand::Rng::with_seed(world.seed << 16 | number as u64);
    let mut ended = Vec::new();
    loop {
        sleep(Duration::from_millis(chance.u64(..100_000))).await;
        if world.clock.now() >= HOUR {
            return ended;
        }
        let id = format!("call-{number}-{}", ended.len());
        let mut call = world
            .client
            .chat("Why is the sky blue?")
            .request_id(id.as_str())
            .max_tokens(chance.u64(100..1_500));
        let deadline = (chance.u32(..10) == 0).then(|| s(chance.u64(1..90)));
        if let Some(limit) = deadline {
            call = call.deadline(limit);
        }
        if chance.u32(..10) == 0 {
            call = call.plain();
        }
        let live = chance.u32(..4) == 0;
        let patience = match chance.u32(..8) {
            0 => Duration::from_millis(chance.u64(..30_000)),
            _ => HOUR,
        };
        let began = world.clock.now();
        let outcome = timeout(patience, ask(call, live)).await.ok();
        let took = world.clock.now().saturating_sub(began);
        ended.push(Ended { caller: number, id, took, deadline, outcome });
    }
}

async fn ask(call: ChatCall, live: bool) -> Result<CallTrace, PgwError> {
    if !live {
        return call.await.map(|answer| answer.trace);
    }
    let mut events = call.stream().await?;
    while let Some(event) = events.next_event().await {
        event?;
    }
    Ok(events.into_response().unwrap().trace)
}

/// What one call may have done, against its rows in the account.
fn audit(world: &World, call: &Ended, rows: &[CallRecord]) {
    let Ended { id, took, deadline, outcome, .. } = call;
    let breach = |what: &str| {
        world.breaches.note(format!("{id}: {what}; took {took:?}, {outcome:?}, {rows:#?}"));
    };
    let plan = world.client.plan();
    let settings = world.client.settings();
    let longest = longest_wait(settings, 1) + s(60) + TICKS;
    if *took > longest * plan.upstream_call_bound
        || deadline.is_some_and(|deadline| *took > deadline + TICKS)
    {
        breach("lasted too long");
    }
    let attempts: Vec<_> = rows.iter().filter(|row| row.attempt.is_some()).collect();
    let cancelled = |row: &CallRecord| row.error.as_deref() == Some(CallRecord::CANCELLED);
    if attempts.iter().zip(0..).any(|(row, number)| row.attempt != Some(number)) {
        breach("its attempts are not numbered from 0");
    }
    if attempts.len() > plan.upstream_call_bound as usize {
        breach("made more upstream calls than its plan allows");
    }
    let Some(outcome) = outcome else {
        if rows.iter().filter(|row| cancelled(row)).count() != 1 {
            breach("was dropped and doesn't say so once");
        }
        return;
    };
    if rows.len() != attempts.len().max(1) || rows.iter().any(cancelled) {
        breach("left other rows than its attempts");
    }
    let trace = match outcome {
        Ok(trace) => Some(trace),
        Err(error) => error.trace(),
    };
    let Some(trace) = trace else { return breach("ended without a trace") };
    let traced = trace.attempts.iter().map(|attempt| &*attempt.call_id);
    if !traced.eq(attempts.iter().map(|row| row.call_id.as_str())) {
        breach("its trace and its rows differ");
    }
    for attempt in &trace.attempts {
        let wait = Duration::from_millis(attempt.waited_ms);
        if wait > longest_wait(settings, attempt.attempt) {
            breach("waited too long for an attempt");
        }
    }
    let transient =
        trace.attempts.iter().filter(|attempt| attempt.class == Some(FailureClass::Transient));
    if transient.count() > plan.max_attempts as usize {
        breach("tried again too often");
    }
}

/// That the hour was as bad as it was meant to be: else it would prove nothing.
fn assert_turbulent(world: &World, ended: &[Ended]) {
    let seed = world.seed;
    let traces: Vec<_> = ended
        .iter()
        .filter_map(|call| match call.outcome.as_ref()? {
            Ok(trace) => Some(trace),
            Err(error) => error.trace(),
        })
        .collect();
    let attempts = || traces.iter().flat_map(|trace| &trace.attempts);
    let faults: BTreeSet<_> = attempts().filter_map(|attempt| attempt.fault).collect();
    for fault in [
        Fault::RateLimit,
        Fault::ServerError,
        Fault::Timeout,
        Fault::Truncated,
        Fault::InvalidKey,
        Fault::Deadline,
    ] {
        assert!(faults.contains(&fault), "seed {seed}: no {fault:?}");
    }
    let skips: BTreeSet<_> =
        traces.iter().flat_map(|trace| &trace.skips).map(|skip| skip.reason).collect();
    for reason in [SourceReason::RateLimited, SourceReason::CircuitOpen, SourceReason::Cooldown] {
        assert!(skips.contains(&reason), "seed {seed}: no {reason:?}");
    }
    let denials = world.limiter.denials();
    assert!(Gate::ALL.iter().all(|gate| denials.contains_key(gate)), "seed {seed}: {denials:?}");
    let served = ended.iter().filter(|call| matches!(call.outcome, Some(Ok(_)))).count();
    let failed = ended.iter().filter(|call| matches!(call.outcome, Some(Err(_)))).count();
    let dropped = ended.len() - served - failed;
    assert!(failed > 100 && dropped > 100, "seed {seed}: {served}, {failed}, {dropped}");
    let mut of_caller = [0; CALLERS];
    for call in ended.iter().filter(|call| matches!(call.outcome, Some(Ok(_)))) {
        of_caller[call.caller] += 1;
    }
    // First come, first served: chance gives some callers less, but none next to nothing.
    let (least, mean) = (of_caller.iter().min().copied().unwrap_or(0), served / CALLERS);
    assert!(least * 4 >= mean, "seed {seed}: a caller was served {least} times, the mean {mean}");
    // For `--no-capture`: the figures of the hour.
    println!(
        "seed {seed}: {} calls, {served} served, {failed} failed, {dropped} dropped; {} upstream; \
         each caller served {least} times at least, {mean} on average; refusals {denials:?}",
        ended.len(),
        world.upstream.call_ids().len(),
    );
}

async fn simulate(seed: u64, selector: &str) {
    let world = Arc::new(World::new(seed, selector));
    let mut callers = JoinSet::new();
    for number in 0..CALLERS {
        callers.spawn(caller(Arc::clone(&world), number));
    }
    // Nobody hangs: after the hour there is time for a last thought and a last call.
    let all = timeout(HOUR * 2, callers.join_all()).await;
    let ended: Vec<Ended> = all.expect("a call never ended").into_iter().flatten().collect();

    let mut account = world.rows.by_call();
    for call in &ended {
        audit(&world, call, &account.remove(&call.id).unwrap_or_default());
    }
    assert!(account.is_empty(), "seed {seed}: rows of nobody's call: {account:?}");
    let breaches = world.breaches.first();
    assert!(breaches.is_empty(), "seed {seed}: {breaches:#?}");
    let upstream: BTreeSet<_> = world.upstream.call_ids().into_iter().collect();
    let rows: BTreeSet<Arc<str>> = world
        .rows
        .by_call()
        .into_values()
        .flatten()
        .filter(|row| row.attempt.is_some())
        .map(|row| row.call_id.into())
        .collect();
    assert_eq!(upstream.len(), world.upstream.call_ids().len(), "seed {seed}: an id twice");
    assert!(upstream == rows, "seed {seed}: the account and the services differ");
    assert_turbulent(&world, &ended);

    assert_eq!(world.upstream.alive(), 0, "seed {seed}: connections are open");
    for name in NAMES {
        let load = world.limiter.source_load(&name.into()).await.unwrap();
        assert_eq!(load.in_flight, 0, "seed {seed}: a permit of {name} is out");
    }
    // Well again, and cooled down: the scope and each source serve, so no probe is out either.
    world.upstream.heal();
    sleep(s(61)).await;
    let fresh = world.client.chat("Still there?").await;
    assert!(fresh.is_ok(), "seed {seed}: {fresh:?}");
    for name in NAMES {
        // A service that is well cuts some calls: those are tried again.
        let fresh = world.client_of(name).chat("Still there?").await;
        assert!(fresh.is_ok(), "seed {seed}: {name}: {fresh:?}");
        let state = world.breaker.state(name);
        assert_eq!(state, Some(BreakerState::Closed), "seed {seed}: {name}");
    }
    world.client.aclose().await;
}

#[tokio::test(start_paused = true)]
async fn an_hour_of_round_robin() {
    simulate(1, "round_robin").await;
}

#[tokio::test(start_paused = true)]
async fn an_hour_of_the_least_busy_first() {
    simulate(20_260, "least_inflight").await;
}

#[tokio::test(start_paused = true)]
async fn an_hour_by_weight() {
    simulate(77_777, "weighted").await;
}
