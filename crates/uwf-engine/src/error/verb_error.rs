//! What a verb refuses, or fails with on its own account.
//!
//! It stands here and not in the verbs: they use the conversion too, because a step records what it shows.

use std::path::PathBuf;

use durable_files::regular::Refused;
use json_cas::{Hash, StoreError};
use uwf_core::document::Problem;
use uwf_core::thread::ThreadId;

use crate::attempt::newest_attempt::NewestAttempt;
use crate::attempt::worktree::Unsaved;
use crate::root::registry::Gone;

/// Why a verb did not do what was asked of it.
#[derive(Debug, thiserror::Error)]
pub enum VerbError {
    /// A thread that was to be removed is active.
    #[error("thread {0} is active")]
    Active(ThreadId),
    /// A process that holds the lock of a thread cannot be ended.
    #[error("the lock of thread {0} is still held, by a process that could not be ended")]
    StillHeld(ThreadId),
    /// A thread, or one above it, is paused.
    #[error("thread {thread} is paused{}: {why}", if paused == thread { String::new() } else { format!(" with its parent {paused}") })]
    Paused {
        /// The thread.
        thread: ThreadId,
        /// The one that was paused.
        paused: ThreadId,
        /// Why.
        why: String,
    },
    /// A thread is not where whoever asked for something has seen it.
    #[error("thread {thread} has moved on: its head is {head}, not {expected}")]
    MovedOn {
        /// The thread.
        thread: ThreadId,
        /// Its head.
        head: Hash,
        /// The head it was expected to have.
        expected: Hash,
    },
    /// Somebody has tried the next step of a thread since whoever asked for something has seen it.
    #[error("thread {thread} has been tried since: its newest attempt is {newest}, not {expected}")]
    TriedSince {
        /// The thread.
        thread: ThreadId,
        /// The newest attempt at its head.
        newest: NewestAttempt,
        /// The one it was expected to be.
        expected: NewestAttempt,
    },
    /// A thread has ended since somebody saw it.
    #[error("thread {thread} {} since", if *was_killed { "was killed" } else { "has ended" })]
    EndedSince {
        /// The thread.
        thread: ThreadId,
        /// Whether somebody ended it.
        was_killed: bool,
    },
    /// A thread waits for a person already.
    #[error("{why}")]
    Waits {
        /// The thread.
        thread: ThreadId,
        /// What it waits for.
        why: String,
    },

    /// A workflow has a secret in it.
    #[error("the workflow has the value of {variable} in it")]
    SecretInWorkflow {
        /// The variable that holds the secret.
        variable: String,
    },
    /// A workflow has errors.
    #[error("{}", all(.0))]
    Workflow(Vec<Problem>),
    /// A workflow file is something else than a file, or too large.
    #[error("{}: {refused}", path.display())]
    NotAFile {
        /// Its path.
        path: PathBuf,
        /// What it is.
        refused: Refused,
    },
    /// A workflow file is not UTF-8.
    #[error("{} is not UTF-8 text (byte {at})", path.display())]
    NotText {
        /// Its path.
        path: PathBuf,
        /// The first byte that is not.
        at: usize,
    },
    /// No workflow has this name, path or hash.
    #[error("there is no workflow `{typed}`")]
    NoWorkflow {
        /// The name as typed.
        typed: String,
        /// What is known instead.
        instead: Instead,
    },

    /// No workflow can have this name.
    #[error("the workflow name `{}` {fault}", name.escape_debug())]
    BadName {
        /// The name as typed.
        name: String,
        /// What is wrong with it.
        fault: String,
    },

    /// The registry does not have this name.
    #[error("{} has no workflow `{name}`", registry.display())]
    NotRegistered {
        /// The name.
        name: String,
        /// The registry's file.
        registry: PathBuf,
        /// The file of the project that has it.
        file: Option<PathBuf>,
        /// A name that may be meant, as a question.
        near: Option<String>,
    },

