//! The far end of a case: listening, reading one request, answering byte by byte.

use std::error::Error;
use std::time::Duration;

use bytes::Bytes;
use pgw_http::{HttpClient, HttpOptions, TlsTrust};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// An answer with nothing special about it.
pub(crate) const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

/// A listener on a free loopback port.
pub(crate) struct Peer(TcpListener);

impl Peer {
    pub(crate) async fn listen() -> Self {
        Self(TcpListener::bind("127.0.0.1:0").await.unwrap())
    }

    pub(crate) fn port(&self) -> u16 {
        self.0.local_addr().unwrap().port()
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port())
    }

    pub(crate) async fn accept(&self) -> TcpStream {
        self.0.accept().await.unwrap().0
    }

    /// Accepts one connection, reads one request and writes `answer`; the connection stays open.
    pub(crate) async fn answer(&self, answer: impl AsRef<[u8]>) -> (TcpStream, String) {
        let mut stream = self.accept().await;
        let request = read_request(&mut stream).await;
        stream.write_all(answer.as_ref()).await.unwrap();
        (stream, request)
    }
}

/// A port on which nobody listens.
pub(crate) async fn dead_port() -> u16 {
    Peer::listen().await.port()
}

/// Reads one request, head and body, as text.
pub(crate) async fn read_request(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut seen = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&seen);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length: "))
                .map_or(0, |length| length.parse().unwrap());
            if body.len() >= length {
                return text.into_owned();
            }
        }
        assert!(stream.read_buf(&mut seen).await.unwrap() > 0, "the client hung up: {seen:?}");
    }
}

/// Waits for the client to close or reset the connection, whatever it sends before.
pub(crate) async fn wait_for_close(stream: &mut (impl AsyncRead + AsyncWrite + Unpin)) {
    let mut rest = [0; 1024];
    while matches!(stream.read(&mut rest).await, Ok(read) if read > 0) {}
}

/// Runs both ends to completion. The time limit only turns a hang into a failure.
pub(crate) async fn both<C: Future, S: Future>(client: C, server: S) -> (C::Output, S::Output) {
    let ends = futures_util::future::join(client, server);
    tokio::time::timeout(Duration::from_mins(1), ends).await.expect("the exchange hangs")
}

/// Lets the connection's own task do what it can do now, such as going back to the pool.
pub(crate) async fn settle() {
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
}

/// Options that do not need the machine to have a trust store.
pub(crate) fn options() -> HttpOptions {
    HttpOptions { tls: TlsTrust::PlaintextOnly, ..HttpOptions::default() }
}

pub(crate) fn client() -> HttpClient {
    HttpClient::new(options()).unwrap()
}

pub(crate) fn get(url: impl AsRef<str>) -> http::Request<Bytes> {
    http::Request::get(url.as_ref()).body(Bytes::new()).unwrap()
}

/// An error and everything behind it, both ways it can be printed.
pub(crate) fn printed(error: &dyn Error) -> String {
    std::iter::successors(Some(error), |&cause| cause.source())
        .map(ToString::to_string)
        .chain([format!("{error:?}")])
        .collect::<Vec<_>>()
        .join(" | ")
}
