//! What tests of several files start from: workflows, agents, and homes that have them.

pub(crate) mod acp;
pub(crate) mod answering;
pub(crate) mod built_in;
pub(crate) mod child_threads;
pub(crate) mod collector;
pub(crate) mod configuration;
pub(crate) mod described;
pub(crate) mod faults;
pub(crate) mod group_in_repository;
pub(crate) mod group_runs;
pub(crate) mod hooks;
pub(crate) mod listening;
pub(crate) mod mcp_client;
pub(crate) mod mocked;
pub(crate) mod notes;
pub(crate) mod pages;
pub(crate) mod people;
pub(crate) mod protocol_agents;
pub(crate) mod repository;
pub(crate) mod review;
pub(crate) mod terminal;
pub(crate) mod text;
pub(crate) mod workflow_files;
