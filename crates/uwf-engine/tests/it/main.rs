//! Tests of the public face of the crate, one binary: a file per verb, over nodes and heads in memory, and no process is
//! started. Those of whole commands are with the command.
#![expect(clippy::unwrap_used, reason = "a failing test may panic; helpers of tests are not seen as tests")]

mod answer;
mod any_bytes;
mod child_threads;
mod copy_store;
mod cost;
mod expected_head;
mod fork;
mod gc;
mod hook;
mod kill;
mod limit;
mod list;
mod memory;
mod pack;
mod pause;
mod put;
mod recover;
mod rm;
mod show;
mod start;
mod step;
mod steps;
mod thread_now;
mod whole_run;
mod why;
