//! Tests of the crate's public interface.

mod any_bytes;
mod config;
mod extract;
mod file_schema;
mod moderator;
mod prompt;
mod view;
mod workflow;
