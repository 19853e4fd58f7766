//! The workflow of a thread: one step after the other, until it has ended.

use std::time::Duration;

use temporalio_client::RetryPolicy;
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{
    ActivityCancellationType, ActivityOptions, ContinueAsNewOptions, MemoValue, SyncWorkflowContext, WorkflowContext,
    WorkflowContextView, WorkflowResult,
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
    /// How often somebody said that it may go on.
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
        let Begin { thread, steps_per_run, standing, mut calls, .. } = ctx.state(|this| this.begin.clone());
        let mut steps = 0;
        let mut standing = match standing {
            Some(standing) => standing,
            None => look(ctx, &thread).await?,
        };
        loop {
            match &standing {
                Standing::Ready { head, role, agent } => {
                    if ctx.state(|this| this.is_paused) {
                        let calls = ctx.state(|this| this.calls);
                        tell(ctx, &thread, &paused(head, role.clone()), calls)?;
                        ctx.wait_condition(|this| !this.is_paused).await?;
                    }
                    if steps == steps_per_run {
                        let (paused, calls) = ctx.state(|this| (this.is_paused, this.calls));
                        let next = Begin { thread, steps_per_run, paused, calls, standing: Some(standing) };
                        ctx.continue_as_new(next, ContinueAsNewOptions::default())?;
                        unreachable!("a run that continues as another one has ended");
                    }
                    tell(ctx, &thread, &standing, calls)?;
                    calls = ctx.state(|this| this.calls);
                    let at = Position { thread: thread.clone(), head: head.clone() };
                    let doing = doing(ctx, &thread, role.as_deref(), agent.as_deref());
                    standing = ctx.execute_activity(Steps::step, at, doing).await?;
                    steps += 1;
                }
                Standing::Stopped { .. } => {
                    // A call that came while the step ended counts, too, and its caller is not to take this for the outcome.
                    if ctx.state(|this| this.calls) == calls {
                        tell(ctx, &thread, &standing, calls)?;
                    }
                    ctx.wait_condition(|this| this.calls > calls).await?;
                    calls = ctx.state(|this| this.calls);
                    standing = look(ctx, &thread).await?;
                }
                Standing::Ended(ended) => {
                    tell(ctx, &thread, &standing, calls)?;
                    return Ok(ended.clone());
                }
            }
        }
    }

    /// Somebody answered, raised a limit, or repaired something.
    #[signal]
    pub(crate) fn answer(&mut self, _ctx: &mut SyncWorkflowContext<Self>) {
        self.calls += 1;
    }

    /// It goes on.
    #[signal]
    pub(crate) fn resume(&mut self, _ctx: &mut SyncWorkflowContext<Self>) {
        self.calls += 1;
        self.is_paused = false;
    }

    /// No further step begins.
    #[signal]
    pub(crate) fn pause(&mut self, _ctx: &mut SyncWorkflowContext<Self>) {
        self.is_paused = true;
    }
}

/// Lets people and commands see where the thread stands. What stands still is in the memo, which is read without a worker; a thread
/// that goes on would write an event for each step.
fn tell(ctx: &WorkflowContext<ThreadWorkflow>, thread: &str, standing: &Standing, calls: u32) -> WorkflowResult<()> {
    ctx.set_current_details(standing.in_words(thread));
    let was_told = ctx.memo().contains_key(STANDING);
    match standing {
        Standing::Stopped { .. } => {
            let standing = MemoValue::new(standing.clone());
            ctx.upsert_memo([(STANDING, Some(standing)), (CALLS, Some(MemoValue::new(calls)))])?;
        }
        Standing::Ready { .. } | Standing::Ended(_) if was_told => ctx.upsert_memo([(STANDING, None)])?,
        Standing::Ready { .. } | Standing::Ended(_) => {}
    }
    Ok(())
}

fn paused(head: &str, role: Option<String>) -> Standing {
    Standing::Stopped { head: Some(head.to_owned()), state: "paused".to_owned(), exit_code: 20, role }
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
) -> ActivityOptions {
    let summary = [role, agent].into_iter().flatten().collect::<Vec<_>>().join(" by ");
    ActivityOptions::with_start_to_close_timeout(LONGEST_STEP)
        .activity_id(thread)
        .task_queue(queue_of(ctx.task_queue(), agent))
        .heartbeat_timeout(SILENCE)
        .cancellation_type(ActivityCancellationType::WaitCancellationCompleted)
        .retry_policy(again())
        .summary(summary)
        .build()
}

pub(crate) fn again() -> RetryPolicy {
    RetryPolicy::builder().initial_interval(Duration::from_secs(1)).maximum_interval(LONGEST_PAUSE).build()
}
