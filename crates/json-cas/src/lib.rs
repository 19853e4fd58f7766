//! This is a separate crate because it is useful without `uwf`: a content-addressed store of JSON nodes typed by JSON Schema.
//!
//! A node is `{type, payload, timestamp}`; its name is the hash of type and payload. Types are themselves nodes, JSON Schemas, and a
//! string with `format: "cas_ref"` references another node. [`Store`] is the typed access. Below it is [`Objects`], immutable bytes by
//! hash. Beside it are [`Heads`], mutable names, with their [`Journal`]. Machines that share a store also have [`Notes`] there. No code
//! above these traits assumes a local disk.
//!
#![doc = include_str!("../README.md")]

pub mod bootstrap;
mod cached;
pub mod cbor;
pub mod conformance;
mod error;
mod fs;
mod hash;
mod heads;
mod journal;
pub mod json;
mod memory;
pub mod nearest;
mod node;
mod notes;
mod objects;
mod pack;
pub mod pointer;
mod remote;
pub mod schema;
mod store;
pub mod text;

pub use cached::CachedObjects;
pub use error::StoreError;
pub use fs::{ForgottenPack, FsHeads, FsObjects, HeadsFiles, Held, PackRequest, Packed, Salvaged, Unpacked};
pub use hash::{Hash, HashError, HashPrefix, hash_bytes, xxh64};
pub use heads::{Damaged, Head, Heads, HeadsError, MAX_NAME_LEN, Pointing, Swap, Version, check_name};
pub use journal::{Journal, Records};
pub use memory::{MemoryHeads, MemoryNotes, MemoryObjects};
pub use node::{Draft, Node};
pub use notes::{Expected, ListedNote, Note, NoteWritten, Notes};
pub use objects::{Hold, Objects, Put, READ_AT_ONCE, Reclaim, Stored, Stray, Sweep};
pub use pack::DamagedPack;
pub use remote::{RemoteError, RemoteFault};
pub use schema::{Schema, Violation};
pub use store::{
    Copied, Layers, Missing, Problem, ProblemKind, Reached, Stopped, Store, VerifyReport, Walk, WalkOptions,
};
