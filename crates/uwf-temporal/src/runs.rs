//! Threads on Temporal, for commands: start one, follow it, notify it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime};

use temporalio_client::errors::{WorkflowGetResultError, WorkflowInteractionError, WorkflowStartError};
use temporalio_client::{
    Client, WorkflowDescribeOptions, WorkflowExecutionDescription, WorkflowExecutionStatus, WorkflowGetResultOptions,
    WorkflowHandle, WorkflowIdConflictPolicy, WorkflowIdReusePolicy, WorkflowSignalOptions, WorkflowStartOptions,
    WorkflowTerminateOptions,
};

use temporalio_common::data_converters::RawValue;
use temporalio_common::protos::temporal::api::enums::v1::{PendingActivityState, PendingWorkflowTaskState};

use crate::address::TemporalConnection;
use crate::error::{EngineError, TemporalFault};
use crate::failing;
use crate::messages::{
    LOOK_AGAIN, STEPS_PER_RUN, TemporalAction, TemporalThreadEnd, TemporalThreadState, ThreadWorkflowInput,
};
use crate::threads::{CALLS, STANDING, ThreadWorkflow};
use crate::tries::HeartbeatDetails;

/// How often a followed thread is checked.
const BETWEEN_LOOKS: Duration = Duration::from_millis(500);

/// Attempt from which a follower is shown why the attempts fail.
const IN_VAIN: i32 = 5;

/// How long Temporal may be unreachable while a thread is followed. The thread continues meanwhile.
const PATIENCE: Duration = Duration::from_mins(2);

/// A thread to run.
#[derive(Debug, Clone)]
pub struct TemporalRunRequest {
    /// Its id.
    pub thread: String,
    /// Steps before the workflow continues as a new run; `None` is 1,000.
    pub steps_per_run: Option<u32>,
    /// Time until the first look at the thread when it is stopped; `None` is 5 minutes.
    pub look_again: Option<Duration>,
}

/// A running thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TemporalRunHandle {
    /// Whether this call started it.
    pub is_new: bool,
    /// The `calls` of the last stop that was reported before the thread was resumed. A reported stop with this number is out of date.
    pub(crate) past: Option<u32>,
}

/// Progress of a followed thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TemporalRunProgress {
    /// The thread continues.
    Running {
        /// How long no worker has taken the next activity or workflow task.
        untaken: Option<Duration>,
        /// The last failure, if an activity is retried again and again.
        in_vain: Option<String>,
        /// Why its workflow task fails, if it does. Then the thread continues only with a newer worker.
        failing: Option<String>,
        /// Branches of a running group that cannot continue for now, by thread, with the reason.
        delayed: BTreeMap<String, String>,
    },
    /// It needs a person to continue.
    Stopped(TemporalThreadState),
    /// It has ended.
    Ended(TemporalThreadEnd),
    /// Its workflow was cancelled or terminated; the thread's state is unchanged.
    Abandoned(String),
}

/// The id of a thread's workflow. There can be only one workflow with this id.
pub(crate) fn workflow_id(thread: &str) -> String {
    format!("uwf-{thread}")
}

impl TemporalConnection {
    /// Starts the workflow of a thread, or resumes the running one.
    pub fn run(&self, run: &TemporalRunRequest) -> Result<TemporalRunHandle, EngineError> {
        let thread = &run.thread;
        match self.runtime.block_on(start(&self.client, &self.task_queue, run)) {
            Ok(()) => Ok(TemporalRunHandle { is_new: true, past: None }),
            Err(WorkflowStartError::AlreadyStarted { .. }) => {
                let past = self.runtime.block_on(calls(&self.workflow(thread)));
                let past = past.map_err(|error| EngineError::of_interaction(&self.address, error))?;
                self.call(thread, TemporalAction::Resume)?;
                Ok(TemporalRunHandle { is_new: false, past })
            }
            Err(error) => Err(EngineError::of_start(&self.address, error)),
        }
    }

