//! Worktrees that travel: each step pushes their files to a remote, and a step on another machine fetches them first.
//!
//! uwf pushes the commits with the files of steps (see [`snapshot`]) to the branch `uwf/<thread>` of the remote. Each
//! has the previous one and the checked out commit as parents, so the branch includes the commits of agents and people,
//! and only moves forward. The branch may have the files of a step that never became the head, because its machine was
//! killed in between or another machine was quicker. The next commit then has that one as a parent as well. So uwf
//! never forces a push. The head decides which commit counts: the commit whose message names the head's node.

use std::fs;
use std::path::Path;

use json_cas::NodeHash;
use uwf_core::config::GitRemote;
use uwf_core::thread::ThreadId;

use crate::attempt::git::{self, GitCheckout, GitRunner, PushOutcome, SnapshotCommit};
use crate::attempt::recorded::ThreadRecord;
use crate::attempt::settings::ThreadSettings;
use crate::attempt::snapshot::{self, files_ref, files_refs};
use crate::attempt::worktree::{NewWorktree, branch_of, checkout_of, gone, is_there};
use crate::error::{AtPath, Error, ErrorCause, Result};
use crate::root::home::Home;
use crate::root::workplace::{self, SharedWorktree, ThreadWorkplace};
use crate::root::worktree::Worktree;

/// How often the remote's branch may move during a push.
const TRIES: usize = 3;

/// The action in errors of a push, completing "cannot …".
const PUSH: &str = "push the files";

/// Pushes the recorded files of a node. Returns the commit that has them in the end.
///
/// # Errors
/// `Busy` if the branch has commits that uwf did not push, errors of git.
pub(crate) fn push(repository: &Path, thread: &ThreadId, node: NodeHash, remote: &GitRemote) -> Result<String> {
    let top = checkout_of(repository);
    let (git, branch, name) = (GitRunner::for_directory(&top), branch_of(thread), files_ref(thread, node));
    let mut commit = git.commit(&name)?.ok_or_else(|| git::refused(PUSH, &format!("ref {name} does not exist")))?;
    for _ in 0..TRIES {
        if git.push(remote.as_str(), &commit, &branch)? == PushOutcome::Done {
            return Ok(commit);
        }
        let Some(tip) = fetched(&git, thread, remote)? else { continue };
        if !git.message(&tip)?.lines().any(|line| line == snapshot::thread_line(thread)) {
            return Err(Error::busy(format!("branch {branch} of `{remote}` has commits that uwf did not push")).hint(format!(
                "keep them on another branch of `{remote}`, and delete {branch} there: the next step pushes it again"
            )));
        }
        let tree = format!("{commit}^{{tree}}");
        commit = git.commit_tree(&tree, &[&commit, &tip], &git.message(&commit)?)?;
        git.update_ref(&name, &commit)?;
    }
    Err(git::refused(PUSH, &format!("others push to {branch} all the time")))
}

/// Pushes the files that a thread begins with. Returns a warning if that fails.
pub(crate) fn push_start(home: &Home, thread: &ThreadId, at: NodeHash, settings: &ThreadSettings) -> Option<String> {
    let worktree = settings.worktree_in_use()?;
    // If it were unreadable, the thread would not have begun.
    let remote = home.config().ok()?.worktree_remote?;
    let pushed = || -> Result<String> {
        snapshot::mark_start(worktree, thread, at, &settings.workspace)?;
        push(&worktree.repository, thread, at, &remote)
    };
    let error = pushed().err()?;
    Some(format!("the thread has begun, but its files were not pushed: {error}; the first step here pushes them"))
}

/// The newest commit of a thread's branch at a remote.
fn fetched(git: &GitRunner<'_>, thread: &ThreadId, remote: &GitRemote) -> Result<Option<String>> {
    // A fork may fetch the same branch at this moment.
    let into = format!("refs/uwf-fetched/{thread}-{}", std::process::id());
    if !git.fetch(remote.as_str(), &branch_of(thread), &into)? {
        return Ok(None);
    }
    let tip = git.commit(&into)?;
    git.delete_refs(&into)?;
    Ok(tip)
}

/// The files of a thread at a node, from a remote.
fn files_at(
    git: &GitRunner<'_>,
    thread: &ThreadId,
    node: NodeHash,
    remote: &GitRemote,
) -> Result<Option<SnapshotCommit>> {
    let Some(tip) = fetched(git, thread, remote)? else { return Ok(None) };
    let found = git.newest_with_line(&snapshot::node_line(node), &tip)?;
    found.map(|commit| git.kept_in(&commit)).transpose()
}

