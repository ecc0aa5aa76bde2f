//! The choice of the route, without a socket.

use super::*;

fn proxies(settings: ProxySettings) -> Proxies {
    Proxies::new(settings).unwrap()
}

fn all(url: &str) -> ProxySettings {
    ProxySettings { all: Some(url.into()), ..ProxySettings::default() }
}

fn way(proxies: &Proxies, target: &str) -> &'static str {
    match proxies.route(&target.parse().unwrap()) {
        Route::Direct => "direct",
        Route::Forward(_) => "forward",
        Route::Tunnel(_) => "tunnel",
        Route::Socks(_) => "socks",
    }
}

#[test]
fn http_is_forwarded_and_https_is_tunnelled() {
    let proxies = proxies(all("proxy.test:3128"));
    assert_eq!(way(&proxies, "http://api.test/v1"), "forward");
    assert_eq!(way(&proxies, "https://api.test/v1"), "tunnel");
}

#[test]
fn socks_carries_both() {
    let proxies = proxies(all("socks5h://user:pass@proxy.test"));
    assert_eq!(way(&proxies, "http://api.test/v1"), "socks");
    assert_eq!(way(&proxies, "https://api.test/v1"), "socks");
    assert!(proxies.forward_credentials(&"http://api.test/".parse().unwrap()).is_none());
}

#[test]
fn the_scheme_has_its_own_proxy() {
    let proxies =
        proxies(ProxySettings { https: Some("http://p.test".into()), ..ProxySettings::default() });
    assert_eq!(way(&proxies, "http://api.test/"), "direct");
    assert_eq!(way(&proxies, "https://api.test/"), "tunnel");
}

#[test]
fn no_proxy_and_loopback_go_directly() {
    let settings =
        ProxySettings { no_proxy: Some("corp.test, 10.0.0.0/8".into()), ..all("http://p.test") };
    let proxies = proxies(settings);
    for target in [
        "http://corp.test/",
        "https://api.corp.test/",
        "http://10.1.2.3:8000/",
        "http://localhost:8000/",
        "https://LOCALHOST./",
        "http://model.localhost/",
        "http://127.0.0.1:8000/",
        "http://127.9.9.9/",
        "http://[::1]:8000/",
        "http://[::ffff:127.0.0.1]/",
    ] {
        assert_eq!(way(&proxies, target), "direct", "{target}");
    }
    for target in ["http://notcorp.test/", "http://11.0.0.1/", "http://localhost.test/"] {
        assert_eq!(way(&proxies, target), "forward", "{target}");
    }
}

#[test]
fn a_proxy_that_cannot_be_used_is_refused_without_repeating_it() {
    for url in ["ftp://user:hunter2@p.test", "socks4://p.test", "http://", "http://a b:hunter2@p"] {
        let error = Proxies::new(all(url)).unwrap_err();
        assert!(matches!(error, HttpSetupError::Proxy { setting: "all", .. }), "{url}");
        assert!(!format!("{error} {error:?}").contains("hunter2"), "{url}");
    }
    assert!(Proxies::new(all("  ")).is_ok(), "an empty variable is no proxy");
}

#[test]
fn credentials_are_not_in_debug() {
    let settings = all("http://user:hunter2@p.test");
    let proxies = Proxies::new(settings.clone()).unwrap();
    assert!(!format!("{settings:?} {proxies:?}").contains("hunter2"));
    let credentials = proxies.forward_credentials(&"http://api.test/".parse().unwrap()).unwrap();
    assert!(credentials.is_sensitive());
}
