//! Errors of stores that are reached over a network.

mod requests;

use std::error::Error as StdError;
use std::fmt;

pub use requests::{StoreRequestCounts, count_store_request, store_requests};

/// Why a remote store can't be used. A failure is never taken for an answer: a node is not missing because its store is.
#[derive(Debug)]
pub struct RemoteError {
    /// The store, without secrets: `s3://bucket/prefix`.
    pub store: String,
    /// The kind of problem.
    pub fault: RemoteFault,
    /// One line: the operation and the answer.
    pub message: String,
    /// The error of the client library.
    pub source: Option<Box<dyn StdError + Send + Sync>>,
}

/// Problems of a remote store, distinguished by the remedy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemoteFault {
    /// The store does not answer, or not in time: try again.
    Unreachable,
    /// The store answers but failed: for example, its disk is full.
    Failed,
    /// The store rejects the credentials, or does not allow the operation.
    Denied,
    /// The bucket or the database does not exist.
    Missing,
    /// The place exists but was never initialized, or not completely.
    NotReady,
    /// The store exists, but a part is missing.
    Incomplete,
    /// The store has a newer format than this program supports.
    Newer,
    /// The place contains something else.
    Foreign,
    /// The store's address is invalid, or this program can't reach that kind of store.
    Misnamed,
    /// The server lacks a property that a store needs, such as writing only if an object doesn't exist.
    Unfit,
    /// Another process accesses the store for this one, and rejects the operation.
    Refused,
}

impl fmt::Display for RemoteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the store {}: {}", self.store, self.message)
    }
}

impl StdError for RemoteError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn StdError + 'static))
    }
}
