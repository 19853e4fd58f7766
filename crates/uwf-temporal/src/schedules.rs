//! Schedules: start and run a thread at each scheduled time.

use std::time::{Duration, SystemTime};

use futures_util::StreamExt;
use serde::{Deserialize, Serialize};
use temporalio_client::Client;
use temporalio_client::schedules::{
    CreateScheduleOptions, DeleteScheduleOptions, ListSchedulesOptions, ScheduleAction, ScheduleDescriptionAction,
    ScheduleError, ScheduleHandle, ScheduleSpec,
};
use temporalio_client::tonic::Code;
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{
    ActivityOptions, ChildWorkflowOptions, ParentClosePolicy, WorkflowContext, WorkflowContextView, WorkflowResult,
};
use ulid::Ulid;

use crate::address::TemporalConnection;
use crate::error::{EngineError, TemporalFault};
use crate::messages::{LOOK_AGAIN, STEPS_PER_RUN, TemporalThreadEnd, ThreadWorkflowInput};
use crate::runs::workflow_id;
use crate::steps::{ForkActivityInput, StepActivities};
use crate::threads::{LONGEST_LOOK, ThreadWorkflow, again};

/// Explains cron expressions.
const CRON_HINT: &str =
    "minute, hour, day of the month, month and day of the week: '0 9 * * 1' is each Monday at 9:00 UTC";

/// How often a new schedule is asked for its next time before uwf concludes that it has none.
const LOOKS_FOR_TIME: u32 = 10;

/// Time between these requests.
const BETWEEN_LOOKS: Duration = Duration::from_millis(200);

/// The template of a schedule's threads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScheduleTemplate {
    /// A thread that is never stepped. It keeps the workflow and the task in the store.
    pub template: String,
    /// Its start node, which all threads of the schedule share.
    pub start: String,
}

/// A schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemporalSchedule {
    /// Its name.
    pub name: String,
    /// The workflow and the cron expression, in words.
    pub note: String,
    /// Whether it is paused.
    pub is_paused: bool,
    /// The next times at which it starts a thread.
    pub next: Vec<SystemTime>,
    /// Number of times that were skipped because the previous thread had not ended.
    pub left_out: u64,
}

/// Starts a thread and runs it.
#[workflow]
pub(crate) struct ScheduleWorkflow {
    scheduled: ScheduleTemplate,
}

#[workflow_methods]
impl ScheduleWorkflow {
    #[init]
    fn new(_ctx: &WorkflowContextView, scheduled: ScheduleTemplate) -> Self {
        Self { scheduled }
    }

    #[run(name = "uwf.scheduled")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>) -> WorkflowResult<TemporalThreadEnd> {
        let ScheduleTemplate { start, .. } = ctx.state(|this| this.scheduled.clone());
        // Choose the id here, so that a retried fork creates the same thread.
        let thread = Ulid::from_parts(milliseconds(ctx.workflow_time()), u128::from(ctx.random::<u64>())).to_string();
        let forking = ActivityOptions::with_start_to_close_timeout(LONGEST_LOOK).retry_policy(again()).build();
        ctx.execute_activity(StepActivities::fork, ForkActivityInput { start, thread: thread.clone() }, forking)
            .await?;
        let running = ChildWorkflowOptions::builder()
            .workflow_id(workflow_id(&thread))
            .parent_close_policy(ParentClosePolicy::Abandon)
            .build();
        let begin = ThreadWorkflowInput {
            thread,
            steps_per_run: STEPS_PER_RUN,
            look_again: LOOK_AGAIN,
            paused: false,
            calls: 0,
            standing: None,
        };
        let started = ctx.start_child_workflow(ThreadWorkflow::run, begin, running).await?;
        Ok(started.result().await?)
    }
}

fn milliseconds(time: Option<SystemTime>) -> u64 {
    let since = time.and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok()).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// The id of a schedule. The prefix distinguishes it from the schedules of other programs.
fn schedule_id(name: &str) -> String {
    format!("uwf-{name}")
}

/// Whether a schedule has a next time. Temporal needs a moment to compute it.
async fn begins_ever(schedule: &ScheduleHandle<Client>) -> Result<bool, ScheduleError> {
    for _ in 0..LOOKS_FOR_TIME {
        if !schedule.describe(Default::default()).await?.future_action_times().is_empty() {
            return Ok(true);
        }
        tokio::time::sleep(BETWEEN_LOOKS).await;
    }
    Ok(false)
}

