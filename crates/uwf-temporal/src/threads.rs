//! The workflow of a thread: one step after the other, until it has ended.

use std::time::Duration;

use temporalio_client::RetryPolicy;
use temporalio_common::data_converters::RawValue;
use temporalio_common::error::ActivityExecutionError;
use temporalio_common::protos::temporal::api::enums::v1::TimeoutType;
use temporalio_common::protos::temporal::api::failure::v1::failure::FailureInfo;
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{
    ActivityCancellationType, ActivityOptions, ContinueAsNewOptions, MemoValue, SyncWorkflowContext, TimerOptions,
    WorkflowCancellationToken, WorkflowContext, WorkflowContextView, WorkflowResult, workflows,
};

use crate::messages::{Begin, Ended, Position, Standing};
use crate::queue_of;
use crate::steps::Steps;

/// How long Temporal waits for news of a step before it gives it to another worker.
const SILENCE: Duration = Duration::from_secs(10);

/// Temporal wants a limit of each activity. Those of steps are uwf's: `timeout` of the agent and the others.
const LONGEST_STEP: Duration = Duration::from_hours(24 * 365);

/// How long looking at a thread may take.
pub(crate) const LONGEST_LOOK: Duration = Duration::from_mins(2);

/// A step waits for a worker that has its agent for this many times as long as a thread that stands still is left alone at first: half an
/// hour. Then somebody looks which agent plays the role now.
const UNTAKEN: u32 = 6;

/// Longest time between two looks at a stopped thread. Resuming it signals the workflow, unless that machine can't reach Temporal or doesn't
/// know it.
const LONGEST_QUIET: Duration = Duration::from_hours(1);

/// Longest time between two tries.
const LONGEST_PAUSE: Duration = Duration::from_secs(15);

/// Where in the memo of a workflow it says why its thread stands still.
pub(crate) const STANDING: &str = "standing";

/// How many calls the thread stands still in spite of: what the memo says of earlier ones is the past.
pub(crate) const CALLS: &str = "calls";

/// Steps a thread.
#[workflow]
pub(crate) struct ThreadWorkflow {
    begin: Begin,
    is_paused: bool,
    /// How often it was resumed.
    calls: u32,
}

#[workflow_methods]
impl ThreadWorkflow {
    #[init]
    fn new(_ctx: &WorkflowContextView, begin: Begin) -> Self {
        Self { is_paused: begin.paused, calls: begin.calls, begin }
    }

    #[run(name = "uwf.thread")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>) -> WorkflowResult<Ended> {
        let Begin { thread, steps_per_run, look_again, standing, mut calls, .. } = ctx.state(|this| this.begin.clone());
        let first_quiet = Duration::from_secs(look_again);
        let (mut steps, mut quiet) = (0, first_quiet);
        let mut standing = standing.unwrap_or(Standing::Unseen);
        loop {
            let is_called = ctx.state(|this| this.calls) != calls;
            if steps >= steps_per_run && may_continue(&standing, is_called) {
                let (paused, calls) = ctx.state(|this| (this.is_paused, this.calls));
                let next = Begin { thread, steps_per_run, look_again, paused, calls, standing: Some(standing) };
                ctx.continue_as_new(next, ContinueAsNewOptions::default())?;
                unreachable!("a run that continues as another one has ended");
            }
            steps += 1;
            match &standing {
                Standing::Ready { head, role, .. } if ctx.state(|this| this.is_paused) => {
                    let calls = ctx.state(|this| this.calls);
                    tell(ctx, &thread, &paused(head, role.clone()), calls)?;
                    until_called(ctx, |this| !this.is_paused, &mut quiet).await?;
                    // It may have been resumed without a signal. If not, the step reports that.
                    standing = look(ctx, &thread).await?;
                    ctx.state_mut(|this| this.is_paused = false);
                }
                Standing::Ready { head, role, agent } => {
                    tell(ctx, &thread, &standing, calls)?;
                    calls = ctx.state(|this| this.calls);
                    quiet = first_quiet;
                    let at = Position { thread: thread.clone(), head: head.clone() };
                    let doing = doing(ctx, &thread, role.as_deref(), agent.as_deref(), first_quiet * UNTAKEN);
                    standing = match ctx.execute_activity(Steps::step, at, doing).await {
                        Err(error) if is_untaken(&error) => Standing::Unseen,
                        done => done?,
                    };
                }
                Standing::Unseen => standing = look(ctx, &thread).await?,
                Standing::Stopped { .. } => {
                    // A call that came while the step ended counts, too, and its caller is not to take this for the outcome.
                    if ctx.state(|this| this.calls) == calls {
                        tell(ctx, &thread, &standing, calls)?;
                    }
                    let is_called = until_called(ctx, |this| this.calls > calls, &mut quiet).await?;
                    calls = ctx.state(|this| this.calls);
                    let seen = look(ctx, &thread).await?;
                    if is_called || !is_same_failure(&standing, &seen) {
                        standing = seen;
                    }
                }
                Standing::Ended(ended) => {
                    tell(ctx, &thread, &standing, calls)?;
                    return Ok(ended.clone());
                }
            }
        }
    }

    // People also send signals with Temporal's own command and pages, with any payload. The SDK fails the workflow task, now and at each
    // replay, if a payload does not have the type of the argument. So the type is `RawValue`, which takes everything.

    /// A person answered, raised a limit, or repaired something. The payload is ignored.
    #[signal]
    pub(crate) fn answer(&mut self, _ctx: &mut SyncWorkflowContext<Self>, _ignored: RawValue) {
        self.calls += 1;
    }

    /// The thread continues. The payload is ignored.
    #[signal]
    pub(crate) fn resume(&mut self, _ctx: &mut SyncWorkflowContext<Self>, _ignored: RawValue) {
        self.calls += 1;
        self.is_paused = false;
    }

    /// No further step begins. The payload is ignored.
    #[signal]
    pub(crate) fn pause(&mut self, _ctx: &mut SyncWorkflowContext<Self>, _ignored: RawValue) {
        self.is_paused = true;
    }
}

