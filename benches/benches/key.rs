//! The name of an answer: the digest of a request with a picture of 2 MB, against a bare sha256 of the
//! same bytes.
#![expect(clippy::unwrap_used, reason = "a benchmark that can't run should stop and say why")]

use std::{hint::black_box, sync::Arc, time::Duration};

use pgw_backend_memory::MemoryCache;
use pgw_bench::{CpuMeter, Rounds, print_row, print_title};
use pgw_middleware::{CacheLayer, CacheRules, Chat, Ledger, TokioClock};
use pgw_ports::{CallCx, Clock, Hand, KeepRules, Middleware, Next, Pricing, Reply, Terminal};
use pgw_types::{
    CallOptions, ChatRequest, LlmResponse, Message, Part, PgwError, Plan, PlannedSource, Role,
    SourceConfig, Usage, digest,
};

const ROUNDS: usize = 5;
const PASSES: usize = 100;
const PICTURE: usize = 2 << 20;

/// Answers at once.
#[derive(Debug)]
struct AtOnce;

#[async_trait::async_trait]
impl Terminal<Chat> for AtOnce {
    fn name(&self) -> &'static str {
        "at once"
    }

    async fn call(&self, _: &Arc<CallCx>, _: Arc<ChatRequest>) -> Result<Reply<Chat>, PgwError> {
        Ok(Reply::Whole(Box::new(LlmResponse { content: "ok".into(), ..LlmResponse::default() })))
    }
}

#[derive(Debug)]
struct Free;

impl Pricing for Free {
    fn cost(&self, _: &str, _: &Usage) -> Option<f64> {
        None
    }

    fn rank(&self, _: &str) -> Option<f64> {
        None
    }
}

fn cx() -> Arc<CallCx> {
    let planned = PlannedSource { name: "a".into(), provider: "generic".into(), model: "m".into() };
    let plan = Plan {
        scope: "bench".into(),
        config_checksum: "c".into(),
        candidates: vec![planned],
        exclusions: Vec::new(),
        max_attempts: 1,
        upstream_call_bound: 1,
        deadline: None,
    };
    let options = CallOptions::default();
    Arc::new(CallCx::new("call".into(), options, Arc::new(plan), Hand::Whole, None))
}

fn main() {
    if let Some(core) = core_affinity::get_core_ids().and_then(|cores| cores.first().copied()) {
        core_affinity::set_for_current(core);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(run());
}

async fn run() {
    let picture = format!("data:image/png;base64,{}", "iVBORw0K".repeat(PICTURE / 8));
    let parts = vec![Part::text("What is this?"), Part::image_url(picture.clone())];
    let request = Arc::new(ChatRequest::new(vec![Message::parts(Role::User, parts)]));
    let clock: Arc<dyn Clock> = Arc::new(TokioClock::default());
    let ledger = Arc::new(Ledger::new(None, Arc::new(Free), Arc::clone(&clock)));
    let rules = CacheRules {
        namespace: "bench".into(),
        ttl: Duration::from_mins(1),
        coalesce: false,
        keep: KeepRules::default(),
    };
    let source = SourceConfig::new("a", "generic", "http://test", "key", "m");
    let store = Arc::new(MemoryCache::new(1 << 20, Arc::clone(&clock)));
    let layer: Arc<dyn Middleware<Chat>> =
        Arc::new(CacheLayer::<Chat>::new(store, rules, [&source], ledger, clock));
    let layers = [layer];
    let mut figures: [Rounds; 3] = Default::default();
    for round in 0..=ROUNDS {
        // The first round warms up, and doesn't count.
        let mut warm_up: [Rounds; 3] = Default::default();
        let [bare, hit, both] = if round == 0 { &mut warm_up } else { &mut figures };
        let meter = CpuMeter::start(&[]);
        for _ in 0..PASSES {
            black_box(digest::sha256_hex(black_box(picture.as_bytes())));
        }
        bare.add(meter.elapsed(), PASSES);
        let meter = CpuMeter::start(&[]);
        for _ in 0..PASSES {
            black_box(Next::new(&layers, &AtOnce).run(&cx(), Arc::clone(&request)).await.unwrap());
        }
        hit.add(meter.elapsed(), PASSES);
        let meter = CpuMeter::start(&[]);
        for _ in 0..PASSES {
            let cx = cx();
            black_box(Next::new(&layers, &AtOnce).run(&cx, Arc::clone(&request)).await.unwrap());
            // What a record would write down is there already.
            black_box(cx.written::<Chat>(&request));
        }
        both.add(meter.elapsed(), PASSES);
    }
    let [bare, hit, both] = figures;
    print_title("the key of a request with a 2 MB picture: CPU per call");
    let ratio = |rounds: &Rounds| format!("{:.3} × bare (≤ 1.2)", rounds.median() / bare.median());
    print_row("bare sha256", &bare, "");
    print_row("a cache hit, key and all", &hit, &ratio(&hit));
    print_row("the same with its record's digest", &both, &ratio(&both));
}
