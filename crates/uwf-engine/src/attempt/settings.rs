//! A thread's local settings: its workspace, agents and limits. Never part of a node, because they are a choice of the
//! machine it runs on.

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use json_cas::NodeHash;
use serde::{Deserialize, Serialize};
use uwf_core::label::ThreadLabels;
use uwf_core::thread::ThreadId;
use uwf_core::usage::ThreadLimits;

use crate::attempt::agent_process;
use crate::attempt::agents::delegation::Decisions;
use crate::attempt::bindings::{AgentBindings, AgentReference};
use crate::attempt::git::GitCheckout;
use crate::attempt::recorded::ThreadRecord;
use crate::attempt::redactor::SecretRedactor;
use crate::error::{AtPath, Error, ErrorCause, Result};
use crate::root::home::Home;
use crate::root::project::{self, ProjectConfig};
use crate::root::record;
use crate::root::thread_branch::ThreadBranch;
use crate::root::workplace::{self, ChildPlace, SharedWorktree, ThreadWorkplace};
use crate::root::worktree::Worktree;
use crate::thread::digest::ThreadDigest;

/// A line of the thread's record; the newest one applies.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadSettings {
    /// Directory in which agents of this thread work, absolute.
    pub workspace: PathBuf,
    /// Agents bound to it with `--agent`.
    #[serde(flatten)]
    pub bound: AgentBindings,
    /// Workflows for its roles and for the roles of its child threads, as of its start.
    #[serde(default, skip_serializing_if = "Decisions::is_empty")]
    pub workflows: Decisions,
    /// Its own git worktree, which contains the workspace unless that was changed later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<Worktree>,
    /// The commit that was checked out in the workspace when the thread began, if it has no worktree of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// The thread's limits. Its workflow supplies absent ones, then the configuration.
    #[serde(flatten)]
    pub limits: ThreadLimits,
    /// The thread's head when this record was created. Until the first attempt, the index is rebuilt from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begun_at: Option<NodeHash>,
    /// Digest of the thread at that head.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<ThreadDigest>,
    /// The thread whose role this one plays, for a child thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<ThreadId>,
    /// The branch of a group that the thread is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<ThreadBranch>,
    /// For a failed branch that a fork took over: the step with its result in the group of the forked thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_step: Option<NodeHash>,
    /// Labels that a person gave it; a child thread inherits them.
    #[serde(default, skip_serializing_if = "ThreadLabels::is_empty")]
    pub labels: ThreadLabels,
}

/// A directory as the workspace of a thread: absolute, without links.
///
/// # Errors
/// `NotFound` when the directory does not exist; `Io` when uwf cannot look for it; `Data` when its path is not UTF-8,
/// which the record of a thread, prompts and agents' arguments need.
pub fn workspace(cwd: &Path, dir: &Path) -> Result<PathBuf> {
    let found = std::fs::canonicalize(cwd.join(dir)).and_then(|found| Ok((found.metadata()?.is_dir(), found)));
    match found {
        Ok((true, found)) => as_text(found),
        // A deleted current directory is not an error in the request.
        Err(error) if dir == cwd || !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Err(error).path_context("find the workspace", dir)?
        }
        Ok((false, _)) | Err(_) => Err(agent_process::no_workspace(dir)),
    }
}

/// A directory as the workspace of a thread that this machine has no record of. `None` if there is a record, which
/// names the workspace, or if the thread has a worktree elsewhere whose files do not come to this directory.
///
/// # Errors
/// Errors of [`workspace`], the configuration and the store, and `Io` when the record cannot be read.
pub fn workspace_if_unknown(home: &Home, thread: &ThreadId, cwd: &Path, dir: &Path) -> Result<Option<PathBuf>> {
    if !ThreadRecord::read(home, thread)?.is_empty() {
        return Ok(None);
    }
    let dir = workspace(cwd, dir)?;
    let has_worktree = workplace::read_workplace(home, thread)?.is_some_and(|place| place.worktree.is_some());
    let works_there =
        !has_worktree || home.config()?.worktree_remote.is_some() && GitCheckout::containing_directory(&dir).is_ok();
    Ok(works_there.then_some(dir))
}

/// A workspace whose path is text.
pub(crate) fn as_text(dir: PathBuf) -> Result<PathBuf> {
    if dir.to_str().is_some() {
        return Ok(dir);
    }
    Err(Error::data(format!("the path of the workspace is not UTF-8: {}", dir.display()))
        .hint("agents can work in another directory: --cwd DIR"))
}

/// The project of a thread's workspace.
pub fn project_of(home: &Home, thread: &ThreadId) -> Result<Option<ProjectConfig>> {
    match ThreadSettings::load(home, thread)? {
        Some(settings) => Ok(project::find_project_config(home, &settings.workspace)?),
        None => Ok(None),
    }
}

/// The labels of a thread; none if this machine does not know its settings.
pub(crate) fn labels(home: &Home, thread: &ThreadId) -> ThreadLabels {
    ThreadSettings::load(home, thread).ok().flatten().unwrap_or_default().labels
}

/// Rejects labels that contain a secret: lists show them.
pub(crate) fn refuse_secret_labels(labels: &ThreadLabels, redactor: &SecretRedactor) -> Result<()> {
    match labels.values().find_map(|value| redactor.found_in(value)) {
        None => Ok(()),
        Some(variable) => {
            Err(Error::usage(format!("a label has the value of {variable} in it"))
                .hint("lists show labels; leave it out"))
        }
    }
}

/// Whether a record lacks its first line, the settings.
pub(crate) fn are_lost(record: &ThreadRecord) -> bool {
    !record.is_empty() && record.settings_line().is_none()
}

