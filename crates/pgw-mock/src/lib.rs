//! A scriptable model provider for tests and demos.
//!
//! [`MockServer`] listens on a loopback port and speaks HTTP/1.1 over plain TCP, so a script decides
//! every byte and every pause: a status with `Retry-After`, SSE chunks one by one, a body cut in the
//! middle, a connection reset, a socket that stays open and silent. It counts what it received and
//! how each answer ended, and keeps the last requests for assertions.
//!
//! # In Rust
//! ```
//! use pgw_mock::{Answer, ChatReply, Endpoint, MockServer, Scenario};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), pgw_mock::MockError> {
//! let mock = MockServer::start(
//!     Scenario::new().endpoint(
//!         Endpoint::chat()
//!             .answer(Answer::error(429, "rate_limit_exceeded", "slow down").header("retry-after", "1"))
//!             .answer(Answer::chat(ChatReply::new("Hello there").usage(5, 2))),
//!     ),
//! )
//! .await?;
//! assert!(mock.base_url().starts_with("http://127.0.0.1:"));
//! // … point a client at mock.base_url(), then ask mock.counters() …
//! mock.shutdown().await;
//! # Ok(())
//! # }
//! ```
//!
//! # The scenario file
//! [`Scenario::from_json`] reads the same things from JSON. Unknown fields are errors.
//! ```
//! let scenario = pgw_mock::Scenario::from_json(r#"{
//!   "endpoints": [{
//!     "path": "/v1/chat/completions",
//!     "method": "POST",
//!     "name": "chat",
//!     "match": {"model": "m-fast", "stream": true, "bearer": "key-a"},
//!     "answers": [
//!       {"error": {"status": 429, "code": "rate_limit_exceeded", "message": "slow down"},
//!        "headers": {"retry-after": "1"}},
//!       {"delay_ms": 5, "sse": [
//!          {"json": {"choices": []}}, {"pause_ms": 20}, {"text": "data: [DONE]\n\n"}, "cut"]},
//!       {"chat": {"content": "Hello there", "usage": [5, 2]}, "split": "every_byte"}
//!     ],
//!     "then": "repeat_last"
//!   }]
//! }"#)?;
//! # let _ = scenario;
//! # Ok::<(), pgw_mock::ScenarioError>(())
//! ```
//! An endpoint:
//!
//! | field | meaning |
//! |---|---|
//! | `path` | exact path without a query; paths below `/__mock/` are the mock's own |
//! | `method` | exact method; any when absent |
//! | `name` | key of its counters, unique; the path when absent |
//! | `match` | further conditions: `model` (field of the JSON body), `stream`, `bearer` |
//! | `answers` | played in order, one a request |
//! | `then` | when used up: `repeat_last` (default), `cycle` or `404` |
//!
//! Endpoints are tried in the order of the file; the first that fits answers. An answer has at most
//! one of `body`, `sse`, `raw`, `chat`, `error`:
//!
//! | field | meaning |
//! |---|---|
//! | `status` | 200 when absent |
//! | `headers` | text, or a list of texts for a repeated header |
//! | `delay_ms` | wait before the first byte |
//! | `body` | `{"json": …}`, `{"text": …}`, `{"base64": …}` or `{"chunks": […]}` |
//! | `sse` | list of chunks sent as `text/event-stream`; `{"json": …}` becomes one `data:` event |
//! | `raw` | the whole response, status line included, as `{"text"}`, `{"base64"}` or `{"chunks"}`; the connection closes after it |
//! | `chat` | an `OpenAI` chat answer, JSON or SSE as the request asks, see [`ChatReply`] |
//! | `error` | an `OpenAI` error: `status`, `code`, `message`, `type`, `param` |
//! | `framing` | `content_length`, `chunked` or `until_close`; by default lists of chunks are chunked |
//! | `split` | `one` (default), `every_byte` or `{"every_n": 7}`: bytes a write |
//! | `close` | `true`: close the connection after the answer and say so in the head |
//!
//! A chunk is `{"json"}`, `{"text"}`, `{"base64"}`, `{"pause_ms"}`, `"stall"` (silent until the
//! client leaves), `"cut"` (close before the end) or `"reset"` (TCP RST). Each is written on its own;
//! the head travels with the first and the chunked terminator with the last.
//!
//! `GET /__mock/counters` returns [`Counters`] as JSON; `POST /__mock/reset` sets counters, recorded
//! requests and script positions back.
//!
//! # Time
//! Pauses wait on `tokio::time`. The sockets are real, so a test on paused time would jump over a
//! pause while bytes are still in the kernel; use short real pauses or `stall` instead.

mod answer;
mod chat;
mod file;
mod ledger;
mod play;
mod recorded;
mod request;
mod scenario;
mod server;

pub use answer::{Answer, Framing, Split, Step};
pub use chat::{ChatReply, Fault};
pub use ledger::{Counters, EndpointCounters};
pub use recorded::RecordedRequest;
pub use scenario::{AfterLast, Endpoint, Match, Problem, Scenario, ScenarioError};
pub use server::{MockError, MockServer};
