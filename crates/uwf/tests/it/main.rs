//! The command as a user drives it: real processes, real files, real agent commands.

mod agent_protocol;
mod agents;
mod cas;
mod evaluating;
mod faults;
mod first_run;
mod foreign_store;
mod forking;
mod keeper;
mod killing;
mod listing;
mod reading;
mod reference;
mod review;
mod stepping;
mod workflows;

use uwf_testing::TestHome;

/// A fresh storage root for one test.
fn home() -> TestHome {
    TestHome::new(env!("CARGO_BIN_EXE_uwf"))
}