/// The files of a thread at a node: from the repository, otherwise from the remote.
pub(crate) fn find(
    home: &Home,
    repository: &Path,
    thread: &ThreadId,
    node: NodeHash,
) -> Result<Option<SnapshotCommit>> {
    if let Some(kept) = snapshot::find(repository, Some(thread), node)? {
        return Ok(Some(kept));
    }
    match home.config()?.worktree_remote {
        Some(remote) => files_at(&GitRunner::for_directory(&checkout_of(repository)), thread, node, &remote),
        None => Ok(None),
    }
}

/// The settings of a thread on a machine to which its worktree comes: `cwd` is in a clone of its repository. `None` if
/// the thread has no worktree that travels, or has left it.
///
/// # Errors
/// Errors of the configuration, the store, and git: the directory is not in a repository.
pub(crate) fn settings_in(
    home: &Home,
    thread: &ThreadId,
    known: Option<&ThreadSettings>,
    cwd: &Path,
) -> Result<Option<ThreadSettings>> {
    if home.config()?.worktree_remote.is_none() {
        return Ok(None);
    }
    let Some((_, shared)) = of_others(home, thread)? else { return Ok(None) };
    if let Some((known, worktree)) = known.and_then(|known| Some((known, known.worktree.as_ref()?)))
        && was_here(thread, worktree)?
    {
        return stays_in_worktree(thread, known, worktree, cwd);
    }
    let repository = GitCheckout::containing_directory(cwd)?.repository;
    let (worktree, workspace) =
        NewWorktree::arriving(repository, shared.base, shared.inside).worktree_for_thread(home, thread)?;
    Ok(Some(ThreadSettings { workspace, worktree: Some(worktree), ..known.cloned().unwrap_or_default() }))
}

/// Whether this machine has, or once had, the thread's worktree with its files.
fn was_here(thread: &ThreadId, worktree: &Worktree) -> Result<bool> {
    Ok(is_there(&worktree.dir.join(".git"))?
        || is_there(&worktree.repository)?
            && !GitRunner::for_directory(&worktree.repository).refs(&files_refs(thread))?.is_empty())
}

/// The settings of a thread whose worktree is on this machine, when a person names a directory. They are unchanged if
/// the directory is in a clone of the thread's repository, and `None` if the directory becomes the workspace.
///
/// # Errors
/// `Usage` if other machines expect the files in the worktree.
fn stays_in_worktree(
    thread: &ThreadId,
    known: &ThreadSettings,
    worktree: &Worktree,
    cwd: &Path,
) -> Result<Option<ThreadSettings>> {
    if known.worktree_in_use().is_none() || cwd.starts_with(&worktree.dir) {
        return Ok(None);
    }
    let repository = GitRunner::for_directory(cwd).repository().ok().and_then(|found| fs::canonicalize(found).ok());
    if repository == fs::canonicalize(&worktree.repository).ok() {
        return Ok(Some(known.clone()));
    }
    if is_there(&worktree.dir.join(".git"))? {
        let (worktree, cwd) = (worktree.dir.display(), cwd.display());
        return Err(Error::usage(format!(
            "thread {thread} has files in its worktree {worktree}, and {cwd} is a different directory"
        ))
        .hint(format!("continue in its worktree: `uwf thread step {thread}` without --cwd"))
        .hint(format!(
            "or continue a copy of the thread there, without the files: `uwf thread fork {thread} --cwd DIR`"
        )));
    }
    Ok(None)
}

/// Loads the settings of a thread, and fetches its files if it is new on this machine. Returns `None` for a thread
/// without settings and worktree. `cwd` must be in a clone of the thread's repository. The caller holds the thread's
/// lock.
///
/// # Errors
/// The errors of [`bring_up_to_date`], and errors of git if `cwd` is not in a repository.
pub(crate) fn fetch_if_unknown(
    home: &Home,
    thread: &ThreadId,
    head: NodeHash,
    cwd: &Path,
) -> Result<Option<ThreadSettings>> {
    if let Some(known) = ThreadSettings::load(home, thread)? {
        return Ok(Some(known));
    }
    let Some((place, _)) = of_others(home, thread)? else { return Ok(None) };
    let remote = home.config()?.worktree_remote;
    let Some(settings) = settings_in(home, thread, None, cwd)? else {
        return Err(missing(thread, head, &place, remote.as_ref()));
    };
    arrive(home, thread, head, &settings, remote.as_ref())?;
    settings.begun_at(head).save(home, thread)?;
    Ok(Some(settings))
}

