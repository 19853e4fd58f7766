//! `GET /api/gateway/summary`: a machine's report about its threads to its gateway. The answer does not grow with the number of ended
//! threads.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::routing::get;
use axum::{Json, Router};
use serde_json::{Value, json};
use uwf_core::text;
use uwf_core::workflow::END;
use uwf_engine::root::home::Home;
use uwf_engine::root::registry;
use uwf_engine::thread::state::ThreadState;
use uwf_engine::views::list::{self, NamedThreadRow, ThreadFilter};
use uwf_engine::views::overview::OverviewReader;
use uwf_engine::views::workflow_names::WorkflowNames;

use crate::app::AppState;
use crate::failure::HttpFailure;
use crate::machines::MachineSummary;
use crate::markdown::in_one_line;

/// Path of the summary.
pub(super) const PATH: &str = "/api/gateway/summary";

/// Most threads in it: more than a person reads through in a list of several machines.
const MOST_THREADS: usize = 500;

/// Threads with a task in the summary: each task costs reading nodes, and the gateway does not wait long.
const MOST_TOLD: usize = 100;

/// Characters of a task.
const TASK: usize = 160;

pub(super) fn routes() -> Router<AppState> {
    Router::new().route(PATH, get(summary))
}

async fn summary(State(app): State<AppState>) -> Result<Json<MachineSummary>, HttpFailure> {
    let read = app.read(|home| {
        let counted = list::list(home, &ThreadFilter { all: true, folds_branches: true, ..ThreadFilter::default() })?;
        let listed = list::list(home, &ThreadFilter { limit: Some(MOST_THREADS), ..ThreadFilter::default() })?;
        let mut names = WorkflowNames::from_registry(&registry::read(home)?);
        let rows = listed.rows.into_iter().map(|row| NamedThreadRow::from_row(row, &mut names, home));
        let threads = rows_with_tasks(home, rows.collect())?;
        Ok(MachineSummary { counts: by_name(counted.counts), shown: by_name(counted.shown), threads })
    });
    Ok(Json(read.await?))
}

fn by_name(counts: BTreeMap<ThreadState, usize>) -> BTreeMap<String, u64> {
    counts.into_iter().map(|(state, count)| (state.name().to_owned(), count as u64)).collect()
}

/// The rows of `uwf thread list`, with each thread's task and current role.
fn rows_with_tasks(home: &Home, rows: Vec<NamedThreadRow>) -> Result<Vec<Value>, HttpFailure> {
    let mut overviews = OverviewReader::new(home);
    let mut threads = Vec::with_capacity(rows.len());
    for (position, named) in rows.into_iter().enumerate() {
        let mut thread = serde_json::to_value(&named).map_err(HttpFailure::internal)?;
        if let Some(overview) = (position < MOST_TOLD).then(|| overviews.summarize(&named.row)).flatten() {
            thread["task"] = json!(text::ellipsize(&in_one_line(&overview.task), TASK));
            thread["atRole"] = json!(overview.role.filter(|role| role != END));
        }
        threads.push(thread);
    }
    Ok(threads)
}
