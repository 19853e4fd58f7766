//! A crate of its own because it is useful without `uwf`: a content-addressed store of JSON nodes
//! typed by JSON Schema.
//!
//! A node is `{type, payload, timestamp}`; its name is the hash of type and payload. Types are
//! themselves nodes, JSON Schemas, and a string with `format: "cas_ref"` refers to another node.
//! [`Store`] is the typed door. Below it are two traits, [`Objects`] (immutable bytes by hash)
//! and [`Heads`] (mutable names); nothing above them assumes a local disk.
//!
#![doc = include_str!("../README.md")]

pub mod bootstrap;
pub mod cbor;
pub mod conformance;
pub mod durable;
pub mod fs;
pub mod hash;
pub mod heads;
pub mod json;
pub mod memory;
pub mod node;
pub mod objects;
mod pointer;
pub mod regular;
pub mod schema;
pub mod store;

pub use durable::FileLock;
pub use fs::{FsHeads, FsObjects};
pub use hash::{Hash, HashError, HashPrefix, hash_bytes, xxh64};
pub use heads::{Head, Heads, HeadsError, Swap, Version};
pub use memory::{MemoryHeads, MemoryObjects};
pub use node::{Draft, Node};
pub use objects::{Objects, Put, Stray};
pub use schema::{Schema, Violation};
pub use store::{Problem, ProblemKind, Store, StoreError, VerifyReport, Walk, WalkOptions};
