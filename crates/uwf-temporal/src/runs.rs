//! Threads on Temporal, as commands see them: begin one, follow it, tell it what happened.

use std::time::{Duration, Instant, SystemTime};

use temporalio_client::errors::{WorkflowGetResultError, WorkflowInteractionError, WorkflowStartError};
use temporalio_client::{
    Client, WorkflowDescribeOptions, WorkflowExecutionDescription, WorkflowExecutionStatus, WorkflowGetResultOptions,
    WorkflowHandle, WorkflowIdConflictPolicy, WorkflowIdReusePolicy, WorkflowSignalOptions, WorkflowStartOptions,
    WorkflowTerminateOptions,
};

use temporalio_common::data_converters::RawValue;
use temporalio_common::protos::temporal::api::enums::v1::{PendingActivityState, PendingWorkflowTaskState};

use crate::address::Engine;
use crate::error::{EngineError, Fault};
use crate::failing;
use crate::messages::{Begin, Call, Ended, LOOK_AGAIN, STEPS_PER_RUN, Standing};
use crate::threads::{CALLS, STANDING, ThreadWorkflow};

/// How often a thread is looked at while it is followed.
const BETWEEN_LOOKS: Duration = Duration::from_millis(500);

/// From which try on somebody who follows a thread is told why none does.
const IN_VAIN: i32 = 5;

/// How long Temporal may be unreachable for a follower of a thread. The thread continues meanwhile.
const PATIENCE: Duration = Duration::from_mins(2);

/// A thread to run.
#[derive(Debug, Clone)]
pub struct Run {
    /// Its id.
    pub thread: String,
    /// Steps until the workflow continues as a new run; `None` is 1,000.
    pub steps_per_run: Option<u32>,
    /// How long it is left alone at first when it stands still; `None` is 5 minutes.
    pub look_again: Option<Duration>,
}

/// A thread that runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Running {
    /// Whether it did not run before.
    pub is_new: bool,
    /// Calls it had stood still in spite of when it was told to continue. What it says with this number is the past.
    past: Option<u32>,
}

/// How it continues with a thread that is followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// It continues.
    Running {
        /// For how long no worker has taken what there is to do: a step, or to think about the thread.
        untaken: Option<Duration>,
        /// Why it is tried again and again, if it is.
        in_vain: Option<String>,
        /// Why its workflow task fails, if it fails. Then it continues only with a newer worker.
        failing: Option<String>,
    },
    /// It needs a person to continue.
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
    /// Starts the workflow of a thread, or lets the one that runs continue.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn run(&self, run: &Run) -> Result<Running, EngineError> {
        let Run { thread, steps_per_run, look_again } = run;
        let begin = Begin {
            thread: thread.clone(),
            steps_per_run: steps_per_run.unwrap_or(STEPS_PER_RUN),
            look_again: look_again.map_or(LOOK_AGAIN, |quiet| quiet.as_secs()),
            paused: false,
            calls: 0,
            standing: None,
        };
        let options = WorkflowStartOptions::new(self.task_queue.clone(), workflow_id(thread))
            .id_reuse_policy(WorkflowIdReusePolicy::AllowDuplicate)
            .id_conflict_policy(WorkflowIdConflictPolicy::Fail)
            .build();
        match self.runtime.block_on(self.client.start_workflow(ThreadWorkflow::run, begin, options)) {
            Ok(_) => Ok(Running { is_new: true, past: None }),
            Err(WorkflowStartError::AlreadyStarted { .. }) => {
                let past = self.runtime.block_on(calls(&self.workflow(thread)));
                let past = past.map_err(|error| EngineError::of_interaction(&self.address, error))?;
                self.call(thread, Call::Resume)?;
                Ok(Running { is_new: false, past })
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
            let (nothing, options) = (RawValue::new(Vec::new()), WorkflowSignalOptions::default());
            match call {
                Call::Answer => workflow.signal(ThreadWorkflow::answer, nothing, options).await,
                Call::Resume => workflow.signal(ThreadWorkflow::resume, nothing, options).await,
                Call::Pause => workflow.signal(ThreadWorkflow::pause, nothing, options).await,
                Call::Kill => workflow.terminate(killed()).await,
            }
        });
        match done {
            Ok(()) => Ok(true),
            Err(WorkflowInteractionError::NotFound(_)) => Ok(false),
            Err(error) => Err(EngineError::of_interaction(&self.address, error)),
        }
    }

    /// How a thread stands on Temporal now, or since it was told to continue; waits a moment first. Temporal may be away for two minutes.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn progress(&self, thread: &str, running: &Running) -> Result<Progress, EngineError> {
        std::thread::sleep(BETWEEN_LOOKS);
        let begun = Instant::now();
        loop {
            match self.runtime.block_on(progress(&self.workflow(thread), running.past)) {
                Ok(progress) => return Ok(progress),
                Err(error) => {
                    let error = EngineError::of_interaction(&self.address, error);
                    if error.fault != Fault::Unreachable || begun.elapsed() > PATIENCE {
                        return Err(error);
                    }
                    std::thread::sleep(BETWEEN_LOOKS);
                }
            }
        }
    }

    /// Why Temporal cannot continue a thread: the reason for which its workflow task fails. `None` if the task does not fail, or the thread
    /// does not run there.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn failure(&self, thread: &str) -> Result<Option<String>, EngineError> {
        let looked = self.runtime.block_on(async {
            let workflow = self.workflow(thread);
            let described = workflow.describe(WorkflowDescribeOptions::default()).await?;
            failing::failure(workflow.client(), &described).await
        });
        match looked {
            Err(WorkflowInteractionError::NotFound(_)) => Ok(None),
            looked => looked.map_err(|error| EngineError::of_interaction(&self.address, error)),
        }
    }

    fn workflow(&self, thread: &str) -> WorkflowHandle<Client, ThreadWorkflow> {
        self.client.get_workflow_handle(workflow_id(thread))
    }
}

