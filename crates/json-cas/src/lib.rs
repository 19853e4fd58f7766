//! This is a separate crate because it is useful without `uwf`: a content-addressed store of JSON nodes typed by JSON Schema.
//!
//! A node is `{type, payload, timestamp}`; its name is the hash of type and payload. Types are themselves nodes, JSON Schemas, and a
//! string with `format: "cas_ref"` references another node. [`Store`] is the typed access. Below it is [`ObjectBackend`], immutable bytes by
//! hash. Beside it are [`HeadBackend`], mutable names, with their [`RemovalJournal`]. Machines that share a store also have [`NoteBackend`] there. No code
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
pub use fs::{
    ForgottenPack, FsHeads, FsHeadsLock, FsObjects, HeadsFiles, PackRequest, PackRunOutcome, SalvagedIndex,
    UnpackRunOutcome,
};
pub use hash::{HashError, HashPrefix, NodeHash, hash_bytes, xxh64};
pub use heads::{
    Head, HeadBackend, HeadsError, MAX_NAME_LEN, NameDamage, NameVersion, Pointing, SwapOutcome, check_name,
};
pub use journal::{JournalRecords, RemovalJournal};
pub use memory::{MemoryHeads, MemoryNotes, MemoryObjects};
pub use node::{Node, NodeDraft};
pub use notes::{ListedNote, NoteBackend, NoteWriteCondition, NoteWritten, StoredNote};
pub use objects::{
    HoldGuard, ObjectBackend, ObjectMetadata, ObjectPutOutcome, READ_AT_ONCE, ReclaimScope, StrayEntry, SweepGuard,
};
pub use pack::DamagedPack;
pub use remote::{RemoteError, RemoteFault, StoreRequestCounts, count_store_request, store_requests};
pub use schema::{CompiledSchema, SchemaViolation};
pub use store::{
    MissingNodePolicy, NodeCopyStats, NodeLayers, NodeWalk, ProblemKind, ReachFailure, ReachableNodes, Store,
    StoreProblem, VerifyReport, WalkOptions,
};
pub use yaml_tree::{JsonError, json_value};
