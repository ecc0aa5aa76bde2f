//! Dropping is cancelling: the server sees it at once.

use std::convert::Infallible;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::future::{Either, select};
use http::Version;
use hyper::body::{Body, Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use pgw_http::{HttpClient, HttpOptions};
use tokio::sync::Notify;

use crate::peer::{Peer, both, client, get, options, wait_for_close};

#[tokio::test]
async fn dropping_the_send_closes_the_connection() {
    let peer = Peer::listen().await;
    let client = client();
    let arrived = Notify::new();
    let sending = async {
        let send = pin!(client.send(get(peer.url("/"))));
        let Either::Right(_) = select(send, pin!(arrived.notified())).await else {
            panic!("there was no answer to give");
        };
    };
    let serving = async {
        let (mut stream, _) = peer.answer("").await;
        arrived.notify_one();
        wait_for_close(&mut stream).await;
    };
    both(sending, serving).await;
}

#[tokio::test]
async fn dropping_the_body_closes_the_connection() {
    let peer = Peer::listen().await;
    let client = client();
    let sending = async {
        let mut response = client.send(get(peer.url("/"))).await.unwrap();
        response.body.next_piece().await.unwrap().unwrap();
    };
    let serving = async {
        let (mut stream, _) =
            peer.answer("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n").await;
        wait_for_close(&mut stream).await;
    };
    both(sending, serving).await;
}

/// A server's body that says one thing, then nothing, and tells when it is given up.
struct Endless {
    said: bool,
    given_up: Arc<Notify>,
}

impl Body for Endless {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if std::mem::replace(&mut self.said, true) {
            return Poll::Pending;
        }
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b"x")))))
    }
}

impl Drop for Endless {
    fn drop(&mut self) {
        self.given_up.notify_one();
    }
}

#[tokio::test]
async fn dropping_the_body_resets_the_h2_stream_and_keeps_the_connection() {
    let peer = Peer::listen().await;
    let url = peer.url("/");
    let given_up = Arc::new(Notify::new());
    let serving = async {
        let stream = TokioIo::new(peer.accept().await);
        let service = service_fn(|_: http::Request<Incoming>| {
            let body = Endless { said: false, given_up: Arc::clone(&given_up) };
            async { Ok::<_, Infallible>(http::Response::new(body)) }
        });
        // Ends when the client, and with it the connection, is gone.
        hyper::server::conn::http2::Builder::new(TokioExecutor::new())
            .serve_connection(stream, service)
            .await
    };
    let sending = async {
        let client =
            HttpClient::new(HttpOptions { http2_prior_knowledge: true, ..options() }).unwrap();
        for _ in 0..2 {
            let mut response = client.send(get(&url)).await.unwrap();
            assert_eq!(response.version, Version::HTTP_2);
            response.body.next_piece().await.unwrap().unwrap();
            drop(response);
            given_up.notified().await;
        }
    };
    both(sending, serving).await.1.unwrap();
}
