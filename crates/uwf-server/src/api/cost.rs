//! `/api/cost`: costs of threads.

use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::{Value, json};
use uwf_engine::root::project;
use uwf_engine::views::cost::{self, CostBy, CostReport, CostRequest, DayZone};

use crate::app::AppState;
use crate::failure::HttpFailure;
use crate::named;

/// Query of the report.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct CostQuery {
    /// An age, or a day; empty for all time.
    pub(crate) since: Option<String>,
    /// The end of the period, in the same form.
    pub(crate) until: Option<String>,
    /// Grouping of rows.
    pub(crate) by: Option<CostBy>,
    /// Time zone of the days; of this machine if absent.
    #[serde(rename = "timeZone")]
    pub(crate) time_zone: Option<String>,
}

impl CostQuery {
    /// The time zone of the days.
    ///
    /// # Errors
    /// 400 for an unknown one.
    pub(crate) fn zone(&self) -> Result<DayZone, HttpFailure> {
        match self.time_zone.as_deref().filter(|name| !name.is_empty()) {
            None => Ok(DayZone::of_machine()),
            Some(name) => Ok(DayZone::named(name)?),
        }
    }
}

pub(super) fn routes() -> Router<AppState> {
    Router::new()
        .route("/cost", get(report))
        .route("/cost.csv", get(table))
        .route("/threads/{thread}/cost", get(of_thread))
}

/// `GET /api/threads/{thread}/cost`: the report of `uwf thread cost` of a thread.
async fn of_thread(
    State(app): State<AppState>,
    Path(thread): Path<String>,
    asked: Result<Query<CostQuery>, QueryRejection>,
) -> Result<Json<Value>, HttpFailure> {
    Ok(Json(json!(costs(&app, Some(thread), understood(asked)?).await?)))
}

/// The query, if it is valid.
fn understood(asked: Result<Query<CostQuery>, QueryRejection>) -> Result<CostQuery, HttpFailure> {
    asked.map(|Query(asked)| asked).map_err(|rejection| HttpFailure::bad_request(rejection.body_text()))
}

/// `GET /api/cost`
pub(crate) async fn report(
    State(app): State<AppState>,
    asked: Result<Query<CostQuery>, QueryRejection>,
) -> Result<Json<Value>, HttpFailure> {
    Ok(Json(json!(costs(&app, None, understood(asked)?).await?)))
}

/// `GET /api/cost.csv`
async fn table(
    State(app): State<AppState>,
    asked: Result<Query<CostQuery>, QueryRejection>,
) -> Result<Response, HttpFailure> {
    let costs = costs(&app, None, understood(asked)?).await?;
    let headers = [
        (header::CONTENT_TYPE, "text/csv; charset=utf-8"),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"cost.csv\""),
    ];
    Ok((headers, costs.csv()).into_response())
}

/// Adds up the costs of all threads, or of one.
pub(crate) async fn costs(app: &AppState, thread: Option<String>, asked: CostQuery) -> Result<CostReport, HttpFailure> {
    let zone = asked.zone()?;
    let given = |typed: &Option<String>| typed.clone().filter(|typed| !typed.is_empty());
    let time = |typed: &Option<String>| given(typed).map(|typed| cost::since(&typed, &zone)).transpose();
    let (since, until) = (time(&asked.since)?, time(&asked.until)?);
    let (cwd, memory) = (app.cwd().to_owned(), app.memory());
    app.read(move |home| {
        let threads = thread.iter().map(|typed| named::thread(home, typed)).collect::<Result<_, _>>()?;
        let by = asked.by.unwrap_or_default();
        let request = CostRequest { threads, since, until, by, zone, ..CostRequest::default() };
        let config = project::config(home, &cwd)?;
        Ok(memory.with_costs(|memory| cost::cost_again(home, &config, &request, memory))?)
    })
    .await
}
