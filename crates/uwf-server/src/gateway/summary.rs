//! `GET /api/gateway/summary`: what a machine tells its gateway of its threads, in one answer that does not grow with how many
//! have ended.

use axum::extract::State;
use axum::routing::get;
use axum::{Json, Router};
use uwf_engine::root::registry;
use uwf_engine::verbs::list::{self, Filter};
use uwf_engine::verbs::workflow_names::Names;

use crate::app::App;
use crate::failure::Failure;
use crate::machines::Summary;

/// Where it is.
pub(super) const PATH: &str = "/api/gateway/summary";

/// Most threads in it: more than anybody looks through in a list of several machines.
const MOST_THREADS: usize = 500;

pub(super) fn routes() -> Router<App> {
    Router::new().route(PATH, get(summary))
}

async fn summary(State(app): State<App>) -> Result<Json<Summary>, Failure> {
    let read = app.read(|home| {
        let counted = list::list(home, &Filter { all: true, limit: Some(0), ..Filter::default() })?;
        let listed = list::list(home, &Filter { limit: Some(MOST_THREADS), ..Filter::default() })?;
        let mut names = Names::of(&registry::read(home)?);
        let rows = listed.rows.into_iter().map(|row| list::Named::of(row, &mut names, home));
        let threads = rows.map(serde_json::to_value).collect::<Result<_, _>>().map_err(Failure::internal)?;
        let counts = counted.counts.into_iter().map(|(state, count)| (state.name().to_owned(), count as u64));
        Ok(Summary { counts: counts.collect(), threads })
    });
    Ok(Json(read.await?))
}
