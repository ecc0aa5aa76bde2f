//! From the libraries' errors to an [`HttpErrorKind`], decided once by walking the chain of causes.

use std::error::Error as StdError;
use std::io;
use std::iter::successors;

use crate::connect::DialError;
use crate::error::{HttpError, HttpErrorKind};

/// An exchange that failed before its response head.
pub(crate) fn before_head(error: hyper_util::client::legacy::Error) -> HttpError {
    HttpError::new(kind_before_head(&error), error)
}

fn kind_before_head(error: &hyper_util::client::legacy::Error) -> HttpErrorKind {
    for cause in chain(error) {
        if let Some(dial) = cause.downcast_ref::<DialError>() {
            return dial.kind();
        }
        if is_tls(cause) {
            return HttpErrorKind::Tls;
        }
        if let Some(kind) = cause.downcast_ref::<hyper::Error>().and_then(decisive) {
            return kind;
        }
    }
    if error.is_connect() { HttpErrorKind::Connect } else { HttpErrorKind::ConnectionClosed }
}

/// A body that failed after its response head.
pub(crate) fn in_body(error: hyper::Error) -> HttpError {
    HttpError::new(kind_in_body(&error), error)
}

fn kind_in_body(error: &hyper::Error) -> HttpErrorKind {
    for cause in chain(error) {
        if is_tls(cause) {
            return HttpErrorKind::Tls;
        }
        if let Some(kind) = cause.downcast_ref::<hyper::Error>().and_then(decisive) {
            return kind;
        }
        // hyper reports chunk framing that is not HTTP with these two.
        if let Some(io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData) =
            cause.downcast_ref::<io::Error>().map(io::Error::kind)
        {
            return HttpErrorKind::Other;
        }
    }
    HttpErrorKind::Truncated
}

/// What hyper's own word settles; the rest depends on where in the exchange it happened.
fn decisive(error: &hyper::Error) -> Option<HttpErrorKind> {
    if error.is_timeout() {
        // The HTTP/2 PING went unanswered.
        Some(HttpErrorKind::ReadTimeout)
    } else if error.is_parse() || error.is_user() {
        Some(HttpErrorKind::Other)
    } else {
        None
    }
}

/// The kind of a failed TCP connection.
pub(crate) fn tcp(error: &(dyn StdError + 'static)) -> HttpErrorKind {
    let timed_out = chain(error).any(|cause| {
        cause.downcast_ref::<io::Error>().is_some_and(|io| io.kind() == io::ErrorKind::TimedOut)
    });
    if timed_out { HttpErrorKind::ConnectTimeout } else { HttpErrorKind::Connect }
}

/// The kind of a failed TLS handshake: a peer that just hung up said nothing about TLS.
pub(crate) fn handshake(error: &(dyn StdError + 'static)) -> HttpErrorKind {
    let hung_up = !chain(error).any(is_tls) && chain(error).any(<dyn StdError>::is::<io::Error>);
    if hung_up { HttpErrorKind::Connect } else { HttpErrorKind::Tls }
}

/// `io::Error` hides what it wraps from `source()`, so it is looked into by hand.
fn is_tls(cause: &(dyn StdError + 'static)) -> bool {
    cause.is::<rustls::Error>()
        || cause
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref)
            .is_some_and(|inner| inner.is::<rustls::Error>() || is_tls(inner))
}

fn chain<'a>(
    error: &'a (dyn StdError + 'static),
) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    successors(Some(error), |cause: &&'a (dyn StdError + 'static)| (*cause).source())
}

#[cfg(test)]
mod tests;
