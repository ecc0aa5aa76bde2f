//! The way from a double to its imagined store: counted, slow or broken, as a test decides.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use pgw_ports::GateError;

/// The way to a store: counts what is asked, and fails or dawdles when told to.
#[derive(Debug, Default)]
pub(super) struct Wire {
    asked: Mutex<Vec<(&'static str, String)>>,
    pub(super) broken: Mutex<BTreeSet<&'static str>>,
    pub(super) slow: AtomicBool,
}

impl Wire {
    pub(super) async fn ask(&self, operation: &'static str, source: &str) -> Result<(), GateError> {
        self.note(operation, source);
        self.dawdle().await;
        if self.broken.lock().unwrap().contains(operation) {
            return Err(GateError::Backend {
                message: format!("{operation} is broken"),
                cause: Some(Arc::new(std::io::Error::other("the wire is cut"))),
            });
        }
        Ok(())
    }

    /// A suspension, as on a network, before the operation acts or after it did.
    pub(super) async fn dawdle(&self) {
        if self.slow.load(Ordering::SeqCst) {
            tokio::task::yield_now().await;
        }
    }

    pub(super) fn note(&self, operation: &'static str, source: &str) {
        self.asked.lock().unwrap().push((operation, source.into()));
    }

    pub(super) fn count(&self, operation: &str) -> usize {
        let asked = self.asked.lock().unwrap();
        asked.iter().filter(|(op, _)| *op == operation).count()
    }

    pub(super) fn sources(&self, operation: &str) -> Vec<String> {
        let asked = self.asked.lock().unwrap();
        asked.iter().filter(|(op, _)| *op == operation).map(|(_, source)| source.clone()).collect()
    }
}

/// What every double over a wire lets a test do.
macro_rules! over_a_wire {
    ($name:ident) => {
        impl $name {
            /// Makes operations fail from now on.
            pub(crate) fn break_operations(
                &self,
                operations: impl IntoIterator<Item = &'static str>,
            ) {
                self.wire.broken.lock().unwrap().extend(operations);
            }

            /// Makes every operation suspend.
            pub(crate) fn slow_down(&self) {
                self.wire.slow.store(true, Ordering::SeqCst);
            }

            /// How often an operation was asked for.
            pub(crate) fn count(&self, operation: &str) -> usize {
                self.wire.count(operation)
            }

            /// The sources an operation was asked for, in order.
            pub(crate) fn sources(&self, operation: &str) -> Vec<String> {
                self.wire.sources(operation)
            }
        }
    };
}

pub(super) use over_a_wire;
