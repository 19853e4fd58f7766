//! The activities. A step is a process: `uwf thread step`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use temporalio_client::WorkflowDescribeOptions;
use temporalio_common::UntypedWorkflow;
use temporalio_common::protos::temporal::api::enums::v1::{PendingActivityState, WorkflowExecutionStatus};
use temporalio_macros::activities;
use temporalio_sdk::ApplicationFailure;
use temporalio_sdk::activities::{ActivityContext, ActivityError};
use tokio::sync::{Semaphore, watch};

use crate::address::identity;
use crate::handed_over::{BranchStarter, HandedOverBranches};
use crate::messages::{StepActivityInput, TemporalThreadEnd, TemporalThreadState, name};
use crate::tries::WorkerFailures;
use crate::uwf::{UwfProgram, UwfRun};

/// How often a running step sends a heartbeat to Temporal, and checks whether it was cancelled.
pub(crate) const HEARTBEAT: Duration = Duration::from_secs(2);

/// Delay before a step is retried when this worker already runs its maximum of agents.
const TAKEN: Duration = Duration::from_secs(1);

/// Delay before an activity is retried that this worker can't do, so that others can take it.
const ELSEWHERE: Duration = Duration::from_secs(1);

/// A thread from another machine works in this worker's directory. A thread that this machine knows works in its former directory.
const HERE: [&str; 2] = ["--cwd-if-unknown", "."];

/// Program of the agent that is a person.
const PERSON: &str = "uwf-human";

/// Stages of a worker's shutdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WorkerPhase {
    /// It takes new steps.
    Working,
    /// It takes no new steps, and lets the running ones finish.
    Draining,
    /// It ends the running steps, so that other workers take them.
    HandingOver,
}

/// A thread to start.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ForkActivityInput {
    /// Its start node, shared with other threads.
    pub(crate) start: String,
    /// Its id.
    pub(crate) thread: String,
}

/// Data shared by a worker's activities.
#[derive(Clone)]
pub(crate) struct StepActivities {
    pub(crate) uwf: UwfProgram,
    /// One permit for each agent that may run at the same time.
    pub(crate) places: Arc<Semaphore>,
    pub(crate) phase: watch::Receiver<WorkerPhase>,
    /// The task queue of groups.
    pub(crate) group_queue: String,
    /// Lets all workers play the branches of groups.
    pub(crate) starter: Arc<dyn BranchStarter>,
    /// Prints a line for the person who watches the worker.
    pub(crate) say: Arc<dyn Fn(&str) + Send + Sync>,
}

/// Why a step was ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StepStopReason {
    /// Its workflow was cancelled or has ended.
    Unwanted,
    /// The worker is ending.
    HandOver,
}

/// Result of a look at a thread.
enum ThreadLook {
    Standing(TemporalThreadState),
    /// This machine can't read the thread's state: the report and the exit code, 69 or 78.
    NotHere(UwfRun, u8),
}

#[activities]
impl StepActivities {
    /// Reads a thread's state without running a step.
    #[activity(name = "uwf.look")]
    pub(crate) async fn read_thread_state(
        self: Arc<Self>,
        ctx: ActivityContext,
        thread: String,
    ) -> Result<TemporalThreadState, ActivityError> {
        match self.seen(&thread).await? {
            ThreadLook::Standing(standing) => Ok(standing),
            ThreadLook::NotHere(ran, code) => self.not_here(&ctx, &thread, &ran, code).await,
        }
    }

    /// Starts a thread from another thread's start node.
    #[activity(name = "uwf.fork")]
    pub(crate) async fn fork(
        self: Arc<Self>,
        _ctx: ActivityContext,
        forking: ForkActivityInput,
    ) -> Result<(), ActivityError> {
        let ForkActivityInput { start, thread } = &forking;
        let args = ["thread", "fork", start, "--id", thread];
        let ran = self.uwf(thread, &args, std::future::pending()).await?;
        (self.say)(&match ran.code {
            Some(0) => format!("thread {thread}: started by a schedule"),
            _ => format!("thread {thread} cannot be started: {}", ran.message()),
        });
        match ran.code {
            Some(0) => Ok(()),
            code => Err(later(&format!("the thread cannot be started (exit code {})", code.unwrap_or_default()), None)),
        }
    }

