//! `/doctor`: problems of the storage root, with ways to fix them.

use axum::Router;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use maud::{Markup, html};
use uwf_engine::verbs::doctor::{DoctorFinding, DoctorStatus};

use super::layout::{DashboardPage, NavSection};
use super::parts;
use crate::api::doctor::{findings, report};
use crate::app::AppState;
use crate::failure::HttpFailure;
use crate::respond::wants_json;

pub(super) fn routes() -> Router<AppState> {
    Router::new().route("/doctor", get(doctor))
}

/// `GET /doctor`: a page, or the API's report if the client wants JSON.
async fn doctor(state: State<AppState>, headers: HeaderMap) -> Response {
    if wants_json(&headers) { report(state).await.into_response() } else { page(state).await.into_response() }
}

async fn page(State(app): State<AppState>) -> Result<Response, HttpFailure> {
    let found = findings(&app).await?;
    let of = |status: DoctorStatus| found.iter().filter(|finding| finding.status == status).collect::<Vec<_>>();
    let (fails, warns, fine) = (of(DoctorStatus::Fail), of(DoctorStatus::Warn), of(DoctorStatus::Ok));
    let body = html! {
        h1 { "Doctor" }
        p { (verdict(fails.len(), warns.len())) }
        p.quiet { "Storage root " code { (app.root().display()) } }
        @for (id, title, findings) in [("fails", "Problems", &fails), ("warns", "Warnings", &warns)] {
            @if !findings.is_empty() {
                section aria-labelledby=(id) { h2 id=(id) { (title) } (list(findings)) }
            }
        }
        section aria-labelledby="fine" { h2 #fine { "Passed" } (list(&fine)) }
        p.quiet {
            "These checks only read. " code { "uwf doctor" } " also writes a test file, runs each agent's program and contacts the providers; "
            code { "uwf doctor --fix" } " fixes problems that can be fixed safely."
        }
    };
    Ok(DashboardPage::new("Doctor", NavSection::Doctor, body).into_response(&app))
}

fn verdict(fails: usize, warns: usize) -> String {
    match (fails, warns) {
        (0, 0) => "All checks passed.".to_owned(),
        (0, warns) => format!("All checks passed, with {}.", parts::many(warns, "warning")),
        (fails, _) => format!("{} failed.", parts::many(fails, "check")),
    }
}

fn list(findings: &[&DoctorFinding]) -> Markup {
    html! {
        ul.findings {
            @for finding in findings {
                li data-status=(word(finding.status)) {
                    span.sign aria-hidden="true" { (sign(finding.status)) }
                    div {
                        strong { (finding.check) }
                        p { (parts::message(&finding.message)) }
                        @if let Some(hint) = &finding.hint { p.hint { "Hint: " (parts::message(hint)) } }
                    }
                }
            }
        }
    }
}

fn word(status: DoctorStatus) -> &'static str {
    match status {
        DoctorStatus::Ok => "ok",
        DoctorStatus::Warn => "warn",
        DoctorStatus::Fail => "fail",
    }
}

fn sign(status: DoctorStatus) -> &'static str {
    match status {
        DoctorStatus::Ok => "✓",
        DoctorStatus::Warn => "!",
        DoctorStatus::Fail => "✗",
    }
}
