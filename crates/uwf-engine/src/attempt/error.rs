//! What can go wrong with one try to have a role played.

use std::io;
use std::path::PathBuf;

use json_cas::Hash;
use uwf_core::config::{GitRemote, OutputMode};
use uwf_core::text::ellipsize;
use uwf_core::thread::ThreadId;
use uwf_core::usage::Reached;
use uwf_core::workflow::Workflow;

use crate::attempt::at_work::AtWork;
use crate::attempt::ended::Ended;
use crate::attempt::git::GitError;
use crate::attempt::program::Unusable;
use crate::error_kind::SentError;
use crate::root::workplace::Workplace;
use crate::root::worktree::Worktree;
use crate::thread::error::ThreadError;

/// Characters shown of a line that is not a result.
const SHOWN: usize = 80;

/// Why a role was not played.
#[derive(Debug, thiserror::Error)]
pub enum AttemptError {
    /// The thread or a file of the storage root was not read or written.
    #[error(transparent)]
    Thread(ThreadError),
    /// Git did not do what it was asked for.
    #[error(transparent)]
    Git(GitError),

    /// A role that somebody named is not in the workflow.
    #[error("workflow `{workflow}` has no role `{role}`")]
    NoRole {
        /// Name of the workflow.
        workflow: String,
        /// The role that was named.
        role: String,
        /// The roles it has.
        known: Vec<String>,
        /// Whether an agent was to be bound to the role.
        is_bound: bool,
    },
    /// The graph of a workflow leads to a role that the workflow does not have.
    #[error("workflow `{workflow}` routes to role `{role}`, which it does not have")]
    RoutedNowhere {
        /// Name of the workflow.
        workflow: String,
        /// The role.
        role: String,
    },
    /// Nobody says which agent plays a role.
    #[error("no agent is configured for role `{role}`")]
    NoAgent {
        /// The role.
        role: String,
    },
    /// No agent has this alias, and no program has this name.
    #[error("there is no agent `{alias}`")]
    UnknownAgent {
        /// What was given.
        alias: String,
        /// The aliases of the configuration.
        known: Vec<String>,
    },
    /// A command line has a secret in it.
    #[error("the agent's command line has the value of {variable} in it")]
    SecretInCommand {
        /// The variable that holds the secret.
        variable: String,
    },
    /// Somebody said what an alias prints, which the configuration says.
    #[error("`{alias}` is an alias: --output belongs to a command line")]
    OutputOfAlias {
        /// The alias.
        alias: String,
        /// What was said.
        output: OutputMode,
    },
    /// This is neither an alias nor a command line.
    #[error("`{0}` is neither an agent alias nor a command line (unbalanced quotes?)")]
    NotACommandLine(String),
    /// The built-in agent that runs a command has no command for a role.
    #[error("`{agent}` runs the program of an agent with `output: text` or `json`, and role `{role}` has none")]
    NoCommand {
        /// Name of the built-in agent.
        agent: &'static str,
        /// The role.
        role: String,
    },

