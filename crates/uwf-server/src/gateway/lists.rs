//! State and threads of all machines: `GET /api/gateway/endpoints`, `GET /api/gateway/threads`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::routing::get;
use axum::{Json, Router};
use futures_util::future::join_all;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uwf_engine::views::cost::CostBy;
use uwf_engine::views::list::NamedThreadRow;

use super::asking::{self, answered};
use super::costs::MachineCosts;
use super::{costs, inbox, search, summary};
use crate::app::AppState;
use crate::drawn::{DrawnSearch, MachineInbox};
use crate::failure::HttpFailure;
use crate::filter::ThreadListQuery;
use crate::machines::name::MachineName;
use crate::machines::{MachineGateway, MachineSnapshot, MachineSummary};

/// How long a machine may take to answer. After that, a list shows what it said last, and other pages say that it did not answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long the first page waits for a machine. It is drawn again once a machine reports a change.
const GLANCE: Duration = Duration::from_secs(1);

/// How long a machine may search if a person asks for more.
const SEARCH: Duration = Duration::from_secs(10);

pub(super) fn routes() -> Router<AppState> {
    Router::new().route("/api/gateway/endpoints", get(endpoints)).route("/api/gateway/threads", get(threads))
}

/// `GET /api/gateway/endpoints`: the machines.
async fn endpoints(State(app): State<AppState>) -> Result<Json<Vec<MachineStatus>>, HttpFailure> {
    let machines = seen(&gateway(&app)?).await?;
    Ok(Json(machines.iter().map(endpoint).collect()))
}

/// A machine of a gateway.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Machine")]
pub(crate) struct MachineStatus {
    name: String,
    connected: bool,
    /// Unix milliseconds since when it is connected or not; null if it was not since the gateway was started.
    since: Option<u64>,
    /// Version of its uwf; null before it was connected.
    version: Option<String>,
    read_only: Option<bool>,
    /// Number of its threads in each state, including branches of groups.
    counts: BTreeMap<String, u64>,
}

fn endpoint(machine: &MachineSnapshot) -> MachineStatus {
    MachineStatus {
        name: machine.name.as_str().to_owned(),
        connected: machine.is_connected,
        since: machine.since,
        version: machine.about.as_ref().map(|about| about.version.clone()),
        read_only: machine.about.as_ref().map(|about| about.read_only),
        counts: machine.summary.counts.clone(),
    }
}

/// Schema of a thread of a machine: its row, and what [`row_of`] adds.
pub(crate) fn thread_schema(generator: &mut SchemaGenerator) -> Schema {
    let row = generator.subschema_for::<NamedThreadRow>();
    let own = json_schema!({
        "type": "object",
        "required": ["machine", "connected"],
        "properties": {
            "machine": { "type": "string" },
            "connected": { "type": "boolean" },
            "task": { "type": "string" },
            "atRole": { "type": ["string", "null"] },
        },
    });
    json_schema!({ "type": "array", "items": { "allOf": [row, own] } })
}

/// `GET /api/gateway/threads`: the threads of all machines that have not ended, each as its machine reports it, with the name
/// of the machine.
async fn threads(State(app): State<AppState>) -> Result<Json<Value>, HttpFailure> {
    let machines = seen(&gateway(&app)?).await?;
    let rows = machines.iter().flat_map(|machine| machine.summary.threads.iter().map(|row| row_of(machine, row)));
    Ok(Json(rows.collect()))
}

fn row_of(machine: &MachineSnapshot, row: &Value) -> Value {
    let mut row = row.clone();
    if let Value::Object(row) = &mut row {
        row.insert("machine".to_owned(), json!(machine.name.as_str()));
        row.insert("connected".to_owned(), json!(machine.is_connected));
    }
    row
}

/// The gateway of this server.
///
/// # Errors
/// `NotFound` if this server is not a gateway.
pub(crate) fn gateway(app: &AppState) -> Result<Arc<MachineGateway>, HttpFailure> {
    app.gateway().cloned().ok_or_else(|| {
        HttpFailure::not_found("this server is not a gateway")
            .hint("start it with --gateway, and connect machines to it")
    })
}

