//! The workflow of a thread: runs one step after another until the thread has ended.

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

use crate::messages::{StepActivityInput, TemporalThreadEnd, TemporalThreadState, ThreadWorkflowInput};
use crate::queue_of;
use crate::steps::StepActivities;

/// How long Temporal waits for a step's heartbeat before it gives the step to another worker.
const SILENCE: Duration = Duration::from_secs(10);

/// Temporal requires a limit for each activity. For steps, uwf's own limits apply: the agent's `timeout` and the others.
const LONGEST_STEP: Duration = Duration::from_hours(24 * 365);

/// How long a look at a thread may take.
pub(crate) const LONGEST_LOOK: Duration = Duration::from_mins(2);

/// Multiple of `look_again` that a step waits for a worker with its agent: half an hour by default. Then a look finds out which agent plays
/// the role now.
const UNTAKEN: u32 = 6;

/// Longest time between two looks at a stopped thread. Resuming it signals the workflow, unless that machine can't reach Temporal or
/// doesn't know it.
const LONGEST_QUIET: Duration = Duration::from_hours(1);

/// Longest time between two attempts.
const LONGEST_PAUSE: Duration = Duration::from_secs(15);

/// Memo key for the reason why the workflow's thread is stopped.
pub(crate) const STANDING: &str = "standing";

/// Memo key for the number of calls that the stop takes into account. If it is still the number from before a call, the stop is out of
/// date.
pub(crate) const CALLS: &str = "calls";

/// Runs a thread step by step.
#[workflow]
pub(crate) struct ThreadWorkflow {
    begin: ThreadWorkflowInput,
    is_paused: bool,
    /// Number of calls so far.
    calls: u32,
}

#[workflow_methods]
impl ThreadWorkflow {
    #[init]
    fn new(_ctx: &WorkflowContextView, begin: ThreadWorkflowInput) -> Self {
        Self { is_paused: begin.paused, calls: begin.calls, begin }
    }

    #[run(name = "uwf.thread")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>) -> WorkflowResult<TemporalThreadEnd> {
        let ThreadWorkflowInput { thread, steps_per_run, look_again, standing, mut calls, .. } =
            ctx.state(|this| this.begin.clone());
        let first_quiet = Duration::from_secs(look_again);
        let (mut steps, mut quiet) = (0, first_quiet);
        let mut standing = standing.unwrap_or(TemporalThreadState::Unseen);
        loop {
            let is_called = ctx.state(|this| this.calls) != calls;
            if steps >= steps_per_run && may_continue(&standing, is_called) {
                let (paused, calls) = ctx.state(|this| (this.is_paused, this.calls));
                let next =
                    ThreadWorkflowInput { thread, steps_per_run, look_again, paused, calls, standing: Some(standing) };
                ctx.continue_as_new(next, ContinueAsNewOptions::default())?;
                unreachable!("a run that continues as another one has ended");
            }
            steps += 1;
            match &standing {
                TemporalThreadState::Ready { head, role, .. } if ctx.state(|this| this.is_paused) => {
                    let calls = ctx.state(|this| this.calls);
                    publish_state(ctx, &thread, &paused(head, role.clone()), calls)?;
                    until_called(ctx, |this| !this.is_paused, &mut quiet).await?;
                    // The thread may have been resumed without a signal. If not, the next step reports the pause.
                    standing = fetch_thread_state(ctx, &thread).await?;
                    ctx.state_mut(|this| this.is_paused = false);
                }
                TemporalThreadState::Ready { head, role, agent } => {
                    publish_state(ctx, &thread, &standing, calls)?;
                    calls = ctx.state(|this| this.calls);
                    quiet = first_quiet;
                    let at = StepActivityInput { thread: thread.clone(), head: head.clone() };
                    let doing = doing(ctx, &thread, role.as_deref(), agent.as_deref(), first_quiet * UNTAKEN);
                    standing = match ctx.execute_activity(StepActivities::step, at, doing).await {
                        Err(error) if is_untaken(&error) => TemporalThreadState::Unseen,
                        done => done?,
                    };
                }
                TemporalThreadState::Unseen => standing = fetch_thread_state(ctx, &thread).await?,
                TemporalThreadState::Stopped { .. } => {
                    // A call that arrived while the step ended counts as well, and its caller must not take this stop for the outcome of
                    // the call.
                    if ctx.state(|this| this.calls) == calls {
                        publish_state(ctx, &thread, &standing, calls)?;
                    }
                    let is_called = until_called(ctx, |this| this.calls > calls, &mut quiet).await?;
                    calls = ctx.state(|this| this.calls);
                    let seen = fetch_thread_state(ctx, &thread).await?;
                    if is_called || !is_same_failure(&standing, &seen) {
                        standing = seen;
                    }
                }
                TemporalThreadState::Ended(ended) => {
                    publish_state(ctx, &thread, &standing, calls)?;
                    return Ok(ended.clone());
                }
            }
        }
    }

    // People can also send signals from Temporal's own command and pages, with any payload. If a payload does not match the argument's
    // type, the SDK fails the workflow task, now and at each replay. So the type is `RawValue`, which accepts everything.

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

