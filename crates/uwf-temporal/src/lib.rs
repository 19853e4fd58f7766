//! Threads of uwf on workers of Temporal.
//!
//! It is a crate of its own because the client of Temporal is large: who has one machine does not pay for it. Temporal says where and
//! when a step is run. What a step does, and that two of them never count, is none of its business: a step is `uwf thread step`, a process
//! that moves the head of its thread in the store or does not. Only ids, hashes and names (of workflows, roles, agents) go through Temporal.

// A workflow that panics must fail its own task only. Under `panic = "abort"` it would end the worker, then each worker that replays it.
#[cfg(not(panic = "unwind"))]
compile_error!("a Temporal worker needs a profile with `panic = \"unwind\"`");

mod address;
mod error;
mod failing;
mod messages;
mod runs;
mod schedules;
mod steps;
mod threads;
mod tries;
mod uwf;
mod worker;

pub use address::{Address, Engine};
pub use error::{EngineError, Fault};
pub use messages::{Call, Ended, Standing, stopped_in_words};
pub use runs::{Progress, Run, Running};
pub use schedules::{Schedule, Scheduled};
pub use worker::{WorkerSettings, work};

/// The task queue of workers that nobody gave another one.
pub(crate) const TASK_QUEUE: &str = "uwf";

/// The task queue of steps that this agent plays. `None` for an agent without a name that every machine has: any worker tries.
pub(crate) fn queue_of(task_queue: &str, agent: Option<&str>) -> String {
    match agent {
        Some(agent) => format!("{task_queue}.agent.{agent}"),
        None => task_queue.to_owned(),
    }
}