    /// A thread has limits that its agents keep from working, and they were to be strict.
    #[error("{}", .0.join("; "))]
    UnenforcedLimits(Vec<String>),
    /// A thread was to be started without a task.
    #[error("the prompt is empty")]
    EmptyPrompt,
    /// A fork at a step was to have another task.
    #[error("{step} is a step: only the start of a thread can get another task")]
    TaskOfStep {
        /// The step.
        step: Hash,
        /// The start of its thread.
        start: Hash,
    },
    /// A worktree has something that would be lost with it.
    #[error("thread {thread} has a worktree, {}, and {unsaved}", dir.display())]
    Unsaved {
        /// The thread.
        thread: ThreadId,
        /// Its worktree.
        dir: PathBuf,
        /// What would be lost.
        unsaved: Unsaved,
    },
    /// The files of a thread at a node are not known.
    #[error("the files of thread {thread} at {node} were not recorded")]
    NoFiles {
        /// The thread.
        thread: ThreadId,
        /// The node.
        node: Hash,
    },
    /// A thread has no worktree of its own.
    #[error("thread {0} has no git worktree: its agents work in the directory itself")]
    WithoutWorktree(ThreadId),
    /// A thread belongs to another repository than the one a person stands in, if it is one.
    #[error(
        "{} is in no working tree of the git repository {}, to which thread {thread} belongs",
        here.display(),
        repository.display()
    )]
    OtherRepository {
        /// The thread.
        thread: ThreadId,
        /// Its repository.
        repository: PathBuf,
        /// Where the person stands.
        here: PathBuf,
    },
    /// The repository of a thread is not where it was.
    #[error("the git repository {} of thread {thread} is gone", repository.display())]
    RepositoryGone {
        /// The thread.
        thread: ThreadId,
        /// Where it was.
        repository: PathBuf,
        /// The thread's branch in it.
        branch: String,
    },
    /// Somebody has deleted or renamed the branch of a thread.
    #[error("branch {branch} of thread {thread} is gone")]
    BranchGone {
        /// The thread.
        thread: ThreadId,
        /// The branch.
        branch: String,
    },
    /// A person stands in the worktree of the thread that is to be merged.
    #[error("this is the worktree of thread {thread} itself")]
    InItsWorktree {
        /// The thread.
        thread: ThreadId,
        /// Its branch.
        branch: String,
    },
    /// The worktree of a thread has another branch checked out than the thread's.
    #[error(
        "{} has {} checked out, not {branch}",
        dir.display(),
        found.as_ref().map_or_else(|| "a bare commit".to_owned(), |found| format!("the branch {found}"))
    )]
    OtherBranch {
        /// The worktree.
        dir: PathBuf,
        /// The thread's branch.
        branch: String,
        /// What is checked out.
        found: Option<String>,
    },
    /// The worktree of a thread has conflicts that nobody has resolved.
    #[error("{} has conflicts that are not resolved: {}", dir.display(), files.join(", "))]
    UnresolvedThere {
        /// The worktree.
        dir: PathBuf,
        /// The files.
        files: Vec<String>,
    },
    /// Somebody has begun a merge and not concluded it.
    #[error("a merge is under way in {}", top.display())]
    MergeUnderWay {
        /// The thread whose branch was to be merged.
        thread: ThreadId,
        /// The working tree.
        top: PathBuf,
    },
    /// Another thread is being merged into the same checkout.
    #[error("another `uwf thread merge` is at work in {}", .0.display())]
    OtherMerge(PathBuf),
    /// Staged changes would become part of a commit that is another's work.
    #[error("there are staged changes in {}, which would become part of the commit", .0.display())]
    Staged(PathBuf),
    /// A branch and what is checked out have changed the same lines.
    #[error("{branch} has conflicts with what is checked out in {}: {}", top.display(), files.join(", "))]
    Conflicts {
        /// The thread.
        thread: ThreadId,
        /// Its branch.
        branch: String,
        /// The files.
        files: Vec<String>,
        /// The working tree.
        top: PathBuf,
    },
    /// No merge of a branch is under way.
    #[error("no merge of {branch} is under way in {}", top.display())]
    NothingToAbort {
        /// The branch.
        branch: String,
        /// The working tree.
        top: PathBuf,
    },
    /// Nothing comes before the start of a thread.
    #[error("{0} is the start of a thread: there is nothing before it to compare it with")]
    NothingBefore(Hash),
    /// No repository has the files of a step.
    #[error("the files of {0} are in no git repository that is known here")]
    NoFilesOf(Hash),
    /// The files of two steps are in two repositories.
    #[error("the files are in two git repositories: {} and {}", .0.display(), .1.display())]
    TwoRepositories(PathBuf, PathBuf),
    /// The id that was chosen for a new thread is that of another one.
    #[error("thread id {thread} is taken: the thread that has it began otherwise, at {at}")]
    OtherThread {
        /// The id.
        thread: ThreadId,
        /// The node that thread began at.
        at: Hash,
    },
    /// There are records of a thread with the id that was chosen for a new one.
    #[error("thread id {0} is taken: there are records of a thread with it, which is neither active nor finished")]
    RecordedId(ThreadId),
    /// A child thread would be too deep.
    #[error(
        "role `{role}` is played by a workflow, but its thread would be {depth} threads deep, and `maxDepth` is {most}"
    )]
    TooDeep {
        /// The role.
        role: String,
        /// How deep it would be.
        depth: u32,
        /// How deep it may be.
        most: u32,
    },
    /// A child thread cannot be begun.
    #[error("child thread {0} cannot be begun")]
    ChildNotBegun(ThreadId),
    /// Other programs are in the places of links to uwf.
    #[error("{} {} another program", .0.join(", "), if .0.len() == 1 { "is" } else { "are" })]
    OtherProgram(Vec<String>),

    /// A role was not played in a thread.
    #[error("role `{role}` was never played in thread {thread}")]
    NeverPlayed {
        /// The thread.
        thread: ThreadId,
        /// The role.
        role: String,
        /// The roles of its workflow.
        roles: Vec<String>,
        /// Whether the thread has steps.
        has_steps: bool,
    },
    /// There is nothing before the first step of a thread, or after its last.
    #[error("thread {thread} has no step {place}")]
    NoStepThere {
        /// The thread.
        thread: ThreadId,
        /// Where; it completes "no step …".
        place: &'static str,
    },
    /// No step of a thread has a hash like that.
    #[error("thread {thread} has no step {wanted}")]
    NoStep {
        /// The thread.
        thread: ThreadId,
        /// The beginning of the hash.
        wanted: String,
    },
    /// This cannot be the beginning of a hash.
    #[error("`{typed}` is not the hash of a step, nor at least {least} symbols of its beginning")]
    NotAHash {
        /// The thread whose step it should be.
        thread: ThreadId,
        /// The name as typed.
        typed: String,
        /// How many symbols it takes.
        least: usize,
    },
    /// Several steps have such a hash.
    #[error("`{typed}` is not unique: {one}, {other}")]
    ManySteps {
        /// The name as typed.
        typed: String,
        /// One of them.
        one: Hash,
        /// Another one.
        other: Hash,
    },

    /// No failed attempt at a role has a text that could be read again.
    #[error("thread {thread} has no failed attempt at role `{role}` whose text could be read again")]
    NothingToRead {
        /// The thread.
        thread: ThreadId,
        /// The role.
        role: String,
    },
    /// The child thread that plays a role continues.
    #[error("role `{role}` is played by a child thread that has not ended: there is no result of it to read")]
    ChildGoesOn {
        /// The thread.
        thread: ThreadId,
        /// The role.
        role: String,
    },
    /// The next step of a thread ends it.
    #[error("thread {0} asks nobody: its next step ends it")]
    AsksNobody(ThreadId),
    /// A thread waits for something else than a person.
    #[error("thread {thread} asks nobody itself: {why}")]
    AsksNobodyItself {
        /// The thread.
        thread: ThreadId,
        /// What it does instead.
        why: String,
    },
    /// A child thread is asked, of which nothing was said where the attempt of its parent was.
    #[error("child thread {child} of thread {thread} is asked, and an attempt of {thread} says nothing about it")]
    AsksChild {
        /// The thread.
        thread: ThreadId,
        /// The child.
        child: ThreadId,
    },
    /// Several child threads wait for a person.
    #[error("several child threads of thread {thread} wait")]
    SeveralWait {
        /// The thread.
        thread: ThreadId,
        /// Those that wait.
        children: Vec<ThreadId>,
    },
    /// An agent plays the next role of a thread.
    #[error("thread {thread} does not wait for a person: its next role `{role}` is played by `{agent}`")]
    PlayedByAgent {
        /// The thread.
        thread: ThreadId,
        /// The role.
        role: String,
        /// The agent.
        agent: String,
    },
    /// Somebody has given another answer.
    #[error("role `{role}` has another answer already, {output}")]
    OtherAnswer {
        /// The thread.
        thread: ThreadId,
        /// The role.
        role: String,
        /// The other answer.
        output: Hash,
    },
    /// Somebody has replied since whoever replies has seen the question.
    #[error("the question of thread {0} has a reply already")]
    RepliedSince(ThreadId),
    /// Somebody has replied otherwise.
    #[error("the agent's question has another reply already, {reply}")]
    OtherReply {
        /// The thread.
        thread: ThreadId,
        /// The `Content` node of that reply.
        reply: Hash,
    },
    /// Somebody else has played a role.
    #[error("role `{role}` was played by somebody else meanwhile: {now}")]
    TooLate {
        /// The thread.
        thread: ThreadId,
        /// The role.
        role: String,
        /// Where the thread stands now.
        now: String,
    },
    /// The index was changed while it was being recovered.
    #[error("somebody who does not lock it changed the index while it was being recovered")]
    IndexChanged(PathBuf),
    /// A thread was changed in the other store while it was being copied there.
    #[error("somebody changed thread {0} in the other store while it was being copied")]
    CopyRaced(ThreadId),

    /// The step that an agent named is not what it should be.
    #[error("the agent's result {step} was refused: {why}")]
    ResultRefused {
        /// The step.
        step: Hash,
        /// What is wrong with it.
        why: String,
    },
    /// The step on record is not one of the role whose turn it is.
    #[error("the recorded result {step} was refused: it is one of role `{role}`, but {}", turn(next.as_deref()))]
    RecordedRefused {
        /// The step.
        step: Hash,
        /// The role it was recorded for.
        role: String,
        /// The role whose turn it is; none at the end of the thread.
        next: Option<String>,
    },
    /// What leads to nodes cannot be followed, so it is not known what is reachable.
    #[error("cannot follow {from}: {source}; nothing was removed")]
    Unfollowed {
        /// What leads there.
        from: String,
        /// What to do about it.
        hint: Option<String>,
        /// What is wrong.
        source: StoreError,
    },
    /// A line of the history names no head.
    #[error("cannot tell where thread {thread} ended: its line in the history names no head; nothing was removed")]
    NoHead {
        /// The thread.
        thread: String,
    },
    /// A line of the history is not readable, so it is not known which thread it is of.
    #[error("cannot tell which threads have ended: {}, {problem}; nothing was removed", path.display())]
    DamagedHistory {
        /// The history.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// The registry is gone, so it is not known which workflows have names.
    #[error("cannot tell which workflows have names: {0}; nothing was removed")]
    RegistryGone(Gone),
    /// Another process removes or packs nodes.
    #[error("another process removes or packs nodes: {} stayed locked", .0.display())]
    GcBusy(PathBuf),
    /// No pack has this name.
    #[error("there is no pack {0}")]
    NoPack(Hash),
    /// A pack that was to be given up is as it was written.
    #[error("pack {0} is whole: all nodes in it can be read")]
    WholePack(Hash),
    /// A header of the collector that spans are sent to is in a variable that is not set.
    #[error("{variable} is not set, which holds a header for `otel`")]
    HeaderNotSet {
        /// The variable.
        variable: String,
    },
    /// A node that was to be removed is reachable.
    #[error("node {hash} is in use: {from} leads to it")]
    Reachable {
        /// The node.
        hash: Hash,
        /// What leads to it.
        from: String,
    },
    /// A node that was to be removed is one that another refers to.
    #[error("node {referrer} refers to node {hash}")]
    Referred {
        /// The node.
        hash: Hash,
        /// The other one.
        referrer: Hash,
    },
    /// The head of a thread moved while an agent was at work.
    #[error("{}{why}{}", ended(thread, *now), elsewhere(*now))]
    Quarantined {
        /// The thread.
        thread: ThreadId,
        /// The step.
        step: Hash,
        /// What the record of the attempt says.
        why: String,
        /// Where the head is; none if the thread has ended.
        now: Option<Hash>,
    },
}

/// What is known instead of a workflow that is not there.
#[derive(Debug)]
pub enum Instead {
    /// The registry is gone.
    NoRegistry(Gone),
    /// A project has this file, which counts only for persons.
    ForPersons(PathBuf),
    /// Another workflow has a name like that.
    Near(String),
    /// It looks like the path of a file that is missing.
    NoFile(PathBuf),
    /// Nothing.
    Nothing,
}

fn all(problems: &[Problem]) -> String {
    let text = |problem: &Problem| match &problem.hint {
        Some(hint) => format!("{problem}\n  hint: {hint}"),
        None => problem.to_string(),
    };
    problems.iter().map(text).collect::<Vec<_>>().join("\n")
}

fn turn(next: Option<&str>) -> String {
    next.map_or_else(|| "the thread is at its end".to_owned(), |next| format!("it is the turn of role `{next}`"))
}

fn ended(thread: &ThreadId, now: Option<Hash>) -> String {
    if now.is_none() { format!("thread {thread} ended meanwhile: ") } else { String::new() }
}

fn elsewhere(now: Option<Hash>) -> String {
    now.map(|head| format!(" (head is {head})")).unwrap_or_default()
}