/// Prepares a worktree with the files of a node, to fork a thread that is new on this machine. Returns `None` if the
/// thread has no worktree. `cwd` must be in a clone of its repository.
///
/// # Errors
/// `Busy` if the files are on another machine; errors of the configuration, the store and git.
pub(crate) fn for_fork(home: &Home, thread: &ThreadId, node: NodeHash, cwd: &Path) -> Result<Option<NewWorktree>> {
    let Some((place, shared)) = of_others(home, thread)? else { return Ok(None) };
    let remote = home.config()?.worktree_remote;
    if remote.is_none() {
        return Err(missing(thread, node, &place, remote.as_ref()));
    }
    let repository = GitCheckout::containing_directory(cwd)?.repository;
    let found = find(home, &repository, thread, node)?.filter(|kept| place.has(node, &kept.tree));
    let Some(kept) = found else { return Err(missing(thread, node, &place, remote.as_ref())) };
    let from = checkout_of(&repository);
    Ok(Some(NewWorktree::of_step(repository, kept, from, shared.inside)))
}

/// Returns the machine and the worktree of a thread; `None` if it has no worktree.
fn of_others(home: &Home, thread: &ThreadId) -> Result<Option<(ThreadWorkplace, SharedWorktree)>> {
    let place = workplace::read_workplace(home, thread)?;
    Ok(place.and_then(|place| place.worktree.clone().map(|shared| (place, shared))))
}

fn missing(thread: &ThreadId, head: NodeHash, place: &ThreadWorkplace, remote: Option<&GitRemote>) -> Error {
    let (machine, workspace) = (&place.machine, place.workspace.display());
    let not_at = remote.map(|remote| format!(", and they are not at `{remote}`")).unwrap_or_default();
    let hint = match (remote, &place.worktree) {
        (Some(remote), Some(worktree)) => {
            let (repository, branch) = (worktree.repository.display(), branch_of(thread));
            let files = files_ref(thread, head);
            format!("or push them there: git -C {repository} push {remote} {files}:refs/heads/{branch}")
        }
        (None, Some(_)) => {
            "with `worktree: {remote: NAME}` in config.yaml of both machines the files come here".to_owned()
        }
        (_, None) => format!("or continue here, without them: `uwf thread step {thread} --cwd DIR`"),
    };
    Error::busy(format!("thread {thread} has its files on machine `{machine}`, in {workspace}{not_at}"))
        .hint(format!("run it on machine `{machine}`"))
        .hint(hint)
}

fn own_commits(branch: &str, at: &Path, reset_to: Option<&str>) -> Error {
    let at = at.display();
    let (keep, then) = match reset_to {
        Some(commit) => (format!("git -C {at} branch NAME"), format!(", then `git -C {at} reset --keep {commit}`")),
        None => (format!("git -C {at} branch -m {branch} NAME"), String::new()),
    };
    Error::usage(format!("{branch} in {at} has commits that the thread does not have"))
        .hint(format!("keep them on another branch: `{keep}`{then}"))
        .hint("then step the thread again, and bring them in when its files are here")
}

/// Creates the worktree of a thread that comes to this machine; `false` if there is nothing to create.
pub(crate) fn arrive(
    home: &Home,
    thread: &ThreadId,
    head: NodeHash,
    settings: &ThreadSettings,
    remote: Option<&GitRemote>,
) -> Result<bool> {
    match settings.worktree_in_use() {
        Some(worktree) if !is_there(&worktree.dir.join(".git"))? => {
            bring_up_to_date(home, thread, head, settings, remote)
        }
        Some(_) | None => Ok(false),
    }
}

/// Updates a thread's worktree to its files at its head, if another machine made them; `false` if this machine has
/// them. An agent must not be paid for work on old files.
///
/// # Errors
/// `Busy` if the files are on another machine, `Usage` if the worktree has its own commits; `Io`, errors of git and of
/// the store.
pub(crate) fn bring_up_to_date(
    home: &Home,
    thread: &ThreadId,
    head: NodeHash,
    settings: &ThreadSettings,
    remote: Option<&GitRemote>,
) -> Result<bool> {
    let Some(worktree) = settings.worktree_in_use() else { return Ok(false) };
    let Some(place) = elsewhere(home, thread, head, worktree)? else { return Ok(false) };
    let Some(from) = remote else { return Err(missing(thread, head, &place, None)) };
    let top = checkout_of(&worktree.repository);
    let found = files_at(&GitRunner::for_directory(&top), thread, head, from)?;
    let Some(kept) = found.filter(|kept| place.has(head, &kept.tree)) else {
        return Err(missing(thread, head, &place, remote));
    };
    if is_there(&worktree.dir.join(".git"))? {
        lay_out(home, thread, head, worktree, &kept)?;
    } else {
        make(home, thread, head, settings, worktree, kept)?;
    }
    Ok(true)
}

