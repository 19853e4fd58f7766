//! The pages. Each has its own URL, works without JavaScript, and shows what the engine reads.

mod again;
mod compare;
mod copies;
mod cost;
mod doctor;
mod excerpt;
mod files;
mod forms;
mod inbox;
pub(crate) mod layout;
mod machines;
mod menu;
mod need;
mod node;
pub(crate) mod parts;
mod search;
mod spent;
mod step;
mod texts;
mod thread;
mod values;
mod why;
mod words;
mod workflows;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use maud::html;

use crate::app::AppState;
use crate::failure::HttpFailure;
use crate::respond::wants_json;

use self::layout::{DashboardPage, NavSection};

/// Routes of the pages.
pub(crate) fn routes() -> Router<AppState> {
    Router::new()
        .merge(inbox::routes())
        .merge(thread::routes())
        .merge(step::routes())
        .merge(compare::routes())
        .merge(node::routes())
        .merge(search::routes())
        .merge(workflows::routes())
        .merge(cost::routes())
        .merge(doctor::routes())
        .merge(machines::routes())
        .fallback(unknown)
}

async fn unknown() -> HttpFailure {
    HttpFailure::not_found("this page does not exist")
        .hint("the first page has everything that runs, waits or has ended")
}

/// Shows a failure as a page if the client accepts HTML.
pub(crate) async fn shown_as_page(State(app): State<AppState>, request: Request, next: Next) -> Response {
    let wants_page = !wants_json(request.headers()) && accepts_html(&request);
    let mut response = next.run(request).await;
    let Some(failure) = response.extensions_mut().remove::<HttpFailure>().filter(|_| wants_page) else {
        return response;
    };
    let body = html! {
        section.failure role="alert" {
            h1 { (title(failure.status)) }
            p { (parts::message(&failure.message)) }
            @if !failure.hints.is_empty() {
                ul { @for hint in &failure.hints { li { (parts::message(hint)) } } }
            }
            @match &failure.form {
                Some(form) => (again::again(form, &failure)),
                None => p { a href="/" { "Back to the threads" } },
            }
        }
    };
    let page = DashboardPage::new("Failed", NavSection::None, body).into_response(&app);
    let mut shown = (failure.status, page).into_response();
    // Keep the answer's other headers, such as how long to wait.
    for (name, value) in response.headers() {
        shown.headers_mut().entry(name).or_insert(value.clone());
    }
    shown
}

/// A status in words.
fn title(status: StatusCode) -> &'static str {
    match status {
        StatusCode::NOT_FOUND => "Not found",
        StatusCode::CONFLICT => "Something has changed meanwhile",
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => "Not allowed",
        StatusCode::TOO_MANY_REQUESTS => "Too many attempts",
        StatusCode::PAYLOAD_TOO_LARGE => "Too large",
        StatusCode::BAD_GATEWAY | StatusCode::GATEWAY_TIMEOUT | StatusCode::SERVICE_UNAVAILABLE => {
            "The machine does not answer"
        }
        status if status.is_client_error() => "This did not work",
        _ => "The server failed",
    }
}

/// A browser names `text/html`; a script that names nothing gets JSON.
fn accepts_html(request: &Request) -> bool {
    let accepted = request.headers().get(axum::http::header::ACCEPT).and_then(|value| value.to_str().ok());
    accepted.is_some_and(|value| value.contains("text/html"))
}
