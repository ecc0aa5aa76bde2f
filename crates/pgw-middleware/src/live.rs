//! A live answer, for whoever wants the whole after all.

use std::future::poll_fn;

use pgw_ports::{Live, LiveStream, Operation};
use pgw_types::{CallError, Fault, PgwError};

/// Reads a live answer to its end.
///
/// # Errors
/// The answer's own error; [`Fault::Truncated`] if it ends without a response.
pub async fn collected<O: Operation>(
    mut events: LiveStream<O>,
) -> Result<Box<O::Response>, PgwError> {
    loop {
        match poll_fn(|cx| events.as_mut().poll_next(cx)).await {
            Some(Ok(Live::Event(_))) => {}
            Some(Ok(Live::Done(response))) => return Ok(response),
            Some(Err(error)) => return Err(error),
            None => {
                let message = "the live answer ended without a response";
                return Err(CallError::new(Fault::Truncated, message).into());
            }
        }
    }
}
