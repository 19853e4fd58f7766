//! What can go wrong when threads are read.

use std::io;
use std::path::PathBuf;

use json_cas::Hash;
use uwf_core::moderator::{ConditionError, ModeratorError};
use uwf_core::thread::ThreadId;
use uwf_core::workflow::PayloadError;

use crate::root::error::RootError;

/// Why a thread was not read, or not sent on.
#[derive(Debug, thiserror::Error)]
pub enum ThreadError {
    /// A node, the index or a file of the storage root was not read, or the thread is not there.
    #[error(transparent)]
    Root(RootError),
    /// The node at which the history says that a thread ended is missing.
    #[error("node {hash} is missing, at which thread {thread} ended")]
    NoEnd {
        /// The thread.
        thread: ThreadId,
        /// The node.
        hash: Hash,
    },
    /// A node that a thread or a name leads to is missing.
    #[error("node {hash} is missing")]
    Gone {
        /// The node.
        hash: Hash,
    },
    /// Somebody moved the head of a thread at the same time.
    #[error("the head of thread {thread} moved while it was {meanwhile}")]
    HeadMoved {
        /// The thread.
        thread: ThreadId,
        /// What was being done to it; it completes "while it was …".
        meanwhile: &'static str,
    },
    /// A thread is not that long.
    #[error("thread {thread} has no step {step}")]
    NoStep {
        /// The thread.
        thread: ThreadId,
        /// Number of the step, from 1.
        step: usize,
    },
    /// A node has another type than its place asks for.
    #[error("node {hash} is a {found}, a {wanted} was expected")]
    WrongKind {
        /// The node.
        hash: Hash,
        /// Name of the type that was expected.
        wanted: &'static str,
        /// What people call the type it has.
        found: String,
    },
    /// A node is not what its type says.
    #[error("node {hash} does not have the shape of its type: {source}")]
    Shape {
        /// The node.
        hash: Hash,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// A workflow is damaged.
    #[error("workflow {hash} is not readable: {source}")]
    Workflow {
        /// The workflow.
        hash: Hash,
        /// What is wrong.
        source: PayloadError,
    },
    /// A detail leads through more child threads than make sense.
    #[error("the detail {detail} lies more than {most} threads deep")]
    TooDeep {
        /// The detail.
        detail: Hash,
        /// How many threads it may lead through.
        most: usize,
    },
    /// The conditions of a workflow cannot be evaluated.
    #[error("thread {thread} cannot be routed from `{position}`: {source}")]
    Routing {
        /// The thread.
        thread: ThreadId,
        /// The role that was played last.
        position: String,
        /// Why.
        source: Box<ModeratorError>,
    },
    /// An expression is not JSONata.
    #[error(transparent)]
    Expression(#[from] ConditionError),
    /// An expression cannot be evaluated on a thread.
    #[error("`{expression}` could not be evaluated: {why}")]
    Evaluation {
        /// The expression.
        expression: String,
        /// Why.
        why: String,
    },
    /// The process that evaluates conditions cannot be started.
    #[error("cannot start {program} to evaluate a condition: {source}")]
    Evaluator {
        /// The program.
        program: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// That process cannot read what it is asked.
    #[error("cannot read the request: {0}")]
    NoRequest(#[source] io::Error),
    /// That process does not understand what it is asked.
    #[error("the request is not readable: {0}")]
    Request(#[source] serde_json::Error),
    /// This is no digest.
    #[error("`{0}` is not a digest")]
    NotADigest(String),
    /// The list of digests of a thread is empty.
    #[error("a thread has no digest at its start")]
    NoDigest,
}

/// What functions that read threads return.
pub type Result<T, E = ThreadError> = std::result::Result<T, E>;

impl<E: Into<RootError>> From<E> for ThreadError {
    fn from(error: E) -> ThreadError {
        ThreadError::Root(error.into())
    }
}