/// The first pages of all machines; of those that are not connected or take too long, the last one, unless the query filters.
pub(crate) async fn inboxes(
    app: &AppState,
    gateway: &Arc<MachineGateway>,
    query: &ThreadListQuery,
    since: u64,
) -> Result<Vec<MachineInbox>, HttpFailure> {
    let path = format!("{}{}", inbox::PATH, inbox::query(query, since));
    let is_filter = query.is_filter();
    let asked = gateway.all().await?.into_iter().map(|machine| {
        let (asking, name, path) = (gateway.clone(), machine.name.clone(), path.clone());
        let (app, here) = (app.clone(), app.clone());
        // A slow machine answers later, in the background, and its page is kept for the next time.
        let answer = tokio::spawn(async move {
            let asked = inbox::of_machine(&app, &asking, &name, &path);
            let inbox = tokio::time::timeout(PATIENCE, asked).await.ok().flatten()?;
            if !is_filter {
                app.memory().keep_inbox(name.as_str(), inbox.clone());
            }
            Some(inbox)
        });
        async move {
            let current = tokio::time::timeout(GLANCE, answer).await.ok().and_then(Result::ok).flatten();
            let is_current = current.is_some();
            let inbox = current.or_else(|| here.memory().last_inbox(machine.name.as_str()).filter(|_| !is_filter));
            MachineInbox { machine: machine.name, inbox, is_current }
        }
    });
    Ok(join_all(asked).await)
}

/// The results of a search on all machines; `None` from a machine that is not connected or takes too long.
pub(crate) async fn searches(
    app: &AppState,
    gateway: &Arc<MachineGateway>,
    text: &str,
    is_long: bool,
) -> Result<Vec<(MachineName, Option<DrawnSearch>)>, HttpFailure> {
    let path = search::path(text, is_long);
    let patience = if is_long { SEARCH } else { PATIENCE };
    ask_all(gateway, patience, |asking, name| {
        let (app, path) = (app.clone(), path.clone());
        async move { search::on_machine(&app, &asking, &name, &path).await }
    })
    .await
}

/// The costs of all machines; `None` for a machine that is not connected or takes too long.
pub(crate) async fn costs(
    gateway: &Arc<MachineGateway>,
    period: (&str, &str),
    zone: &str,
    by: CostBy,
) -> Result<Vec<(MachineName, Option<MachineCosts>)>, HttpFailure> {
    let path = costs::path(period, zone, by);
    ask_all(gateway, PATIENCE, |asking, name| {
        let path = path.clone();
        async move { asking::data(&asking, &name, &path).await }
    })
    .await
}

/// A workflow of a machine.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct MachineWorkflow {
    /// Its name; it may be any text.
    pub(crate) name: String,
}

/// The workflows of all machines; `None` for a machine that is not connected or takes too long.
pub(crate) async fn workflows(
    gateway: &Arc<MachineGateway>,
) -> Result<Vec<(MachineName, Option<Vec<MachineWorkflow>>)>, HttpFailure> {
    let ask = |asking: Arc<MachineGateway>, name| async move { asking::data(&asking, &name, "/api/workflows").await };
    ask_all(gateway, PATIENCE, ask).await
}

/// Asks all machines at once, and waits for each at most this long.
async fn ask_all<T, F: Future<Output = Option<T>>>(
    gateway: &Arc<MachineGateway>,
    patience: Duration,
    ask: impl Fn(Arc<MachineGateway>, MachineName) -> F,
) -> Result<Vec<(MachineName, Option<T>)>, HttpFailure> {
    let asked = gateway.all().await?.into_iter().map(|machine| {
        let answer = tokio::time::timeout(patience, ask(gateway.clone(), machine.name.clone()));
        async move { (machine.name, answer.await.ok().flatten()) }
    });
    Ok(join_all(asked).await)
}

/// All machines; connected machines with their current data.
pub(crate) async fn seen(gateway: &Arc<MachineGateway>) -> Result<Vec<MachineSnapshot>, HttpFailure> {
    let connected = gateway.names().into_iter().filter(|(_, is_connected)| *is_connected);
    let asked: Vec<_> = connected.map(|(name, _)| tokio::spawn(refreshed(gateway.clone(), name))).collect();
    // Slower machines answer later, in the background.
    let _ = tokio::time::timeout(PATIENCE, join_all(asked)).await;
    gateway.all().await
}

/// Asks a machine for the state of its threads. If it does not answer, its last answer stays.
pub(super) async fn refreshed(gateway: Arc<MachineGateway>, name: MachineName) {
    if let Ok(Some(summary)) = tokio::time::timeout(PATIENCE, asked(&gateway, &name)).await {
        gateway.keep(&name, summary);
    }
}

async fn asked(gateway: &MachineGateway, name: &MachineName) -> Option<MachineSummary> {
    asking::data(gateway, name, summary::PATH).await
}

/// A machine's events about its list of threads: one for each change.
pub(super) async fn events(gateway: &MachineGateway, name: &MachineName) -> Option<Body> {
    answered(gateway, name, "/api/events", "text/event-stream").await
}
