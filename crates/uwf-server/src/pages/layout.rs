//! What all pages have: head, navigation, and the place for messages.

use axum::response::{Html, IntoResponse, Response};
use maud::{DOCTYPE, Markup, html};

use super::menu::menu;
use crate::app::App;
use crate::assets;
use crate::place::Place;

/// Where in the navigation a page belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Section {
    /// The threads.
    Threads,
    /// The workflows.
    Workflows,
    /// What it cost.
    Cost,
    /// Somewhere else.
    None,
}

/// A page.
pub(crate) struct Page {
    title: String,
    section: Section,
    body: Markup,
    /// Where changes are announced that this page shows; none for a page that never changes.
    live: Option<String>,
}

impl Page {
    /// A page that stays as it is.
    pub(crate) fn new(title: impl Into<String>, section: Section, body: Markup) -> Page {
        Page { title: title.into(), section, body, live: None }
    }

    /// A page that is drawn again when something is announced at this path.
    #[must_use]
    pub(crate) fn live(self, path: impl Into<String>) -> Page {
        Page { live: Some(path.into()), ..self }
    }

    /// The page as an answer.
    pub(crate) fn into_response(self, app: &App) -> Response {
        let Page { title, section, body, live } = self;
        let current = |of| (of == section).then_some("page");
        let inside = html! {
            a.skip href="#main" { "Skip to the content" }
            header.bar {
                a.brand href="/" aria-label="uwf, threads" { "uwf" }
                (menu(app))
                nav aria-label="Pages" {
                    a href="/" aria-current=[current(Section::Threads)] { "Threads" }
                    a href="/workflows" aria-current=[current(Section::Workflows)] { "Workflows" }
                    a href="/cost" aria-current=[current(Section::Cost)] { "Cost" }
                }
                form.search action="/search" role="search" {
                    input type="search" name="q" placeholder="Search" aria-label="Search threads" autocomplete="off";
                }
                @if app.is_read_only() { span.badge title="Nothing can be changed through this server" { "read-only" } }
                @if live.is_some() {
                    button #live.quiet type="button" hidden title="Follow changes (.)" { "live" }
                }
                button #keys-button.quiet type="button" hidden title="Keys (?)" { "keys" }
            }
            main #main data-live=[live] tabindex="-1" { (body) }
            div #message role="status" aria-live="polite" {}
        };
        document(&format!("{title} · uwf"), &inside).into_response()
    }
}

/// A page without navigation, for whoever has not come in yet.
pub(crate) fn bare(title: &str, body: &Markup) -> Response {
    document(&format!("{title} · uwf"), &html! { main #main { (body) } }).into_response()
}

fn document(title: &str, inside: &Markup) -> Html<String> {
    let page = html! {
        (DOCTYPE)
        html lang="en" data-prefix=[Place::current().map(|place| place.prefix)] {
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
    Html(page.into_string())
}
