//! A whole onion over doubles: telemetry layer and retry loop, on virtual time.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::StreamExt as _;
use pgw_ports::{CallCx, Clock, Hand, Jitter, Live, Middleware, Next, Reply, TelemetryRecorder};
use pgw_types::{
    CallOptions, ChatRequest, LlmResponse, Message, PgwError, Plan, PlannedSource, SourceConfig,
};

use super::{FakeBreaker, FakeLimiter, FakeRecorder, Fixed, FlatPrice, Upstream};
use crate::{
    Chat, Gates, GovernedSource, Ledger, OnFull, RetryLoop, RetryPolicy, TelemetryLayer,
    TokioClock, WaitPolicy, selectors,
};

pub(crate) const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

pub(crate) const fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// How an onion is to be put together. The sources are tiers of one each, so they are tried in the
/// order in which they are named.
pub(crate) struct Setup {
    pub(crate) sources: Vec<SourceConfig>,
    pub(crate) retry: RetryPolicy,
    pub(crate) wait: WaitPolicy,
    pub(crate) jitter: Arc<dyn Jitter>,
    pub(crate) selector: &'static str,
    pub(crate) lease_ttl: Duration,
    pub(crate) threshold: u32,
    pub(crate) recorded: bool,
}

impl Setup {
    pub(crate) fn new(names: &[&str]) -> Self {
        let source = |(tier, name): (u32, &&str)| {
            let mut source = SourceConfig::new(*name, "generic", "http://test", "key", "model");
            source.tier = tier;
            source
        };
        Self {
            sources: (0..).zip(names).map(source).collect(),
            retry: RetryPolicy {
                max_attempts: 3,
                base_delay: secs(1),
                max_delay: secs(8),
                retry_after_cap: secs(300),
                rate_limit_cooldown: secs(20),
            },
            wait: WaitPolicy {
                on_full: OnFull::Wait,
                stall_window: secs(60),
                poll_interval: secs(1),
                max_wait: secs(120),
                max_queue: 100,
            },
            jitter: Arc::new(Fixed(0.5)),
            selector: "ordered",
            lease_ttl: secs(600),
            threshold: 5,
            recorded: true,
        }
    }

    pub(crate) fn attempts(mut self, max: u32) -> Self {
        self.retry.max_attempts = max;
        self
    }

    pub(crate) fn fail_fast(mut self) -> Self {
        self.wait.on_full = OnFull::FailFast;
        self
    }

    pub(crate) fn build(self) -> Bench {
        let clock: Arc<dyn Clock> = Arc::new(TokioClock::default());
        let upstream = Arc::new(Upstream::new(Arc::clone(&clock)));
        let names: Vec<String> = self.sources.iter().map(|s| s.name.clone()).collect();
        let limiter = Arc::new(FakeLimiter::new(Arc::clone(&clock), names));
        let breaker = Arc::new(FakeBreaker::new(Arc::clone(&clock), self.threshold, secs(30)));
        let recorder = Arc::new(FakeRecorder::default());
        let kept = self.recorded.then(|| Arc::clone(&recorder) as Arc<dyn TelemetryRecorder>);
        let ledger = Arc::new(Ledger::new(kept, Arc::new(FlatPrice), Arc::clone(&clock)));
        let scope: Arc<str> = "test".into();
        let planned = |source: &SourceConfig| PlannedSource {
            name: source.name.as_str().into(),
            provider: source.provider.as_str().into(),
            model: source.model.as_str().into(),
        };
        let plan = Plan {
            scope: Arc::clone(&scope),
            config_checksum: "checksum".into(),
            candidates: self.sources.iter().map(planned).collect(),
            exclusions: Vec::new(),
            max_attempts: self.retry.max_attempts,
            upstream_call_bound: Plan::bound(self.retry.max_attempts, self.sources.len()),
            deadline: None,
        };
        let governed = |config: SourceConfig| GovernedSource::<Chat> {
            name: config.name.as_str().into(),
            transport: Arc::clone(&upstream) as _,
            config: Arc::new(config),
        };
        let gates = Gates {
            limiter: Arc::clone(&limiter) as _,
            breaker: Arc::clone(&breaker) as _,
            selector: selectors::by_name(self.selector).unwrap().into(),
            clock: Arc::clone(&clock),
            jitter: self.jitter,
            ledger: Arc::clone(&ledger),
            retry: self.retry,
            wait: self.wait,
            lease_ttl: self.lease_ttl,
        };
        let sources = self.sources.into_iter().map(governed).collect();
        Bench {
            began: clock.now(),
            layers: vec![Arc::new(TelemetryLayer::new(Arc::clone(&ledger), Arc::clone(&clock)))],
            ledger,
            end: RetryLoop::new(scope, sources, gates),
            plan,
            clock,
            upstream,
            limiter,
            breaker,
            recorder,
            calls: AtomicUsize::new(0),
        }
    }
}

