//! The server: its listener, its connections, and what a test asks it.

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::answer::{Answer, error_body};
use crate::ledger::{Counters, Ledger, Outcome, Progress};
use crate::play::{After, Plan};
use crate::recorded::RecordedRequest;
use crate::request::{NoRequest, Request, RequestReader};
use crate::scenario::{CONTROL_PREFIX, Scenario, ScenarioError};

/// Why a mock did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MockError {
    /// The scenario can't be played.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The address can't be listened on.
    #[error("cannot listen on {address}")]
    Bind {
        /// The address asked for.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
}

/// A running mock provider. Dropping it ends its listener and all its connections.
pub struct MockServer {
    address: SocketAddr,
    ledger: Ledger,
    stop: oneshot::Sender<()>,
    /// The one task that accepts; it owns the tasks of the connections.
    acceptor: JoinSet<()>,
}

impl MockServer {
    /// Starts a mock on a free port of 127.0.0.1.
    ///
    /// # Errors
    /// [`MockError::Scenario`] for a faulty scenario, [`MockError::Bind`] if no port can be had.
    pub async fn start(scenario: Scenario) -> Result<Self, MockError> {
        Self::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), scenario).await
    }

    /// Starts a mock on an address; port 0 takes a free one.
    ///
    /// # Errors
    /// [`MockError::Scenario`] for a faulty scenario, [`MockError::Bind`] if the address can't be
    /// listened on.
    pub async fn bind(address: SocketAddr, scenario: Scenario) -> Result<Self, MockError> {
        scenario.check()?;
        let bind = |source| MockError::Bind { address, source };
        let listener = TcpListener::bind(address).await.map_err(bind)?;
        let address = listener.local_addr().map_err(bind)?;
        let ledger = Ledger::new(&scenario);
        let shared = Shared { scenario: Arc::new(scenario), ledger: ledger.clone() };
        let (stop, stopped) = oneshot::channel();
        let mut acceptor = JoinSet::new();
        acceptor.spawn(accept(listener, shared, stopped));
        Ok(Self { address, ledger, stop, acceptor })
    }

    /// The address it listens on, with the real port.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The base URL for an `OpenAI` client, for example `http://127.0.0.1:40123/v1`.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// What was counted up to now.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.ledger.counters()
    }

    /// How many answers were not waited for: the client closed the connection before their end.
    #[must_use]
    pub fn closed_by_client(&self) -> u64 {
        self.ledger.counters().closed_by_client()
    }

    /// The last requests in the order received: at most 1,000, and 64 MiB of bodies. Control
    /// requests and malformed ones are not among them.
    #[must_use]
    pub fn requests(&self) -> Vec<Arc<RecordedRequest>> {
        self.ledger.requests()
    }

    /// Sets counters, recorded requests and script positions back to the start. Answers in progress
    /// go on and are not counted when they end.
    pub fn reset(&self) {
        self.ledger.reset();
    }

    /// Waits until the counters satisfy `done` and returns them. It wakes at each change and never
    /// gives up: put a timeout around it. `done` runs under the counters' lock and must not ask the
    /// mock itself.
    ///
    /// # Cancel safety
    /// Dropping it has no effect.
    pub async fn wait_until(&self, done: impl FnMut(&Counters) -> bool) -> Counters {
        self.ledger.wait_until(done).await
    }

    /// Closes the listener and all connections and returns when their tasks have ended.
    pub async fn shutdown(mut self) {
        // The acceptor stops as soon as its sender is gone.
        drop(self.stop);
        while self.acceptor.join_next().await.is_some() {}
    }
}

impl fmt::Debug for MockServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MockServer").field("address", &self.address).finish_non_exhaustive()
    }
}

/// What each connection needs.
#[derive(Debug, Clone)]
struct Shared {
    scenario: Arc<Scenario>,
    ledger: Ledger,
}

async fn accept(listener: TcpListener, shared: Shared, mut stopped: oneshot::Receiver<()>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            _ = &mut stopped => break,
            // Ended connections are taken out, or the set would grow for ever.
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(serve(stream, shared.clone()));
                }
                // Out of file descriptors, most likely: some must be closed before a new try.
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        }
    }
    drop(listener);
    connections.shutdown().await;
}

