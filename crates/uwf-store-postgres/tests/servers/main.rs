//! The store against servers that the tests start themselves, one binary.
#![expect(clippy::unwrap_used, reason = "a failing test may panic; helpers of tests are not seen as tests")]

mod chains;
mod eras;
mod faults;
mod kills;
mod lost_answers;
mod migrations;
mod proxy;
mod races;
mod server;
mod suites;
mod tls;
mod worker;
