//! The parts of every page: head, navigation, and the place for messages.

use axum::http::header;
use axum::response::{Html, IntoResponse, Response};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde::{Deserialize, Serialize};

use super::menu::menu;
use crate::app::AppState;
use crate::assets;
use crate::place::PageLocation;

/// The entry in the navigation that a page belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum NavSection {
    /// The threads.
    Threads,
    /// The workflows.
    Workflows,
    /// The cost.
    Cost,
    /// The checks of the storage root.
    Doctor,
    /// None of these, and what a machine of another version calls one.
    #[serde(other)]
    None,
}

/// Content type of a page from a machine to its gateway, which draws the bar around it: [`DashboardPage`] as JSON.
pub(crate) const SENT_PAGE: &str = "application/vnd.uwf.page+json";

/// A page.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DashboardPage {
    title: String,
    section: NavSection,
    /// Path of the events that announce changes of this page; `None` for a page that never changes.
    live: Option<String>,
    read_only: bool,
    /// HTML inside `<main>`.
    body: String,
}

impl DashboardPage {
    /// A page that never changes.
    pub(crate) fn new(title: impl Into<String>, section: NavSection, body: Markup) -> DashboardPage {
        DashboardPage { title: title.into(), section, live: None, read_only: false, body: body.into_string() }
    }

    /// A page that is redrawn after each event at this path.
    #[must_use]
    pub(crate) fn live(self, path: impl Into<String>) -> DashboardPage {
        DashboardPage { live: Some(path.into()), ..self }
    }

    /// The page with its path and its body changed.
    #[must_use]
    pub(crate) fn cleaned(
        self,
        path: impl FnOnce(&str) -> Option<String>,
        body: impl FnOnce(&str) -> String,
    ) -> DashboardPage {
        DashboardPage { live: self.live.as_deref().and_then(path), body: body(&self.body), ..self }
    }

    /// The page as an answer, drawn here or by the gateway that requested it.
    pub(crate) fn into_response(self, app: &AppState) -> Response {
        let page = DashboardPage { read_only: app.is_read_only(), ..self };
        if app.guard().is_some() {
            return page.draw(app).into_response();
        }
        ([(header::CONTENT_TYPE, SENT_PAGE)], serde_json::to_vec(&page).unwrap_or_default()).into_response()
    }

    /// The page with the bar of this server.
    pub(crate) fn draw(self, app: &AppState) -> Html<String> {
        let DashboardPage { title, section, live, read_only, body } = self;
        let current = |of| (of == section).then_some("page");
        let inside = html! {
            a.skip href="#main" { "Skip to the content" }
            header.bar {
                a.brand href="/" aria-label="uwf, threads" { "uwf" }
                (menu(app))
                nav aria-label="Pages" {
                    a href="/" aria-current=[current(NavSection::Threads)] { "Threads" }
                    a href="/workflows" aria-current=[current(NavSection::Workflows)] { "Workflows" }
                    a href="/cost" aria-current=[current(NavSection::Cost)] { "Cost" }
                    a href="/doctor" aria-current=[current(NavSection::Doctor)] { "Doctor" }
                }
                form.search action="/search" role="search" {
                    input type="search" name="q" placeholder="Search" aria-label="Search threads" autocomplete="off";
                }
                @if read_only { span.badge title="Nothing can be changed through this server" { "read-only" } }
                @if live.is_some() {
                    button #live.quiet type="button" hidden title="Follow changes (.)" { "live" }
                } @else { span.no-live {} }
                button #keys-button.quiet type="button" hidden title="Keys (?)" { "keys" }
                // The gateway's own, also on a page of a machine.
                form.log-out method="post" action="/logout" data-outside { button.quiet { "Log out" } }
            }
            main #main data-live=[live] data-read-only=[read_only.then_some("true")] tabindex="-1" { (PreEscaped(body)) }
            div #notice role="status" aria-live="polite" {}
        };
        document(&format!("{title} · uwf"), &inside)
    }
}

/// A page without navigation, for clients that are not logged in.
pub(crate) fn bare(title: &str, body: &Markup) -> Response {
    document(&format!("{title} · uwf"), &html! { main #main { (body) } }).into_response()
}

fn document(title: &str, inside: &Markup) -> Html<String> {
    let place = PageLocation::current();
    let page = html! {
        (DOCTYPE)
        html lang="en" data-base=(place.prefix()) data-root=(place.root()) {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                link rel="icon" type="image/svg+xml" href=(assets::path("icon.svg"));
                link rel="stylesheet" href=(assets::path("graph.css"));
                link rel="stylesheet" href=(assets::path("style.css"));
                link rel="stylesheet" href=(assets::path("steps.css"));
                link rel="stylesheet" href=(assets::path("workflows.css"));
                script type="module" src=(assets::path("app.js")) {}
            }
            body { (inside) }
        }
    };
    Html(place.prefixed(page.into_string()))
}
