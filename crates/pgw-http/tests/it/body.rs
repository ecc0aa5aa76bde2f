//! Bodies: complete, cut, compressed, too large.

use std::io::Write as _;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use pgw_http::{HttpError, HttpErrorKind, Response};
use tokio::io::AsyncWriteExt as _;
use tokio::sync::Notify;

use crate::peer::{Peer, both, client, get, printed};

/// The response to `answer`, after which the server hangs up.
async fn response_to(answer: impl AsRef<[u8]>) -> Response {
    let peer = Peer::listen().await;
    let client = client();
    let serving = async { drop(peer.answer(answer).await) };
    both(client.send(get(peer.url("/"))), serving).await.0.unwrap()
}

/// All pieces of a body, and how it ended.
async fn read(mut response: Response) -> (Vec<u8>, Option<HttpError>) {
    let mut read = Vec::new();
    while let Some(piece) = response.body.next_piece().await {
        match piece {
            Ok(piece) => read.extend_from_slice(&piece),
            Err(error) => {
                assert!(response.body.next_piece().await.is_none(), "an error is the end");
                return (read, Some(error));
            }
        }
    }
    (read, None)
}

fn chunked(headers: &str, chunks: &[&[u8]], end: &str) -> Vec<u8> {
    let mut answer =
        format!("HTTP/1.1 200 OK\r\n{headers}transfer-encoding: chunked\r\n\r\n").into_bytes();
    for chunk in chunks {
        write!(answer, "{:x}\r\n", chunk.len()).unwrap();
        answer.extend_from_slice(chunk);
        answer.extend_from_slice(b"\r\n");
    }
    answer.extend_from_slice(end.as_bytes());
    answer
}

