//! Tests of the crate's public interface.

mod config;
mod moderator;
mod workflow;
