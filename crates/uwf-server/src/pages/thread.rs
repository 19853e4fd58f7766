//! `/threads/ID`: a thread.

use axum::Router;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use maud::html;
use uwf_engine::root::thread_ids;
use uwf_engine::verbs::show;

use super::layout::{Page, Section};
use super::{markdown, parts};
use crate::api;
use crate::app::App;
use crate::failure::Failure;
use crate::respond::wants_json;

pub(super) fn routes() -> Router<App> {
    Router::new().route("/threads/{thread}", get(thread))
}

async fn thread(state: State<App>, path: Path<String>, headers: HeaderMap) -> Response {
    if wants_json(&headers) {
        api::status(state, path).await.into_response()
    } else {
        page(state, path).await.into_response()
    }
}

async fn page(State(app): State<App>, Path(typed): Path<String>) -> Result<Response, Failure> {
    let status = app.read(move |home| Ok(show::show(home, &thread_ids::resolve(home, &typed)?)?)).await?;
    let body = html! {
        h1 { (parts::short_id(status.thread.as_str())) }
        (parts::state(status.state, status.pausing))
        (markdown::markdown(&status.task, 2))
    };
    let live = format!("/api/threads/{}/events", status.thread);
    Ok(Page::new("Thread", Section::Threads, body).live(live).into_response(&app))
}
