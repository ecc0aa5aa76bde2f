//! Answers whose status is not 2xx.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::BytesMut;
use pgw_http::{Body, Response};
use pgw_types::{CallError, ExposeSecret as _, ProviderProfile, SourceConfig};
use pgw_wire::error::{ErrorContext, classify};
use tokio::time::timeout;

use crate::answer::grace;

/// As much of an error body is read: enough for any report, and for the start of a page.
const LIMIT: usize = 1 << 20;

/// The error of an answer whose status is not 2xx.
pub(crate) async fn refusal(
    response: Response,
    source: &SourceConfig,
    profile: &ProviderProfile,
) -> CallError {
    let (status, headers) = (response.status.as_u16(), response.headers);
    let body = start_of(response.body, grace(source)).await;
    let lookup = |name: &str| headers.get(name)?.to_str().ok().map(str::to_owned);
    let context = ErrorContext {
        profile,
        headers: &lookup,
        now_unix_ms: now_unix_ms(),
        secret: source.api_key.expose_secret(),
    };
    classify(status, &body, &context)
}

/// What comes within `patience` of a body that may be huge, break off or never end: much of what it
/// says is known by its status already.
async fn start_of(mut body: Body, patience: Duration) -> BytesMut {
    let mut start = BytesMut::new();
    let read = async {
        while let Some(Ok(piece)) = body.next_piece().await {
            let room = LIMIT - start.len();
            start.extend_from_slice(&piece[..piece.len().min(room)]);
            if piece.len() >= room {
                break;
            }
        }
    };
    // Too late or broken off: what came says enough.
    let _ = timeout(patience, read).await;
    start
}

/// For dates in `Retry-After` when the answer has none of its own.
fn now_unix_ms() -> u64 {
    #[expect(clippy::disallowed_methods, reason = "a service's date is on the world's clock")]
    let now = SystemTime::now();
    let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
