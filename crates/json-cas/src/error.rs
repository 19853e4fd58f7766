//! Errors of nodes.

use std::io;
use std::path::PathBuf;

use durable_files::FileError;

use crate::cbor::CborError;
use crate::hash::{HashError, NodeHash};
use crate::remote::RemoteError;
use crate::schema::{SchemaError, SchemaProblem, SchemaViolation};

/// Why a node could not be read, written or found.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The store has no node with this hash.
    #[error("node {hash} does not exist")]
    NotFound {
        /// The hash.
        hash: NodeHash,
    },
    /// A node references a missing node.
    #[error("node {parent} refers to {hash}, which does not exist")]
    Dangling {
        /// The missing node.
        hash: NodeHash,
        /// The node that references it.
        parent: NodeHash,
    },
    /// Something is stored under this hash, but it is not the node. Putting the same content again repairs it.
    #[error("node {hash} is corrupt: {reason}")]
    Corrupt {
        /// The hash.
        hash: NodeHash,
        /// The problem with the bytes.
        reason: String,
    },
    /// Another node with the same hash is stored. Nothing was changed. In a store of any realistic size this can't happen by accident, so
    /// assume that the content was chosen on purpose.
    #[error("hash collision: another node is already stored as {hash}")]
    Collision {
        /// The hash of both nodes.
        hash: NodeHash,
    },
    /// A payload does not fit its type.
    #[error("the payload is not a valid {title}: {}", joined(violations, "; "))]
    Invalid {
        /// The type.
        type_hash: NodeHash,
        /// The type's title, or its hash.
        title: String,
        /// The violations, at least one.
        violations: Vec<SchemaViolation>,
    },
    /// The type of a node is not stored: put the schema first.
    #[error("type {type_hash} is not in the store")]
    UnknownType {
        /// The hash of the type.
        type_hash: NodeHash,
    },
    /// The type of a node is a node, but not a schema.
    #[error("node {type_hash} is not a schema and cannot be a type")]
    NotASchema {
        /// The hash of the type.
        type_hash: NodeHash,
    },
    /// A schema is unusable.
    #[error("bad schema: {}", joined(problems, "; "))]
    BadSchema {
        /// The problems, including at least one error.
        problems: Vec<SchemaProblem>,
    },
    /// A text is neither a hash nor the beginning of one.
    #[error(transparent)]
    BadHash(#[from] HashError),
    /// No stored hash has this prefix.
    #[error("no node's hash begins with {prefix}")]
    NoSuchPrefix {
        /// The prefix, in upper case.
        prefix: String,
    },
    /// Several stored hashes have this prefix.
    #[error("{prefix} is the beginning of more than one hash: {}{}", joined(matches, ", "), if *more { ", …" } else { "" })]
    AmbiguousPrefix {
        /// The prefix, in upper case.
        prefix: String,
        /// The first matches, at most five.
        matches: Vec<NodeHash>,
        /// Whether there are more matches.
        more: bool,
    },
    /// A payload can't be encoded.
    #[error(transparent)]
    Cbor(#[from] CborError),
    /// Others blocked the nodes for too long, by holding or removing them. Nothing was changed: try again.
    #[error("another process has held the nodes in {} for {waited_ms} ms", path.display())]
    Busy {
        /// The place of the nodes.
        path: PathBuf,
        /// The time waited, in milliseconds.
        waited_ms: u64,
    },
    /// A sweep was not renewed in time, so others may hold by now. All removals so far were right: sweep again.
    #[error("the sweep of the nodes in {} has ended: it was not renewed in time", path.display())]
    SweepEnded {
        /// The place of the nodes.
        path: PathBuf,
    },
    /// A newer version of this library wrote the file. Don't change it.
    #[error("{} has format {version}, which is newer than this version of uwf reads", path.display())]
    NewerFormat {
        /// The file.
        path: PathBuf,
        /// The format of the file.
        version: u64,
    },
    /// A pack is unreadable, so its content is unknown. Nothing else is lost.
    #[error("the pack {} is damaged: {reason}", path.display())]
    DamagedPack {
        /// The file.
        path: PathBuf,
        /// The problem.
        reason: String,
    },
    /// A remote store answered several times, each time with different wrong bytes. Nothing was cached; the read can be retried.
    #[error("the store sent node {hash} garbled {asked} times in a row")]
    Garbled {
        /// The hash.
        hash: NodeHash,
        /// The number of requests.
        asked: usize,
    },
    /// The backend failed. Reads can be repeated, and so can puts, because storing a node twice changes nothing.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// The operation, a verb.
        action: &'static str,
        /// The file, or the place as a backend without files names it.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A remote backend can't be used.
    #[error(transparent)]
    Remote(#[from] RemoteError),
}

impl StoreError {
    /// Whether the error is about the disk, the network or other processes at this moment, and not about a node: the same call may succeed
    /// later.
    pub fn is_of_the_moment(&self) -> bool {
        use StoreError::{Busy, Garbled, Io, Remote, SweepEnded};
        matches!(self, Io { .. } | Remote(_) | Garbled { .. } | Busy { .. } | SweepEnded { .. })
    }

    /// Whether the disk or the quota is full.
    pub fn is_disk_full(&self) -> bool {
        matches!(self, StoreError::Io { source, .. } if durable_files::is_disk_full(source))
    }
}

impl From<SchemaError> for StoreError {
    fn from(error: SchemaError) -> StoreError {
        StoreError::BadSchema { problems: error.problems }
    }
}

impl From<FileError> for StoreError {
    fn from(error: FileError) -> StoreError {
        StoreError::Io { action: error.action, path: error.path, source: error.source }
    }
}

fn joined<T: ToString>(parts: &[T], between: &str) -> String {
    parts.iter().map(ToString::to_string).collect::<Vec<_>>().join(between)
}
