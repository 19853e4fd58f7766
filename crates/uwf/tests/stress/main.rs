//! Many processes at once, and some of them killed: no step is lost, made twice or paid twice, and each head is one
//! register that everybody sees change in one order. `docs/internals/reliability-concurrency.md` says what is promised.
//!
//! [`storm`] lets threads run while processes are killed at random and compares them with a ledger the agents keep;
//! [`heads`] records what many commands on the same threads were told, for [`linear`] to say whether one order explains
//! it; [`stopped`] holds a process still at the worst moments; [`crowds`] has one command given many times at once;
//! [`collected`] removes unused nodes meanwhile; [`sequences`] compares long sequences of commands with a model.
//!
//! A plain run takes small sizes and always the same seed; `UWF_LONG=1` takes full sizes and a new seed, which is said.
//! `UWF_SEED=N` sets it.
#![expect(clippy::unwrap_used, reason = "a failing test may panic; helpers of tests are not seen as tests")]
#![expect(clippy::print_stdout, reason = "a test says its seed and how much it tried")]

mod campaign;
mod collected;
mod crowds;
mod heads;
mod ledger;
mod linear;
mod model;
mod processes;
mod sequences;
mod stage;
mod stopped;
mod storm;
mod strikes;
