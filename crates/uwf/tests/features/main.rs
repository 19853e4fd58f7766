//! What depends on the optional features of the program: its help, its reference, and the commands of shared stores and of Temporal.
//!
//! `./test` runs these tests without the features, `./test --features` with all of them, as uwf is released.
#![expect(clippy::unwrap_used, reason = "a failing test may panic; helpers of tests are not seen as tests")]

mod completions;
mod help;
mod man;
mod reference;
mod schedule;
mod store_init;
mod store_show;
mod worker;

use uwf_testing::TestHome;

/// A fresh storage root for one test.
fn home() -> TestHome {
    TestHome::new(uwf_testing::uwf_program())
}
