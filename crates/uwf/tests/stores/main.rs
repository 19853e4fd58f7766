//! Stores that several machines share, on real servers: each machine is a storage root of its own.
//!
//! `./test --stores` installs the servers, builds uwf with the features `s3` and `postgres`, and runs these tests.
#![expect(clippy::unwrap_used, reason = "a failing test may panic; helpers of tests are not seen as tests")]

mod attempts;
mod buckets;
mod children;
mod collecting;
mod commands;
mod copying;
mod faults;
mod foreign_paths;
mod garbled;
mod groups;
mod keys;
mod lists;
mod machine;
mod postgres;
mod recover;
mod requests;
mod spoiled;
mod team;
mod worktrees;
