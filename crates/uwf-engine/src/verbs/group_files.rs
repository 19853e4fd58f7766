//! The files of a group's branches, for a thread that works in a git worktree.
//!
//! When the group begins, a ref keeps the files as they are then. Every attempt at the group uses the files of the first one: to check that
//! branches only read, and as the common start of branches that write.

mod branch_worktrees;
mod copy_changes;
pub mod git_branches;
mod merge_sequence;
mod read_only;
pub(crate) mod redone;
mod winner;
pub mod worktree_changes;

use std::path::{Path, PathBuf};

use json_cas::NodeHash;
use parking_lot::Mutex;
use uwf_core::thread::ThreadId;
use uwf_core::workflow::{BranchFiles, BranchMerge, RoleGroup, Workflow};

use crate::attempt::child_threads;
use crate::attempt::git::{GitRunner, GitScopeGuard, SnapshotCommit, SnapshotTree};
use crate::attempt::recorded::AttemptOpening;
use crate::attempt::settings::ThreadSettings;
use crate::attempt::snapshot::{self, GroupCheckout};
use crate::error::{AtPath, Error, Result};
use crate::root::home::Home;
use crate::root::project_files;
use crate::root::worktree::Worktree;
use crate::thread::load::Thread;

pub use self::merge_sequence::{ConflictResolver, FIRST_ROUND, MergeConflict, ROUNDS};
use self::read_only::BranchWatch;

/// The files that the branches of one group begin with, and the worktree they are in.
pub struct GroupFiles<'h> {
    home: &'h Home,
    /// The thread that plays the group.
    thread: ThreadId,
    /// Its head.
    head: NodeHash,
    /// The role that is the group.
    role: String,
    /// The thread that has the worktree: `thread`, or an ancestor.
    owner: ThreadId,
    worktree: Worktree,
    /// The directory in the worktree where the thread works.
    workspace: PathBuf,
    mode: BranchFiles,
    merge: BranchMerge,
    /// Whether a role resolves conflicts.
    has_resolver: bool,
    attempt: String,
    watch: Mutex<BranchWatch>,
}

