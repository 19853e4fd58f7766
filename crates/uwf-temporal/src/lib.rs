//! Runs uwf's threads on Temporal's workers.
//!
//! It is a separate crate because Temporal's client is large, and a single machine does not need it. Temporal decides where and when a step
//! runs. It need not know what a step does, nor prevent duplicates: a step is `uwf thread step`, a process that either moves the head of
//! its thread in the store or does not. Only ids, hashes and names (of workflows, roles and agents) go through Temporal.

// A workflow that panics must fail only its own task. Under `panic = "abort"` it would end the worker, then each worker that replays it.
#[cfg(not(panic = "unwind"))]
compile_error!("a Temporal worker needs a profile with `panic = \"unwind\"`");

mod address;
mod branches;
mod error;
mod failing;
mod handed_over;
mod messages;
mod runs;
mod schedules;
mod steps;
mod threads;
mod tries;
mod uwf;
mod worker;

pub use address::{TemporalAddress, TemporalConnection};
pub use error::{EngineError, TemporalFault};
pub use messages::{TemporalAction, TemporalThreadEnd, TemporalThreadState, stopped_in_words};
pub use runs::{TemporalRunHandle, TemporalRunProgress, TemporalRunRequest};
pub use schedules::{ScheduleTemplate, TemporalSchedule};
pub use worker::{WorkerSettings, work};

/// The default task queue of workers.
pub(crate) const TASK_QUEUE: &str = "uwf";

/// The task queue for steps of this agent. `None` means an agent without a name; any worker may try its steps.
pub(crate) fn queue_of(task_queue: &str, agent: Option<&str>) -> String {
    match agent {
        Some(agent) => format!("{task_queue}.agent.{agent}"),
        None => task_queue.to_owned(),
    }
}
