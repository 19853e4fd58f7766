//! Tests of the crate's public interface.

mod any_bytes;
mod config;
mod extract;
mod moderator;
mod prompt;
mod view;
mod workflow;
