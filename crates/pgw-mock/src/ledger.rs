//! The book of the mock: counters, script positions and recorded requests, with waiting on them.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::Serialize;
use tokio::sync::watch;

use crate::recorded::RecordedRequest;
use crate::request::Request;
use crate::scenario::Scenario;

/// Most requests kept for assertions.
const MAX_RECORDED: usize = 1_000;
/// Most body bytes kept with them, so that a mock that runs for days stays small.
const MAX_RECORDED_BYTES: usize = 64 * 1024 * 1024;

/// What the mock has seen since its start or the last reset.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Counters {
    /// Connections open now; a reset does not change it.
    pub open_connections: u64,
    /// Connections accepted.
    pub accepted_connections: u64,
    /// Requests that no endpoint takes (answered 404).
    pub unmatched: u64,
    /// Connections whose bytes were no valid request (answered 4xx).
    pub malformed: u64,
    /// One entry per endpoint, in the order of the scenario.
    pub endpoints: Vec<EndpointCounters>,
}

impl Counters {
    /// The counters of the endpoint with this name.
    #[must_use]
    pub fn endpoint(&self, name: &str) -> Option<&EndpointCounters> {
        self.endpoints.iter().find(|endpoint| endpoint.name == name)
    }

    /// Requests received by all endpoints.
    #[must_use]
    pub fn received(&self) -> u64 {
        self.endpoints.iter().map(|endpoint| endpoint.received).sum()
    }

    /// Answers sent whole by all endpoints.
    #[must_use]
    pub fn answered(&self) -> u64 {
        self.endpoints.iter().map(|endpoint| endpoint.answered).sum()
    }

    /// Answers that the client did not wait for, over all endpoints.
    #[must_use]
    pub fn closed_by_client(&self) -> u64 {
        self.endpoints.iter().map(|endpoint| endpoint.closed_by_client).sum()
    }

    /// Requests whose answer has not ended, over all endpoints.
    #[must_use]
    pub fn in_progress(&self) -> u64 {
        self.endpoints.iter().map(|endpoint| endpoint.in_progress).sum()
    }
}

/// What one endpoint has seen. Each request received is in exactly one of `answered`, `cut_short`,
/// `closed_by_client` and `in_progress`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct EndpointCounters {
    /// The endpoint's path.
    pub path: String,
    /// The endpoint's name.
    pub name: String,
    /// Requests read completely.
    pub received: u64,
    /// Answers sent whole. Counted just before the last bytes go out, so that a client that has the
    /// answer finds it counted; taken back if the client leaves before they are sent.
    pub answered: u64,
    /// Answers that ended by the script's cut or reset.
    pub cut_short: u64,
    /// Answers during which the client closed the connection or its sending side.
    pub closed_by_client: u64,
    /// Requests whose answer has not ended.
    pub in_progress: u64,
    /// The highest `in_progress`. A client that drops a call and sends another at once may be seen
    /// with both for a moment.
    pub most_in_progress: u64,
}

/// How an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Answered,
    CutShort,
    ClosedByClient,
}

impl EndpointCounters {
    fn of(&mut self, outcome: Outcome) -> &mut u64 {
        match outcome {
            Outcome::Answered => &mut self.answered,
            Outcome::CutShort => &mut self.cut_short,
            Outcome::ClosedByClient => &mut self.closed_by_client,
        }
    }
}

/// All that changes while the mock runs, behind one lock so that no reader sees half a step.
#[derive(Debug)]
struct Book {
    /// Grows with each reset; answers of an older epoch no longer count.
    epoch: u64,
    counters: Counters,
    positions: Vec<usize>,
    requests: VecDeque<Arc<RecordedRequest>>,
    recorded_bytes: usize,
}

impl Book {
    fn record(&mut self, request: RecordedRequest) {
        self.recorded_bytes += request.body().len();
        self.requests.push_back(Arc::new(request));
        while self.requests.len() > MAX_RECORDED
            || (self.recorded_bytes > MAX_RECORDED_BYTES && self.requests.len() > 1)
        {
            if let Some(oldest) = self.requests.pop_front() {
                self.recorded_bytes -= oldest.body().len();
            }
        }
    }
}

/// Shared by the server and its connections. The watch channel is lock and notification in one.
#[derive(Debug, Clone)]
pub(crate) struct Ledger {
    book: Arc<watch::Sender<Book>>,
}