    /// The path of a workspace is not UTF-8.
    #[error("the path of the workspace is not UTF-8: {}", .0.display())]
    WorkspaceNotText(PathBuf),
    /// The workspace of a thread is not there.
    #[error("the workspace {} is not an existing directory", .0.display())]
    NoWorkspace(PathBuf),
    /// The worktree that a thread has of its own is not there.
    #[error("the worktree {} of thread {thread} is gone", worktree.dir.display())]
    NoWorktree {
        /// The thread.
        thread: ThreadId,
        /// Its worktree.
        worktree: Box<Worktree>,
    },
    /// A symbolic link leads from the workspace out of the worktree.
    #[error("the workspace {} of thread {thread} is outside its worktree {}, because of a symbolic link", workspace.display(), worktree.display())]
    OutsideWorktree {
        /// The thread.
        thread: ThreadId,
        /// The directory.
        workspace: PathBuf,
        /// The worktree.
        worktree: PathBuf,
    },
    /// The thread would continue without its files.
    #[error("thread {thread} has files in its worktree {}, and {} is a different directory", worktree.display(), cwd.display())]
    WouldLeaveFiles {
        /// The thread.
        thread: ThreadId,
        /// The directory with its files.
        worktree: PathBuf,
        /// The directory that was named.
        cwd: PathBuf,
    },
    /// The record of a thread does not say where the thread works.
    #[error("this machine does not know where thread {0} works")]
    UnknownWorkspace(ThreadId),
    /// The record of a thread does not say where the thread works, and another machine does.
    #[error("thread {thread} works in {} on machine `{}`", place.workspace.display(), place.machine)]
    WorksElsewhere {
        /// The thread.
        thread: ThreadId,
        /// Where it works.
        place: Box<Workplace>,
    },
    /// Another machine has the files that a thread has at its head.
    #[error("thread {thread} has its files on machine `{}`, in {}{}", place.machine, place.workspace.display(), not_at(remote.as_ref()))]
    FilesElsewhere {
        /// The thread.
        thread: ThreadId,
        /// Its head.
        head: Hash,
        /// Who has them.
        place: Box<Workplace>,
        /// Where they are not, either.
        remote: Option<GitRemote>,
    },
    /// The branch of a worktree has commits here that the thread does not have where it continued.
    #[error("{branch} in {} has commits that the thread does not have", at.display())]
    OwnCommits {
        /// The branch.
        branch: String,
        /// The worktree, or the repository when there is none.
        at: PathBuf,
        /// The commit that the thread has checked out, for a worktree.
        reset_to: Option<String>,
    },
    /// Somebody else has pushed to the branch of a thread.
    #[error("branch {branch} of `{remote}` has commits that uwf did not push")]
    ForeignBranch {
        /// The branch.
        branch: String,
        /// Where.
        remote: GitRemote,
    },
    /// The record of a thread has lines, and the one with its settings is not among them.
    #[error("{} is damaged: the settings of thread {thread} are lost", path.display())]
    LostSettings {
        /// The thread.
        thread: ThreadId,
        /// Its record.
        path: PathBuf,
    },
    /// The record of a thread names a directory or a branch that no worktree of it would have.
    #[error("the record of thread {thread} names {} as its worktree, which it never was", dir.display())]
    ForeignWorktree {
        /// The thread.
        thread: ThreadId,
        /// The directory.
        dir: PathBuf,
    },
    /// The settings in the record of a thread are damaged.
    #[error("the settings in {} are not readable: {source}", path.display())]
    Settings {
        /// The thread.
        thread: ThreadId,
        /// Its record.
        path: PathBuf,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// A thread went as far as it may go.
    #[error("{reached}")]
    Limit {
        /// The thread.
        thread: ThreadId,
        /// The limit it has reached.
        reached: Reached,
    },
    /// Another machine plays the next role.
    #[error("{0}")]
    AtWorkElsewhere(Box<AtWork>),
    /// Another machine was quicker to claim the next step of a thread, and did not say for what.
    #[error("another machine took the next step of thread {0} in this moment")]
    ClaimMoved(ThreadId),
    /// An attempt cannot be written as JSON.
    #[error("an attempt cannot be written: {source}")]
    NotWritten {
        /// Its id.
        attempt: String,
        /// Why.
        source: serde_json::Error,
    },

    /// The program of an agent cannot be started, for a reason that its file tells.
    #[error("cannot start agent `{agent}`: {why}")]
    Unusable {
        /// The agent, or its program.
        agent: String,
        /// What is wrong with the file.
        why: Unusable,
    },
    /// The program of an agent cannot be started.
    #[error("cannot start agent `{program}`: {source}")]
    NotStarted {
        /// The program.
        program: String,
        /// Bytes of its longest argument.
        longest_argument: usize,
        /// Why.
        source: io::Error,
    },
    /// An agent ended without a result.
    #[error("agent `{agent}` {ended}{}{}", instead_of_result(printed.as_deref()), with_last_words(last_words))]
    NoResult {
        /// The agent.
        agent: String,
        /// How it ended.
        ended: Ended,
        /// The last line of its stdout, if a hash should have been there.
        printed: Option<String>,
        /// The last line of its stderr.
        last_words: String,
    },
    /// An agent has put something else in the place of an output file.
    #[error("the agent put something else in the place of its output file {}: {source}", path.display())]
    Misplaced {
        /// The file.
        path: PathBuf,
        /// What the system says of it.
        source: io::Error,
    },
    /// An advisor ended without a reply.
    #[error("it {ended}; its last words: {last_words}")]
    AdvisorEnded {
        /// How it ended.
        ended: Ended,
        /// The last line of its stderr.
        last_words: String,
    },
    /// The reply of an advisor is not what it should be.
    #[error("its reply is not readable: {0}")]
    AdvisorReply(#[source] serde_json::Error),

    /// This process cannot listen for signals.
    #[error("cannot listen for signals: {0}")]
    Signals(#[source] io::Error),
    /// This process was told to stop.
    #[error("stopped")]
    Stopped {
        /// The signal.
        signal: i32,
    },
    /// The process that holds the shared store for an agent was not started.
    #[error("cannot start the process that holds the store for the agent of thread {thread}: {source}")]
    BrokerNotStarted {
        /// The thread.
        thread: ThreadId,
        /// Why not.
        source: io::Error,
    },
    /// The process that holds the shared store for an agent ended at once.
    #[error("the process that holds the store for the agent of thread {thread} has ended: see {log}")]
    BrokerDied {
        /// The thread.
        thread: ThreadId,
        /// What it said is at the end of this file.
        log: PathBuf,
    },
    /// A broker is called by uwf alone.
    #[error("these are not the arguments of a broker")]
    BrokerArguments,
    /// The keeper of a thread cannot be started.
    #[error("cannot start the keeper: {source}")]
    KeeperNotStarted {
        /// The thread.
        thread: ThreadId,
        /// Why.
        source: io::Error,
    },
    /// A keeper does not understand what it is asked.
    #[error("not a keeper's request: {0}")]
    KeeperRequest(#[source] serde_json::Error),
    /// The keeper of a thread died.
    #[error("the keeper of thread {thread} died without a report")]
    KeeperDied {
        /// The thread.
        thread: ThreadId,
        /// The file with what it printed.
        log: PathBuf,
    },
    /// The reply of a keeper cannot be read.
    #[error("cannot read what the keeper of thread {thread} replied: {source}")]
    KeeperUnread {
        /// The thread.
        thread: ThreadId,
        /// Why.
        source: io::Error,
    },
    /// What a keeper reports that it failed with.
    #[error("{}", .0.message)]
    Keeper(SentError),
}

/// What functions that have a role played return.
pub type Result<T, E = AttemptError> = std::result::Result<T, E>;

impl From<GitError> for AttemptError {
    fn from(error: GitError) -> AttemptError {
        match error {
            GitError::Stopped { signal } => AttemptError::Stopped { signal },
            error => AttemptError::Git(error),
        }
    }
}

impl<E: Into<ThreadError>> From<E> for AttemptError {
    fn from(error: E) -> AttemptError {
        AttemptError::Thread(error.into())
    }
}

impl AttemptError {
    pub(crate) fn no_role(workflow: &Workflow, role: &str, is_bound: bool) -> AttemptError {
        let known = workflow.roles.keys().cloned().collect();
        AttemptError::NoRole { workflow: workflow.name.clone(), role: role.to_owned(), known, is_bound }
    }
}

fn not_at(remote: Option<&GitRemote>) -> String {
    remote.map(|remote| format!(", and they are not at `{remote}`")).unwrap_or_default()
}

/// What else an agent printed where the hash of its result should have been.
fn instead_of_result(printed: Option<&str>) -> String {
    let Some(last) = printed else { return String::new() };
    let printed = if last.is_empty() { "nothing".to_owned() } else { format!("`{}`", ellipsize(last, SHOWN)) };
    format!(", but the last line of its stdout is {printed} instead of a StepNode hash")
}

fn with_last_words(words: &str) -> String {
    if words.is_empty() { String::new() } else { format!("; its last words: {words}") }
}
