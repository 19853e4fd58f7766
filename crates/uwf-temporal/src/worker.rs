//! A worker: it dials out to Temporal and takes steps.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::try_join_all;
use temporalio_sdk::runtime::PollerBehavior;
use temporalio_sdk::runtime::worker_tuner::{FixedSizeSlotSupplier, TunerHolder};
use temporalio_sdk::{Runtime, Worker, WorkerOptions, WorkerOptionsBuilder};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Semaphore, watch};

use crate::address::Engine;
use crate::error::{EngineError, Fault};
use crate::failing::FailureLog;
use crate::queue_of;
use crate::schedules::ScheduleWorkflow;
use crate::steps::{HEARTBEAT, Phase, Steps};
use crate::threads::ThreadWorkflow;
use crate::uwf::Uwf;

/// How many threads may be looked at, besides the steps that run.
const LOOKS: usize = 8;

/// How many workflows may be thought about at once: each takes milliseconds.
const WORKFLOW_TASKS: usize = 100;

/// Open requests for work of an agent's queue. Each brings a step, and at once the next.
const POLLS: usize = 2;

/// How a worker works.
pub struct WorkerSettings {
    /// The program `uwf`.
    pub program: PathBuf,
    /// Variables its commands get, such as the storage root.
    pub variables: Vec<(String, PathBuf)>,
    /// Directory they are called in, which is where agents of threads work that began on other machines.
    pub cwd: PathBuf,
    /// Agents this machine has.
    pub agents: Vec<String>,
    /// Most agents at once.
    pub max_agents: usize,
    /// How long steps may continue after the worker was told to end.
    pub drain: Duration,
    /// What people who watch the worker read.
    pub say: Arc<dyn Fn(&str) + Send + Sync>,
}

/// Takes steps until it is told to end by TERM or Ctrl-C. Then it takes none and lets those that run end; after the limit, or when it is
/// told again, it ends them, and other workers take them.
///
/// # Errors
/// When Temporal cannot be worked for, such as a namespace that was removed.
pub fn work(engine: Engine, settings: WorkerSettings) -> Result<(), EngineError> {
    let Engine { runtime, client, task_queue, .. } = engine;
    let failed = |error: &dyn std::fmt::Display| EngineError::new(Fault::Other, format!("the worker failed: {error}"));
    runtime.block_on(async {
        let core = Runtime::from_current_tokio(temporalio_sdk::runtime::RuntimeOptions::default())
            .map_err(|error| failed(&error))?;
        let (phase, seen) = watch::channel(Phase::Working);
        let steps = steps(&settings, seen);
        let mut workers = vec![
            Worker::new(&core, client.clone(), thinking(&task_queue, &steps, &settings)?)
                .map_err(|error| failed(&error))?,
        ];
        for agent in &settings.agents {
            let options = doing(&queue_of(&task_queue, Some(agent)), &steps, &settings);
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

fn steps(settings: &WorkerSettings, phase: watch::Receiver<Phase>) -> Steps {
    let WorkerSettings { program, variables, cwd, max_agents, say, .. } = settings;
    let uwf = Uwf { program: program.clone(), variables: variables.clone(), cwd: cwd.clone() };
    Steps { uwf, places: Arc::new(Semaphore::new(*max_agents)), phase, say: Arc::clone(say) }
}

/// The worker of workflows, of looks, and of steps whose agent has no name.
fn thinking(queue: &str, steps: &Steps, settings: &WorkerSettings) -> Result<WorkerOptions, EngineError> {
    let options = WorkerOptions::new(queue)
        .register_activities(steps.clone())
        .register_workflow::<ThreadWorkflow>()
        .and_then(WorkerOptionsBuilder::register_workflow::<ScheduleWorkflow>)
        .map_err(|error| EngineError::new(Fault::Other, format!("the worker knows no workflows: {error}")))?;
    let options = options.worker_interceptor(FailureLog::new(Arc::clone(&settings.say)));
    Ok(options.tuner(slots(settings.max_agents + LOOKS)).max_heartbeat_throttle_interval(HEARTBEAT).build())
}

/// The worker of the steps of an agent.
fn doing(queue: &str, steps: &Steps, settings: &WorkerSettings) -> WorkerOptions {
    WorkerOptions::new(queue)
        .register_activities(steps.clone())
        .activity_task_poller_behavior(PollerBehavior::SimpleMaximum(POLLS))
        .tuner(slots(settings.max_agents))
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

/// Brings the worker to its end once it is told to. Returns only when signals cannot be listened to.
async fn end_when_told(
    phase: &watch::Sender<Phase>,
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
    (settings.say)(&format!("ending: no new steps; those that run have {} s", settings.drain.as_secs()));
    phase.send_replace(Phase::Draining);
    take_none();
    // Whether told again or out of time: it is the same.
    let _ = tokio::time::timeout(settings.drain, told()).await;
    (settings.say)("handing over the steps that still run");
    phase.send_replace(Phase::HandingOver);
    std::future::pending().await
}
