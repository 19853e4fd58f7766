//! `/api/events` and `/api/threads/{thread}/events`: events of threads, as server-sent events.

use axum::Router;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde::Deserialize;
use uwf_engine::root::thread_ids;
use uwf_engine::views::live::LiveStart;

use crate::app::AppState;
use crate::failure::HttpFailure;
use crate::watch::{END, EventSelection};

pub(super) fn routes() -> Router<AppState> {
    Router::new().route("/events", get(list)).route("/threads/{thread}/events", get(thread))
}

/// The `id` of the last event, which a browser sends when it reconnects.
fn seen_last(headers: &HeaderMap) -> Option<&str> {
    headers.get("last-event-id")?.to_str().ok()
}

/// `GET /api/events`
async fn list(State(app): State<AppState>, headers: HeaderMap) -> Result<Response, HttpFailure> {
    app.watch().list(seen_last(&headers)).await
}

/// Query of `GET /api/threads/{thread}/events`
#[derive(Debug, Deserialize)]
struct EventsQuery {
    /// Begin with this many of the newest steps.
    tail: Option<usize>,
    /// Show what agents print on stderr.
    #[serde(default)]
    debug: bool,
}

/// `GET /api/threads/{thread}/events`
async fn thread(
    State(app): State<AppState>,
    Path(typed): Path<String>,
    Query(asked): Query<EventsQuery>,
    headers: HeaderMap,
) -> Result<Response, HttpFailure> {
    let seen = seen_last(&headers);
    if seen == Some(END) {
        // A browser reconnects to a stream that ended, unless the status says that there is no content.
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let after = seen.and_then(|hash| hash.parse().ok()).map(LiveStart::After);
    let from = after.or(asked.tail.map(LiveStart::Newest)).unwrap_or(LiveStart::Beginning);
    let thread = app.read(move |home| Ok(thread_ids::resolve(home, None, &typed)?)).await?;
    app.watch().thread(thread, EventSelection { from, debug: asked.debug }).await
}