impl<'h> GroupFiles<'h> {
    /// The files of the group that an attempt plays; `None` if its thread does not work in a worktree. Records them if this is the first
    /// attempt at the group.
    ///
    /// # Errors
    /// `Usage` if each branch should get a worktree and the thread has none; `Waiting` if a merge is under way there; errors of the threads'
    /// records and of git.
    pub fn begin(thread: &Thread<'h>, opened: &AttemptOpening, group: &RoleGroup) -> Result<Option<GroupFiles<'h>>> {
        let home = thread.home();
        let Some((owner, worktree, workspace)) = worktree_of(home, &thread.id)? else {
            return match group.files {
                BranchFiles::Worktree => Err(no_worktree(Some(&thread.id), &opened.role)),
                BranchFiles::Read | BranchFiles::Shared => Ok(None),
            };
        };
        let files = GroupFiles {
            home,
            thread: thread.id.clone(),
            head: thread.head,
            role: opened.role.clone(),
            owner,
            worktree,
            workspace,
            mode: group.files,
            merge: group.merge,
            has_resolver: group.resolve.is_some(),
            attempt: opened.attempt.clone(),
            watch: Mutex::default(),
        };
        let _errand = files.errand();
        if files.start()?.is_none() {
            if files.has_worktrees() {
                files.commit_start()?;
            }
            let before = GitRunner::for_directory(&files.worktree.repository)
                .commit(&snapshot::files_ref(&files.owner, files.head))?;
            let title = format!("uwf: files before group {} in thread {}", files.role, files.thread);
            let commit = files.record(&files.present()?, before.as_deref(), &title)?;
            files.git().update_ref(&files.name("group"), &commit)?;
        }
        Ok(Some(files))
    }

    /// Whether each branch has a worktree.
    pub fn has_worktrees(&self) -> bool {
        self.mode == BranchFiles::Worktree
    }

    /// The files when the group began; `None` if they are not recorded.
    fn start(&self) -> Result<Option<SnapshotCommit>> {
        self.git().kept(&self.name("group"))
    }

    /// Checks or joins the files of branches that have ended: branches that only read must have changed nothing; the files of branches with
    /// worktrees are put on their git branches, and merged if the group says so. `group` is the thread of the group. `resolve` lets the
    /// role of the group resolve a conflict; `say` gets a line about each merge.
    ///
    /// # Errors
    /// `AgentFailed` if branches changed files that they should only read, `Waiting` if a merge needs a person; errors of git.
    pub fn join(
        &self,
        group: &Thread<'_>,
        branches: &[&str],
        resolve: &mut ConflictResolver<'_>,
        say: &mut dyn FnMut(&str),
    ) -> Result<()> {
        match self.mode {
            BranchFiles::Read => self.check_unchanged(),
            BranchFiles::Shared => Ok(()),
            BranchFiles::Worktree => {
                let _errand = self.errand();
                let published = self.publish(group, branches)?;
                match self.merge {
                    BranchMerge::None => Ok(()),
                    BranchMerge::Sequence => self.merge_all(&published, resolve, say),
                }
            }
        }
    }

    /// The worktree's present files.
    fn present(&self) -> Result<SnapshotTree> {
        self.files_in(&self.worktree)
    }

    /// The tree of the worktree's present files.
    fn tree(&self) -> Result<String> {
        self.tree_in(&self.worktree)
    }

    /// The tree of the present files of a worktree.
    fn tree_in(&self, worktree: &Worktree) -> Result<String> {
        Ok(self.files_in(worktree)?.tree)
    }

    /// The present files of a worktree.
    fn files_in(&self, worktree: &Worktree) -> Result<SnapshotTree> {
        let keep = |view: &GitRunner<'_>| view.keep_files();
        self.with_view(worktree, keep)
    }

    /// Runs git for the files of a worktree.
    fn with_view<T>(&self, worktree: &Worktree, run: impl FnOnce(&GitRunner<'_>) -> Result<T>) -> Result<T> {
        // Two branches may look at the same time. If uwf is killed, the sweep of the attempt's files removes the rest.
        let dir = self.home.attempts_dir(&self.thread);
        let name = format!("{}.group-", self.attempt);
        let scratch =
            tempfile::Builder::new().prefix(&name).tempdir_in(&dir).path_context("create a directory in", &dir)?;
        let view = GitRunner::view(&worktree.repository, &worktree.dir, &scratch.path().join("view"))?;
        run(&view)
    }

    /// Creates a commit of files on no branch. Its parents are `before`, and the commit that is checked out.
    fn record(&self, files: &SnapshotTree, before: Option<&str>, title: &str) -> Result<String> {
        let own = self.own()?;
        let (head, branch) = (own.commit("HEAD")?, own.checked_out()?);
        let parents: Vec<&str> = before.into_iter().chain(head.as_deref()).collect();
        let left_out = files.left_out_line();
        let checkout =
            GroupCheckout { head: head.as_deref(), branch: branch.as_deref(), left_out: left_out.as_deref() };
        let text = snapshot::group_message(title, &self.thread, checkout);
        self.git().commit_tree(&files.tree, &parents, &text)
    }

    /// The name of one of the refs of the group.
    fn name(&self, what: &str) -> String {
        group_ref(what, &self.owner, &self.thread, self.head)
    }

    fn git(&self) -> GitRunner<'_> {
        GitRunner::for_directory(&self.worktree.repository)
    }

    /// Git, as part of the attempt: if its keeper is killed, git is ended like the agent's processes.
    fn errand(&self) -> GitScopeGuard {
        GitScopeGuard::begin(Some(&self.attempt), None)
    }
}

/// The name of a ref of the group that a thread plays at a head. `owner` is the thread that has the worktree.
fn group_ref(what: &str, owner: &ThreadId, thread: &ThreadId, head: NodeHash) -> String {
    format!("{}/{what}-{thread}-{head}", snapshot::files_refs(owner))
}

/// A note about groups whose branches should only read, for a thread that gets no worktree.
pub(crate) fn unchecked(workflow: &Workflow, workspace: &Path) -> Option<String> {
    // A command does what it says.
    let has_agent = |name: &str| {
        workflow
            .branches_of(name)
            .iter()
            .any(|role| workflow.roles.get(*role).is_none_or(|role| role.more.run.is_none()))
    };
    let groups = workflow.groups().filter(|(name, group)| group.files == BranchFiles::Read && has_agent(name));
    let names: Vec<String> = groups.map(|(name, _)| format!("`{name}`")).collect();
    if names.is_empty() {
        return None;
    }
    let (groups, names) = (if names.len() == 1 { "group" } else { "groups" }, names.join(", "));
    Some(match project_files::is_in_repository(workspace) {
        true => format!(
            "without a worktree, uwf can't check that the branches of {groups} {names} only read files; `--worktree` gives the thread one"
        ),
        false => format!(
            "{} is not in a git repository, so uwf cannot check that the branches of {groups} {names} only read files",
            workspace.display()
        ),
    })
}

fn no_worktree(thread: Option<&ThreadId>, role: &str) -> Error {
    let thread = thread.map_or("the thread".to_owned(), |id| format!("thread {id}"));
    Error::usage(format!(
        "group `{role}` has `files: worktree`, and {thread} has no worktree whose files its branches could begin with"
    ))
    .hint("start the thread with `--worktree`; if the workflow has `workspace: worktree`, leave out `--no-worktree`")
}

/// Whether branches of a group in a workflow each get a worktree, so that its threads need one.
pub(crate) fn needs_worktree(workflow: &Workflow) -> bool {
    group_with_worktrees(workflow).is_some()
}

fn group_with_worktrees(workflow: &Workflow) -> Option<&str> {
    workflow.groups().find(|(_, group)| group.files == BranchFiles::Worktree).map(|(name, _)| name)
}

/// Rejects a thread without a worktree if branches of a group should each get one.
pub(crate) fn refuse_without_worktree(workflow: &Workflow, thread: Option<&ThreadId>) -> Result<()> {
    group_with_worktrees(workflow).map_or(Ok(()), |name| Err(no_worktree(thread, name)))
}

/// Whether a thread works in a git worktree of its own, or of an ancestor.
pub(crate) fn works_in_worktree(home: &Home, thread: &ThreadId) -> Result<bool> {
    Ok(worktree_of(home, thread)?.is_some())
}

/// The worktree that a thread works in, the thread that it was created for (this one, or an ancestor), and the directory where the thread works.
fn worktree_of(home: &Home, thread: &ThreadId) -> Result<Option<(ThreadId, Worktree, PathBuf)>> {
    let Some(own) = ThreadSettings::load(home, thread)? else { return Ok(None) };
    let (mut id, mut settings) = (thread.clone(), own.clone());
    for _ in 0..child_threads::MAX_ANCESTORS {
        if let Some(worktree) = settings.worktree.filter(|worktree| own.workspace.starts_with(&worktree.dir)) {
            return Ok(Some((id, worktree, own.workspace)));
        }
        let Some(parent) = settings.parent else { return Ok(None) };
        let Some(of_parent) = ThreadSettings::load(home, &parent)? else { return Ok(None) };
        (id, settings) = (parent, of_parent);
    }
    Ok(None)
}
