//! This is a separate crate because the store and the engine write files by the same rules.
//!
#![doc = include_str!("../README.md")]

mod append;
mod batch;
mod dirs;
mod error;
mod leftovers;
mod lock;
mod new_file;
pub mod regular;
mod replace;
mod temp;
mod touch;

pub use append::append;
pub use batch::publish_all;
pub use dirs::{sync_dir, sync_file};
pub use error::{FileError, is_disk_full};
pub use leftovers::{leftovers, remove_leftovers};
pub use lock::{FileLock, LockMode};
pub use new_file::UnpublishedFile;
pub use replace::{replace, replace_itself, replace_private};
pub use temp::TEMP_PREFIX;
pub use touch::touch;
