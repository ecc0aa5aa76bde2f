//! Exchanges that fail before their response head, each with its kind.

use std::time::Duration;

use bytes::Bytes;
use http::Method;
use pgw_http::{HttpClient, HttpErrorKind, HttpOptions, TlsTrust};

use crate::peer::{Peer, both, client, dead_port, get, options, printed, wait_for_close};
use crate::tls::{Authority, answer_h1};

#[tokio::test]
async fn a_refused_connection() {
    let url = format!("http://127.0.0.1:{}/?key=hunter2", dead_port().await);
    let error = client().send(get(url)).await.unwrap_err();
    assert_eq!(error.kind(), HttpErrorKind::Connect);
    assert!(printed(&error).contains("refused"), "the cause is kept: {}", printed(&error));
    assert!(!printed(&error).contains("hunter2"));
}

/// The limit spans the whole way to a usable connection: here TCP is up and TLS hangs.
#[tokio::test]
async fn a_connection_that_does_not_come_about_in_time() {
    let peer = Peer::listen().await;
    let client = HttpClient::new(HttpOptions {
        connect_timeout: Some(Duration::from_millis(50)),
        tls: TlsTrust::Only(Authority::new().pem().into()),
        ..HttpOptions::default()
    })
    .unwrap();
    let url = format!("https://127.0.0.1:{}/", peer.port());
    let serving = async {
        let mut stream = peer.accept().await;
        wait_for_close(&mut stream).await;
    };
    let (response, ()) = both(client.send(get(url)), serving).await;
    assert_eq!(response.unwrap_err().kind(), HttpErrorKind::ConnectTimeout);
}

fn impatient() -> HttpClient {
    // Long enough for a busy machine to deliver what the server does send.
    let read_timeout = Some(Duration::from_millis(500));
    HttpClient::new(HttpOptions { read_timeout, ..options() }).unwrap()
}

#[tokio::test]
async fn silence_before_the_head() {
    let peer = Peer::listen().await;
    let serving = async {
        let (mut stream, _) = peer.answer("").await;
        wait_for_close(&mut stream).await;
    };
    let client = impatient();
    let (response, ()) = both(client.send(get(peer.url("/"))), serving).await;
    assert_eq!(response.unwrap_err().kind(), HttpErrorKind::ReadTimeout);
}

/// Connecting has its own limit: here TLS takes longer than the server may be silent after it.
#[tokio::test]
async fn connecting_is_not_silence() {
    let authority = Authority::new();
    let acceptor = authority.acceptor("127.0.0.1", &[]);
    let peer = Peer::listen().await;
    let client = HttpClient::new(HttpOptions {
        read_timeout: Some(Duration::from_secs(1)),
        tls: TlsTrust::Only(authority.pem().into()),
        ..HttpOptions::default()
    })
    .unwrap();
    let url = format!("https://127.0.0.1:{}/", peer.port());
    let serving = async {
        let stream = peer.accept().await;
        tokio::time::sleep(Duration::from_millis(1200)).await;
        answer_h1(acceptor.accept(stream).await.unwrap()).await
    };
    let (response, _) = both(client.send(get(url)), serving).await;
    response.unwrap();
}

#[tokio::test]
async fn silence_in_the_body() {
    let peer = Peer::listen().await;
    let serving = async {
        let (mut stream, _) =
            peer.answer("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n").await;
        wait_for_close(&mut stream).await;
    };
    let client = impatient();
    let sending = async {
        let mut body = client.send(get(peer.url("/"))).await.unwrap().body;
        assert_eq!(body.next_piece().await.unwrap().unwrap(), "x");
        let kind = body.next_piece().await.unwrap().unwrap_err().kind();
        assert!(body.next_piece().await.is_none());
        kind
    };
    let (kind, ()) = both(sending, serving).await;
    assert_eq!(kind, HttpErrorKind::ReadTimeout);
}

#[tokio::test]
async fn a_server_that_hangs_up() {
    for answer in ["", "HTTP/1.1 200 OK\r\ncontent-le"] {
        let peer = Peer::listen().await;
        let client = client();
        let serving = async { drop(peer.answer(answer).await) };
        let (response, ()) = both(client.send(get(peer.url("/"))), serving).await;
        let error = response.unwrap_err();
        assert_eq!(error.kind(), HttpErrorKind::ConnectionClosed, "{}", printed(&error));
    }
}

#[tokio::test]
async fn a_server_that_does_not_speak_http() {
    let peer = Peer::listen().await;
    let client = client();
    let serving = peer.answer("SSH-2.0-OpenSSH_9.6\r\n\r\n");
    let (response, _) = both(client.send(get(peer.url("/"))), serving).await;
    let error = response.unwrap_err();
    assert_eq!(error.kind(), HttpErrorKind::Other, "{}", printed(&error));
}

#[tokio::test]
async fn requests_that_cannot_be_sent() {
    let client = client();
    let of = |method: Method, url: &str| {
        http::Request::builder().method(method).uri(url).body(Bytes::new()).unwrap()
    };
    for request in [
        of(Method::GET, "/v1/models?key=hunter2"),
        of(Method::GET, "api.test"),
        of(Method::GET, "ftp://api.test/hunter2"),
        of(Method::GET, "http://user:hunter2@api.test/"),
        of(Method::GET, "http://:80/"),
        of(Method::CONNECT, "http://api.test:443"),
        // This client has TLS switched off.
        of(Method::GET, "https://api.test/?key=hunter2"),
    ] {
        let error = client.send(request).await.unwrap_err();
        assert_eq!(error.kind(), HttpErrorKind::InvalidRequest, "{}", printed(&error));
        assert!(!printed(&error).contains("hunter2"));
    }
}
