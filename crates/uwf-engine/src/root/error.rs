//! What can go wrong with the files and names of a storage root.

use std::io;
use std::path::{Path, PathBuf};

use durable_files::FileError;
use durable_files::regular::Refused;
use json_cas::{Hash, HeadsError, StoreError};
use rustix::io::Errno;
use uwf_core::config::edit::EditError;
use uwf_core::document::Problem;
use uwf_core::thread::{ThreadId, ThreadIdError};

/// Why something was not read from a storage root, or not written to it.
#[derive(Debug, thiserror::Error)]
pub enum RootError {
    /// An operation on a file or directory failed.
    #[error("cannot {action} {path}: {source}")]
    File {
        /// What was being done; it completes "cannot … PATH".
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// A file was not replaced, locked or made durable.
    #[error(transparent)]
    Durable(#[from] FileError),
    /// A node was not read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Index or history was not read or written.
    #[error(transparent)]
    Heads(#[from] HeadsError),

    /// Neither a root variable nor `HOME` is set.
    #[error("cannot tell where the storage root is: HOME is not set")]
    NoRoot,
    /// The path of this program is unknown.
    #[error("cannot find the path of uwf itself: {0}")]
    OwnProgram(#[source] io::Error),
    /// The heads are kept elsewhere than in files of this root.
    #[error("this storage root uses a shared store, so it has no local index to recover")]
    NoIndex(PathBuf),
    /// The nodes are kept elsewhere than in files of this root.
    #[error("the nodes of this storage root are not in files of it: there is nothing to pack")]
    NoFiles(PathBuf),

    /// A file of the configuration is not UTF-8.
    #[error("{0} is not UTF-8 text")]
    NotText(PathBuf),
    /// The configuration has errors.
    #[error("{}", joined(.0))]
    Config(Vec<Problem>),
    /// A changed configuration would have errors that it does not have yet.
    #[error("the result would not be valid: {}", .0.iter().map(|problem| &*problem.message).collect::<Vec<_>>().join("; "))]
    ConfigResult(Vec<Problem>),
    /// The text of the configuration cannot be edited.
    #[error("{}", not_edited(path, source))]
    ConfigEdit {
        /// The configuration.
        path: PathBuf,
        /// Why.
        source: EditError,
    },
    /// Another process changes the configuration; this is its lock.
    #[error("the configuration is being changed by another process")]
    ConfigBusy(PathBuf),
    /// The configuration is not what it was when its new text was begun.
    #[error("{0} was changed meanwhile")]
    ConfigChanged(PathBuf),
    /// The value for this path in the configuration looks like an API key.
    #[error("the value for `{0}` looks like an API key, which does not belong into config.yaml")]
    KeyInConfig(String),
    /// A file of the configuration is a link.
    #[error("{path} is a link to {target}, outside the storage root")]
    LinkOutside {
        /// The link.
        path: PathBuf,
        /// Where it leads.
        target: PathBuf,
    },

    /// A `.env` has an ambiguous line.
    #[error("{path}, line {line}: {why}")]
    EnvLine {
        /// The `.env`.
        path: PathBuf,
        /// Number of the line, from 1.
        line: usize,
        /// Why, without a word of the line.
        why: &'static str,
    },
    /// A value has characters that no line of a `.env` can hold.
    #[error("{path} cannot hold the value for `{name}`")]
    EnvValue {
        /// The `.env`.
        path: PathBuf,
        /// The variable.
        name: String,
    },

    /// The configuration of a project cannot be read.
    #[error("cannot read {path}: {source}")]
    ProjectFile {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// No project that this directory belongs to has a configuration.
    #[error("no project of {0} has a .workflows/config.yaml")]
    NoProject(PathBuf),
    /// The list of trusted configurations is damaged.
    #[error("{path} is not readable: {source}")]
    Trusted {
        /// The list.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },

    /// Another process holds this lock of the registry.
    #[error("another process holds {0}")]
    RegistryBusy(PathBuf),
    /// The registry is damaged.
    #[error("{path} is not readable: {why}")]
    Registry {
        /// The file that holds it.
        path: PathBuf,
        /// What is wrong, and where in the file.
        why: String,
    },
    /// No workflow has this name.
    #[error("there is no workflow `{0}` in the registry")]
    NoWorkflow(String),
    /// A workflow never was this hash; without a hash, it has no earlier one.
    #[error("workflow `{workflow}` has {}", version.map_or("no earlier version".to_owned(), |hash| format!("no version {hash} in its history")))]
    NoVersion {
        /// Name of the workflow.
        workflow: String,
        /// The hash that was asked for.
        version: Option<Hash>,
    },
    /// No type is called that.
    #[error("there is no type `{0}`")]
    NoType(String),

    /// This is neither a thread id nor enough of one.
    #[error("`{typed}` is not a thread id, nor at least {least} symbols of its beginning or end")]
    NotAThreadId {
        /// What was typed.
        typed: String,
        /// How many symbols it takes.
        least: usize,
    },
    /// Index or history has a thread id that is none.
    #[error(transparent)]
    StoredId(#[from] ThreadIdError),
    /// No thread has an id like that.
    #[error("no thread begins or ends with `{typed}`")]
    NoThreadLike {
        /// What was typed.
        typed: String,
        /// The end of an id that is much like it.
        near: Option<String>,
    },
    /// Several threads have such an id.
    #[error("`{typed}` is not unique: {}{}", ids[..ids.len().min(5)].join(", "), if ids.len() > 5 { ", …" } else { "" })]
    ManyThreads {
        /// What was typed.
        typed: String,
        /// Their ids.
        ids: Vec<String>,
    },
    /// This is not a place among the threads.
    #[error("`{0}` names no thread")]
    NotAPlace(String),
    /// There are not so many threads.
    #[error("`{typed}` names no thread: {}", match count { 0 => "there is none yet".to_owned(), 1 => "there is only one".to_owned(), _ => format!("there are {count}") })]
    FewThreads {
        /// What was typed.
        typed: String,
        /// How many there are.
        count: usize,
    },
    /// Neither index nor history has a thread.
    #[error("there is no thread {thread}")]
    NoThread {
        /// Its id.
        thread: ThreadId,
        /// Whether this machine has records of it all the same.
        has_records: bool,
    },
    /// A note about a thread's worktree can't be used.
    #[error("cannot use the note `{note}`, which says where thread {thread} keeps its files: {source}")]
    StrangeNote {
        /// The thread.
        thread: ThreadId,
        /// Name of the note.
        note: String,
        /// The fault.
        source: serde_json::Error,
    },
    /// A thread has ended.
    #[error("thread {thread} {}", if *was_killed { "was killed" } else { "has ended" })]
    Ended {
        /// Its id.
        thread: ThreadId,
        /// Whether somebody ended it.
        was_killed: bool,
    },
    /// The index has no such thread, and the history cannot be read.
    #[error("thread {0} is not active")]
    NotActive(ThreadId),
    /// Another process holds the lock of a thread.
    #[error("thread {0} is being stepped by another process")]
    Stepped(ThreadId),
    /// Somebody else's process holds the lock of a thread.
    #[error("thread {thread} is being stepped by {owner}")]
    SteppedBy {
        /// Its id.
        thread: ThreadId,
        /// Name of the user.
        owner: String,
    },
    /// A directory of a thread belongs to somebody else.
    #[error("{dir} cannot be used: it belongs to {owner}")]
    NotOurs {
        /// The directory.
        dir: PathBuf,
        /// Name of the user.
        owner: String,
    },
    /// A line for the record of a thread cannot be written as JSON.
    #[error("cannot write the record of a thread: {0}")]
    RecordLine(#[source] serde_json::Error),
}

/// What functions of a storage root return.
pub type Result<T, E = RootError> = std::result::Result<T, E>;

impl RootError {
    /// Whether a store elsewhere could not be used.
    pub fn is_remote(&self) -> bool {
        matches!(self, RootError::Heads(HeadsError::Remote(_)) | RootError::Store(StoreError::Remote(_)))
    }

    /// A failed operation on a file; `action` completes "cannot … PATH".
    pub fn file(action: &'static str, path: impl Into<PathBuf>, source: io::Error) -> RootError {
        RootError::File { action, path: path.into(), source }
    }
}

/// Adds the path to an I/O error, with what was being done.
pub trait AtPath<T> {
    /// `action` completes "cannot … PATH".
    ///
    /// # Errors
    /// The same one, with the path in its message.
    fn at(self, action: &'static str, path: impl Into<PathBuf>) -> Result<T>;
}

impl<T> AtPath<T> for io::Result<T> {
    fn at(self, action: &'static str, path: impl Into<PathBuf>) -> Result<T> {
        self.map_err(|source| RootError::file(action, path, source))
    }
}

/// Whether a file cannot be read because it is missing, or because something else is in its place. Trying again does not help
/// then. Any other failure to read does not say what is there.
pub(crate) fn is_damage(error: &io::Error) -> bool {
    let of_place = [Errno::NOENT, Errno::ISDIR, Errno::NOTDIR, Errno::LOOP, Errno::NAMETOOLONG];
    Refused::of(error).is_some() || Errno::from_io_error(error).is_some_and(|errno| of_place.contains(&errno))
}

fn joined(problems: &[Problem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

fn not_edited(path: &Path, error: &EditError) -> String {
    match error {
        EditError::Unreadable(problems) => joined(problems),
        other => format!("{}: {other}", path.display()),
    }
}
