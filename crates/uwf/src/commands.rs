//! One file per command: its arguments, and `run`, which returns a report.

pub(crate) mod agent;
pub(crate) mod api;
pub(crate) mod cas;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod connect;
pub(crate) mod doctor;
pub(crate) mod gateway;
pub(crate) mod gc;
pub(crate) mod help;
pub(crate) mod init;
pub(crate) mod log;
pub(crate) mod man;
pub(crate) mod mcp;
pub(crate) mod notify;
pub(crate) mod otel;
pub(crate) mod pack;
pub(crate) mod recover;
pub(crate) mod reference;
pub(crate) mod schema;
pub(crate) mod serve;
pub(crate) mod setup;
pub(crate) mod skill;
pub(crate) mod thread;
pub(crate) mod top;
pub(crate) mod workflow;
