//! Workflows of the branches of a group: each branch gets its own, so that any worker can take its steps.

use std::time::Duration;

use async_trait::async_trait;
use temporalio_client::{Client, WorkflowCancelOptions, WorkflowHandle};
use uwf_call::handover::HandoverNews;

use crate::handed_over::BranchStarter;
use crate::messages::{TemporalThreadState, stopped_in_words};
use crate::runs::{self, TemporalRunHandle, TemporalRunProgress, TemporalRunRequest, workflow_id};
use crate::threads::ThreadWorkflow;

/// Time between two looks at the workflow of a branch.
const LOOK: Duration = Duration::from_secs(1);

/// How long a step of a branch may wait for a worker before the group reports it.
const UNTAKEN: Duration = Duration::from_secs(10);

/// Exit code of a branch whose workflow no longer runs: another process may continue with its thread.
const BUSY: u8 = 75;

/// Starts the workflows of branches on a server.
pub(crate) struct TemporalBranchStarter {
    pub(crate) client: Client,
    pub(crate) task_queue: String,
}

impl TemporalBranchStarter {
    fn workflow(&self, thread: &str) -> WorkflowHandle<Client, ThreadWorkflow> {
        self.client.get_workflow_handle(workflow_id(thread))
    }
}

#[async_trait]
impl BranchStarter for TemporalBranchStarter {
    async fn follow(&self, thread: &str, delayed: &(dyn Fn(Option<String>) + Send + Sync)) -> HandoverNews {
        let mut reported = None;
        let mut report = |why: Option<String>| {
            if why != reported {
                delayed(why.clone());
                reported = why;
            }
        };
        let run = TemporalRunRequest { thread: thread.to_owned(), steps_per_run: None, look_again: None };
        let handle: TemporalRunHandle = loop {
            match runs::start_or_wake(&self.client, &self.task_queue, &run).await {
                Ok(handle) => break handle,
                Err(error) => report(Some(format!("Temporal does not start its workflow: {error}"))),
            }
            tokio::time::sleep(LOOK).await;
        };
        loop {
            tokio::time::sleep(LOOK).await;
            // While Temporal is unreachable, its steps continue.
            let Ok(progress) = runs::progress(&self.workflow(thread), handle.past).await else { continue };
            match progress {
                TemporalRunProgress::Running { untaken, in_vain, failing, delayed } => {
                    let is_untaken = untaken.is_some_and(|waited| waited > UNTAKEN);
                    let untaken = is_untaken.then(|| "no worker that has its agent has taken it for 10 s".to_owned());
                    // It may be a group itself.
                    let within =
                        delayed.into_iter().next().map(|(thread, why)| format!("thread {thread}, a branch: {why}"));
                    report(failing.or(in_vain).or(untaken).or(within));
                }
                TemporalRunProgress::Stopped(TemporalThreadState::Stopped { state, exit_code, role, .. }) => {
                    return HandoverNews::Stopped { exit_code, why: stopped_in_words(&state, role.as_deref()) };
                }
                TemporalRunProgress::Stopped(_) => {}
                TemporalRunProgress::Ended(_) => return HandoverNews::Ended,
                TemporalRunProgress::Abandoned(why) => {
                    let why = format!("Temporal no longer runs its thread: {why}");
                    return HandoverNews::Stopped { exit_code: BUSY, why };
                }
            }
        }
    }

    async fn cancel(&self, thread: &str) {
        let options = WorkflowCancelOptions::builder().reason("its group was ended".to_owned()).build();
        // It may have ended.
        let _ = self.workflow(thread).cancel(options).await;
    }
}
