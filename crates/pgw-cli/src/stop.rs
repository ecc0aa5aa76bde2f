//! The wish of the user, or of the system, that the command ends.

use std::io;

/// Ctrl-C, and on Unix also SIGTERM. From its making on, neither ends the process by itself.
#[derive(Debug)]
pub(crate) struct Stop {
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Stop {
    /// Begins to listen.
    ///
    /// # Errors
    /// If the system does not let us handle the signals.
    pub(crate) fn listen() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};

        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Returns when the command should end.
    pub(crate) async fn asked(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

#[cfg(not(unix))]
impl Stop {
    /// Begins to listen, at the first wait.
    ///
    /// # Errors
    /// None here.
    pub(crate) fn listen() -> io::Result<Self> {
        Ok(Self {})
    }

    /// Returns when the command should end.
    pub(crate) async fn asked(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            // No handler: Ctrl-C then ends the process by itself.
            std::future::pending::<()>().await;
        }
    }
}
