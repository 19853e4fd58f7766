//! The command as a user drives it: real processes, real files, real agent commands.
#![expect(clippy::unwrap_used, reason = "a failing test may panic; helpers of tests are not seen as tests")]
#![expect(clippy::print_stderr, reason = "a test says when files it would read are not there")]

mod acp;
mod agent_protocol;
mod agents;
mod any_bytes;
mod author_order;
mod binding;
mod by_hand;
mod cas;
mod check_release;
mod child;
mod clock;
mod completing;
mod config;
mod cursor;
mod delegation;
mod describing;
mod display;
mod doctor;
mod documents;
mod dry_run;
mod earlier_cli;
mod evaluating;
mod examples;
mod extracting;
mod faults;
mod first_run;
mod foreign_store;
mod forking;
mod helping;
mod hermes;
mod hostile;
mod human;
mod json_errors;
mod keeper;
mod kept_traces;
mod killing;
mod ladder;
mod listing;
mod llm;
mod mcp;
mod misbehaving;
mod mock;
mod newest;
mod pausing;
mod private_root;
mod project;
mod prompts;
mod react;
mod reading;
mod recovering;
mod reference;
mod resuming;
mod review;
mod setup;
mod shared_examples;
mod stepping;
mod strange_places;
mod supervising;
mod terminal;
mod traces;
mod validating;
mod verifying;
mod workflows;

use uwf_testing::{TestHome, numbered};

/// A fresh storage root for one test.
fn home() -> TestHome {
    TestHome::new(env!("CARGO_BIN_EXE_uwf"))
}

/// What a command told, with ids and times taken out and hashes numbered.
fn told(home: &TestHome, args: &[&str]) -> String {
    numbered(&home.told(args))
}
