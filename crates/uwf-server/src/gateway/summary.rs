//! `GET /api/gateway/summary`: a machine's report about its threads to its gateway. The answer does not grow with the number of ended
//! threads.

use axum::extract::State;
use axum::routing::get;
use axum::{Json, Router};
use serde_json::{Value, json};
use uwf_core::text;
use uwf_core::workflow::END;
use uwf_engine::root::home::Home;
use uwf_engine::root::registry;
use uwf_engine::views::list::{self, Filter, Named};
use uwf_engine::views::overview::Overviews;
use uwf_engine::views::workflow_names::Names;

use crate::app::App;
use crate::failure::Failure;
use crate::machines::Summary;

/// Path of the summary.
pub(super) const PATH: &str = "/api/gateway/summary";

/// Most threads in it: more than a person reads through in a list of several machines.
const MOST_THREADS: usize = 500;

/// Threads with a task in the summary: each task costs reading nodes, and the gateway does not wait long.
const MOST_TOLD: usize = 100;

/// Characters of a task.
const TASK: usize = 160;

pub(super) fn routes() -> Router<App> {
    Router::new().route(PATH, get(summary))
}

async fn summary(State(app): State<App>) -> Result<Json<Summary>, Failure> {
    let read = app.read(|home| {
        let counted = list::list(home, &Filter { all: true, limit: Some(0), ..Filter::default() })?;
        let listed = list::list(home, &Filter { limit: Some(MOST_THREADS), ..Filter::default() })?;
        let mut names = Names::of(&registry::read(home)?);
        let rows = listed.rows.into_iter().map(|row| Named::of(row, &mut names, home));
        let threads = told(home, rows.collect())?;
        let counts = counted.counts.into_iter().map(|(state, count)| (state.name().to_owned(), count as u64));
        Ok(Summary { counts: counts.collect(), threads })
    });
    Ok(Json(read.await?))
}

/// The rows of `uwf thread list`, with each thread's task and current role.
fn told(home: &Home, rows: Vec<Named>) -> Result<Vec<Value>, Failure> {
    let mut overviews = Overviews::new(home);
    let mut threads = Vec::with_capacity(rows.len());
    for (position, named) in rows.into_iter().enumerate() {
        let mut thread = serde_json::to_value(&named).map_err(Failure::internal)?;
        if let Some(overview) = (position < MOST_TOLD).then(|| overviews.of(&named.row)).flatten() {
            thread["task"] = json!(text::ellipsize(&text::one_line(&overview.task), TASK));
            thread["atRole"] = json!(overview.role.filter(|role| role != END));
        }
        threads.push(thread);
    }
    Ok(threads)
}
