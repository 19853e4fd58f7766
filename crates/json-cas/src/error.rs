//! What can go wrong with nodes.

use std::io;
use std::path::PathBuf;

use durable_files::FileError;

use crate::cbor::CborError;
use crate::hash::{Hash, HashError};
use crate::remote::RemoteError;
use crate::schema::{SchemaError, SchemaProblem, Violation};

/// Why a node could not be read, written or found.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// There is no node with this hash.
    #[error("there is no node {hash}")]
    NotFound {
        /// The hash.
        hash: Hash,
    },
    /// A node refers to one that is not there.
    #[error("node {parent} refers to {hash}, which does not exist")]
    Dangling {
        /// The missing node.
        hash: Hash,
        /// The node that refers to it.
        parent: Hash,
    },
    /// Something is stored under this hash, but not the node. Putting the same content again repairs it.
    #[error("node {hash} is corrupt: {reason}")]
    Corrupt {
        /// The hash.
        hash: Hash,
        /// What is wrong with the bytes.
        reason: String,
    },
    /// Another node with the same hash is stored. Nothing was changed. At the size of any store that is no accident: somebody
    /// chose the content.
    #[error("hash collision: another node is already stored as {hash}")]
    Collision {
        /// The hash both have.
        hash: Hash,
    },
    /// A payload does not fit its type.
    #[error("the payload is not a valid {title}: {}", joined(violations, "; "))]
    Invalid {
        /// The type.
        type_hash: Hash,
        /// The type's title, or its hash.
        title: String,
        /// What does not fit, at least one.
        violations: Vec<Violation>,
    },
    /// The type of a node is not stored: put the schema first.
    #[error("type {type_hash} is not in the store")]
    UnknownType {
        /// The hash of the type.
        type_hash: Hash,
    },
    /// The type of a node is a node, but not a schema.
    #[error("node {type_hash} is not a schema and cannot be a type")]
    NotASchema {
        /// The hash of the type.
        type_hash: Hash,
    },
    /// A schema that cannot be used.
    #[error("bad schema: {}", joined(problems, "; "))]
    BadSchema {
        /// What is wrong, at least one error.
        problems: Vec<SchemaProblem>,
    },
    /// A text that is neither a hash nor the beginning of one.
    #[error(transparent)]
    BadHash(#[from] HashError),
    /// No node's hash begins like this.
    #[error("no node's hash begins with {prefix}")]
    NoSuchPrefix {
        /// What was given, in upper case.
        prefix: String,
    },
    /// Several hashes begin like this.
    #[error("{prefix} is the beginning of more than one hash: {}{}", joined(matches, ", "), if *more { ", …" } else { "" })]
    AmbiguousPrefix {
        /// What was given, in upper case.
        prefix: String,
        /// The first of them, at most five.
        matches: Vec<Hash>,
        /// Whether there are still others.
        more: bool,
    },
    /// A payload that cannot be encoded.
    #[error(transparent)]
    Cbor(#[from] CborError),
    /// Others kept the nodes for too long, holding or removing. Nothing was changed: try again.
    #[error("the nodes in {} are kept by another process for {waited_ms} ms", path.display())]
    Busy {
        /// Where they are.
        path: PathBuf,
        /// How long was waited, in milliseconds.
        waited_ms: u64,
    },
    /// A sweep was not renewed in time, so others may hold by now. What was removed until then was removed rightly: sweep again.
    #[error("the sweep of the nodes in {} has ended: it was not renewed in time", path.display())]
    SweepEnded {
        /// Where they are.
        path: PathBuf,
    },
    /// A newer version of this library wrote the file. It must not be changed.
    #[error("{} has format {version}, which is newer than this version of uwf reads", path.display())]
    NewerFormat {
        /// The file.
        path: PathBuf,
        /// Its format.
        version: u64,
    },
    /// A pack cannot be read, so nobody can tell what is in it. Nothing else is lost.
    #[error("the pack {} is damaged: {reason}", path.display())]
    DamagedPack {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A remote store answered several times, each time with different wrong bytes. Nothing was cached; the read can be retried.
    #[error("node {hash} arrives garbled from its store, {asked} times in a row")]
    Garbled {
        /// The hash.
        hash: Hash,
        /// How often it was asked for.
        asked: usize,
    },
    /// The backend failed. A read can be made again; so can a put, as storing a node twice changes nothing.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was being done, a verb.
        action: &'static str,
        /// To which file, or what a backend without files calls the place.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// A backend on another machine cannot be used.
    #[error(transparent)]
    Remote(#[from] RemoteError),
}

impl StoreError {
    /// Whether it says something about the disk, the network or others at this moment, and nothing about a node: the same call may
    /// succeed another time.
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
