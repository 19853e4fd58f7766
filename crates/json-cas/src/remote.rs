//! What can be wrong with a store that is reached over a network.

use std::error::Error as StdError;
use std::fmt;

/// Why a store elsewhere cannot be used. Nothing of it was taken for an answer: a node is not missing because the store is.
#[derive(Debug)]
pub struct RemoteError {
    /// The store, without anything secret: `s3://bucket/prefix`.
    pub store: String,
    /// What is wrong with it.
    pub fault: RemoteFault,
    /// One line: what was done and what it answered.
    pub message: String,
    /// What the client library said.
    pub source: Option<Box<dyn StdError + Send + Sync>>,
}

/// What is wrong with a store elsewhere, as far as it decides what to do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemoteFault {
    /// It does not answer, or not in time: try again.
    Unreachable,
    /// It answers, and could not do it: a call that failed, a full disk of its own.
    Failed,
    /// It lets nobody in with these credentials, or does not allow what was asked for.
    Denied,
    /// The bucket or the database is not there.
    Missing,
    /// It is there and has never been made ready, or not to the end.
    NotReady,
    /// It is a store, and a part of it is gone.
    Incomplete,
    /// It has a newer version of the format than this program knows.
    Newer,
    /// It holds something else.
    Foreign,
    /// What names it makes no sense, or this program cannot reach that kind of store.
    Misnamed,
    /// It lacks what a store must be able to do, such as writing only what is not there.
    Unfit,
    /// Another process holds the store for this one, and does not do that for it.
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
