//! A bare HTTP/1.1 client that shows what came over the socket.

use std::io;
use std::time::Duration;

use pgw_mock::MockServer;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

pub(crate) const CHAT: &str = "/v1/chat/completions";

/// Ends a test that hangs; the limit says nothing about speed.
pub(crate) async fn within<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(Duration::from_secs(30), future).await.unwrap()
}

#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) head: String,
    /// The chunks of a chunked body; otherwise the whole body as one.
    pub(crate) chunks: Vec<Vec<u8>>,
}

impl Response {
    pub(crate) fn body(&self) -> Vec<u8> {
        self.chunks.concat()
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body()).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body()).unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(": ")?;
            key.eq_ignore_ascii_case(name).then_some(value)
        })
    }

    /// The JSON values of the `data:` lines, without `[DONE]`.
    pub(crate) fn events(&self) -> Vec<Value> {
        self.text()
            .lines()
            .filter_map(|line| line.strip_prefix("data: "))
            .filter(|data| *data != "[DONE]")
            .map(|data| serde_json::from_str(data).unwrap())
            .collect()
    }
}

pub(crate) struct Client {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Client {
    pub(crate) async fn connect(mock: &MockServer) -> Self {
        let stream = TcpStream::connect(mock.address()).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream, buffer: Vec::new() }
    }

    pub(crate) async fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.unwrap();
    }

    pub(crate) async fn send_post(&mut self, path: &str, headers: &str, body: &str) {
        let length = body.len();
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: mock\r\n{headers}content-length: {length}\r\n\r\n{body}"
        );
        self.send(request.as_bytes()).await;
    }

    pub(crate) async fn post(&mut self, path: &str, body: &str) -> Response {
        self.send_post(path, "", body).await;
        within(self.response()).await
    }

    pub(crate) async fn get(&mut self, path: &str) -> Response {
        self.send(format!("GET {path} HTTP/1.1\r\nhost: mock\r\n\r\n").as_bytes()).await;
        within(self.response()).await
    }

    /// Head of the next response, with the blank line taken off.
    pub(crate) async fn head(&mut self) -> String {
        let head = within(self.take_through(b"\r\n\r\n")).await;
        String::from_utf8(head).unwrap()
    }

    pub(crate) async fn response(&mut self) -> Response {
        let head = self.head().await;
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let mut response = Response { status, head, chunks: Vec::new() };
        if response.header("transfer-encoding") == Some("chunked") {
            while let Some(chunk) = self.chunk().await {
                response.chunks.push(chunk);
            }
        } else if let Some(length) = response.header("content-length") {
            let length = length.parse().unwrap();
            response.chunks.push(self.take(length).await);
        } else {
            response.chunks.push(self.rest().await.unwrap());
        }
        response
    }

    /// The next chunk of a chunked body; `None` for its terminator.
    pub(crate) async fn chunk(&mut self) -> Option<Vec<u8>> {
        let line = within(self.take_through(b"\r\n")).await;
        let size = usize::from_str_radix(std::str::from_utf8(&line).unwrap(), 16).unwrap();
        let data = within(self.take(size + 2)).await;
        (size > 0).then(|| data[..size].to_vec())
    }

    /// Everything up to the end of the connection, or how it broke.
    pub(crate) async fn rest(&mut self) -> io::Result<Vec<u8>> {
        within(self.stream.read_to_end(&mut self.buffer)).await?;
        Ok(std::mem::take(&mut self.buffer))
    }

    /// Reads on until the connection breaks or ends; what came is in the first part.
    pub(crate) async fn until_broken(&mut self) -> (Vec<u8>, Option<io::ErrorKind>) {
        let end = within(self.stream.read_to_end(&mut self.buffer)).await;
        (std::mem::take(&mut self.buffer), end.err().map(|error| error.kind()))
    }

    async fn take_through(&mut self, mark: &[u8]) -> Vec<u8> {
        loop {
            if let Some(at) = self.buffer.windows(mark.len()).position(|bytes| bytes == mark) {
                let mut taken = self.take(at + mark.len()).await;
                taken.truncate(at);
                return taken;
            }
            self.read_more().await;
        }
    }

    pub(crate) async fn take(&mut self, length: usize) -> Vec<u8> {
        while self.buffer.len() < length {
            self.read_more().await;
        }
        let rest = self.buffer.split_off(length);
        std::mem::replace(&mut self.buffer, rest)
    }

    async fn read_more(&mut self) {
        let count = self.stream.read_buf(&mut self.buffer).await.unwrap();
        assert_ne!(
            count,
            0,
            "the connection ended within {:?}",
            String::from_utf8_lossy(&self.buffer)
        );
    }
}
