//! The gateway: other machines dial in ([`crate::connect`]), and say what their threads do. Their pages and API are served through that
//! connection ([`crate::forward`]).
//!
//! What it knows of them is in [`crate::machines`].

mod accept;
mod events;
pub(crate) mod lists;
mod summary;

use axum::Router;

use crate::app::App;

pub(crate) use accept::{READ_ONLY_HEADER, VERSION_HEADER};
pub(crate) use events::PATH as EVENTS;

/// What people who have come in may use.
pub(crate) fn routes() -> Router<App> {
    Router::new().merge(lists::routes()).merge(events::routes()).merge(summary::routes())
}

/// Where machines dial. They have tokens of their own, so nobody else is let in there.
pub(crate) fn dialled() -> Router<App> {
    accept::routes()
}
