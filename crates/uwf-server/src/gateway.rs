//! The gateway: pages and API of other machines, which dial in ([`crate::connect`]) and are served through that connection.
//!
//! What it knows of them is in [`crate::machines`].

mod accept;
mod answer;
mod events;
mod forward;
pub(crate) mod lists;
mod markup;
mod summary;

use axum::Router;

use crate::app::App;

pub(crate) use accept::{READ_ONLY_HEADER, VERSION_HEADER};
pub(crate) use events::PATH as EVENTS;

/// What people who have come in may use.
pub(crate) fn routes() -> Router<App> {
    Router::new().merge(lists::routes()).merge(events::routes()).merge(summary::routes())
}

/// Pages and API of the machines.
pub(crate) fn forwarded() -> Router<App> {
    forward::routes()
}

/// Where machines dial. They have tokens of their own, so nobody else is let in there.
pub(crate) fn dialled() -> Router<App> {
    accept::routes()
}
