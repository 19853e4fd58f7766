//! The names that the query of a reading request may have.

use axum::extract::{MatchedPath, Query, Request};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use json_cas::nearest::did_you_mean;
use uwf_core::text::one_line;

use super::openapi;
use crate::failure::HttpFailure;

/// Rejects a query with a name that the endpoint does not know: without its filter, an answer would be wrong.
pub(crate) async fn check(request: Request, next: Next) -> Response {
    match unknown_name(&request) {
        Some(failure) => failure.into_response(),
        None => next.run(request).await,
    }
}

fn unknown_name(request: &Request) -> Option<HttpFailure> {
    let path = request.extensions().get::<MatchedPath>()?.as_str();
    if ![Method::GET, Method::HEAD].contains(request.method()) {
        return None;
    }
    let path = path.strip_prefix("/api")?;
    let known = openapi::query_names(path)?;
    let Query(sent) = Query::<Vec<(String, String)>>::try_from_uri(request.uri()).ok()?;
    let (name, _) = sent.into_iter().find(|(name, _)| !known.contains(name))?;
    let refused = HttpFailure::bad_request(format!("`GET /api{path}` has no parameter `{}`", one_line(&name)));
    let hint = did_you_mean(&name, known.iter().map(String::as_str)).or_else(|| match known.is_empty() {
        true => None,
        false => Some(format!("its parameters: {}", known.join(", "))),
    });
    Some(hint.map_or(refused.clone(), |hint| refused.hint(hint)))
}
