//! A server that answers every request with the same bytes, on a core of its own.

use std::net::SocketAddr;

use bytes::Bytes;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::LocalSet,
};

/// The name of the responder's thread, for the CPU meter to leave out.
const THREAD: &str = "responder";

/// A running responder. It lives as long as the process.
#[derive(Debug)]
pub struct Responder {
    address: SocketAddr,
}

impl Responder {
    /// The name of its thread.
    pub const THREAD: &'static str = THREAD;

    /// Starts a responder that answers every request with `answer`: a whole HTTP/1.1 response.
    ///
    /// # Panics
    /// If no loopback port can be had.
    #[must_use]
    pub fn start(answer: impl Into<Bytes>) -> Self {
        let answer = answer.into();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::Builder::new()
            .name(THREAD.into())
            .spawn(move || serve(listener, &answer))
            .unwrap();
        Self { address }
    }

    /// The root of its API.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }
}

fn serve(listener: std::net::TcpListener, answer: &Bytes) {
    // The last core is the responder's; the caller keeps the first.
    if let Some(core) = core_affinity::get_core_ids().and_then(|cores| cores.last().copied()) {
        core_affinity::set_for_current(core);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
    LocalSet::new().block_on(&runtime, async {
        let listener = TcpListener::from_std(listener).unwrap();
        loop {
            let (socket, _) = listener.accept().await.unwrap();
            socket.set_nodelay(true).unwrap();
            tokio::task::spawn_local(connection(socket, answer.clone()));
        }
    });
}

async fn connection(mut socket: TcpStream, answer: Bytes) {
    let mut buffer = Vec::with_capacity(64 * 1024);
    while let Some(end) = next_request(&mut socket, &mut buffer).await {
        buffer.drain(..end);
        if socket.write_all(&answer).await.is_err() {
            return;
        }
    }
}

/// Reads until one whole request is in the buffer; returns where it ends.
async fn next_request(socket: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<usize> {
    loop {
        if let Some(head) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
            let end = head + 4 + content_length(&buffer[..head]);
            if buffer.len() >= end {
                return Some(end);
            }
        }
        if socket.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    }
}

fn content_length(head: &[u8]) -> usize {
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    head.lines()
        .find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok())
        .unwrap_or_default()
}
