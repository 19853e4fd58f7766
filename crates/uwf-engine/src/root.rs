//! The storage root: its paths and files, names and ids, and the locks and marks of its threads.

pub(crate) mod cache_file;
pub mod config_file;
pub mod config_text;
pub mod env_file;
pub mod error;
pub(crate) mod file_sign;
pub mod history;
pub mod home;
pub mod ids;
pub mod lock;
pub mod log;
pub(crate) mod machine;
pub mod marks;
pub(crate) mod missing_thread;
pub mod named_nodes;
pub mod node_types;
pub mod project;
pub mod project_files;
pub(crate) mod record;
pub mod registry;
pub mod shared_store;
pub mod sharing;
pub mod thread_ids;
pub mod type_index;
pub mod workplace;
pub mod worktree;
