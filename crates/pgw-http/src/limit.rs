//! The bound on exchanges open to one host.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

use http::uri::{Authority, Scheme};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::{HttpError, HttpErrorKind};

/// One semaphore for each host this client has talked to. A client serves one source, so the map
/// holds a handful of entries and needs no eviction.
#[derive(Debug)]
pub(crate) struct HostLimits {
    places: usize,
    hosts: Mutex<HashMap<(Scheme, Authority), Arc<Semaphore>>>,
}

impl HostLimits {
    pub(crate) fn new(places: NonZeroUsize) -> Self {
        Self { places: places.get().min(Semaphore::MAX_PERMITS), hosts: Mutex::new(HashMap::new()) }
    }

    /// Waits in order for a place; the place is free again when the permit is dropped.
    pub(crate) async fn acquire(
        &self,
        scheme: &Scheme,
        authority: &Authority,
    ) -> Result<OwnedSemaphorePermit, HttpError> {
        let host = {
            let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
            let host = hosts
                .entry((scheme.clone(), authority.clone()))
                .or_insert_with(|| Arc::new(Semaphore::new(self.places)));
            Arc::clone(host)
        };
        // Only a closed semaphore refuses, and nobody closes these.
        host.acquire_owned().await.map_err(|error| HttpError::new(HttpErrorKind::Other, error))
    }
}
