//! The tests of `it` once more, with machines that use one store: notes, claims and the head of the names are in memory.
//! Left out are those about files that only a root of its own has: the index, packs and `gc` of files.
#![expect(clippy::unwrap_used, reason = "a failing test may panic; helpers of tests are not seen as tests")]

#[path = "it/answer.rs"]
mod answer;
#[path = "it/child_threads.rs"]
mod child_threads;
#[path = "it/cost.rs"]
mod cost;
#[path = "it/expected_head.rs"]
mod expected_head;
#[path = "it/fork.rs"]
mod fork;
#[path = "it/hook.rs"]
mod hook;
#[path = "it/kill.rs"]
mod kill;
#[path = "it/limit.rs"]
mod limit;
#[path = "it/list.rs"]
mod list;
#[path = "it/memory.rs"]
mod memory;
#[path = "it/pause.rs"]
mod pause;
#[path = "it/put.rs"]
mod put;
#[path = "it/rm.rs"]
mod rm;
#[path = "it/show.rs"]
mod show;
#[path = "it/start.rs"]
mod start;
#[path = "it/step.rs"]
mod step;
#[path = "it/steps.rs"]
mod steps;
#[path = "it/thread_now.rs"]
mod thread_now;
#[path = "it/whole_run.rs"]
mod whole_run;
#[path = "it/why.rs"]
mod why;
