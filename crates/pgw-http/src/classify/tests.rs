//! Kinds that no loopback socket produces on demand.

use super::*;
use crate::error::Reason;

#[test]
fn a_timed_out_tcp_connection_is_a_connect_timeout() {
    let error = io::Error::from(io::ErrorKind::TimedOut);
    assert_eq!(tcp(&error), HttpErrorKind::ConnectTimeout);
    let error = io::Error::from(io::ErrorKind::NetworkUnreachable);
    assert_eq!(tcp(&error), HttpErrorKind::Connect);
}

#[test]
fn a_peer_that_hangs_up_in_the_handshake_is_no_tls_fault() {
    let error = io::Error::other(io::Error::from(io::ErrorKind::UnexpectedEof));
    assert_eq!(handshake(&error), HttpErrorKind::Connect);
    let error = io::Error::other(io::Error::new(
        io::ErrorKind::InvalidData,
        rustls::Error::HandshakeNotComplete,
    ));
    assert_eq!(handshake(&error), HttpErrorKind::Tls);
    assert_eq!(handshake(&Reason("invalid server name")), HttpErrorKind::Tls);
}