/// The workplace of the machine that has the thread's files at its head, if that is another machine.
fn elsewhere(home: &Home, thread: &ThreadId, head: NodeHash, worktree: &Worktree) -> Result<Option<ThreadWorkplace>> {
    let place = workplace::read_workplace(home, thread);
    if matches!(place, Ok(None)) || !is_there(&worktree.repository)? {
        return Ok(None);
    }
    let kept = GitRunner::for_directory(&worktree.repository).kept(&files_ref(thread, head))?;
    let place = match place {
        // This machine has the files, so it continues and rewrites the note.
        Err(Error { cause: Some(ErrorCause::StrangeNote), .. }) if kept.is_some() => return Ok(None),
        place => place?,
    };
    let Some(place) = place else { return Ok(None) };
    let is_here = match kept {
        // They were recorded here, or have already come here.
        Some(kept) => place.has(head, &kept.tree),
        // Git could not record them, but an attempt on this machine made them.
        None => ThreadRecord::read(home, thread)?.of_step(head).is_some_and(|attempt| attempt.opened.machine.is_none()),
    };
    Ok((!is_here).then_some(place))
}

/// Creates the worktree again. If uwf is killed meanwhile, the next step brings the worktree up to date.
fn make(
    home: &Home,
    thread: &ThreadId,
    head: NodeHash,
    settings: &ThreadSettings,
    worktree: &Worktree,
    kept: SnapshotCommit,
) -> Result<()> {
    let Worktree { dir, branch, repository, .. } = worktree;
    let git = GitRunner::for_directory(repository);
    if let Some(tip) = git.commit(&format!("refs/heads/{branch}"))?
        && !git.is_in(&tip, &kept.commit)?
    {
        return Err(own_commits(branch, repository, None));
    }
    if !is_there(dir)? {
        git.forget_worktree(repository, dir)?;
    }
    let inside = worktree.inside(&settings.workspace).unwrap_or_default();
    let arriving = NewWorktree::arriving(repository.clone(), kept.head.clone(), inside).with(kept);
    arriving.make(home, thread, head, &settings.workspace)
}

/// Sets the files of a worktree, its branch and its commit to the state of a node. Writes the ref that records this
/// last: if uwf is killed before, the next step repeats the update.
fn lay_out(home: &Home, thread: &ThreadId, head: NodeHash, worktree: &Worktree, kept: &SnapshotCommit) -> Result<()> {
    let Worktree { dir, repository, branch, .. } = worktree;
    let git = GitRunner::of_worktree(repository, dir)?;
    let scratch = home.worktree_scratch(thread);
    let laid_out = || -> Result<()> {
        let view = GitRunner::view(repository, dir, &scratch)?;
        keep_what_is_there(&git, &view, thread, head, worktree, kept)?;
        view.restore_files(&kept.tree)?;
        git.be_on(branch, &kept.head)
    };
    let laid_out = laid_out();
    gone(fs::remove_dir_all(&scratch)).path_context("remove", &scratch)?;
    laid_out?;
    git.update_ref(&files_ref(thread, head), &kept.commit)
}

/// Keeps contents of a worktree that no step recorded: the rest of a failed attempt, or a person's later changes. Never
/// replaces commits that only this machine has without asking.
fn keep_what_is_there(
    git: &GitRunner<'_>,
    view: &GitRunner<'_>,
    thread: &ThreadId,
    head: NodeHash,
    worktree: &Worktree,
    kept: &SnapshotCommit,
) -> Result<()> {
    let own = git.commit("HEAD")?;
    if let Some(own) = &own
        && !git.is_in(own, &kept.commit)?
    {
        return Err(own_commits(&worktree.branch, &worktree.dir, Some(&kept.head)));
    }
    let tree = view.keep_files()?.tree;
    if git.trees_below(&files_refs(thread))?.contains(&tree) {
        return Ok(());
    }
    let parents: Vec<&str> = own.iter().map(String::as_str).collect();
    let message = format!("uwf: worktree of thread {thread} before the files of {head}");
    let commit = git.commit_tree(&tree, &parents, &message)?;
    git.update_ref(&snapshot::replaced_ref(thread, head), &commit)
}
