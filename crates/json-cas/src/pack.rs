//! Packs: many objects in one file.
//!
//! A pack is written once and never changed. It holds objects in blocks, which are compressed and have a checksum each, followed by an
//! index sorted by hash (`format.rs` describes every byte). One small file beside the packs, the list (`manifest.rs`), says which packs
//! count. The list is replaced atomically, so objects enter packs, leave them and move between them in one step. [`PackSet`] is the reader's
//! view.

mod file;
mod format;
mod manifest;
mod reclaim;
mod set;
mod writer;

pub(crate) use file::{PackError, PackFile};
pub(crate) use reclaim::reclaim;
pub use set::DamagedPack;
pub(crate) use set::{PackSet, PackSetView, PackedObject};
pub(crate) use writer::{FinishedPack, PackWriter};
