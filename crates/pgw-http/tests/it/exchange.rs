//! Ordinary exchanges: what is sent, what comes back, and on which connection.

use std::num::NonZeroUsize;
use std::pin::pin;

use bytes::Bytes;
use futures_util::{FutureExt as _, StreamExt as _};
use http::{StatusCode, Version};
use pgw_http::{Body, HttpClient, HttpErrorKind, HttpOptions, Response};
use tokio::io::AsyncWriteExt as _;

use crate::peer::{OK, Peer, both, client, get, options, read_request, settle};

#[test]
fn clients_exchanges_and_bodies_travel_between_tasks() {
    fn travels<T: Send + Sync + Unpin + 'static>() {}
    fn sends(_: impl Send) {}
    travels::<HttpClient>();
    travels::<Response>();
    travels::<Body>();
    let client = client();
    sends(client.send(get("http://api.test/")));
}

/// REQ OAI-002: one pool, its connections used again.
#[tokio::test]
async fn a_connection_is_used_again() {
    let peer = Peer::listen().await;
    let client = client();
    let sending = async {
        for path in ["/first", "/second"] {
            let response = client.send(get(peer.url(path))).await.unwrap();
            assert_eq!(response.status, StatusCode::OK);
            assert_eq!(response.version, Version::HTTP_11);
            assert_eq!(response.body.collect(10).await.unwrap(), "ok");
            settle().await;
        }
    };
    let serving = async {
        let (mut stream, first) = peer.answer(OK).await;
        assert!(first.starts_with("GET /first HTTP/1.1\r\n"), "{first}");
        let second = read_request(&mut stream).await;
        assert!(second.starts_with("GET /second HTTP/1.1\r\n"), "{second}");
        stream.write_all(OK.as_bytes()).await.unwrap();
    };
    both(sending, serving).await;
}

#[tokio::test]
async fn nothing_is_added_to_the_request() {
    let peer = Peer::listen().await;
    let client = client();
    let request = http::Request::post(peer.url("/v1?a=b"))
        .header("authorization", "Bearer key")
        .body(Bytes::from_static(b"{}"))
        .unwrap();
    let (response, (_stream, seen)) = both(client.send(request), peer.answer(OK)).await;
    response.unwrap();
    let (head, body) = seen.split_once("\r\n\r\n").unwrap();
    let mut lines: Vec<_> = head.lines().collect();
    lines.sort_unstable();
    assert_eq!(
        lines,
        [
            "POST /v1?a=b HTTP/1.1",
            "authorization: Bearer key",
            "content-length: 2",
            &format!("host: 127.0.0.1:{}", peer.port()),
        ]
    );
    assert_eq!(body, "{}");
}

#[tokio::test]
async fn a_redirect_is_returned_as_it_is() {
    let peer = Peer::listen().await;
    let client = client();
    let answer = "HTTP/1.1 307 Moved\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n";
    let (response, _) = both(client.send(get(peer.url("/"))), peer.answer(answer)).await;
    let response = response.unwrap();
    assert_eq!(response.status, StatusCode::TEMPORARY_REDIRECT);
    assert_eq!(response.headers["location"], "http://127.0.0.1:1/");
}

#[tokio::test]
async fn the_body_is_a_stream() {
    let peer = Peer::listen().await;
    let client = client();
    let answer = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n\
                  3\r\none\r\n3\r\ntwo\r\n0\r\nx-trailer: 1\r\n\r\n";
    let (response, _) = both(client.send(get(peer.url("/"))), peer.answer(answer)).await;
    let pieces: Vec<_> = response.unwrap().body.map(Result::unwrap).collect().await;
    assert_eq!(pieces.concat(), b"onetwo");
}

/// REQ MID-022: a request that may have been seen is not sent again, on a reused connection either.
#[tokio::test]
async fn a_request_that_was_begun_is_sent_once() {
    let peer = Peer::listen().await;
    let url = peer.url("/");
    let client = client();
    let sending = async {
        let response = client.send(get(&url)).await.unwrap();
        response.body.collect(10).await.unwrap();
        settle().await;
        client.send(get(&url)).await.unwrap_err().kind()
    };
    let serving = async move {
        let (mut stream, _) = peer.answer(OK).await;
        // A second attempt would now be refused and be told apart from the first by its kind.
        drop(peer);
        read_request(&mut stream).await;
    };
    let (kind, ()) = both(sending, serving).await;
    assert_eq!(kind, HttpErrorKind::ConnectionClosed);
}

/// The place is free when the body has ended, although the caller still holds it.
#[tokio::test]
async fn a_place_is_free_when_the_body_ends() {
    let peer = Peer::listen().await;
    let client = narrow();
    let sending = async {
        let mut first = client.send(get(peer.url("/"))).await.unwrap();
        let mut second = pin!(client.send(get(peer.url("/"))));
        assert!(second.as_mut().now_or_never().is_none());
        while first.body.next_piece().await.transpose().unwrap().is_some() {}
        second.await.unwrap();
        drop(first);
    };
    let serving = async {
        let (_first, _) = peer
            .answer("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok")
            .await;
        peer.answer(OK).await
    };
    both(sending, serving).await;
}

#[tokio::test]
async fn a_place_is_free_when_the_body_is_dropped() {
    let peer = Peer::listen().await;
    let client = narrow();
    let sending = async {
        let endless = client.send(get(peer.url("/"))).await.unwrap();
        let mut second = pin!(client.send(get(peer.url("/"))));
        for _ in 0..20 {
            assert!(second.as_mut().now_or_never().is_none());
            tokio::task::yield_now().await;
        }
        drop(endless);
        second.await.unwrap();
    };
    let serving = async {
        let (_first, _) = peer.answer("HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nx").await;
        peer.answer(OK).await
    };
    both(sending, serving).await;
}

/// Waiting in the queue and giving up takes no place.
#[tokio::test]
async fn a_place_is_free_when_the_send_fails_or_is_dropped() {
    let peer = Peer::listen().await;
    let client = narrow();
    let sending = async {
        let first = client.send(get(peer.url("/"))).await.unwrap();
        {
            let mut waiting = pin!(client.send(get(peer.url("/"))));
            assert!(waiting.as_mut().now_or_never().is_none());
        }
        drop(first);
        let closed = client.send(get(peer.url("/"))).await.unwrap_err();
        assert_eq!(closed.kind(), HttpErrorKind::ConnectionClosed);
        client.send(get(peer.url("/"))).await.unwrap();
    };
    let serving = async {
        drop(peer.answer("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n").await);
        drop(peer.answer("").await);
        peer.answer(OK).await
    };
    both(sending, serving).await;
}

fn narrow() -> HttpClient {
    let max_connections_per_host = NonZeroUsize::new(1);
    HttpClient::new(HttpOptions { max_connections_per_host, ..options() }).unwrap()
}
