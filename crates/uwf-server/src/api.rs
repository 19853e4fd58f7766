//! The HTTP API: the reports of the commands as JSON.

pub(crate) mod actions;
pub(crate) mod and_run;
pub(crate) mod answer;
pub(crate) mod cost;
pub(crate) mod doctor;
mod events;
pub(crate) mod known_query;
mod nodes;
mod openapi;
mod received;
pub(crate) mod start;
mod steps;
mod threads;
pub(crate) mod workflows;
mod yes_or_no;

use axum::Router;

use crate::app::AppState;
use crate::failure::HttpFailure;

pub(crate) use nodes::{FOR_EVER, node};
pub(crate) use steps::{details, no_step};
pub(crate) use threads::{listed, status};

/// Its routes, below `/api`.
pub(crate) fn routes() -> Router<AppState> {
    Router::new()
        .merge(actions::routes())
        .merge(events::routes())
        .merge(openapi::routes())
        .merge(threads::routes())
        .merge(nodes::routes())
        .merge(steps::routes())
        .merge(start::routes())
        .merge(workflows::routes())
        .merge(cost::routes())
        .merge(doctor::routes())
        .fallback(unknown)
}

async fn unknown() -> HttpFailure {
    HttpFailure::not_found("the API has no such path").hint("`uwf help http-api` has all paths")
}
