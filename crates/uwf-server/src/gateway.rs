//! The gateway: pages and API of other machines, which dial in ([`crate::connect`]) and are served through that connection.
//!
//! It keeps nothing but the tokens of machines ([`tokens`]). What it knows of a machine beside that is in memory
//! ([`machines`]): whether it is connected, since when, and the last list of its threads.

mod accept;
mod forward;
mod lists;
mod machines;
pub(crate) mod menu;
pub(crate) mod name;
mod page;
mod summary;
pub(crate) mod tokens;

use axum::Router;

use crate::app::App;

pub(crate) use accept::{READ_ONLY_HEADER, VERSION_HEADER};
pub(crate) use machines::Gateway;
pub(crate) use page::section;

/// What people who have come in may use.
pub(crate) fn routes() -> Router<App> {
    Router::new().merge(lists::routes()).merge(page::routes()).merge(summary::routes())
}

/// Pages and API of the machines: answers that are the machine's, and stay as they are.
pub(crate) fn forwarded() -> Router<App> {
    forward::routes()
}

/// Where machines dial. They have tokens of their own, so nobody else is let in there.
pub(crate) fn dialled() -> Router<App> {
    accept::routes()
}
