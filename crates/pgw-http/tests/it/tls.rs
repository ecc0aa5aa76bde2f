//! TLS: whom the client believes, and which HTTP is agreed on.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::join;
use http::Version;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use pgw_http::{
    HttpClient, HttpError, HttpErrorKind, HttpOptions, HttpSetupError, Response, TlsTrust,
};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::peer::{OK, Peer, both, get, printed, read_request};

/// A certificate authority of our own.
pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    pub(crate) fn pem(&self) -> String {
        self.0.pem()
    }

    /// A server's end of TLS for `name`, offering `alpn`.
    pub(crate) fn acceptor(&self, name: &str, alpn: &[&str]) -> TlsAcceptor {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap();
        config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
        TlsAcceptor::from(Arc::new(config))
    }
}

pub(crate) fn trusting(tls: TlsTrust) -> HttpClient {
    HttpClient::new(HttpOptions { tls, ..HttpOptions::default() }).unwrap()
}

pub(crate) async fn answer_h1(mut stream: TlsStream<TcpStream>) -> String {
    let request = read_request(&mut stream).await;
    stream.write_all(OK.as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    request
}

async fn answer_h2(stream: TlsStream<TcpStream>) {
    let service = service_fn(|_: http::Request<Incoming>| async {
        Ok::<_, Infallible>(http::Response::new(Full::new(Bytes::from_static(b"ok"))))
    });
    // How the client takes leave is not the subject here.
    let _ = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

/// One exchange with a server that shows a certificate of `authority` for `name`.
async fn exchange(
    client: HttpClient,
    authority: &Authority,
    name: &str,
) -> Result<Response, HttpError> {
    let peer = Peer::listen().await;
    let acceptor = authority.acceptor(name, &["http/1.1"]);
    let url = format!("https://127.0.0.1:{}/", peer.port());
    let serving = async {
        if let Ok(stream) = acceptor.accept(peer.accept().await).await {
            answer_h1(stream).await;
        }
    };
    both(client.send(get(url)), serving).await.0
}

#[tokio::test]
async fn a_private_authority_is_believed() {
    let authority = Authority::new();
    let pem = authority.pem().into_bytes();
    for trust in [TlsTrust::Only(pem.clone()), TlsTrust::SystemAnd(pem)] {
        let response = exchange(trusting(trust), &authority, "127.0.0.1").await.unwrap();
        assert_eq!(response.version, Version::HTTP_11);
        assert_eq!(response.body.collect(10).await.unwrap(), "ok");
    }
}

#[tokio::test]
async fn a_stranger_is_not_believed() {
    let client = trusting(TlsTrust::Only(Authority::new().pem().into()));
    let error = exchange(client, &Authority::new(), "127.0.0.1").await.unwrap_err();
    assert_eq!(error.kind(), HttpErrorKind::Tls, "{}", printed(&error));
}

#[tokio::test]
async fn a_certificate_for_another_name_is_not_believed() {
    let authority = Authority::new();
    let client = trusting(TlsTrust::Only(authority.pem().into()));
    let error = exchange(client, &authority, "api.test").await.unwrap_err();
    assert_eq!(error.kind(), HttpErrorKind::Tls, "{}", printed(&error));
}

#[tokio::test]
async fn http2_is_agreed_on_and_shared() {
    let authority = Authority::new();
    let peer = Peer::listen().await;
    let acceptor = authority.acceptor("127.0.0.1", &["h2", "http/1.1"]);
    let url = format!("https://127.0.0.1:{}/", peer.port());
    let sending = async {
        let client = trusting(TlsTrust::Only(authority.pem().into()));
        let first = client.send(get(&url)).await.unwrap();
        let (second, third) = join(client.send(get(&url)), client.send(get(&url))).await;
        for response in [first, second.unwrap(), third.unwrap()] {
            assert_eq!(response.version, Version::HTTP_2);
            assert_eq!(response.body.collect(10).await.unwrap(), "ok");
        }
    };
    // One connection is accepted and no more.
    let serving = async { answer_h2(acceptor.accept(peer.accept().await).await.unwrap()).await };
    both(sending, serving).await;
}

#[tokio::test]
async fn a_peer_that_does_not_speak_tls() {
    let peer = Peer::listen().await;
    let client = trusting(TlsTrust::Only(Authority::new().pem().into()));
    let url = format!("https://127.0.0.1:{}/", peer.port());
    let serving = async {
        let mut stream = peer.accept().await;
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
        stream
    };
    let (response, _) = both(client.send(get(url)), serving).await;
    let error = response.unwrap_err();
    assert_eq!(error.kind(), HttpErrorKind::Tls, "{}", printed(&error));
}

#[tokio::test]
async fn a_peer_that_hangs_up_in_the_handshake() {
    let peer = Peer::listen().await;
    let client = trusting(TlsTrust::Only(Authority::new().pem().into()));
    let url = format!("https://127.0.0.1:{}/", peer.port());
    let serving = async { drop(peer.accept().await) };
    let (response, ()) = both(client.send(get(url)), serving).await;
    let error = response.unwrap_err();
    assert_eq!(error.kind(), HttpErrorKind::Connect, "{}", printed(&error));
}

#[test]
fn certificates_that_cannot_be_used_are_refused() {
    for pem in
        ["", "not a certificate", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"]
    {
        for tls in [TlsTrust::Only(pem.into()), TlsTrust::SystemAnd(pem.into())] {
            let error = HttpClient::new(HttpOptions { tls, ..HttpOptions::default() }).unwrap_err();
            assert!(matches!(error, HttpSetupError::Certificates { .. }), "{pem}: {error:?}");
        }
    }
}