    /// Notifies the workflow of a thread about a person's action. Returns whether a workflow is running.
    pub fn call(&self, thread: &str, call: TemporalAction) -> Result<bool, EngineError> {
        let workflow = self.workflow(thread);
        let done = self.runtime.block_on(async {
            let (nothing, options) = (RawValue::new(Vec::new()), WorkflowSignalOptions::default());
            match call {
                TemporalAction::Answer => workflow.signal(ThreadWorkflow::answer, nothing, options).await,
                TemporalAction::Resume => workflow.signal(ThreadWorkflow::resume, nothing, options).await,
                TemporalAction::Pause => workflow.signal(ThreadWorkflow::pause, nothing, options).await,
                TemporalAction::Kill => workflow.terminate(killed()).await,
            }
        });
        match done {
            Ok(()) => Ok(true),
            Err(WorkflowInteractionError::NotFound(_)) => Ok(false),
            Err(error) => Err(EngineError::of_interaction(&self.address, error)),
        }
    }

    /// Returns the progress of a thread on Temporal since it was started or resumed. Waits half a second first, and retries for two minutes
    /// if Temporal is unreachable.
    pub fn progress(&self, thread: &str, running: &TemporalRunHandle) -> Result<TemporalRunProgress, EngineError> {
        std::thread::sleep(BETWEEN_LOOKS);
        let begun = Instant::now();
        loop {
            match self.runtime.block_on(progress(&self.workflow(thread), running.past)) {
                Ok(progress) => return Ok(progress),
                Err(error) => {
                    let error = EngineError::of_interaction(&self.address, error);
                    if error.fault != TemporalFault::Unreachable || begun.elapsed() > PATIENCE {
                        return Err(error);
                    }
                    std::thread::sleep(BETWEEN_LOOKS);
                }
            }
        }
    }

