//! The shell of uwf: everything that touches files, processes and clocks, one file per verb.
//!
//! It is a crate of its own so that every way of driving threads (the command, a server, a test) shares one
//! implementation of the step. Start reading at [`step`]: moderator → agent → extract → persist.

pub mod advisors;
pub mod agents;
pub mod answer;
pub mod attempts;
mod beginning;
pub mod bindings;
pub mod chain;
pub mod child;
pub mod children;
pub mod closure;
pub mod configure;
pub mod doctor;
pub mod end;
pub mod env_file;
pub mod environment;
pub mod error;

pub mod evaluate;
pub mod expand;
pub mod fork;
pub mod history;
pub mod home;
pub mod ids;
pub mod keeper;
pub mod kill;
pub mod list;
pub mod live_trace;
pub mod load;
pub mod lock;
pub mod log;
pub mod marks;
pub mod moderate;
pub mod overview;
pub mod pause;
pub mod persist;
pub mod plan;
pub mod processes;
pub mod program;
pub mod put;
pub mod rebind;
pub mod rebuild;
mod record;
pub mod recover;
pub mod reextract;
pub mod registry;
pub mod reindex;
pub mod remove;
pub mod repair;
pub mod resolve;
pub mod roots;
pub mod salvage;
pub mod settings;
pub mod show;
pub mod spoken;
pub mod start;
pub mod state;
pub mod step;
pub mod thread_ids;
pub mod told;
pub mod transcript;
pub mod turns;
pub mod type_index;
pub mod validate;
mod verdict;
