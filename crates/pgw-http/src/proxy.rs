//! Which way a request goes: directly, or through which kind of proxy.

use std::net::IpAddr;

use http::header::HeaderValue;
use http::uri::{Scheme, Uri};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};

use crate::error::HttpSetupError;
use crate::options::ProxySettings;

/// The validated proxies of one client.
#[derive(Debug)]
pub(crate) struct Proxies(Matcher);

/// How to reach one target.
pub(crate) enum Route {
    /// Connect to the target itself.
    Direct,
    /// Connect to an HTTP proxy and send it the request in absolute form (RFC 9112 §3.2.2).
    Forward(Intercept),
    /// Have an HTTP proxy open a tunnel (RFC 9110 §9.3.6).
    Tunnel(Intercept),
    /// Have a SOCKS5 proxy open a tunnel (RFC 1928).
    Socks(Intercept),
}

impl Proxies {
    /// Checks every URL first: the matcher would silently ignore what it cannot use, and a call
    /// that bypasses a mandatory proxy is worse than none.
    pub(crate) fn new(settings: ProxySettings) -> Result<Self, HttpSetupError> {
        let text =
            |value: Option<String>| value.map_or_else(String::new, |text| text.trim().to_owned());
        let (http, https, all) = (text(settings.http), text(settings.https), text(settings.all));
        for (setting, url) in [("http", &http), ("https", &https), ("all", &all)] {
            check(url).map_err(|problem| HttpSetupError::Proxy { setting, problem })?;
        }
        let matcher =
            Matcher::builder().http(http).https(https).all(all).no(text(settings.no_proxy)).build();
        Ok(Self(matcher))
    }

    pub(crate) fn route(&self, target: &Uri) -> Route {
        if target.host().is_none_or(is_loopback) {
            return Route::Direct;
        }
        let Some(intercept) = self.0.intercept(target) else {
            return Route::Direct;
        };
        match intercept.uri().scheme_str() {
            Some("socks5" | "socks5h") => Route::Socks(intercept),
            _ if target.scheme() == Some(&Scheme::HTTP) => Route::Forward(intercept),
            _ => Route::Tunnel(intercept),
        }
    }

    /// The `Proxy-Authorization` that has to ride on the request itself, which is so only where
    /// the proxy reads the request.
    pub(crate) fn forward_credentials(&self, target: &Uri) -> Option<HeaderValue> {
        match self.route(target) {
            Route::Forward(intercept) => intercept.basic_auth().cloned(),
            Route::Direct | Route::Tunnel(_) | Route::Socks(_) => None,
        }
    }
}

fn check(url: &str) -> Result<(), &'static str> {
    if url.is_empty() {
        return Ok(());
    }
    let uri: Uri = url.parse().map_err(|_| {
        "is not a valid URL: write `http://host:port`, special characters of a user name or \
         password percent-encoded"
    })?;
    if uri.host().is_none_or(str::is_empty) {
        return Err("names no host: write `http://host:port`");
    }
    match uri.scheme_str() {
        None | Some("http" | "https" | "socks5" | "socks5h") => Ok(()),
        Some(_) => {
            Err("has a scheme that is not supported: use `http`, `https`, `socks5` or `socks5h`")
        }
    }
}

/// The names and addresses of this machine: RFC 6761 §6.3, RFC 1122 §3.2.1.3, RFC 4291 §2.5.3.
fn is_loopback(host: &str) -> bool {
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    if let Ok(address) = host.parse::<IpAddr>() {
        return address.to_canonical().is_loopback();
    }
    let name = host.strip_suffix('.').unwrap_or(host);
    let last_label = name.rsplit('.').next().unwrap_or(name);
    last_label.eq_ignore_ascii_case("localhost")
}

#[cfg(test)]
mod tests;
