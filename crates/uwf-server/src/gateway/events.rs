//! `GET /api/gateway/events`: that the list of threads changed, the gateway's own or that of a machine, or who is connected.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;

use super::lists;
use crate::app::App;
use crate::failure::Failure;
use crate::machines::Gateway;

/// Where it is.
pub(crate) const PATH: &str = "/api/gateway/events";

/// Time between two questions to the machines. Each lists its threads for that, so it is longer than between two looks at the
/// gateway's own list.
const PACE: Duration = Duration::from_secs(1);

pub(super) fn routes() -> Router<App> {
    Router::new().route(PATH, get(events))
}

async fn events(State(app): State<App>) -> Result<Response, Failure> {
    let gateway = lists::gateway(&app)?;
    let (changes, is_first) = gateway.listen();
    if is_first {
        tokio::spawn(follow(gateway));
    }
    app.watch().list_and(changes).await
}

/// Asks the machines what their threads do until nobody listens. What differs is announced where it is kept.
async fn follow(gateway: Arc<Gateway>) {
    while gateway.is_listened() {
        // A frozen machine does not hold up the others. If the tokens cannot be read, the pages say so.
        let _ = lists::glanced(&gateway).await;
        tokio::time::sleep(PACE).await;
    }
}
