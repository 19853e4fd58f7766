//! `/`: what needs somebody, what runs, what is done, and all threads by filter.

use axum::Router;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use maud::html;
use uwf_engine::verbs::list;

use super::layout::{Page, Section};
use super::parts;
use crate::api;
use crate::app::App;
use crate::failure::Failure;
use crate::respond::wants_json;

pub(super) fn routes() -> Router<App> {
    Router::new().route("/", get(inbox)).route("/threads", get(threads))
}

/// `GET /threads`: the API's list for whoever asks for JSON, else the first page.
async fn threads(state: State<App>, headers: HeaderMap) -> Response {
    if wants_json(&headers) { api::listed(state).await.into_response() } else { inbox(state).await.into_response() }
}

async fn inbox(State(app): State<App>) -> Result<Response, Failure> {
    let rows = app.read(|home| Ok(list::list(home, &list::Filter::default())?.rows)).await?;
    let body = html! {
        h1 { "Threads" }
        ul { @for row in rows { li { a href={"/threads/" (row.thread)} { (parts::short_id(row.thread.as_str())) } (parts::state(row.state, row.pausing)) } } }
    };
    Ok(Page::new("Threads", Section::Threads, body).live("/api/events").into_response(&app))
}
