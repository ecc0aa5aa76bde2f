//! Tests of the watchdog, on virtual time.

use std::future::poll_fn;

use super::*;
use crate::TokioClock;

fn limits() -> Timeouts {
    Timeouts {
        connect: Duration::from_secs(1),
        ttft: Duration::from_secs(10),
        inter_token: Duration::from_secs(3),
        total: Duration::from_secs(30),
    }
}

struct Bench {
    clock: Arc<TokioClock>,
    dog: Watchdog,
}

impl Bench {
    fn new(deadline: Option<u64>, tokens: bool) -> Self {
        let clock = Arc::new(TokioClock::default());
        let started = clock.now();
        let deadline = deadline.map(|s| started + Duration::from_secs(s));
        let dog = Watchdog::new(clock.clone(), limits(), started, deadline, tokens);
        Self { clock, dog }
    }

    async fn life_after(&mut self, seconds: u64) {
        let nap = tokio::time::sleep(Duration::from_secs(seconds));
        tokio::select! {
            () = nap => self.dog.saw_life(self.clock.now()),
            error = poll_fn(|cx| self.dog.poll_expired(cx)) => panic!("rang early: {error}"),
        }
    }

    async fn rings(&mut self) -> (CallError, u64) {
        let error = poll_fn(|cx| self.dog.poll_expired(cx)).await;
        (error, self.clock.now().as_secs())
    }
}

/// MID-150, MID-155, D15: a silent upstream is given up at the TTFT limit though no byte comes.
#[tokio::test(start_paused = true)]
async fn no_first_token_is_ttft() {
    let (error, at) = Bench::new(None, true).rings().await;
    assert_eq!((error.liveness(), at), (Some(Liveness::Ttft), 10));
    assert_eq!(error.fault(), Fault::Timeout);
}

/// MID-150, MID-151, MID-156: the silence counts from the last token of any kind.
#[tokio::test(start_paused = true)]
async fn a_silence_between_tokens_is_inter_token() {
    let mut bench = Bench::new(None, true);
    bench.life_after(9).await;
    bench.life_after(2).await;
    let (error, at) = bench.rings().await;
    assert_eq!((error.liveness(), at), (Some(Liveness::InterToken), 14));
    assert_eq!(bench.dog.ttft_ms(), Some(9_000.0));
    assert_eq!(bench.dog.longest_gap_ms(), Some(2_000.0));
}

/// MID-150: an endless answer ends at the total limit, however lively.
#[tokio::test(start_paused = true)]
async fn an_endless_answer_is_total() {
    let mut bench = Bench::new(None, true);
    for _ in 0..14 {
        bench.life_after(2).await;
    }
    let (error, at) = bench.rings().await;
    assert_eq!((error.liveness(), at), (Some(Liveness::Total), 30));
}

/// MID-152: the call's own deadline is told apart from the source's slowness.
#[tokio::test(start_paused = true)]
async fn the_own_deadline_is_another_fault() {
    let (error, at) = Bench::new(Some(5), true).rings().await;
    assert_eq!((error.fault(), error.liveness(), at), (Fault::Deadline, None, 5));
}

/// OAI-008, OAI-032: a plain answer has no token limits and no token times.
#[tokio::test(start_paused = true)]
async fn a_plain_answer_has_only_its_total_limit() {
    let mut bench = Bench::new(None, false);
    bench.life_after(20).await;
    assert_eq!((bench.dog.ttft_ms(), bench.dog.longest_gap_ms()), (None, None));
    let (error, at) = bench.rings().await;
    assert_eq!((error.liveness(), at), (Some(Liveness::Total), 30));
}

/// MID-150: an answer that is always there already can't outrun its limits.
#[tokio::test(start_paused = true)]
async fn an_answer_that_never_waits_ends_too() {
    let bench = Bench::new(Some(40), true);
    let at = |seconds| bench.dog.overrun(Duration::from_secs(seconds) + bench.dog.started);
    assert!(at(29).is_none());
    assert_eq!(at(30).unwrap().liveness(), Some(Liveness::Total));
    let bench = Bench::new(Some(5), true);
    let late = bench.dog.overrun(Duration::from_secs(5) + bench.dog.started);
    assert_eq!(late.unwrap().fault(), Fault::Deadline);
}
