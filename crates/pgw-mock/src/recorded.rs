//! Requests kept for assertions.

use std::fmt;

use bytes::Bytes;

use crate::request::{Request, bearer, find};

/// A request as the mock received it. `Debug` masks credentials, leaves the query out, which may
/// hold a key, and shows only the body's size.
#[derive(Clone)]
pub struct RecordedRequest {
    method: String,
    target: String,
    headers: Vec<(String, String)>,
    body: Bytes,
    endpoint: Option<String>,
}

impl RecordedRequest {
    pub(crate) fn new(request: &Request, endpoint: Option<&str>) -> Self {
        Self {
            method: request.method.clone(),
            target: request.target.clone(),
            headers: request.headers.clone(),
            body: request.body.clone(),
            endpoint: endpoint.map(str::to_owned),
        }
    }

    /// The method, for example `POST`.
    #[must_use]
    pub fn method(&self) -> &str {
        &self.method
    }

    /// Path and query as sent.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.target
    }

    /// All headers in the order sent, values as lossy UTF-8.
    #[must_use]
    pub fn headers(&self) -> &[(String, String)] {
        &self.headers
    }

    /// The first header of this name, in any case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        find(&self.headers, name)
    }

    /// The key of `Authorization: Bearer KEY`.
    #[must_use]
    pub fn bearer(&self) -> Option<&str> {
        bearer(&self.headers)
    }

    /// The body without its transfer coding.
    #[must_use]
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// The body as JSON.
    ///
    /// # Errors
    /// The body is not JSON.
    pub fn json(&self) -> Result<serde_json::Value, serde_json::Error> {
        serde_json::from_slice(&self.body)
    }

    /// The name of the endpoint that took it; `None` for an unmatched request.
    #[must_use]
    pub fn endpoint(&self) -> Option<&str> {
        self.endpoint.as_deref()
    }
}

impl fmt::Debug for RecordedRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let masked = |name: &str| {
            let name = name.to_ascii_lowercase();
            ["authorization", "key", "token", "cookie"].iter().any(|word| name.contains(word))
        };
        let headers: Vec<(&str, &str)> = self
            .headers
            .iter()
            .map(|(name, value)| (name.as_str(), if masked(name) { "***" } else { value }))
            .collect();
        f.debug_struct("RecordedRequest")
            .field("method", &self.method)
            .field("path", &self.target.split('?').next())
            .field("headers", &headers)
            .field("body_bytes", &self.body.len())
            .field("endpoint", &self.endpoint)
            .finish()
    }
}
