//! `/api/cas/HASH`: nodes.

use axum::extract::{Path, State};
use axum::http::{HeaderName, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde_json::json;
use uwf_engine::verbs::cas_get::StoredNode;

use crate::app::App;
use crate::failure::Failure;
use crate::named;

/// What a hash names never changes; only whoever is let in may keep it.
pub(crate) const FOR_EVER: (HeaderName, &str) = (header::CACHE_CONTROL, "private, immutable, max-age=31536000");

pub(super) fn routes() -> Router<App> {
    Router::new().route("/cas/{hash}", get(node))
}

/// `GET /api/cas/{hash}`: what `uwf cas get` reports.
pub(crate) async fn node(State(app): State<App>, Path(typed): Path<String>) -> Result<Response, Failure> {
    let (stored, is_whole) = app
        .read(move |home| {
            let hash = named::node(home, &typed)?;
            let is_whole = typed == hash.to_string();
            Ok((StoredNode::of(hash, home.store().get(hash)?), is_whole))
        })
        .await?;
    // What a beginning of a hash means changes with the nodes there are.
    let kept = if is_whole { FOR_EVER } else { (header::CACHE_CONTROL, "no-cache") };
    Ok(([kept], Json(json!(stored))).into_response())
}
