//! Standard output and standard error, written without a panic when nobody reads them any more.

use std::io::{self, Write as _};

/// Writes to standard output at once, so that a stream is seen as it comes.
///
/// # Errors
/// What the system says; [`io::ErrorKind::BrokenPipe`] when the reader has left.
pub(crate) fn out(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

/// Writes to standard error. If that fails there is nobody left to tell.
pub(crate) fn err(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}
