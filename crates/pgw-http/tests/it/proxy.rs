//! Proxies, played by the server of the case: what they are asked, and what their faults become.

use pgw_http::{HttpClient, HttpErrorKind, HttpOptions, ProxySettings, TlsTrust};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::peer::{OK, Peer, both, dead_port, get, options, printed, read_request};
use crate::tls::{Authority, answer_h1};

/// `user:hunter2`, the credentials of every proxy here.
const BASIC: &str = "Basic dXNlcjpodW50ZXIy";

fn through(url: String, tls: TlsTrust) -> HttpClient {
    let proxy = Some(ProxySettings { all: Some(url), ..ProxySettings::default() });
    HttpClient::new(HttpOptions { proxy, tls, ..HttpOptions::default() }).unwrap()
}

fn has_header(request: &str, name: &str, value: &str) -> bool {
    request.lines().any(|line| {
        line.split_once(": ").is_some_and(|(n, v)| n.eq_ignore_ascii_case(name) && v == value)
    })
}

#[tokio::test]
async fn an_http_target_is_forwarded() {
    let proxy = Peer::listen().await;
    let url = format!("http://user:hunter2@127.0.0.1:{}", proxy.port());
    let client = through(url, TlsTrust::PlaintextOnly);
    let (response, (_stream, seen)) =
        both(client.send(get("http://api.test/v1/models")), proxy.answer(OK)).await;
    assert_eq!(response.unwrap().body.collect(10).await.unwrap(), "ok");
    assert!(seen.starts_with("GET http://api.test/v1/models HTTP/1.1\r\n"), "{seen}");
    assert!(has_header(&seen, "host", "api.test"), "{seen}");
    assert!(has_header(&seen, "proxy-authorization", BASIC), "{seen}");
    assert!(!format!("{client:?}").contains("hunter2"));
}

#[tokio::test]
async fn an_https_target_is_tunnelled() {
    let authority = Authority::new();
    let proxy = Peer::listen().await;
    let url = format!("http://user:hunter2@127.0.0.1:{}", proxy.port());
    let client = through(url, TlsTrust::Only(authority.pem().into()));
    let acceptor = authority.acceptor("api.test", &[]);
    let proxying = async {
        let (stream, asked) = proxy.answer("HTTP/1.1 200 OK\r\n\r\n").await;
        // What comes next is for the target.
        (asked, answer_h1(acceptor.accept(stream).await.unwrap()).await)
    };
    let (response, (asked, seen)) = both(client.send(get("https://api.test/v1")), proxying).await;
    assert_eq!(response.unwrap().body.collect(10).await.unwrap(), "ok");
    assert!(asked.starts_with("CONNECT api.test:443 HTTP/1.1\r\n"), "{asked}");
    assert!(has_header(&asked, "proxy-authorization", BASIC), "{asked}");
    assert!(seen.starts_with("GET /v1 HTTP/1.1\r\n"), "{seen}");
    assert!(!seen.to_lowercase().contains("proxy-authorization"), "not for the target: {seen}");
}

#[tokio::test]
async fn a_proxy_may_speak_tls_itself() {
    let authority = Authority::new();
    let proxy = Peer::listen().await;
    let url = format!("https://127.0.0.1:{}", proxy.port());
    let client = through(url, TlsTrust::Only(authority.pem().into()));
    let acceptor = authority.acceptor("127.0.0.1", &[]);
    let proxying = async { answer_h1(acceptor.accept(proxy.accept().await).await.unwrap()).await };
    let (response, seen) = both(client.send(get("http://api.test/v1")), proxying).await;
    assert_eq!(response.unwrap().body.collect(10).await.unwrap(), "ok");
    assert!(seen.starts_with("GET http://api.test/v1 HTTP/1.1\r\n"), "{seen}");
}

