//! Schedules: at each of its times, a thread is begun and run.

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

use crate::address::Engine;
use crate::error::{EngineError, Fault};
use crate::messages::{Begin, Ended, LOOK_AGAIN, STEPS_PER_RUN};
use crate::runs::workflow_id;
use crate::steps::{Forking, Steps};
use crate::threads::{LONGEST_LOOK, ThreadWorkflow, again};

/// What a cron expression is.
const CRON_HINT: &str =
    "minute, hour, day of the month, month and day of the week: '0 9 * * 1' is each Monday at 9:00 UTC";

/// How often a new schedule is asked for its next time before it has none.
const LOOKS_FOR_TIME: u32 = 10;

/// How long it is let alone between.
const BETWEEN_LOOKS: Duration = Duration::from_millis(200);

/// What a schedule begins threads from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scheduled {
    /// A thread that is never stepped: it keeps workflow and task in the store.
    pub template: String,
    /// Its start, which the threads of the schedule share.
    pub start: String,
}

/// A schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    /// Its name.
    pub name: String,
    /// What it begins and when, as it was said.
    pub note: String,
    /// Whether it is paused.
    pub is_paused: bool,
    /// When it begins threads next.
    pub next: Vec<SystemTime>,
    /// How many times were left out, because the thread before had not ended.
    pub left_out: u64,
}

/// Begins a thread, and runs it.
#[workflow]
pub(crate) struct ScheduleWorkflow {
    scheduled: Scheduled,
}

#[workflow_methods]
impl ScheduleWorkflow {
    #[init]
    fn new(_ctx: &WorkflowContextView, scheduled: Scheduled) -> Self {
        Self { scheduled }
    }

    #[run(name = "uwf.scheduled")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>) -> WorkflowResult<Ended> {
        let Scheduled { start, .. } = ctx.state(|this| this.scheduled.clone());
        // Chosen here, so that a fork that is tried again is the same thread.
        let thread = Ulid::from_parts(milliseconds(ctx.workflow_time()), u128::from(ctx.random::<u64>())).to_string();
        let forking = ActivityOptions::with_start_to_close_timeout(LONGEST_LOOK).retry_policy(again()).build();
        ctx.execute_activity(Steps::fork, Forking { start, thread: thread.clone() }, forking).await?;
        let running = ChildWorkflowOptions::builder()
            .workflow_id(workflow_id(&thread))
            .parent_close_policy(ParentClosePolicy::Abandon)
            .build();
        let begin = Begin {
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

/// The id of a schedule, so that those of others are left alone.
fn schedule_id(name: &str) -> String {
    format!("uwf-{name}")
}

/// Whether a schedule has a next time. Temporal takes a moment to find it.
async fn begins_ever(schedule: &ScheduleHandle<Client>) -> Result<bool, ScheduleError> {
    for _ in 0..LOOKS_FOR_TIME {
        if !schedule.describe(Default::default()).await?.future_action_times().is_empty() {
            return Ok(true);
        }
        tokio::time::sleep(BETWEEN_LOOKS).await;
    }
    Ok(false)
}

impl Engine {
    /// Makes a schedule: at the times of a cron expression it begins a thread from a template.
    ///
    /// # Errors
    /// When there is one of this name, the expression makes no sense, or those of the engine.
    pub fn create_schedule(
        &self,
        name: &str,
        cron: &str,
        scheduled: Scheduled,
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
            EngineError { fault: Fault::Exists, .. } => {
                EngineError::new(Fault::Exists, format!("there is a schedule `{name}` already"))
                    .hint(format!("to replace it: uwf schedule rm {name}"))
            }
            EngineError { fault: Fault::Nonsense, message, .. } => {
                EngineError::new(Fault::Nonsense, format!("`{cron}`: {message}")).hint(CRON_HINT)
            }
            error => error,
        })?;
        let ever = self.runtime.block_on(async {
            // It is made. Whether it makes sense can be told no more if Temporal is away now.
            let has_time = begins_ever(&created).await.unwrap_or(true);
            if !has_time {
                created.delete(DeleteScheduleOptions::default()).await?;
            }
            Ok(has_time)
        });
        match ever.map_err(|error| self.of_schedule(error))? {
            true => Ok(()),
            false => Err(EngineError::new(Fault::Nonsense, format!("`{cron}` never comes")).hint(CRON_HINT)),
        }
    }

    /// All schedules of uwf.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn schedules(&self) -> Result<Vec<Schedule>, EngineError> {
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

    /// A schedule as it is now: a list may lag behind. `None` if it was removed since it was listed.
    async fn described(&self, name: &str) -> Result<Option<Schedule>, ScheduleError> {
        let described = match self.client.get_schedule_handle(schedule_id(name)).describe(Default::default()).await {
            Err(ScheduleError::Rpc(status)) if status.code() == Code::NotFound => return Ok(None),
            described => described?,
        };
        Ok(Some(Schedule {
            name: name.to_owned(),
            note: described.note().unwrap_or_default().to_owned(),
            is_paused: described.paused(),
            next: described.future_action_times(),
            left_out: u64::try_from(described.overlap_skipped()).unwrap_or_default(),
        }))
    }

    /// Removes a schedule, and says what it began threads from. Threads it has begun continue.
    ///
    /// # Errors
    /// When there is none, or those of the engine.
    pub fn remove_schedule(&self, name: &str) -> Result<Option<Scheduled>, EngineError> {
        let handle = self.client.get_schedule_handle(schedule_id(name));
        let removed = self.runtime.block_on(async {
            let described = handle.describe(Default::default()).await?;
            let ScheduleDescriptionAction::StartWorkflow(action) = described.action() else { return Ok(None) };
            let scheduled = action.args::<Scheduled>().await?;
            handle.delete(DeleteScheduleOptions::default()).await?;
            Ok(scheduled)
        });
        removed.map_err(|error| match self.of_schedule(error) {
            EngineError { fault: Fault::Missing, .. } => {
                EngineError::new(Fault::Missing, format!("there is no schedule `{name}`"))
                    .hint("those there are: uwf schedule list")
            }
            error => error,
        })
    }

    fn of_schedule(&self, error: ScheduleError) -> EngineError {
        match error {
            ScheduleError::Rpc(status) => EngineError::of_status(&self.address, &status),
            other => EngineError::new(Fault::Other, format!("Temporal at {}: {other}", self.address)),
        }
    }
}
