//! Continues the threads of hooks whose runs ended with an earlier server or with the machine. A run that still lives is not repeated: the
//! new one is started only for the attempt that waits.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::json;
use uwf_engine::verbs::hook::waiting::{self, WaitingRun};

use super::run_thread;
use crate::app::AppState;

/// Time between two looks at the threads that wait.
const LOOK: Duration = Duration::from_secs(1);

/// Time before another try, if the threads can't be read.
const AGAIN: Duration = Duration::from_secs(30);

/// How much later than a run that still lives this server continues a thread.
const LATER: Duration = Duration::from_secs(1);

/// Watches the threads that wait now, until each has continued.
pub(crate) async fn watch(app: AppState) {
    // A shared store may be away while the server starts.
    let mut waiting = loop {
        match app.read(|home| Ok(waiting::waiting_runs(home)?)).await {
            Ok(waiting) => break waiting,
            Err(_) => tokio::time::sleep(AGAIN).await,
        }
    };
    while !waiting.is_empty() {
        let looked = app.read(move |home| {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().saturating_sub(LATER);
            let now = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
            Ok(waiting.into_iter().partition::<Vec<WaitingRun>, _>(|run| run.is_over(home, now)))
        });
        let Ok((over, rest)) = looked.await else { return };
        waiting = rest;
        for run in over {
            let app = app.clone();
            tokio::spawn(async move {
                let expected = json!({ "thread": run.thread, "expectHead": run.head, "expectAttempt": run.attempt });
                run_thread(&app, &expected).await
            });
        }
        tokio::time::sleep(LOOK).await;
    }
}