/// Lets people and commands see where the thread stands. What stands still is in the memo, which is read without a worker; a thread
/// that continues would write an event for each step.
fn tell(ctx: &WorkflowContext<ThreadWorkflow>, thread: &str, standing: &Standing, calls: u32) -> WorkflowResult<()> {
    ctx.set_current_details(standing.in_words(thread));
    let was_told = ctx.memo().contains_key(STANDING);
    match standing {
        Standing::Stopped { .. } => {
            let standing = MemoValue::new(standing.clone());
            ctx.upsert_memo([(STANDING, Some(standing)), (CALLS, Some(MemoValue::new(calls)))])?;
        }
        Standing::Ready { .. } | Standing::Unseen | Standing::Ended(_) if was_told => {
            ctx.upsert_memo([(STANDING, None)])?;
        }
        Standing::Ready { .. } | Standing::Unseen | Standing::Ended(_) => {}
    }
    Ok(())
}

fn paused(head: &str, role: Option<String>) -> Standing {
    Standing::Stopped { head: Some(head.to_owned()), state: "paused".to_owned(), exit_code: 20, role }
}

/// Whether a run may end here, and another one continue. An unread signal would get lost.
fn may_continue(standing: &Standing, is_called: bool) -> bool {
    match standing {
        Standing::Ready { .. } | Standing::Unseen => true,
        Standing::Stopped { .. } => !is_called,
        Standing::Ended(_) => false,
    }
}

/// Waits for a call, but not for ever: the longer nothing happens, the longer. Says whether there was one.
async fn until_called(
    ctx: &WorkflowContext<ThreadWorkflow>,
    is_called: impl Fn(&ThreadWorkflow) -> bool,
    quiet: &mut Duration,
) -> WorkflowResult<bool> {
    let called = ctx.wait_condition(|this| is_called(this));
    let long_enough = ctx.timer(kept_timer(*quiet));
    futures_util::pin_mut!(called, long_enough);
    workflows::select! {
        called = called => {
            called?;
            Ok(true)
        }
        _ = long_enough => {
            *quiet = (*quiet * 2).min(LONGEST_QUIET);
            Ok(false)
        }
    }
}

/// A timer that a cancellation of the workflow leaves alone. The SDK forgets a timer that it cancels, and panics if history says later in the
/// same activation that this timer fired. That happens whenever no worker runs between the cancellation and the firing. A timer with its own
/// token is known until it fires, even if no code waits for it any longer, or until its workflow ends.
fn kept_timer(duration: Duration) -> TimerOptions {
    TimerOptions::builder(duration).cancellation_token(WorkflowCancellationToken::new()).build()
}

/// Whether a thread stands still where an agent failed, and still stands there. Trying that again costs, so somebody has to say so. What
/// waits, has a limit or finds no worker costs nothing to try.
fn is_same_failure(standing: &Standing, seen: &Standing) -> bool {
    match (standing, seen) {
        (Standing::Stopped { exit_code: 20 | 30 | 69 | 78, .. }, _) => false,
        (Standing::Stopped { head: Some(before), .. }, Standing::Ready { head, .. }) => before == head,
        (Standing::Stopped { head: None, .. }, Standing::Ready { .. }) => true,
        _ => false,
    }
}

/// Whether no worker has taken a step. It was for those that have an agent, which may be another one by now.
fn is_untaken(error: &ActivityExecutionError) -> bool {
    let cause = error.failure().and_then(|failure| failure.cause.as_ref());
    let info = cause.and_then(|cause| cause.failure_info.as_ref());
    matches!(info, Some(FailureInfo::TimeoutFailureInfo(info)) if info.timeout_type() == TimeoutType::ScheduleToStart)
}

async fn look(ctx: &WorkflowContext<ThreadWorkflow>, thread: &str) -> WorkflowResult<Standing> {
    let looking = ActivityOptions::with_start_to_close_timeout(LONGEST_LOOK).retry_policy(again()).build();
    Ok(ctx.execute_activity(Steps::look, thread.to_owned(), looking).await?)
}

/// How a step is to be done: by a worker that has its agent, and with the id of the thread, so that its page is found by that.
fn doing(
    ctx: &WorkflowContext<ThreadWorkflow>,
    thread: &str,
    role: Option<&str>,
    agent: Option<&str>,
    untaken: Duration,
) -> ActivityOptions {
    let summary = [role, agent].into_iter().flatten().collect::<Vec<_>>().join(" by ");
    ActivityOptions::with_start_to_close_timeout(LONGEST_STEP)
        .activity_id(thread)
        .task_queue(queue_of(ctx.task_queue(), agent))
        .schedule_to_start_timeout(untaken)
        .heartbeat_timeout(SILENCE)
        .cancellation_type(ActivityCancellationType::WaitCancellationCompleted)
        .retry_policy(again())
        .summary(summary)
        .build()
}

pub(crate) fn again() -> RetryPolicy {
    RetryPolicy::builder().initial_interval(Duration::from_secs(1)).maximum_interval(LONGEST_PAUSE).build()
}
