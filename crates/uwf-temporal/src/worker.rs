//! A worker: connects to Temporal and runs steps.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::try_join_all;
use temporalio_sdk::runtime::PollerBehavior;
use temporalio_sdk::runtime::worker_tuner::{FixedSizeSlotSupplier, TunerHolder};
use temporalio_sdk::{Runtime, Worker, WorkerOptions, WorkerOptionsBuilder};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Semaphore, watch};

use crate::address::TemporalConnection;
use crate::branches::TemporalBranchStarter;
use crate::error::{EngineError, TemporalFault};
use crate::failing::FailureLog;
use crate::queue_of;
use crate::schedules::ScheduleWorkflow;
use crate::steps::{HEARTBEAT, StepActivities, WorkerPhase};
use crate::threads::ThreadWorkflow;
use crate::uwf::UwfProgram;

/// Concurrent looks at threads, besides the running steps.
const LOOKS: usize = 8;

/// Concurrent workflow tasks: each takes milliseconds.
const WORKFLOW_TASKS: usize = 100;

/// Groups that a worker plays at the same time, including those within others. Each only waits for its branches.
const GROUPS: usize = 200;

/// Concurrent polls of an agent's queue. Each returns one step, and then polls for the next.
const POLLS: usize = 2;

/// Settings of a worker.
pub struct WorkerSettings {
    /// The program `uwf`.
    pub program: PathBuf,
    /// Variables for its commands, such as the storage root.
    pub variables: Vec<(String, PathBuf)>,
    /// Directory for its commands. Agents of threads that were started on other machines work in it.
    pub cwd: PathBuf,
    /// Agents this machine has.
    pub agents: Vec<String>,
    /// The one of them that plays groups: it only waits for branches.
    pub group_agent: &'static str,
    /// Most agents at once.
    pub max_agents: usize,
    /// How long running steps may take after the worker was asked to end.
    pub drain: Duration,
    /// Prints a line for the person who watches the worker.
    pub say: Arc<dyn Fn(&str) + Send + Sync>,
}

/// Runs steps until TERM or Ctrl-C. Then it takes no new steps and lets the running ones finish. After the time limit or a second signal,
/// it ends them, and other workers take them.
///
/// # Errors
/// The worker can't work for Temporal, for instance because the namespace was removed.
pub fn work(engine: TemporalConnection, settings: WorkerSettings) -> Result<(), EngineError> {
    let TemporalConnection { runtime, client, task_queue, .. } = engine;
    let failed =
        |error: &dyn std::fmt::Display| EngineError::new(TemporalFault::Other, format!("the worker failed: {error}"));
    runtime.block_on(async {
        let core = Runtime::from_current_tokio(temporalio_sdk::runtime::RuntimeOptions::default())
            .map_err(|error| failed(&error))?;
        let (phase, seen) = watch::channel(WorkerPhase::Working);
        let starter = TemporalBranchStarter { client: client.clone(), task_queue: task_queue.clone() };
        let steps = steps(&settings, seen, starter);
        let mut workers = vec![
            Worker::new(&core, client.clone(), thinking(&task_queue, &steps, &settings)?)
                .map_err(|error| failed(&error))?,
        ];
        for agent in &settings.agents {
            let at_once = if agent == settings.group_agent { GROUPS } else { settings.max_agents };
            let options = doing(&queue_of(&task_queue, Some(agent)), &steps, at_once);
            workers.push(Worker::new(&core, client.clone(), options).map_err(|error| failed(&error))?);
        }
        let ends: Vec<_> = workers.iter().map(Worker::shutdown_handle).collect();
        let working = try_join_all(workers.iter_mut().map(Worker::run));
        let ending = end_when_told(&phase, &settings, || ends.iter().for_each(|end| end()));
        tokio::select! {
            worked = working => worked.map(drop).map_err(|error| failed(&error)),
            failure = ending => Err(failed(&failure)),
        }
    })
}

fn steps(
    settings: &WorkerSettings,
    phase: watch::Receiver<WorkerPhase>,
    starter: TemporalBranchStarter,
) -> StepActivities {
    let WorkerSettings { program, variables, cwd, max_agents, say, .. } = settings;
    let uwf = UwfProgram { program: program.clone(), variables: variables.clone(), cwd: cwd.clone() };
    StepActivities {
        uwf,
        places: Arc::new(Semaphore::new(*max_agents)),
        phase,
        group_queue: queue_of(&starter.task_queue, Some(settings.group_agent)),
        starter: Arc::new(starter),
        say: Arc::clone(say),
    }
}

/// The worker for workflows, looks, and steps whose agent has no name.
fn thinking(queue: &str, steps: &StepActivities, settings: &WorkerSettings) -> Result<WorkerOptions, EngineError> {
    let options = WorkerOptions::new(queue)
        .register_activities(steps.clone())
        .register_workflow::<ThreadWorkflow>()
        .and_then(WorkerOptionsBuilder::register_workflow::<ScheduleWorkflow>)
        .map_err(|error| EngineError::new(TemporalFault::Other, format!("the worker knows no workflows: {error}")))?;
    let options = options.worker_interceptor(FailureLog::new(Arc::clone(&settings.say)));
    Ok(options.tuner(slots(settings.max_agents + LOOKS)).max_heartbeat_throttle_interval(HEARTBEAT).build())
}

/// The worker for one agent's steps.
fn doing(queue: &str, steps: &StepActivities, at_once: usize) -> WorkerOptions {
    WorkerOptions::new(queue)
        .register_activities(steps.clone())
        .activity_task_poller_behavior(PollerBehavior::SimpleMaximum(POLLS))
        .tuner(slots(at_once))
        .max_heartbeat_throttle_interval(HEARTBEAT)
        .build()
}

fn slots(activities: usize) -> TunerHolder {
    TunerHolder::builder()
        .workflow_task_slot_supplier(FixedSizeSlotSupplier::new(WORKFLOW_TASKS))
        .activity_task_slot_supplier(FixedSizeSlotSupplier::new(activities))
        .local_activity_task_slot_supplier(FixedSizeSlotSupplier::new(1))
        .nexus_task_slot_supplier(FixedSizeSlotSupplier::new(1))
        .build()
}

/// Ends the worker after a signal. Returns only if it can't listen for signals.
async fn end_when_told(
    phase: &watch::Sender<WorkerPhase>,
    settings: &WorkerSettings,
    take_none: impl Fn(),
) -> std::io::Error {
    let (mut terminate, mut interrupt) = match (signal(SignalKind::terminate()), signal(SignalKind::interrupt())) {
        (Ok(terminate), Ok(interrupt)) => (terminate, interrupt),
        (Err(error), _) | (_, Err(error)) => return error,
    };
    let mut told = async || {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    };
    told().await;
    (settings.say)(&format!("ending: no new steps; running steps have {} s", settings.drain.as_secs()));
    phase.send_replace(WorkerPhase::Draining);
    take_none();
    // A second signal and the end of the time limit have the same effect.
    let _ = tokio::time::timeout(settings.drain, told()).await;
    (settings.say)("handing over the steps that still run");
    phase.send_replace(WorkerPhase::HandingOver);
    std::future::pending().await
}