    /// Runs a step. A moved head is not a failure: another process did the step, maybe an earlier attempt of this activity.
    #[activity(name = "uwf.step")]
    pub(crate) async fn step(
        self: Arc<Self>,
        ctx: ActivityContext,
        at: StepActivityInput,
    ) -> Result<TemporalThreadState, ActivityError> {
        let StepActivityInput { thread, head } = &at;
        let branches = self.handed_over_branches(&ctx, thread)?;
        // A group only waits for its branches, which take places where they run.
        let place = match branches {
            Some(_) => None,
            None => Some(self.places.try_acquire()),
        };
        if matches!(place, Some(Err(_))) {
            return Err(later("this worker runs as many steps as it may", Some(TAKEN)));
        }
        (self.say)(&format!("thread {thread}: step after {head}"));
        let mut heartbeats = std::pin::pin!(heartbeats(&ctx, branches.as_ref()));
        let mut stop = None;
        let mut args = vec!["thread", "step", thread, "--expect-head", head, HERE[0], HERE[1]];
        if let Some(dir) = branches.as_ref().and_then(|branches| branches.dir().to_str()) {
            args.extend(["--branches-to", dir]);
        }
        let ran = {
            let ended = async { stop = Some(self.stopped(&ctx).await) };
            let running = self.uwf(thread, &args, ended);
            let served = async {
                match &branches {
                    Some(branches) => branches.serve().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                ran = running => ran?,
                () = &mut heartbeats => unreachable!("heartbeats do not end"),
                () = served => unreachable!("branches are served until the group ends"),
            }
        };
        if let (Some(StepStopReason::Unwanted), Some(branches)) = (stop, &branches) {
            branches.cancel().await;
        }
        let outcome = self.outcome(&ctx, &at, &ran);
        match (stop, ran.code) {
            (Some(StepStopReason::Unwanted), _) => {
                (self.say)(&format!("thread {thread}: ended, as asked"));
                Err(ActivityError::cancelled())
            }
            (Some(StepStopReason::HandOver), code) if code != Some(0) => {
                (self.say)(&format!("thread {thread}: handed over"));
                Err(later("the worker ended, and hands the step over", None))
            }
            // Keep sending heartbeats, because finding the next role also takes time.
            _ => tokio::select! {
                biased;
                outcome = outcome => outcome,
                () = heartbeats => unreachable!("heartbeats do not end"),
            },
        }
    }
}

impl StepActivities {
    /// Runs the command. If it can't be run, this machine is at fault, so print the error here.
    async fn uwf(&self, thread: &str, args: &[&str], ended: impl Future<Output = ()>) -> Result<UwfRun, ActivityError> {
        self.uwf.run(args, ended).await.map_err(|error| {
            let (program, cwd) = (self.uwf.program.display(), self.uwf.cwd.display());
            (self.say)(&format!("thread {thread}: cannot run {program} in {cwd}: {error}"));
            later(&format!("uwf cannot be run: {}", error.kind()), Some(ELSEWHERE))
        })
    }

    /// The branches of a group, if this step plays one.
    fn handed_over_branches(
        &self,
        ctx: &ActivityContext,
        thread: &str,
    ) -> Result<Option<HandedOverBranches>, ActivityError> {
        if ctx.info().task_queue != self.group_queue {
            return Ok(None);
        }
        let branches = HandedOverBranches::new(Arc::clone(&self.starter), Arc::clone(&self.say)).map_err(|error| {
            (self.say)(&format!("thread {thread}: cannot create a directory for its branches: {error}"));
            later("the worker cannot create a directory", Some(ELSEWHERE))
        })?;
        Ok(Some(branches))
    }

