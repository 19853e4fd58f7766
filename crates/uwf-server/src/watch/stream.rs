//! Server-sent events on the wire.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::Response;
use futures_util::stream;

/// Time after which a silent stream sends a sign of life. Proxies and browsers close a stream that is silent for a minute.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// A sign of life. It is an event, because scripts of a page do not see comments.
pub(crate) const BEAT: Bytes = Bytes::from_static(b"event: alive\ndata: {}\n\n");

/// A message as it is sent: the same bytes for every client.
pub(super) fn message(event: &str, id: Option<&str>, data: &str) -> Bytes {
    let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    // JSON has no line breaks outside its strings, and inside them they are escaped.
    Bytes::from(format!("event: {event}\n{id}data: {data}\n\n"))
}

/// Source of messages.
pub(super) trait MessageSource: Send + 'static {
    /// The next message; `None` at the end of the stream. Must not lose a message if the future is dropped before it is ready.
    fn next(&mut self) -> impl Future<Output = Option<Bytes>> + Send;
}

/// An answer that lasts until its source ends or the client disconnects.
pub(super) fn answer(source: impl MessageSource) -> Response {
    let messages = stream::unfold(source, |mut source| async move {
        let next = tokio::time::timeout(HEARTBEAT, source.next()).await;
        let bytes = next.unwrap_or(Some(BEAT))?;
        Some((Ok::<_, Infallible>(bytes), source))
    });
    let mut response = Response::new(Body::from_stream(messages));
    let fixed = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-store"),
        // Makes proxies pass on each message at once.
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    for (name, value) in fixed {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}