/// The error for a thread whose settings are lost.
pub(crate) fn lost(thread: &ThreadId, message: String) -> Error {
    Error::data(message)
        .hint(format!("give the workspace again: `uwf thread step {thread} --cwd DIR`"))
        .hint("the thread loses the agents and limits it was started with; name the agent of a step with `--agent`")
}

/// The same for a thread whose record on this machine is damaged.
pub(crate) fn lost_here(home: &Home, thread: &ThreadId) -> Error {
    let file = home.record_file(thread);
    lost(thread, format!("{} is damaged: the settings of thread {thread} are lost", file.display()))
}

/// The error for a thread without a record on this machine.
pub(crate) fn unknown_workspace(thread: &ThreadId) -> Error {
    Error::usage(format!("this machine does not know where thread {thread} works"))
        .hint(format!("set it once: `uwf thread step {thread} --cwd DIR`"))
        .with_cause(ErrorCause::UnknownWorkspace)
}

/// The line, tagged with its event.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "camelCase")]
enum ThreadSettingsLine<'s> {
    Settings(&'s ThreadSettings),
}

impl ThreadSettings {
    /// Reads a thread's settings; `None` when this machine has no record of the thread.
    ///
    /// # Errors
    /// `Io` when the record cannot be read, `Data` when the settings are damaged.
    pub fn load(home: &Home, thread: &ThreadId) -> Result<Option<ThreadSettings>> {
        ThreadSettings::in_record(home, &ThreadRecord::read(home, thread)?)
    }

    /// The same, or for a child thread that another machine began, what it published about the thread's place.
    ///
    /// # Errors
    /// As [`load`](Self::load); errors of the store.
    pub(crate) fn load_or_published(home: &Home, thread: &ThreadId) -> Result<Option<ThreadSettings>> {
        match ThreadSettings::load(home, thread)? {
            None => ThreadSettings::published(home, thread),
            known => Ok(known),
        }
    }

    /// The settings of a child thread that another machine began, as far as that machine published them: without a workspace.
    ///
    /// # Errors
    /// Errors of the store.
    pub(crate) fn published(home: &Home, thread: &ThreadId) -> Result<Option<ThreadSettings>> {
        let place = workplace::read_workplace(home, thread)?.and_then(|place| place.child_of);
        Ok(place.map(|ChildPlace { parent, branch, limits, agents, every_role }| {
            let agents = agents.into_iter().map(|(role, alias)| (role, AgentReference::plain(alias))).collect();
            let bound = AgentBindings { agents, every_role: every_role.map(AgentReference::plain) };
            ThreadSettings { parent: Some(parent), branch, limits, bound, ..ThreadSettings::default() }
        }))
    }

    /// The thread's place, for machines that do not know the thread above it.
    fn child_place(&self) -> Option<ChildPlace> {
        let parent = self.parent.clone()?;
        let bound = if self.bound.are_words() { self.bound.clone() } else { AgentBindings::default() };
        let agents = bound.agents.into_iter().map(|(role, alias)| (role, alias.agent)).collect();
        let every_role = bound.every_role.map(|alias| alias.agent);
        Some(ChildPlace { parent, branch: self.branch.clone(), limits: self.limits, agents, every_role })
    }

    /// The settings in a thread's record; `None` when the record is empty.
    ///
    /// # Errors
    /// `Data` when the settings are damaged.
    pub(crate) fn in_record(home: &Home, record: &ThreadRecord) -> Result<Option<ThreadSettings>> {
        record.settings_line().map(serde_json::from_slice).transpose().map_err(|error| {
            let thread = record.thread();
            let path = home.record_file(thread);
            lost(thread, format!("the settings in {} are not readable: {error}", path.display()))
                .with_cause(ErrorCause::DamagedSettings)
        })
    }

    /// These settings as a line of a record.
    pub fn text(&self) -> Result<String> {
        record::text(&ThreadSettingsLine::Settings(self))
    }

    /// Writes these settings at the end of an open record.
    pub(crate) fn write(&self, home: &Home, thread: &ThreadId, record: &File) -> Result<()> {
        record::write(home, thread, record, &ThreadSettingsLine::Settings(self))
    }

    /// The worktree in which agents of this thread currently work.
    pub(crate) fn worktree_in_use(&self) -> Option<&Worktree> {
        self.worktree.as_ref().filter(|worktree| self.workspace.starts_with(&worktree.dir))
    }

    /// The thread's workspace on this machine, which has the files of a node, for other machines.
    pub(crate) fn workplace(&self, node: NodeHash) -> ThreadWorkplace {
        let worktree = self.worktree_in_use().map(|worktree| SharedWorktree {
            base: worktree.base.clone(),
            inside: worktree.inside(&self.workspace).unwrap_or_default(),
            repository: worktree.repository.clone(),
        });
        ThreadWorkplace::here(&self.workspace, node, worktree).with_child_place(self.child_place())
    }

    /// These settings for a thread that begins at a head.
    pub(crate) fn begun_at(&self, head: NodeHash) -> ThreadSettings {
        ThreadSettings { begun_at: Some(head), ..self.clone() }
    }

    /// Durably adds these settings to a thread's record, creating the record if necessary.
    pub fn save(&self, home: &Home, thread: &ThreadId) -> Result<()> {
        let file = record::open_or_create(home, thread)?;
        self.write(home, thread, &file)?;
        file.sync_all().path_context("sync", home.record_file(thread))?;
        Ok(durable_files::sync_dir(&home.threads_dir())?)
    }
}