    /// Waits until the step must be ended.
    async fn stopped(&self, ctx: &ActivityContext) -> StepStopReason {
        let mut phase = self.phase.clone();
        let handed_over = async {
            if phase.wait_for(|phase| *phase == WorkerPhase::HandingOver).await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        let unwanted = async {
            ctx.cancelled().await;
            // Temporal also reports a cancellation when heartbeats were late. Then let the step continue, because it costs money. A retry
            // on any machine finds that the step is running, or that the head has moved.
            while !is_unwanted(ctx).await.unwrap_or(false) {
                tokio::time::sleep(HEARTBEAT).await;
            }
        };
        tokio::select! {
            () = handed_over => StepStopReason::HandOver,
            () = unwanted => StepStopReason::Unwanted,
        }
    }

    async fn outcome(
        &self,
        ctx: &ActivityContext,
        at: &StepActivityInput,
        ran: &UwfRun,
    ) -> Result<TemporalThreadState, ActivityError> {
        let StepActivityInput { thread, head } = at;
        let code = ran.code.unwrap_or_default();
        if !matches!(ran.code, Some(0 | 11 | 78)) {
            (self.say)(&format!("thread {thread}: {}", ran.message()));
        }
        match ran.code {
            // `thread kill` ends the workflow. If another machine killed the thread without Temporal, the next try finds its end.
            Some(11) if ran.report["outcome"] == "killed" => Err(later("the step was ended on its machine", None)),
            // Exit code 11 if its outcome is not `succeeded`.
            Some(0 | 11) if ran.report["done"] == true => Ok(ended(thread, ran, "reason")),
            // Only other machines may know the next agent.
            Some(0) => Ok(match self.seen(thread).await? {
                ThreadLook::Standing(standing) => standing,
                ThreadLook::NotHere(..) => TemporalThreadState::Unseen,
            }),
            Some(69 | 74 | 75) => match self.seen(thread).await? {
                ThreadLook::Standing(TemporalThreadState::Ready { head: now, .. }) if now == *head => match code {
                    69 => self.not_here(ctx, thread, ran, code).await,
                    75 => Err(later("another process is running this step", None)),
                    _ => Err(later("files or the store fail", None)),
                },
                ThreadLook::Standing(moved) => Ok(moved),
                ThreadLook::NotHere(ran, code) => self.not_here(ctx, thread, &ran, code).await,
            },
            Some(78) => self.not_here(ctx, thread, ran, 78).await,
            Some(130 | 143) | None => Err(later("the step was ended on its machine", None)),
            Some(code) => Ok(stopped(ran, code)),
        }
    }

    /// Reads a thread's state with a dry run of its next step.
    async fn seen(&self, thread: &str) -> Result<ThreadLook, ActivityError> {
        let look = ["thread", "step", thread, "--dry-run", "--branches-to", ".", HERE[0], HERE[1]];
        let ran = self.uwf(thread, &look, std::future::pending()).await?;
        match ran.code {
            Some(0) => {
                let agent = agent_of(&ran).filter(|_| !is_person(&ran)).and_then(|agent| name(&agent));
                let head = ran.text("head").unwrap_or_default();
                Ok(ThreadLook::Standing(TemporalThreadState::Ready { head, role: ran.text("role"), agent }))
            }
            Some(69) => {
                let shown = self.uwf(thread, &["thread", "show", thread], std::future::pending()).await?;
                Ok(match shown.code {
                    Some(0) if shown.report["done"] == true => ThreadLook::Standing(ended(thread, &shown, "state")),
                    _ => ThreadLook::NotHere(ran, 69),
                })
            }
            Some(78) => Ok(ThreadLook::NotHere(ran, 78)),
            Some(74 | 75) | None => {
                (self.say)(&format!("thread {thread} cannot be stepped here now: {}", ran.message()));
                Err(later("the worker cannot step the thread now; see its log", None))
            }
            Some(code) => Ok(ThreadLook::Standing(stopped(&ran, code))),
        }
    }

    /// This machine's configuration or store is unsuitable, or its store does not have the thread. One such worker must not stop a thread
    /// that others can continue, so let them try first.
    async fn not_here(
        &self,
        ctx: &ActivityContext,
        thread: &str,
        ran: &UwfRun,
        exit_code: u8,
    ) -> Result<TemporalThreadState, ActivityError> {
        let tries = WorkerFailures::before(ctx).and(identity());
        tries.keep(ctx, BTreeMap::new()).await;
        let is_final = tries.are_enough();
        let next = if is_final { "it stands still" } else { "left to another worker" };
        (self.say)(&format!("thread {thread}: {}; {next}", ran.message()));
        match is_final {
            true => {
                let state = if exit_code == 78 { "config" } else { "not-found" };
                Ok(TemporalThreadState::Stopped {
                    head: ran.text("head"),
                    state: state.to_owned(),
                    exit_code,
                    role: role(ran),
                })
            }
            false => {
                Err(later("the configuration or the store of this worker's machine is not usable", Some(ELSEWHERE)))
            }
        }
    }
}

/// Sends heartbeats for as long as the step runs.
async fn heartbeats(ctx: &ActivityContext, branches: Option<&HandedOverBranches>) {
    let tries = WorkerFailures::before(ctx);
    loop {
        tries.keep(ctx, branches.map(HandedOverBranches::delayed).unwrap_or_default()).await;
        tokio::time::sleep(HEARTBEAT).await;
    }
}

/// Whether the workflow no longer wants the step. `None` if Temporal can't be asked now.
async fn is_unwanted(ctx: &ActivityContext) -> Option<bool> {
    let workflow = ctx.workflow_handle::<UntypedWorkflow>()?;
    let described = workflow.describe(WorkflowDescribeOptions::default()).await.ok()?;
    if described.raw().workflow_execution_info.as_ref()?.status() != WorkflowExecutionStatus::Running {
        return Some(true);
    }
    let id = &ctx.info().activity_id;
    let pending = described.raw().pending_activities.iter().find(|activity| activity.activity_id == *id);
    Some(pending.is_some_and(|activity| activity.state() == PendingActivityState::CancelRequested))
}

fn ended(thread: &str, ran: &UwfRun, reason: &str) -> TemporalThreadState {
    let reason = ran.text(reason).unwrap_or_else(|| "completed".to_owned());
    TemporalThreadState::Ended(TemporalThreadEnd {
        thread: thread.to_owned(),
        head: ran.text("head").unwrap_or_default(),
        reason,
    })
}

/// Whether a person plays the next role. Then any worker can ask the question.
fn is_person(ran: &UwfRun) -> bool {
    ran.report["command"][0].as_str().is_some_and(|command| command.rsplit('/').next() == Some(PERSON))
}

/// The agent of a next step by its name in the configuration. Any worker may run a command that has no name there, such as the command of
/// a role.
fn agent_of(ran: &UwfRun) -> Option<String> {
    let is_program =
        |agent: &String| ran.report["command"].as_array().is_some_and(|words| words.len() == 1 && words[0] == **agent);
    ran.text("alias").or_else(|| ran.text("agent").filter(is_program))
}

/// The state of a thread that does not continue. Questions and messages stay in the store: only states and role names are sent.
fn stopped(ran: &UwfRun, exit_code: u8) -> TemporalThreadState {
    let kind = ran.report["error"]["kind"].as_str().unwrap_or("failed");
    let state = match ran.report["state"].as_str() {
        Some(state @ ("waiting" | "paused" | "limited" | "stuck")) => state,
        _ => kind,
    };
    TemporalThreadState::Stopped { head: ran.text("head"), state: state.to_owned(), exit_code, role: role(ran) }
}

fn role(ran: &UwfRun) -> Option<String> {
    ran.text("atRole").as_deref().and_then(name)
}

/// A failure that Temporal retries.
fn later(why: &str, delay: Option<Duration>) -> ActivityError {
    let failure = ApplicationFailure::builder(why.to_owned()).maybe_next_retry_delay(delay).build();
    ActivityError::application(failure)
}