/// Publishes the thread's state for people and commands. A stop goes into the memo, which can be read without a worker. A running thread
/// does not, because it would write an event for each step.
fn publish_state(
    ctx: &WorkflowContext<ThreadWorkflow>,
    thread: &str,
    standing: &TemporalThreadState,
    calls: u32,
) -> WorkflowResult<()> {
    ctx.set_current_details(standing.in_words(thread));
    let was_told = ctx.memo().contains_key(STANDING);
    match standing {
        TemporalThreadState::Stopped { .. } => {
            let standing = MemoValue::new(standing.clone());
            ctx.upsert_memo([(STANDING, Some(standing)), (CALLS, Some(MemoValue::new(calls)))])?;
        }
        TemporalThreadState::Ready { .. } | TemporalThreadState::Unseen | TemporalThreadState::Ended(_) if was_told => {
            ctx.upsert_memo([(STANDING, None)])?;
        }
        TemporalThreadState::Ready { .. } | TemporalThreadState::Unseen | TemporalThreadState::Ended(_) => {}
    }
    Ok(())
}

fn paused(head: &str, role: Option<String>) -> TemporalThreadState {
    TemporalThreadState::Stopped { head: Some(head.to_owned()), state: "paused".to_owned(), exit_code: 20, role }
}

/// Whether the run may end here and continue as a new one. If a signal was not handled yet, it would get lost.
fn may_continue(standing: &TemporalThreadState, is_called: bool) -> bool {
    match standing {
        TemporalThreadState::Ready { .. } | TemporalThreadState::Unseen => true,
        TemporalThreadState::Stopped { .. } => !is_called,
        TemporalThreadState::Ended(_) => false,
    }
}

/// Waits for a call, up to a time limit that doubles while nothing happens. Returns whether a call came.
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

/// A timer that survives a cancellation of the workflow. The SDK forgets a timer that it cancels, and panics if the history in the same
/// activation says later that the timer fired. That happens whenever no worker runs between the cancellation and the firing. A timer with
/// its own token stays known until it fires or the workflow ends, even if no code waits for it any longer.
fn kept_timer(duration: Duration) -> TimerOptions {
    TimerOptions::builder(duration).cancellation_token(WorkflowCancellationToken::new()).build()
}

/// Whether a thread is stopped at the same failure of an agent as before. A retry costs money, so a person must request it. A thread that
/// waits, is limited or has no worker can be retried free of charge.
fn is_same_failure(standing: &TemporalThreadState, seen: &TemporalThreadState) -> bool {
    match (standing, seen) {
        (TemporalThreadState::Stopped { exit_code: 20 | 30 | 69 | 78, .. }, _) => false,
        (TemporalThreadState::Stopped { head: Some(before), .. }, TemporalThreadState::Ready { head, .. }) => {
            before == head
        }
        (TemporalThreadState::Stopped { head: None, .. }, TemporalThreadState::Ready { .. }) => true,
        _ => false,
    }
}

/// Whether no worker took a step. Its queue is for one agent, and by now the role may have another one.
fn is_untaken(error: &ActivityExecutionError) -> bool {
    let cause = error.failure().and_then(|failure| failure.cause.as_ref());
    let info = cause.and_then(|cause| cause.failure_info.as_ref());
    matches!(info, Some(FailureInfo::TimeoutFailureInfo(info)) if info.timeout_type() == TimeoutType::ScheduleToStart)
}

async fn fetch_thread_state(
    ctx: &WorkflowContext<ThreadWorkflow>,
    thread: &str,
) -> WorkflowResult<TemporalThreadState> {
    let looking = ActivityOptions::with_start_to_close_timeout(LONGEST_LOOK).retry_policy(again()).build();
    Ok(ctx.execute_activity(StepActivities::read_thread_state, thread.to_owned(), looking).await?)
}

/// Options for a step: only a worker with its agent takes it, and its id is the thread's id, which names its page.
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