/// An onion and the doubles it stands on.
pub(crate) struct Bench {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) began: Duration,
    pub(crate) upstream: Arc<Upstream>,
    pub(crate) limiter: Arc<FakeLimiter>,
    pub(crate) breaker: Arc<FakeBreaker>,
    pub(crate) recorder: Arc<FakeRecorder>,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) layers: Vec<Arc<dyn Middleware<Chat>>>,
    pub(crate) plan: Plan,
    end: RetryLoop<Chat>,
    calls: AtomicUsize,
}

impl Bench {
    /// A new call.
    pub(crate) fn cx(&self, hand: Hand, options: CallOptions) -> Arc<CallCx> {
        let number = self.calls.fetch_add(1, Ordering::SeqCst);
        let deadline = options.deadline.map(|wait| self.clock.now() + wait);
        Arc::new(CallCx::new(
            format!("call-{number}").into(),
            options,
            Arc::new(self.plan.clone()),
            hand,
            deadline,
        ))
    }

    /// Sends a call through the onion.
    pub(crate) async fn send(
        &self,
        cx: &Arc<CallCx>,
        request: ChatRequest,
    ) -> Result<Reply<Chat>, PgwError> {
        Next::new(&self.layers, &self.end).run(cx, Arc::new(request)).await
    }

    /// A whole answer to a plain question.
    pub(crate) async fn whole(&self) -> Result<LlmResponse, PgwError> {
        self.whole_with(CallOptions::default()).await
    }

    /// A whole answer, with options.
    pub(crate) async fn whole_with(&self, options: CallOptions) -> Result<LlmResponse, PgwError> {
        let cx = self.cx(Hand::Whole, options);
        consume(self.send(&cx, question()).await?).await
    }

    /// A whole answer, by a deadline from now.
    pub(crate) async fn whole_within(&self, wait: Duration) -> Result<LlmResponse, PgwError> {
        self.whole_with(CallOptions { deadline: Some(wait), ..CallOptions::default() }).await
    }

    /// A whole answer of a model.
    pub(crate) async fn whole_of(&self, model: &str) -> Result<LlmResponse, PgwError> {
        let cx = self.cx(Hand::Whole, CallOptions::default());
        let request = ChatRequest { model: Some(model.into()), ..question() };
        consume(self.send(&cx, request).await?).await
    }

    /// A live answer to a plain question, from its first token on.
    pub(crate) async fn live(&self) -> Result<pgw_ports::LiveStream<Chat>, PgwError> {
        let cx = self.cx(Hand::Live, CallOptions::default());
        match self.send(&cx, question()).await? {
            Reply::Live(stream) => Ok(stream),
            Reply::Whole(response) => panic!("asked for it live, got {response:?}"),
        }
    }

    /// Virtual milliseconds since the bench was built.
    pub(crate) fn elapsed(&self) -> u128 {
        self.clock.now().saturating_sub(self.began).as_millis()
    }

    /// When upstream calls were made, in virtual milliseconds since the bench was built.
    pub(crate) fn times(&self) -> Vec<u128> {
        self.upstream.times(self.began)
    }

    /// Nothing may be held by anybody now.
    #[track_caller]
    pub(crate) fn assert_idle(&self, when: &str) {
        assert_eq!(self.limiter.in_flight(), 0, "permits out, {when}");
        assert_eq!(self.breaker.probes(), 0, "probes out, {when}");
        assert_eq!(self.upstream.alive(), 0, "connections open, {when}");
    }

    /// Everything works again.
    pub(crate) fn heal(&self) {
        self.upstream.heal();
        self.limiter.heal();
        self.breaker.heal();
        self.recorder.set_deaf(false);
    }
}

fn question() -> ChatRequest {
    ChatRequest::new(vec![Message::user("What is the answer?")])
}

/// Reads a reply to its end. A live one is suspended after each item, so that it can be dropped
/// there.
pub(crate) async fn consume(reply: Reply<Chat>) -> Result<LlmResponse, PgwError> {
    let mut stream = match reply {
        Reply::Whole(response) => return Ok(*response),
        Reply::Live(stream) => stream,
    };
    loop {
        match stream.next().await {
            Some(Ok(Live::Event(_))) => tokio::task::yield_now().await,
            Some(Ok(Live::Done(response))) => return Ok(*response),
            Some(Err(error)) => return Err(error),
            None => panic!("a live answer ends with Done or an error"),
        }
    }
}
