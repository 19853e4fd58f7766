//! A thread's local settings: where it works, which agents it uses, how far it may go. Never part of a node, since
//! they are a choice of the machine it runs on.

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use json_cas::Hash;
use serde::{Deserialize, Serialize};
use uwf_core::thread::ThreadId;
use uwf_core::usage::ThreadLimits;

use crate::attempt::agent_process;
use crate::attempt::bindings::Bindings;
use crate::attempt::delegation::Decisions;
use crate::attempt::git::Checkout;
use crate::error::{AtPath, Error, ErrorCause, Result};
use crate::root::home::Home;
use crate::root::project::{self, Project};
use crate::root::record;
use crate::root::workplace::{self, SharedWorktree, Workplace};
use crate::root::worktree::Worktree;
use crate::thread::digest::Digest;

/// A line of the thread's record; of several the newest holds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Settings {
    /// Directory agents of this thread work in, absolute.
    pub workspace: PathBuf,
    /// Agents it is bound to, as given by `--agent`.
    #[serde(flatten)]
    pub bound: Bindings,
    /// Workflows that play its roles and those of its child threads, as they were when it started.
    #[serde(default, skip_serializing_if = "Decisions::is_empty")]
    pub workflows: Decisions,
    /// The git worktree it has of its own; the workspace is in it, unless it was given another one since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<Worktree>,
    /// How far this thread may go; what is absent is for its workflow to say, and then for the configuration.
    #[serde(flatten)]
    pub limits: ThreadLimits,
    /// The head the thread had when this record was made: what the index is rebuilt from while there is no attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begun_at: Option<Hash>,
    /// Digest of the thread at that head.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// The thread whose role this one plays, for a child thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<ThreadId>,
}

/// A directory as the workspace of a thread: absolute, without links.
///
/// # Errors
/// `NotFound` when there is no such directory; `Io` when it cannot be looked for; `Data` when its path is no UTF-8, which the record of a thread,
/// prompts and agents' arguments need.
pub fn workspace(cwd: &Path, dir: &Path) -> Result<PathBuf> {
    match std::fs::canonicalize(cwd.join(dir)) {
        Ok(found) if found.is_dir() => as_text(found),
        // A current directory that was deleted is no mistake in what was asked for.
        Err(error) if dir == cwd || !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Err(error).at("find the workspace", dir)?
        }
        _ => Err(agent_process::no_workspace(dir)),
    }
}

/// A directory as the workspace of a thread that this machine has no record of; `None` when it has one, which says where the
/// thread works, and when the thread has files in a worktree elsewhere that do not come there.
///
/// # Errors
/// Those of [`workspace`], the configuration and the store, and `Io` when the record cannot be read.
pub fn workspace_if_unknown(home: &Home, thread: &ThreadId, cwd: &Path, dir: &Path) -> Result<Option<PathBuf>> {
    if !record::read(home, thread)?.trim_ascii().is_empty() {
        return Ok(None);
    }
    let dir = workspace(cwd, dir)?;
    let has_worktree = workplace::of(home, thread)?.is_some_and(|place| place.worktree.is_some());
    let works_there = !has_worktree || home.config()?.worktree_remote.is_some() && Checkout::of(&dir).is_ok();
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

/// The project a thread belongs to: that of its workspace.
///
/// # Errors
/// As [`project::of`], and those of the thread's record.
pub fn project_of(home: &Home, thread: &ThreadId) -> Result<Option<Project>> {
    match Settings::load(home, thread)? {
        Some(settings) => Ok(project::of(home, &settings.workspace)?),
        None => Ok(None),
    }
}

/// Whether this machine has a record of a thread from which the settings are gone: they are its first line.
///
/// # Errors
/// `Io` when the record cannot be read.
pub(crate) fn are_lost(home: &Home, thread: &ThreadId) -> Result<bool> {
    let record = record::read(home, thread)?;
    Ok(!record.trim_ascii().is_empty() && record::settings_line(&record).is_none())
}

/// The refusal of a thread whose settings are lost.
pub(crate) fn lost(thread: &ThreadId, message: String) -> Error {
    Error::data(message)
        .hint(format!("give the workspace again: `uwf thread step {thread} --cwd DIR`"))
        .hint("agents and a limit that the thread was started with are lost; a step is told its agent by `--agent`")
}

/// The refusal of a thread that no record of this machine is about.
pub(crate) fn unknown_workspace(thread: &ThreadId) -> Error {
    Error::usage(format!("this machine does not know where thread {thread} works"))
        .hint(format!("say it once: `uwf thread step {thread} --cwd DIR`"))
        .with_cause(ErrorCause::UnknownWorkspace)
}

/// The line, with what it is about.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "camelCase")]
enum Line<'s> {
    Settings(&'s Settings),
}

impl Settings {
    /// Reads a thread's settings; `None` when this machine has no record of the thread.
    ///
    /// # Errors
    /// `Io` when the record cannot be read, `Data` when they are not what was written.
    pub fn load(home: &Home, thread: &ThreadId) -> Result<Option<Settings>> {
        let record = record::read(home, thread)?;
        record::settings_line(&record).map(serde_json::from_slice).transpose().map_err(|error| {
            let path = home.record_file(thread);
            lost(thread, format!("the settings in {} are not readable: {error}", path.display()))
                .with_cause(ErrorCause::DamagedSettings)
        })
    }

    /// These settings as a line of a record.
    ///
    /// # Errors
    /// `Internal`.
    pub fn text(&self) -> Result<String> {
        record::text(&Line::Settings(self))
    }

    /// Writes these settings at the end of an open record.
    pub(crate) fn write(&self, home: &Home, thread: &ThreadId, record: &File) -> Result<()> {
        record::write(home, thread, record, &Line::Settings(self))
    }

    /// The worktree in which agents of this thread work now.
    pub(crate) fn worktree_in_use(&self) -> Option<&Worktree> {
        self.worktree.as_ref().filter(|worktree| self.workspace.starts_with(&worktree.dir))
    }

    /// Where the thread works and has the files of a node, for other machines.
    pub(crate) fn workplace(&self, node: Hash) -> Workplace {
        let worktree = self.worktree_in_use().map(|worktree| SharedWorktree {
            base: worktree.base.clone(),
            inside: worktree.inside(&self.workspace).unwrap_or_default(),
            repository: worktree.repository.clone(),
        });
        Workplace::here(&self.workspace, node, worktree)
    }

    /// These settings, as those of a thread that is begun at a head.
    pub(crate) fn begun_at(&self, head: Hash) -> Settings {
        Settings { begun_at: Some(head), ..self.clone() }
    }

    /// Adds these settings to a thread's record durably; it is made if need be.
    ///
    /// # Errors
    /// `Io`.
    pub fn save(&self, home: &Home, thread: &ThreadId) -> Result<()> {
        let file = record::open_or_create(home, thread)?;
        self.write(home, thread, &file)?;
        file.sync_all().at("sync", home.record_file(thread))?;
        Ok(durable_files::sync_dir(&home.threads_dir())?)
    }
}