async fn serve(mut stream: TcpStream, shared: Shared) {
    let _open = shared.ledger.connection_opened();
    // Without TCP_NODELAY the kernel would join the pieces of a script. It fails only on a
    // connection that is already gone, which the first read will tell.
    let _ = stream.set_nodelay(true);
    let mut reader = RequestReader::default();
    loop {
        let after = match reader.next(&mut stream).await {
            Ok(request) => shared.answer(&request, &mut reader, &mut stream).await,
            Err(NoRequest::Left) => return,
            Err(NoRequest::Malformed { status, message }) => {
                shared.ledger.malformed();
                refuse(status, &message, &mut reader, &mut stream).await;
                return;
            }
        };
        match after {
            After::KeepAlive => {}
            After::Close => {
                // An error means that the client closed first.
                let _ = stream.shutdown().await;
                return;
            }
            After::Reset => {
                // With zero linger the drop below sends RST instead of FIN.
                let _ = stream.set_zero_linger();
                return;
            }
        }
    }
}

/// Answers bytes that are no request and hangs up.
async fn refuse(status: u16, message: &str, reader: &mut RequestReader, stream: &mut TcpStream) {
    let answer = own_error(status, "mock_malformed_request", message).close();
    let request = Request::unreadable();
    if Plan::new(&answer, &request, 1).play(stream, None).await.is_ok()
        && stream.shutdown().await.is_ok()
    {
        reader.drain(stream).await;
    }
}

impl Shared {
    async fn answer(
        &self,
        request: &Request,
        reader: &mut RequestReader,
        stream: &mut TcpStream,
    ) -> After {
        if request.path().starts_with(CONTROL_PREFIX) {
            let answer = self.control(request);
            return play(Plan::new(&answer, request, 1), None, reader, stream).await;
        }
        let Some((index, endpoint)) = self
            .scenario
            .find(request)
            .and_then(|index| Some((index, self.scenario.endpoints().get(index)?)))
        else {
            self.ledger.unmatched(request);
            let answer = self.unknown(request);
            return play(Plan::new(&answer, request, 1), None, reader, stream).await;
        };
        let mut progress = self.ledger.received(index, endpoint.name(), request);
        let position = progress.position();
        let used_up;
        let answer = if let Some(answer) = endpoint.answer_at(position) {
            answer
        } else {
            let message = format!("all answers of endpoint {:?} are used up", endpoint.name());
            used_up = own_error(404, "mock_script_used_up", &message);
            &used_up
        };
        let plan = Plan::new(answer, request, position + 1);
        play(plan, Some(&mut progress), reader, stream).await
    }

    fn control(&self, request: &Request) -> Answer {
        match (request.method.as_str(), request.path()) {
            ("GET", "/__mock/counters") => self.counters_answer(),
            ("POST", "/__mock/reset") => {
                self.ledger.reset();
                self.counters_answer()
            }
            (method, path) => own_error(
                404,
                "mock_unknown_control",
                &format!(
                    "no control endpoint for {method} {path}; there are GET /__mock/counters and \
                     POST /__mock/reset"
                ),
            ),
        }
    }

    fn counters_answer(&self) -> Answer {
        match serde_json::to_value(self.ledger.counters()) {
            Ok(value) => Answer::json(200, &value),
            Err(fault) => own_error(500, "mock_internal", &fault.to_string()),
        }
    }

    fn unknown(&self, request: &Request) -> Answer {
        let message = format!(
            "no endpoint of the scenario takes {} {} (model {}, stream {}); known: {}",
            request.method,
            request.path(),
            request.facts.model.as_deref().unwrap_or("none"),
            request.facts.stream,
            self.scenario.known()
        );
        own_error(404, "mock_unknown_endpoint", &message)
    }
}

/// Plays an answer while watching the client: one that leaves ends it at once.
async fn play(
    plan: Plan<'_>,
    mut progress: Option<&mut Progress>,
    reader: &mut RequestReader,
    stream: &mut TcpStream,
) -> After {
    let (mut read, mut write) = stream.split();
    let played = tokio::select! {
        biased;
        () = reader.until_left(&mut read) => None,
        played = plan.play(&mut write, progress.as_deref_mut()) => played.ok(),
    };
    if let Some(after) = played {
        return after;
    }
    if let Some(progress) = progress {
        progress.ended(Outcome::ClosedByClient);
    }
    After::Close
}

/// An error of the mock itself, in the `OpenAI` envelope so that any client can show it.
fn own_error(status: u16, code: &str, message: &str) -> Answer {
    Answer::json(status, &error_body(message, "mock_error", None, Some(code)))
}
