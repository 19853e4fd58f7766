//! What is left after a crash of the whole machine, and after damage to files: nothing is lost that was promised.
//!
//! `record` sees what a command really did to its files, `disk` is the model of what of it may be on the disk when the
//! power goes, `states` chooses among the possible ones, and the tests in `crashes` let the real `uwf` continue from each.
//! The tests in `damage` spoil files one at a time. A plain run takes a sample; `UWF_LONG=1` takes all states, and
//! `UWF_SEED=N` takes another sample.
#![expect(clippy::unwrap_used, reason = "a failing test may panic; helpers of tests are not seen as tests")]
#![expect(clippy::print_stderr, reason = "a test says its seed and how much it tried")]

mod campaign;
mod crashes;
mod damage;
mod disk;
mod harm;
mod reachable;
mod record;
mod stage;
mod states;