fn gzipped(plain: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

const GZIP: &str = "content-encoding: gzip\r\n";
const LAST_CHUNK: &str = "0\r\n\r\n";

#[tokio::test]
async fn a_cut_body_is_truncated() {
    let cuts = [
        chunked("", &[b"data"], ""),
        chunked("", &[b"data"], "5\r\nmo"),
        chunked("", &[b"data"], "0\r\n"),
        b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\ndata".to_vec(),
    ];
    for cut in cuts {
        let (read, error) = read(response_to(&cut).await).await;
        let error = error.expect("a cut is no clean end");
        assert_eq!(error.kind(), HttpErrorKind::Truncated, "{}", printed(&error));
        assert!(read.starts_with(b"data"), "what came before the cut is handed out");
        let collected = response_to(&cut).await.body.collect(1000).await;
        assert_eq!(collected.unwrap_err().kind(), HttpErrorKind::Truncated);
    }
}

#[tokio::test]
async fn broken_chunk_framing_is_not_http() {
    let (_, error) = read(response_to(chunked("", &[b"data"], "nonsense\r\n")).await).await;
    let error = error.unwrap();
    assert_eq!(error.kind(), HttpErrorKind::Other, "{}", printed(&error));
}

#[tokio::test]
async fn a_compressed_stream_is_handed_out_as_it_is_flushed() {
    let peer = Peer::listen().await;
    let client = client();
    let seen = Notify::new();
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    let sending = async {
        let mut response = client.send(get(peer.url("/"))).await.unwrap();
        assert!(!response.headers.contains_key("content-encoding"));
        for expected in ["data: one\n\n", "data: two\n\n"] {
            let mut event = Vec::new();
            while event.len() < expected.len() {
                event.extend_from_slice(&response.body.next_piece().await.unwrap().unwrap());
            }
            assert_eq!(event, expected.as_bytes());
            seen.notify_one();
        }
        assert!(response.body.next_piece().await.is_none());
    };
    let serving = async {
        let (mut stream, _) = peer.answer(chunked(GZIP, &[], "")).await;
        for event in ["data: one\n\n", "data: two\n\n"] {
            encoder.write_all(event.as_bytes()).unwrap();
            encoder.flush().unwrap();
            let flushed = std::mem::take(encoder.get_mut());
            let chunk = [format!("{:x}\r\n", flushed.len()).as_bytes(), &flushed, b"\r\n"].concat();
            stream.write_all(&chunk).await.unwrap();
            // The next event is not even compressed before this one has arrived.
            seen.notified().await;
        }
        let end = encoder.finish().unwrap();
        let end = [format!("{:x}\r\n", end.len()).as_bytes(), &end, b"\r\n0\r\n\r\n"].concat();
        stream.write_all(&end).await.unwrap();
        stream
    };
    both(sending, serving).await;
}

#[tokio::test]
async fn headers_that_no_longer_hold_are_removed() {
    let body = gzipped(b"hello");
    let head =
        format!("HTTP/1.1 200 OK\r\n{GZIP}content-length: {}\r\nx-id: 7\r\n\r\n", body.len());
    let response = response_to([head.as_bytes(), &body].concat()).await;
    assert_eq!(response.headers.keys().collect::<Vec<_>>(), ["x-id"]);
    assert_eq!(response.body.collect(10).await.unwrap(), "hello");
}

#[tokio::test]
async fn an_unknown_coding_is_left_alone() {
    let answer = "HTTP/1.1 200 OK\r\ncontent-encoding: aes128gcm\r\ncontent-length: 3\r\n\r\n???";
    let response = response_to(answer).await;
    assert_eq!(response.headers["content-encoding"], "aes128gcm");
    assert_eq!(response.body.collect(10).await.unwrap(), "???");
}

#[tokio::test]
async fn an_empty_body_is_complete_whatever_its_headers_say() {
    for answer in [
        format!("HTTP/1.1 204 No Content\r\n{GZIP}\r\n").into_bytes(),
        format!("HTTP/1.1 200 OK\r\n{GZIP}content-length: 0\r\n\r\n").into_bytes(),
        chunked(GZIP, &[], LAST_CHUNK),
    ] {
        assert_eq!(response_to(answer).await.body.collect(0).await.unwrap(), "");
    }
}

#[tokio::test]
async fn a_body_that_does_not_decode_is_an_error() {
    let response = response_to(chunked(GZIP, &[b"<html>busy</html>"], LAST_CHUNK)).await;
    let error = response.body.collect(1000).await.unwrap_err();
    assert_eq!(error.kind(), HttpErrorKind::Decompression);
}

#[tokio::test]
async fn a_compressed_stream_without_its_end_is_truncated() {
    let body = gzipped(b"hello");
    let half = &body[..body.len() - 4];
    // HTTP itself ends cleanly here: only the gzip trailer tells.
    let response = response_to(chunked(GZIP, &[half], LAST_CHUNK)).await;
    let (read, error) = read(response).await;
    assert_eq!(read, b"hello");
    assert_eq!(error.unwrap().kind(), HttpErrorKind::Truncated);
}

#[tokio::test]
async fn collecting_stops_at_the_limit() {
    let bomb = gzipped(&vec![0; 10_000_000]);
    let bomb = chunked(GZIP, &[&bomb], LAST_CHUNK);
    for (answer, limit, fits) in [
        (b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ndata".to_vec(), 4, true),
        // Known from the head alone: the missing body is not even waited for.
        (b"HTTP/1.1 200 OK\r\ncontent-length: 4000000000\r\n\r\n".to_vec(), 3, false),
        (chunked("", &[b"data"], LAST_CHUNK), 4, true),
        (chunked("", &[b"data"], LAST_CHUNK), 3, false),
        (chunked("", &[b"da", b"ta"], LAST_CHUNK), 4, true),
        (chunked("", &[b"da", b"ta"], LAST_CHUNK), 3, false),
        (bomb.clone(), 100_000, false),
        (bomb, 10_000_000, true),
    ] {
        match response_to(answer).await.body.collect(limit).await {
            Ok(body) => assert!(fits && body.len() == limit),
            Err(error) => {
                assert!(!fits, "{}", printed(&error));
                assert_eq!(error.kind(), HttpErrorKind::BodyTooLarge);
            }
        }
    }
}

#[tokio::test]
async fn neither_debug_shows_content() {
    let answer = "HTTP/1.1 200 OK\r\nset-cookie: id=hunter2\r\ncontent-length: 7\r\n\r\nhunter2";
    let response = response_to(answer).await;
    let shown = format!("{response:?}");
    assert!(shown.contains("set-cookie") && !shown.contains("hunter2"), "{shown}");
    assert_eq!(response.body.collect(7).await.unwrap(), Bytes::from_static(b"hunter2"));
}