impl TemporalConnection {
    /// Creates a schedule that starts a thread from a template at the times of a cron expression.
    ///
    /// # Errors
    /// The name is taken, the cron expression is invalid, or Temporal fails.
    pub fn create_schedule(
        &self,
        name: &str,
        cron: &str,
        scheduled: ScheduleTemplate,
        note: String,
    ) -> Result<(), EngineError> {
        let action = ScheduleAction::start_workflow(
            ScheduleWorkflow::run,
            scheduled,
            self.task_queue.clone(),
            schedule_id(name),
        );
        let spec = ScheduleSpec::builder().cron_strings(vec![cron.to_owned()]).build();
        let options = CreateScheduleOptions::builder().action(action).spec(spec).note(note).build();
        let created = self.runtime.block_on(self.client.create_schedule(schedule_id(name), options));
        let created = created.map_err(|error| match self.of_schedule(error) {
            EngineError { fault: TemporalFault::Exists, .. } => {
                EngineError::new(TemporalFault::Exists, format!("schedule `{name}` already exists"))
                    .hint(format!("to replace it: uwf schedule rm {name}"))
            }
            EngineError { fault: TemporalFault::Nonsense, message, .. } => {
                EngineError::new(TemporalFault::Nonsense, format!("`{cron}`: {message}")).hint(CRON_HINT)
            }
            error => error,
        })?;
        let ever = self.runtime.block_on(async {
            // The schedule exists by now. If Temporal is unreachable, its times can no longer be checked, so keep it.
            let has_time = begins_ever(&created).await.unwrap_or(true);
            if !has_time {
                created.delete(DeleteScheduleOptions::default()).await?;
            }
            Ok(has_time)
        });
        match ever.map_err(|error| self.of_schedule(error))? {
            true => Ok(()),
            false => Err(EngineError::new(TemporalFault::Nonsense, format!("`{cron}` never comes")).hint(CRON_HINT)),
        }
    }

    /// Returns all schedules of uwf.
    pub fn schedules(&self) -> Result<Vec<TemporalSchedule>, EngineError> {
        let listed = self.runtime.block_on(async {
            let mut all = Vec::new();
            let mut stream = self.client.list_schedules(ListSchedulesOptions::default());
            while let Some(summary) = stream.next().await {
                if let Some(name) = summary?.schedule_id().strip_prefix("uwf-") {
                    all.extend(self.described(name).await?);
                }
            }
            Ok(all)
        });
        listed.map_err(|error| self.of_schedule(error))
    }

    /// The current state of a schedule, which a list may not have yet. `None` if it was removed after it was listed.
    async fn described(&self, name: &str) -> Result<Option<TemporalSchedule>, ScheduleError> {
        let described = match self.client.get_schedule_handle(schedule_id(name)).describe(Default::default()).await {
            Err(ScheduleError::Rpc(status)) if status.code() == Code::NotFound => return Ok(None),
            described => described?,
        };
        Ok(Some(TemporalSchedule {
            name: name.to_owned(),
            note: described.note().unwrap_or_default().to_owned(),
            is_paused: described.paused(),
            next: described.future_action_times(),
            left_out: u64::try_from(described.overlap_skipped()).unwrap_or_default(),
        }))
    }

    /// Removes a schedule and returns the template of its threads. Threads that it has started continue.
    ///
    /// # Errors
    /// The schedule does not exist, or Temporal fails.
    pub fn remove_schedule(&self, name: &str) -> Result<Option<ScheduleTemplate>, EngineError> {
        let handle = self.client.get_schedule_handle(schedule_id(name));
        let removed = self.runtime.block_on(async {
            let described = handle.describe(Default::default()).await?;
            let ScheduleDescriptionAction::StartWorkflow(action) = described.action() else { return Ok(None) };
            let scheduled = action.args::<ScheduleTemplate>().await?;
            handle.delete(DeleteScheduleOptions::default()).await?;
            Ok(scheduled)
        });
        removed.map_err(|error| match self.of_schedule(error) {
            EngineError { fault: TemporalFault::Missing, .. } => {
                EngineError::new(TemporalFault::Missing, format!("schedule `{name}` does not exist"))
                    .hint("to list schedules: uwf schedule list")
            }
            error => error,
        })
    }

    fn of_schedule(&self, error: ScheduleError) -> EngineError {
        match error {
            ScheduleError::Rpc(status) => EngineError::of_status(&self.address, &status),
            other => EngineError::new(TemporalFault::Other, format!("Temporal at {}: {other}", self.address)),
        }
    }
}