/// A cancellation would wait for a worker that can run the workflow. A killed thread needs neither: Temporal ends the workflow at once, and
/// the worker of a running step ends its agent when it hears that.
fn killed() -> WorkflowTerminateOptions {
    WorkflowTerminateOptions::builder().reason("the thread was killed".to_owned()).build()
}

/// The calls in spite of which a thread stood still last; `None` when it never did.
async fn calls(workflow: &WorkflowHandle<Client, ThreadWorkflow>) -> Result<Option<u32>, WorkflowInteractionError> {
    Ok(workflow.describe(WorkflowDescribeOptions::default()).await?.memo().get::<u32>(CALLS)?)
}

async fn progress(
    workflow: &WorkflowHandle<Client, ThreadWorkflow>,
    past: Option<u32>,
) -> Result<Progress, WorkflowInteractionError> {
    let described = workflow.describe(WorkflowDescribeOptions::default()).await?;
    match described.status() {
        WorkflowExecutionStatus::Running => {
            let memo = described.memo();
            let is_past = past.is_some() && memo.get::<u32>(CALLS)? == past;
            let standing = memo.get::<Option<Standing>>(STANDING)?.flatten().filter(|_| !is_past);
            match standing {
                Some(standing) => Ok(Progress::Stopped(standing)),
                None => Ok(running(&described, failing::failure(workflow.client(), &described).await?)),
            }
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
        _ => Ok(Progress::Running { untaken: None, in_vain: None, failing: None }),
    }
}

fn running(described: &WorkflowExecutionDescription, failing: Option<String>) -> Progress {
    let raw = described.raw();
    let steps = raw.pending_activities.iter().filter(|activity| activity.state() == PendingActivityState::Scheduled);
    let steps = steps.filter_map(|activity| activity.scheduled_time);
    let thinking = raw.pending_workflow_task.iter().filter(|task| task.state() == PendingWorkflowTaskState::Scheduled);
    // One that a worker lets lapse is scheduled again; what counts is the first time.
    let thinking = thinking.filter_map(|task| task.original_scheduled_time.or(task.scheduled_time));
    // Between two tries of a step the time lies ahead.
    let since = steps.chain(thinking).filter_map(|time| SystemTime::try_from(time).ok()?.elapsed().ok()).max();
    let mut in_vain = raw.pending_activities.iter().filter(|activity| activity.attempt >= IN_VAIN);
    let in_vain = in_vain.find_map(|activity| Some(activity.last_failure.as_ref()?.message.clone()));
    // Between two attempts of a task that fails no worker has it, either.
    let untaken = since.filter(|_| failing.is_none());
    Progress::Running { untaken, in_vain, failing }
}
