//! Server-sent events on the wire.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::Response;
use futures_util::stream;

/// Time after which a silent stream says that it is there. Proxies and browsers end what is silent for a minute.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// A comment, which every reader passes over.
pub(crate) const BEAT: Bytes = Bytes::from_static(b":\n\n");

/// A message as it is sent: the same bytes for everybody.
pub(super) fn message(event: &str, id: Option<&str>, data: &str) -> Bytes {
    let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    // JSON has no line breaks outside its strings, and none as they are inside.
    Bytes::from(format!("event: {event}\n{id}data: {data}\n\n"))
}

/// Where messages come from.
pub(super) trait Source: Send + 'static {
    /// The next message; `None` at the end of the stream. What is dropped before it is there must not be lost.
    fn next(&mut self) -> impl Future<Output = Option<Bytes>> + Send;
}

/// An answer that continues until its source ends, or the client does.
pub(super) fn answer(source: impl Source) -> Response {
    let messages = stream::unfold(source, |mut source| async move {
        let next = tokio::time::timeout(HEARTBEAT, source.next()).await;
        let bytes = next.unwrap_or(Some(BEAT))?;
        Some((Ok::<_, Infallible>(bytes), source))
    });
    let mut response = Response::new(Body::from_stream(messages));
    let fixed = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-store"),
        // Tells proxies to pass each message on as it comes.
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    for (name, value) in fixed {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}