#[tokio::test]
async fn socks5_carries_a_name_and_credentials() {
    let proxy = Peer::listen().await;
    let url = format!("socks5://user:hunter2@127.0.0.1:{}", proxy.port());
    let client = through(url, TlsTrust::PlaintextOnly);
    let proxying = async {
        let mut stream = proxy.accept().await;
        // RFC 1928 §3: version 5, one method, user name and password.
        let mut greeting = [0; 3];
        stream.read_exact(&mut greeting).await.unwrap();
        assert_eq!(greeting, [5, 1, 2]);
        stream.write_all(&[5, 2]).await.unwrap();
        // RFC 1929 §2.
        let mut login = [0; 14];
        stream.read_exact(&mut login).await.unwrap();
        assert_eq!(&login, b"\x01\x04user\x07hunter2");
        stream.write_all(&[1, 0]).await.unwrap();
        // RFC 1928 §4: connect to a domain name, which the proxy resolves.
        let mut target = [0; 15];
        stream.read_exact(&mut target).await.unwrap();
        assert_eq!(&target, b"\x05\x01\x00\x03\x08api.test\x00\x50");
        stream.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).await.unwrap();
        let request = read_request(&mut stream).await;
        stream.write_all(OK.as_bytes()).await.unwrap();
        (stream, request)
    };
    let (response, (_stream, seen)) = both(client.send(get("http://api.test/v1")), proxying).await;
    assert_eq!(response.unwrap().body.collect(10).await.unwrap(), "ok");
    assert!(seen.starts_with("GET /v1 HTTP/1.1\r\n"), "{seen}");
}

#[tokio::test]
async fn a_proxy_that_refuses() {
    let proxy = Peer::listen().await;
    let url = format!("http://user:hunter2@127.0.0.1:{}", proxy.port());
    let client = through(url, TlsTrust::Only(Authority::new().pem().into()));
    let proxying = proxy.answer("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n");
    let (response, _) = both(client.send(get("https://api.test/?key=hunter2")), proxying).await;
    let error = response.unwrap_err();
    assert_eq!(error.kind(), HttpErrorKind::Proxy);
    assert!(!printed(&error).contains("hunter2"), "{}", printed(&error));
}

#[tokio::test]
async fn a_proxy_that_is_down() {
    for scheme in ["http", "https", "socks5"] {
        let url = format!("{scheme}://user:hunter2@127.0.0.1:{}", dead_port().await);
        let client = through(url, TlsTrust::Only(Authority::new().pem().into()));
        for target in ["http://api.test/", "https://api.test/"] {
            let error = client.send(get(target)).await.unwrap_err();
            assert_eq!(error.kind(), HttpErrorKind::Proxy, "{}", printed(&error));
            assert!(!printed(&error).contains("hunter2"), "{}", printed(&error));
        }
    }
}

/// REQ MOC-009: without the proxies of the environment a dead one does no harm, and a service on
/// this machine is reached directly in any case.
#[tokio::test]
async fn a_dead_proxy_does_no_harm_where_none_is_wanted() {
    let dead = ProxySettings {
        http: Some(format!("http://127.0.0.1:{}", dead_port().await)),
        ..ProxySettings::default()
    };
    for proxy in [None, Some(dead)] {
        let client = HttpClient::new(HttpOptions { proxy, ..options() }).unwrap();
        let peer = Peer::listen().await;
        let (response, _) = both(client.send(get(peer.url("/"))), peer.answer(OK)).await;
        response.unwrap();
    }
}

#[tokio::test]
async fn http2_with_prior_knowledge_does_not_pass_a_forward_proxy() {
    let proxy = ProxySettings { all: Some("http://proxy.test".into()), ..ProxySettings::default() };
    let client = HttpClient::new(HttpOptions {
        proxy: Some(proxy),
        http2_prior_knowledge: true,
        ..options()
    })
    .unwrap();
    let error = client.send(get("http://api.test/")).await.unwrap_err();
    assert_eq!(error.kind(), HttpErrorKind::Proxy);
}
