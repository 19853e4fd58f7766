//! `run` in a request: the thread runs after the change.

use std::time::Duration;

use json_cas::NodeHash;
use serde_json::{Value, json};
use uwf_core::thread::{MAX_GENERATIONS, ThreadId};
use uwf_engine::root::home::Home;
use uwf_engine::thread::state::ThreadState;
use uwf_engine::views::show;

use super::yes_or_no::yes_or_no;
use crate::app::AppState;
use crate::changes::{self, ChangeCommand, ChangeOutcome};
use crate::failure::HttpFailure;
use crate::fields::RequestFields;

/// The field.
pub(crate) const RUN: &str = "run";

/// How long a request waits for the run: long enough to see that it is rejected. It continues by itself.
const WAIT: Duration = Duration::from_millis(800);

/// Actions after which a thread can run.
const ACTIONS: [&str; 6] = ["answer", "take", "retry", "limit", "resume", "fork"];

/// Whether an action takes the field.
pub(super) fn is_possible(action: &str) -> bool {
    ACTIONS.contains(&action)
}

/// Whether the thread should run after the action.
///
/// # Errors
/// 400 if the field is neither true nor false.
pub(super) fn is_asked(action: &str, fields: &RequestFields) -> Result<bool, HttpFailure> {
    Ok(is_possible(action) && yes_or_no(fields, RUN)?.unwrap_or(false))
}

/// Makes a change and then runs the thread, unless the change fails or ends the thread. For a branch or a child thread, the thread that plays
/// it runs. Its report has the report of the run as `run`. With `agent`, that agent plays the next role for the rest of the thread, not only
/// in this attempt. A change that takes longer than `wait` continues by itself, and so does the run after it.
pub(super) async fn change_and_run(
    app: &AppState,
    change: ChangeCommand,
    thread: ThreadId,
    agent: Option<String>,
    wait: Option<Duration>,
) -> Result<ChangeOutcome, HttpFailure> {
    let own = app.clone();
    // A task of its own, because a request ends when its client disconnects.
    let work = tokio::spawn(async move {
        let of_thread = thread.clone();
        let bound = own.read(move |home| Ok(agent.and_then(|agent| binding(home, &of_thread, &agent)))).await?;
        let done = changes::run(&own, ChangeCommand { wait: None, ..change }).await?;
        let ChangeOutcome::Reported(0, mut report) = done else { return Ok(done) };
        // A fork reports the new thread.
        let changed = report["thread"].as_str().and_then(|id| id.parse().ok()).unwrap_or_else(|| thread.clone());
        let next = own.read(move |home| Ok(to_run(home, &changed))).await?;
        if let Some(next) = next {
            // Another thread that runs has roles of its own.
            let bound = bound.filter(|_| next == thread);
            let command =
                bound.into_iter().fold(ChangeCommand::new(["run"]), |run, bound| run.option("--agent", bound));
            report[RUN] = begin_run(&own, command, &next).await;
        }
        Ok(ChangeOutcome::Reported(0, report))
    });
    let failed = |error| HttpFailure::internal(format!("cannot run uwf: {error}"));
    match wait {
        None => work.await.map_err(failed)?,
        Some(wait) => match tokio::time::timeout(wait, work).await {
            Ok(done) => done.map_err(failed)?,
            Err(_) => Ok(ChangeOutcome::GoesOn),
        },
    }
}

/// The thread to run after a change of `thread`: the outermost one that plays it, unless that is running. `None` if nothing is left to run.
fn to_run(home: &Home, thread: &ThreadId) -> Option<ThreadId> {
    let changed = show::show(home, thread).ok()?;
    let mut top = changed.clone();
    for _ in 0..MAX_GENERATIONS {
        let parent = top.parent_thread.as_ref().filter(|_| top.left_by.is_none());
        let above = parent.and_then(|parent| show::show(home, parent).ok()).filter(|above| !above.done);
        let Some(above) = above else { break };
        top = above;
    }
    let chosen = if top.state == ThreadState::Running { changed } else { top };
    (!chosen.done).then_some(chosen.thread)
}

/// The next role of a thread with an agent, as `ROLE=AGENT`.
fn binding(home: &Home, thread: &ThreadId, agent: &str) -> Option<String> {
    Some(format!("{}={agent}", show::show(home, thread).ok()?.at_role?))
}

/// Runs a thread, like [`begin`]. With `expected`, nothing happens unless this is the thread's head.
pub(super) async fn run(app: &AppState, thread: &ThreadId, expected: Option<NodeHash>) -> Value {
    let mut run = ChangeCommand::new(["run"]);
    if let Some(head) = expected {
        run = run.option("--expect-head", head);
    }
    begin_run(app, run, thread).await
}

/// Begins this run of a thread.
async fn begin_run(app: &AppState, mut run: ChangeCommand, thread: &ThreadId) -> Value {
    run.line.extend(["--".to_owned(), thread.to_string()]);
    begin(app, run).await
}

/// Begins a run. Returns its report, or why it did not begin, or null if it continues.
pub(crate) async fn begin(app: &AppState, run: ChangeCommand) -> Value {
    match changes::run(app, run.waits(WAIT)).await {
        Ok(ChangeOutcome::Reported(_, report)) => report,
        Ok(ChangeOutcome::GoesOn) => Value::Null,
        // The thread's page shows the problem.
        Err(failure) => json!({ "error": { "message": failure.message, "hints": failure.hints } }),
    }
}
