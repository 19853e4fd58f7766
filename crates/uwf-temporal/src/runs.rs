//! Threads on Temporal, as commands see them: begin one, follow it, tell it what happened.

use std::time::{Duration, Instant, SystemTime};

use temporalio_client::errors::{WorkflowGetResultError, WorkflowInteractionError};
use temporalio_client::{
    Client, WorkflowCancelOptions, WorkflowDescribeOptions, WorkflowExecutionDescription, WorkflowExecutionStatus,
    WorkflowGetResultOptions, WorkflowHandle, WorkflowIdConflictPolicy, WorkflowIdReusePolicy, WorkflowSignalOptions,
    WorkflowStartOptions,
};

use temporalio_common::protos::temporal::api::enums::v1::PendingActivityState;

use crate::address::Engine;
use crate::error::{EngineError, Fault};
use crate::messages::{Begin, Call, Ended, STEPS_PER_RUN, Standing};
use crate::threads::{STANDING, ThreadWorkflow};

/// How often a thread is looked at while it is followed.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// How long Temporal may be away from somebody who follows a thread, which goes on meanwhile.
const PATIENCE: Duration = Duration::from_mins(2);

/// A thread to run.
#[derive(Debug, Clone)]
pub struct Run {
    /// Its id.
    pub thread: String,
    /// Steps until the workflow continues as a new run; `None` is 1,000.
    pub steps_per_run: Option<u32>,
}

/// How it goes on with a thread that is followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// It goes on. For a step that no worker has taken, since when.
    Running {
        /// How long nobody has taken the step, or thought about the thread.
        untaken: Option<Duration>,
    },
    /// It does not go on until somebody does something.
    Stopped(Standing),
    /// It has ended.
    Ended(Ended),
    /// Its workflow was cancelled or terminated; the thread stands where it stood.
    Abandoned(String),
}

/// The id of a thread's workflow: so there is one at most.
pub(crate) fn workflow_id(thread: &str) -> String {
    format!("uwf-{thread}")
}

impl Engine {
    /// Starts the workflow of a thread, or lets the one that runs go on. Says whether it is new.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn run(&self, run: &Run) -> Result<bool, EngineError> {
        let Run { thread, steps_per_run } = run;
        let begin = Begin {
            thread: thread.clone(),
            steps_per_run: steps_per_run.unwrap_or(STEPS_PER_RUN),
            paused: false,
            standing: None,
        };
        let options = WorkflowStartOptions::new(self.task_queue.clone(), workflow_id(thread))
            .id_reuse_policy(WorkflowIdReusePolicy::AllowDuplicate)
            .id_conflict_policy(WorkflowIdConflictPolicy::Fail)
            .build();
        match self.runtime.block_on(self.client.start_workflow(ThreadWorkflow::run, begin, options)) {
            Ok(_) => Ok(true),
            Err(temporalio_client::errors::WorkflowStartError::AlreadyStarted { .. }) => {
                self.call(thread, Call::Resume)?;
                Ok(false)
            }
            Err(error) => Err(EngineError::of_start(&self.address, error)),
        }
    }

    /// Tells the workflow of a thread what somebody did. Says whether there is one that runs.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn call(&self, thread: &str, call: Call) -> Result<bool, EngineError> {
        let workflow = self.workflow(thread);
        let done = self.runtime.block_on(async {
            let options = WorkflowSignalOptions::default();
            match call {
                Call::Answer => workflow.signal(ThreadWorkflow::answer, (), options).await,
                Call::Resume => workflow.signal(ThreadWorkflow::resume, (), options).await,
                Call::Pause => workflow.signal(ThreadWorkflow::pause, (), options).await,
                Call::Kill => workflow.cancel(WorkflowCancelOptions::default()).await,
            }
        });
        match done {
            Ok(()) => Ok(true),
            Err(WorkflowInteractionError::NotFound(_)) => Ok(false),
            Err(error) => Err(EngineError::of_interaction(&self.address, error)),
        }
    }

    /// How a thread stands on Temporal now; waits a moment while nothing has changed. Temporal may be away for two minutes.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn progress(&self, thread: &str) -> Result<Progress, EngineError> {
        std::thread::sleep(LOOK_AGAIN);
        let begun = Instant::now();
        loop {
            match self.runtime.block_on(progress(&self.workflow(thread))) {
                Ok(progress) => return Ok(progress),
                Err(error) => {
                    let error = EngineError::of_interaction(&self.address, error);
                    if error.fault != Fault::Unreachable || begun.elapsed() > PATIENCE {
                        return Err(error);
                    }
                    std::thread::sleep(LOOK_AGAIN);
                }
            }
        }
    }

    fn workflow(&self, thread: &str) -> WorkflowHandle<Client, ThreadWorkflow> {
        self.client.get_workflow_handle(workflow_id(thread))
    }
}

async fn progress(workflow: &WorkflowHandle<Client, ThreadWorkflow>) -> Result<Progress, WorkflowInteractionError> {
    let described = workflow.describe(WorkflowDescribeOptions::default()).await?;
    match described.status() {
        WorkflowExecutionStatus::Running => {
            let standing = described.memo().get::<Option<Standing>>(STANDING)?;
            Ok(standing.flatten().map_or_else(|| running(&described), Progress::Stopped))
        }
        WorkflowExecutionStatus::Completed => match workflow.get_result(WorkflowGetResultOptions::default()).await {
            Ok(ended) => Ok(Progress::Ended(ended)),
            Err(WorkflowGetResultError::Rpc(status)) => Err(WorkflowInteractionError::Rpc(status)),
            Err(error) => Ok(Progress::Abandoned(error.to_string())),
        },
        WorkflowExecutionStatus::Failed | WorkflowExecutionStatus::TimedOut => {
            Ok(Progress::Abandoned("it failed; Temporal says why".to_owned()))
        }
        WorkflowExecutionStatus::Terminated => Ok(Progress::Abandoned("it was terminated".to_owned())),
        WorkflowExecutionStatus::Canceled => Ok(Progress::Abandoned("it was cancelled".to_owned())),
        // The next one is found by the same id.
        _ => Ok(Progress::Running { untaken: None }),
    }
}

fn running(described: &WorkflowExecutionDescription) -> Progress {
    let pending = described.raw().pending_activities.iter();
    let untaken =
        pending.filter(|activity| activity.state() == PendingActivityState::Scheduled && activity.attempt <= 1);
    let scheduled = untaken.filter_map(|activity| SystemTime::try_from(activity.scheduled_time?).ok()).min();
    // Before any worker thought about it, there are its start and a task.
    let since = scheduled.or_else(|| described.start_time().filter(|_| described.history_length() <= 2));
    Progress::Running { untaken: since.and_then(|since| since.elapsed().ok()) }
}
