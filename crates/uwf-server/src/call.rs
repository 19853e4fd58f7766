//! `uwf api`: one request to the API without a server.

use std::path::Path;

use axum::body::Body;
use axum::http::{Method, Request, header};
use axum::middleware::from_fn;
use http_body_util::BodyExt;
use tower::ServiceExt;
use uwf_engine::root::home::Home;

use crate::api;
use crate::app::{AppState, ServerEntrance};
use crate::command_line::CommandLine;
use crate::refusal;
use crate::serve::ServeError;

/// A request to the API.
pub struct ApiRequest<'c> {
    /// The storage root.
    pub home: &'c Home,
    /// Directory in which commands are started.
    pub cwd: &'c Path,
    /// The commands, for the description of the API.
    pub commands: fn() -> CommandLine,
    /// The method.
    pub method: &'c str,
    /// The path below `/api`, with its query.
    pub path: &'c str,
    /// The body, as JSON.
    pub body: String,
}

/// Answers a request. `write` gets the answer piece by piece, and can end it by returning false. Returns the HTTP status.
///
/// # Errors
/// The runtime fails, or the method or path is invalid.
pub fn call(call: ApiRequest<'_>, write: impl FnMut(&[u8]) -> bool) -> Result<u16, ServeError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(answered(call, write))
}

async fn answered(call: ApiRequest<'_>, mut write: impl FnMut(&[u8]) -> bool) -> Result<u16, ServeError> {
    let ApiRequest { home, cwd, commands, method, path, body } = call;
    let invalid = |error: &dyn std::fmt::Display| ServeError::Io(std::io::Error::other(error.to_string()));
    // No authentication: the caller can access the storage root anyway.
    let app = AppState::new(home, cwd, false, commands, ServerEntrance::Inside, None);
    let request = Request::builder()
        .method(Method::from_bytes(method.as_bytes()).map_err(|error| invalid(&error))?)
        .uri(path)
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::ACCEPT, "application/json")
        .body(Body::from(body))
        .map_err(|error| invalid(&error))?;
    let routes = axum::Router::new().nest("/api", api::routes()).route_layer(from_fn(api::known_query::check));
    let router = routes.layer(from_fn(refusal::reported)).with_state(app);
    let response = router.oneshot(request).await.unwrap_or_else(|never| match never {});
    let status = response.status().as_u16();
    let mut body = response.into_body();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| invalid(&error))?;
        if frame.data_ref().is_some_and(|data| !write(data)) {
            break;
        }
    }
    Ok(status)
}