impl Ledger {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        let endpoints = scenario.endpoints().iter().map(|endpoint| EndpointCounters {
            path: endpoint.path().to_owned(),
            name: endpoint.name().to_owned(),
            ..EndpointCounters::default()
        });
        let book = Book {
            epoch: 0,
            counters: Counters { endpoints: endpoints.collect(), ..Counters::default() },
            positions: vec![0; scenario.endpoints().len()],
            requests: VecDeque::new(),
            recorded_bytes: 0,
        };
        Self { book: Arc::new(watch::Sender::new(book)) }
    }

    pub(crate) fn counters(&self) -> Counters {
        self.book.borrow().counters.clone()
    }

    pub(crate) fn requests(&self) -> Vec<Arc<RecordedRequest>> {
        self.book.borrow().requests.iter().cloned().collect()
    }

    pub(crate) fn reset(&self) {
        self.book.send_modify(|book| {
            book.epoch += 1;
            book.positions.fill(0);
            book.requests.clear();
            book.recorded_bytes = 0;
            let old = std::mem::take(&mut book.counters);
            book.counters.open_connections = old.open_connections;
            book.counters.endpoints = old
                .endpoints
                .into_iter()
                .map(|endpoint| EndpointCounters {
                    path: endpoint.path,
                    name: endpoint.name,
                    ..EndpointCounters::default()
                })
                .collect();
        });
    }

    pub(crate) async fn wait_until(&self, mut done: impl FnMut(&Counters) -> bool) -> Counters {
        let mut reader = self.book.subscribe();
        // It fails only when the sender is gone, and self holds it.
        match reader.wait_for(|book| done(&book.counters)).await {
            Ok(book) => book.counters.clone(),
            Err(_) => self.counters(),
        }
    }

    pub(crate) fn malformed(&self) {
        self.book.send_modify(|book| book.counters.malformed += 1);
    }

    pub(crate) fn connection_opened(&self) -> OpenConnection {
        self.book.send_modify(|book| {
            book.counters.open_connections += 1;
            book.counters.accepted_connections += 1;
        });
        OpenConnection { ledger: self.clone() }
    }

    /// Counts and records a request that no endpoint takes.
    pub(crate) fn unmatched(&self, request: &Request) {
        let record = RecordedRequest::new(request, None);
        self.book.send_modify(|book| {
            book.counters.unmatched += 1;
            book.record(record);
        });
    }

    /// Counts and records a request of an endpoint and takes its next script position.
    pub(crate) fn received(&self, endpoint: usize, name: &str, request: &Request) -> Progress {
        let record = RecordedRequest::new(request, Some(name));
        let mut progress =
            Progress { ledger: self.clone(), endpoint, epoch: 0, position: 0, ended: None };
        self.book.send_modify(|book| {
            book.record(record);
            progress.epoch = book.epoch;
            if let Some(position) = book.positions.get_mut(endpoint) {
                progress.position = *position;
                *position += 1;
            }
            if let Some(counters) = book.counters.endpoints.get_mut(endpoint) {
                counters.received += 1;
                counters.in_progress += 1;
                counters.most_in_progress = counters.most_in_progress.max(counters.in_progress);
            }
        });
        progress
    }
}

/// Counts a connection as open while it lives.
#[derive(Debug)]
pub(crate) struct OpenConnection {
    ledger: Ledger,
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.ledger.book.send_modify(|book| book.counters.open_connections -= 1);
    }
}

/// One request on its way to an outcome. Dropped without one (the server stops), it only leaves
/// `in_progress`.
#[derive(Debug)]
pub(crate) struct Progress {
    ledger: Ledger,
    endpoint: usize,
    epoch: u64,
    position: usize,
    ended: Option<Outcome>,
}

impl Progress {
    /// Which answer of the script this request gets, from 0.
    pub(crate) fn position(&self) -> usize {
        self.position
    }

    /// Books the outcome; a later call corrects an earlier one.
    pub(crate) fn ended(&mut self, outcome: Outcome) {
        let before = self.ended.replace(outcome);
        self.change(|counters| {
            match before {
                Some(before) => *counters.of(before) -= 1,
                None => counters.in_progress -= 1,
            }
            *counters.of(outcome) += 1;
        });
    }

    fn change(&self, change: impl FnOnce(&mut EndpointCounters)) {
        self.ledger.book.send_modify(|book| {
            if book.epoch == self.epoch
                && let Some(counters) = book.counters.endpoints.get_mut(self.endpoint)
            {
                change(counters);
            }
        });
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.ended.is_none() {
            self.change(|counters| counters.in_progress -= 1);
        }
    }
}
