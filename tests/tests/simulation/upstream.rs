//! Five services in memory that misbehave by the seed, and count who calls them.

use std::{
    collections::{BTreeMap, VecDeque},
    future::pending,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use futures_util::stream;
use pgw_ports::{AttemptCx, Clock, EventStream, Transport};
use pgw_types::{
    CallError, ChatEvent, ChatRequest, Fault, Finish, FinishReason, Limits, UsageReport,
};
use tokio::time::sleep;

use crate::gates::{Breaches, WINDOW};

/// How long a service keeps its mood.
const MOOD_LASTS: Duration = Duration::from_secs(45);

/// What ails a service for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Mood {
    Well,
    Slow,
    Limited,
    LimitedWithoutTime,
    Broken,
    Dead,
    Stalled,
    Cut,
}

/// Well for about half of the time.
const MOODS: [Mood; 14] = [
    Mood::Well,
    Mood::Well,
    Mood::Well,
    Mood::Well,
    Mood::Well,
    Mood::Well,
    Mood::Slow,
    Mood::Limited,
    Mood::LimitedWithoutTime,
    Mood::Broken,
    Mood::Broken,
    Mood::Dead,
    Mood::Stalled,
    Mood::Cut,
];

/// One step of an answer.
enum Step {
    Wait(Duration),
    Event(ChatEvent),
    Fail(CallError),
    Never,
}

/// All services of the scope.
#[derive(Debug)]
pub(crate) struct Upstream {
    seed: u64,
    clock: Arc<dyn Clock>,
    /// Each service's limits, and under the empty name those of all together.
    limits: BTreeMap<Arc<str>, Limits>,
    healed: AtomicBool,
    breaches: Breaches,
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    chance: fastrand::Rng,
    alive: BTreeMap<Arc<str>, u32>,
    /// When the calls of the last minute came.
    opened: BTreeMap<Arc<str>, VecDeque<Duration>>,
    call_ids: Vec<Arc<str>>,
}

impl Upstream {
    pub(crate) fn new(
        seed: u64,
        clock: Arc<dyn Clock>,
        limits: BTreeMap<Arc<str>, Limits>,
        breaches: Breaches,
    ) -> Self {
        let state = State {
            chance: fastrand::Rng::with_seed(seed),
            alive: BTreeMap::new(),
            opened: BTreeMap::new(),
            call_ids: Vec::new(),
        };
        let healed = AtomicBool::new(false);
        Self { seed, clock, limits, healed, breaches, state: Arc::new(Mutex::new(state)) }
    }

    /// From now on every service is well.
    pub(crate) fn heal(&self) {
        self.healed.store(true, Ordering::Relaxed);
    }

    /// Connections that are open.
    pub(crate) fn alive(&self) -> u32 {
        self.state.lock().unwrap().alive.values().sum()
    }

    /// The ids of all attempts that came, in order.
    pub(crate) fn call_ids(&self) -> Vec<Arc<str>> {
        self.state.lock().unwrap().call_ids.clone()
    }

    /// Counts a call in, and sees whether anybody lets in more than the limits say.
    fn enter(&self, attempt: &AttemptCx) -> Alive {
        let now = self.clock.now();
        let name: Arc<str> = attempt.source.name.as_str().into();
        let mut state = self.state.lock().unwrap();
        state.call_ids.push(Arc::clone(&attempt.call_id));
        for name in [&name, &"".into()] {
            let limits = self.limits[name];
            let alive = state.alive.entry(Arc::clone(name)).or_default();
            *alive += 1;
            if limits.max_concurrency.is_some_and(|limit| *alive > limit) {
                self.breaches.note(format!("{alive} connections to {name:?} at {now:?}"));
            }
            let opened = state.opened.entry(Arc::clone(name)).or_default();
            opened.push_back(now);
            while opened.front().is_some_and(|first| *first + WINDOW <= now) {
                opened.pop_front();
            }
            if limits.rpm.is_some_and(|limit| opened.len() > limit as usize) {
                self.breaches.note(format!("{} calls a minute to {name:?}", opened.len()));
            }
        }
        Alive { state: Arc::clone(&self.state), name }
    }