    /// Returns why Temporal can't continue a thread: the failure of its workflow task. `None` if the task does not fail, or if the thread
    /// does not run on Temporal.
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

/// Starts the workflow of a thread.
pub(crate) async fn start(
    client: &Client,
    task_queue: &str,
    run: &TemporalRunRequest,
) -> Result<(), WorkflowStartError> {
    let TemporalRunRequest { thread, steps_per_run, look_again } = run;
    let begin = ThreadWorkflowInput {
        thread: thread.clone(),
        steps_per_run: steps_per_run.unwrap_or(STEPS_PER_RUN),
        look_again: look_again.map_or(LOOK_AGAIN, |quiet| quiet.as_secs()),
        paused: false,
        calls: 0,
        standing: None,
    };
    let options = WorkflowStartOptions::new(task_queue, workflow_id(thread))
        .id_reuse_policy(WorkflowIdReusePolicy::AllowDuplicate)
        .id_conflict_policy(WorkflowIdConflictPolicy::Fail)
        .build();
    client.start_workflow(ThreadWorkflow::run, begin, options).await.map(drop)
}

/// Starts the workflow of a thread. If it runs already and is stopped, lets it look at the thread again.
pub(crate) async fn start_or_wake(
    client: &Client,
    task_queue: &str,
    run: &TemporalRunRequest,
) -> Result<TemporalRunHandle, WorkflowStartError> {
    match start(client, task_queue, run).await {
        Err(WorkflowStartError::AlreadyStarted { .. }) => {}
        started => return started.map(|()| TemporalRunHandle { is_new: true, past: None }),
    }
    let workflow: WorkflowHandle<Client, ThreadWorkflow> = client.get_workflow_handle(workflow_id(&run.thread));
    let past = stop_in_memo(&workflow).await.unwrap_or_default();
    // A workflow at work needs no signal: after a failure, it would take the signal for a request to try again.
    if past.is_some() {
        let nothing = RawValue::new(Vec::new());
        // If the workflow has ended meanwhile, the progress says so.
        let _ = workflow.signal(ThreadWorkflow::answer, nothing, WorkflowSignalOptions::default()).await;
    }
    Ok(TemporalRunHandle { is_new: false, past })
}

/// The `calls` of the stop that a workflow is at; `None` if it is at work.
async fn stop_in_memo(
    workflow: &WorkflowHandle<Client, ThreadWorkflow>,
) -> Result<Option<u32>, WorkflowInteractionError> {
    let described = workflow.describe(WorkflowDescribeOptions::default()).await?;
    let is_stopped = described.memo().get::<Option<TemporalThreadState>>(STANDING)?.flatten().is_some();
    if is_stopped { Ok(described.memo().get::<u32>(CALLS)?) } else { Ok(None) }
}

/// Terminates the workflow, because a cancellation would wait for a worker that can run it. Temporal ends the workflow at once, and the
/// worker of a running step then ends the agent.
fn killed() -> WorkflowTerminateOptions {
    WorkflowTerminateOptions::builder().reason("the thread was killed".to_owned()).build()
}

/// The `calls` of the last reported stop; `None` if the thread was never stopped.
async fn calls(workflow: &WorkflowHandle<Client, ThreadWorkflow>) -> Result<Option<u32>, WorkflowInteractionError> {
    Ok(workflow.describe(WorkflowDescribeOptions::default()).await?.memo().get::<u32>(CALLS)?)
}

pub(crate) async fn progress(
    workflow: &WorkflowHandle<Client, ThreadWorkflow>,
    past: Option<u32>,
) -> Result<TemporalRunProgress, WorkflowInteractionError> {
    let described = workflow.describe(WorkflowDescribeOptions::default()).await?;
    match described.status() {
        WorkflowExecutionStatus::Running => {
            let memo = described.memo();
            let is_past = past.is_some() && memo.get::<u32>(CALLS)? == past;
            let standing = memo.get::<Option<TemporalThreadState>>(STANDING)?.flatten().filter(|_| !is_past);
            match standing {
                Some(standing) => Ok(TemporalRunProgress::Stopped(standing)),
                None => Ok(running(&described, failing::failure(workflow.client(), &described).await?)),
            }
        }
        WorkflowExecutionStatus::Completed => match workflow.get_result(WorkflowGetResultOptions::default()).await {
            Ok(ended) => Ok(TemporalRunProgress::Ended(ended)),
            Err(WorkflowGetResultError::Rpc(status)) => Err(WorkflowInteractionError::Rpc(status)),
            Err(error) => Ok(TemporalRunProgress::Abandoned(error.to_string())),
        },
        WorkflowExecutionStatus::Failed | WorkflowExecutionStatus::TimedOut => {
            Ok(TemporalRunProgress::Abandoned("it failed; see Temporal for the reason".to_owned()))
        }
        WorkflowExecutionStatus::Terminated => Ok(TemporalRunProgress::Abandoned("it was terminated".to_owned())),
        WorkflowExecutionStatus::Canceled => Ok(TemporalRunProgress::Abandoned("it was cancelled".to_owned())),
        // The next run has the same id.
        _ => Ok(TemporalRunProgress::Running { untaken: None, in_vain: None, failing: None, delayed: BTreeMap::new() }),
    }
}

fn running(described: &WorkflowExecutionDescription, failing: Option<String>) -> TemporalRunProgress {
    let raw = described.raw();
    let steps = raw.pending_activities.iter().filter(|activity| activity.state() == PendingActivityState::Scheduled);
    let steps = steps.filter_map(|activity| activity.scheduled_time);
    let thinking = raw.pending_workflow_task.iter().filter(|task| task.state() == PendingWorkflowTaskState::Scheduled);
    // A task that times out on a worker is scheduled again; count from the first time.
    let thinking = thinking.filter_map(|task| task.original_scheduled_time.or(task.scheduled_time));
    // Between two attempts of a step, the scheduled time is in the future.
    let since = steps.chain(thinking).filter_map(|time| SystemTime::try_from(time).ok()?.elapsed().ok()).max();
    let mut in_vain = raw.pending_activities.iter().filter(|activity| activity.attempt >= IN_VAIN);
    let in_vain = in_vain.find_map(|activity| Some(activity.last_failure.as_ref()?.message.clone()));
    // Between two attempts of a failing task, no worker has it either.
    let untaken = since.filter(|_| failing.is_none());
    let details =
        raw.pending_activities.iter().filter_map(|activity| activity.heartbeat_details.as_ref()?.payloads.first());
    let delayed = details.filter_map(|payload| serde_json::from_slice::<HeartbeatDetails>(&payload.data).ok());
    let delayed = delayed.flat_map(|details| details.delayed).collect();
    TemporalRunProgress::Running { untaken, in_vain, failing, delayed }
}
