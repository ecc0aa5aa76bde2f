//! What a failure of the HTTP client means for a call.

use pgw_http::{HttpError, HttpErrorKind};
use pgw_types::{CallError, Fault};

/// The error of a failed exchange. The HTTP client has classified it already.
pub(crate) fn translate(error: HttpError) -> CallError {
    CallError::new(fault_of(error.kind()), error.to_string()).with_cause(error)
}

const fn fault_of(kind: HttpErrorKind) -> Fault {
    match kind {
        HttpErrorKind::Connect
        | HttpErrorKind::Tls
        | HttpErrorKind::Proxy
        | HttpErrorKind::ConnectionClosed
        | HttpErrorKind::Other => Fault::Network,
        HttpErrorKind::ConnectTimeout | HttpErrorKind::ReadTimeout => Fault::Timeout,
        HttpErrorKind::Truncated => Fault::Truncated,
        HttpErrorKind::BodyTooLarge | HttpErrorKind::Decompression => Fault::BadResponse,
        HttpErrorKind::InvalidRequest => Fault::BadRequest,
    }
}

#[cfg(test)]
mod tests {
    use pgw_types::FailureClass;

    use super::*;

    /// OAI-009: every failure of the network is transient; only a request that can't be sent at all
    /// is the request's own fault.
    #[test]
    fn network_failures_are_transient() {
        for kind in HttpErrorKind::ALL {
            let class = fault_of(kind).class();
            let expected = match kind {
                HttpErrorKind::InvalidRequest => FailureClass::RequestRejected,
                _ => FailureClass::Transient,
            };
            assert_eq!(class, expected, "{kind:?}");
        }
    }
}
