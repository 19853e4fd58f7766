//! Saved views: filtered lists of threads with names. They are stored in the browser, because the server has no user accounts.

use axum::extract::Query;
use axum::http::{HeaderMap, Uri, header};
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};

use crate::failure::HttpFailure;
use crate::fields::RequestFields;
use crate::filter::ThreadListQuery;
use crate::place::{VIEWS, stored_views, views_cookie};
use crate::respond::cookie;

/// The path that saves and removes views.
pub(super) const PATH: &str = "/views";

/// Most characters of a name.
const MAX_NAME: usize = 40;

/// The views of a browser: names with their queries, oldest first.
pub(super) struct SavedViews(Vec<(String, String)>);

impl SavedViews {
    /// The views in the cookie of a request.
    pub(super) fn of_request(headers: &HeaderMap) -> SavedViews {
        SavedViews(stored_views(cookie(headers, VIEWS).unwrap_or_default()))
    }

    /// Links to the views, for the line of the filters.
    pub(super) fn links(&self, shown: &ThreadListQuery) -> Markup {
        let shown = normal(shown);
        html! {
            @for (name, query) in &self.0 {
                @let is_current = *query == shown;
                a.view href={"/" (query)} aria-current=[is_current.then_some("page")] { (name) }
            }
        }
    }

    /// A form that saves the list that is shown, or removes it if it is a view.
    pub(super) fn form(&self, shown: &ThreadListQuery) -> Markup {
        let query = normal(shown);
        html! {
            @match self.0.iter().find(|(_, known)| *known == query) {
                Some((name, _)) => form.view method="post" action=(PATH) {
                    input type="hidden" name="query" value=(query);
                    input type="hidden" name="remove" value=(name);
                    button.quiet { "Remove the view " (name) }
                },
                None => details.view #save-view {
                    summary { "Save as a view" }
                    form.view method="post" action=(PATH) {
                        input type="hidden" name="query" value=(query);
                        label { "Name of the view " input name="name" required maxlength=(MAX_NAME) size="14"; }
                        button { "Save this view" }
                    }
                },
            }
        }
    }
}

/// The query of a view, without the place where the list begins.
fn normal(shown: &ThreadListQuery) -> String {
    ThreadListQuery { after: String::new(), limit: String::new(), ..shown.clone() }.with("after", "")
}

/// `POST /views`: saves the view `name` of `query`, or removes the view `remove`. Goes to the list.
///
/// # Errors
/// 400 for a view without a name or without a filter, and if the cookie would be too long for a browser.
pub(super) async fn change(headers: HeaderMap, fields: RequestFields) -> Result<Response, HttpFailure> {
    let SavedViews(mut views) = SavedViews::of_request(&headers);
    let asked = format!("/{}", fields.text("query").unwrap_or_default());
    let invalid = || HttpFailure::bad_request("`query` is the query of a list of threads, with a filter");
    let uri: Uri = asked.parse().map_err(|_| invalid())?;
    let Query(query) = Query::<ThreadListQuery>::try_from_uri(&uri).map_err(|_| invalid())?;
    if !query.is_filter() {
        return Err(invalid());
    }
    let query = normal(&query);
    if let Some(name) = fields.text("remove") {
        views.retain(|(known, _)| known != name);
    } else {
        let name = fields.text("name").unwrap_or_default().trim();
        if name.is_empty() || name.chars().count() > MAX_NAME || name.contains(char::is_control) {
            return Err(HttpFailure::bad_request(format!("a view has a name of at most {MAX_NAME} characters")));
        }
        views.retain(|(known, _)| known != name);
        views.push((name.to_owned(), query.clone()));
    }
    let Some(cookie) = views_cookie(&views) else {
        return Err(HttpFailure::bad_request("the browser cannot keep more views").hint("remove one first"));
    };
    Ok(([(header::SET_COOKIE, cookie)], Redirect::to(&format!("/{query}"))).into_response())
}