    fn mood(&self, name: &str) -> Mood {
        if self.healed.load(Ordering::Relaxed) {
            return Mood::Well;
        }
        let slot = self.clock.now().as_secs() / MOOD_LASTS.as_secs();
        let service = u64::from(name.as_bytes()[0]);
        let mut chance = fastrand::Rng::with_seed(self.seed << 32 | service << 16 | slot);
        MOODS[chance.usize(..MOODS.len())]
    }

    /// What becomes of one call.
    fn steps(&self, name: &str) -> VecDeque<Step> {
        let mood = self.mood(name);
        let chance = &mut self.state.lock().unwrap().chance;
        // A bad mood lets some calls through, and a good one spoils some.
        let mood = match chance.u32(..100) {
            0..10 => Mood::Well,
            10..12 if mood == Mood::Well => Mood::Cut,
            _ => mood,
        };
        let error = |fault, status| CallError::new(fault, "simulated").with_status(status);
        let mut ms = |from: u64, to: u64| Duration::from_millis(chance.u64(from..to));
        let mut steps = VecDeque::from([Step::Wait(ms(50, 800))]);
        match mood {
            Mood::Limited => {
                let wait = ms(1_000, 15_000);
                steps.push_back(Step::Fail(error(Fault::RateLimit, 429).with_retry_after(wait)));
            }
            Mood::LimitedWithoutTime => {
                steps.push_back(Step::Fail(error(Fault::RateLimit, 429)));
            }
            Mood::Broken => steps.push_back(Step::Fail(error(Fault::ServerError, 500))),
            Mood::Dead => steps.push_back(Step::Fail(error(Fault::InvalidKey, 401))),
            Mood::Stalled if ms(0, 2).is_zero() => steps.push_back(Step::Never),
            Mood::Well | Mood::Slow | Mood::Stalled | Mood::Cut => {
                let (least, most) = if mood == Mood::Slow { (2_000, 8_000) } else { (100, 1_000) };
                for word in 0..5 {
                    let text = format!("word {word} ");
                    steps.push_back(Step::Event(ChatEvent::ContentDelta { choice: 0, text }));
                    match mood {
                        Mood::Stalled if word == 2 => steps.push_back(Step::Never),
                        Mood::Cut if word == 2 => {
                            let cut = CallError::new(Fault::Truncated, "simulated");
                            steps.push_back(Step::Fail(cut));
                        }
                        _ => steps.push_back(Step::Wait(ms(least, most))),
                    }
                }
                steps.push_back(Step::Event(ChatEvent::Usage(UsageReport {
                    prompt_tokens: Some(10),
                    completion_tokens: Some(chance.u64(50..1_200)),
                    ..UsageReport::default()
                })));
                let reasons = vec![FinishReason::Stop];
                let finish = Finish { reasons, ..Finish::default() };
                steps.push_back(Step::Event(ChatEvent::Finish(finish)));
            }
        }
        steps
    }
}

#[async_trait]
impl Transport<ChatRequest, ChatEvent> for Upstream {
    async fn open(
        &self,
        attempt: &AttemptCx,
        _: &Arc<ChatRequest>,
    ) -> Result<EventStream<ChatEvent>, CallError> {
        let alive = self.enter(attempt);
        let mut steps = self.steps(&attempt.source.name);
        if let Some(Step::Wait(wait)) = steps.pop_front() {
            sleep(wait).await;
        }
        match steps.pop_front() {
            Some(Step::Fail(error)) => return Err(error),
            Some(step) => steps.push_front(step),
            None => {}
        }
        Ok(Box::pin(stream::unfold((steps, alive), |(mut steps, alive)| async move {
            loop {
                match steps.pop_front()? {
                    Step::Wait(wait) => sleep(wait).await,
                    Step::Event(event) => return Some((Ok(event), (steps, alive))),
                    Step::Fail(error) => return Some((Err(error), (VecDeque::new(), alive))),
                    Step::Never => pending().await,
                }
            }
        })))
    }
}

/// An open connection.
struct Alive {
    state: Arc<Mutex<State>>,
    name: Arc<str>,
}

impl Drop for Alive {
    fn drop(&mut self) {
        let mut state = self.state.lock().unwrap();
        for name in [&self.name, &"".into()] {
            *state.alive.entry(Arc::clone(name)).or_default() -= 1;
        }
    }
}
