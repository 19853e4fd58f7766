//! `/api/cas/HASH`: nodes.

use axum::extract::{Path, State};
use axum::http::{HeaderName, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde_json::json;
use uwf_engine::views::stored_node::StoredNode;

use crate::app::AppState;
use crate::failure::HttpFailure;
use crate::named;

/// A node never changes, but only an authorised client may cache it.
pub(crate) const FOR_EVER: (HeaderName, &str) = (header::CACHE_CONTROL, "private, immutable, max-age=31536000");

pub(super) fn routes() -> Router<AppState> {
    Router::new().route("/cas/{hash}", get(node))
}

/// `GET /api/cas/{hash}`: the report of `uwf cas get`.
pub(crate) async fn node(State(app): State<AppState>, Path(typed): Path<String>) -> Result<Response, HttpFailure> {
    let (stored, is_whole) = app
        .read(move |home| {
            let hash = named::node(home, &typed)?;
            let is_whole = typed == hash.to_string();
            Ok((StoredNode::from_hash_and_node(hash, home.store().get(hash)?), is_whole))
        })
        .await?;
    // New nodes can change the meaning of a hash prefix.
    let kept = if is_whole { FOR_EVER } else { (header::CACHE_CONTROL, "no-cache") };
    Ok(([kept], Json(json!(stored))).into_response())
}
