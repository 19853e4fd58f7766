//! Many objects in one file: packs.
//!
//! A pack is written once and never changed. It holds objects in blocks, which are compressed and have a checksum each, and
//! behind them an index sorted by hash (`format.rs` has every byte). Which packs count is said by one small file beside them, the
//! list (`manifest.rs`), which is replaced at once: so objects come into packs, go from them, and move from one to another all
//! at one moment. [`Packs`] is what a reader sees of them.

mod file;
mod format;
mod manifest;
mod reclaim;
mod set;
mod writer;

pub(crate) use file::{PackError, PackFile};
pub(crate) use reclaim::reclaim;
pub use set::DamagedPack;
pub(crate) use set::{Found, Packs, View};
pub(crate) use writer::{Writer, Written};
