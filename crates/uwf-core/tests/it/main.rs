//! Tests of the crate's public interface.

mod any_bytes;
mod config;
mod extract;
mod file_schema;
mod moderator;
mod node_numbers;
mod prompt;
mod view;
mod workflow;
