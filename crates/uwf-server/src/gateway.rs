//! The gateway: other machines connect to it ([`crate::connect`]) and report their threads. It serves their pages and API through that
//! connection ([`crate::forward`]).
//!
//! [`crate::machines`] has the gateway's data about machines.

mod accept;
mod asking;
pub(crate) mod costs;
mod events;
pub(crate) mod inbox;
pub(crate) mod lists;
pub(crate) mod search;
mod summary;

use axum::Router;

use crate::app::AppState;

pub(crate) use accept::{READ_ONLY_HEADER, VERSION_HEADER};
pub(crate) use events::PATH as EVENTS;

/// Routes for people who are logged in.
pub(crate) fn routes() -> Router<AppState> {
    Router::new().merge(lists::routes()).merge(events::routes()).merge(summary::routes())
}

/// Routes that machines connect to. Machines authenticate with their own tokens.
pub(crate) fn dialled() -> Router<AppState> {
    accept::routes()
}
