//! The workplace of a thread, for machines that share a store: a note `workspace.THREAD`.
//!
//! A thread's nodes have everything that it depends on; the place of its files is a fact about machines, and changes.
//! So it is a note beside the head, written before the head.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use json_cas::{NodeHash, NoteWriteCondition, NoteWritten};
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use uwf_core::thread::ThreadId;
use uwf_core::usage::ThreadLimits;

use crate::error::{Error, ErrorCause, Result};
use crate::root::home::Home;
use crate::root::inner_path::InnerPath;
use crate::root::machine;
use crate::root::thread_branch::ThreadBranch;
use crate::root::worktree::is_commit;

/// The place where a thread works.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadWorkplace {
    /// The machine.
    #[serde(deserialize_with = "machine::deserialize")]
    pub machine: String,
    /// The directory on that machine.
    pub workspace: PathBuf,
    /// The newest node of the thread whose files that machine has.
    pub node: NodeHash,
    /// Those files as a git tree; absent if they were not recorded, or before the first step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<String>,
    /// Its worktree, as other machines see it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<SharedWorktree>,
    /// For a child thread, its place below other threads. A machine that does not know those needs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child_of: Option<ChildPlace>,
}

/// The place of a child thread, with what was chosen for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChildPlace {
    /// The thread whose role it plays.
    pub parent: ThreadId,
    /// The branch of a group that it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<ThreadBranch>,
    /// Its own limits.
    #[serde(default)]
    pub limits: ThreadLimits,
    /// Role → alias of the agent that was chosen for it. If any choice is a command line, none is here: it may contain a key.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub agents: BTreeMap<String, String>,
    /// Alias of the agent that was chosen for all other roles.
    #[serde(default, rename = "everyRole", skip_serializing_if = "Option::is_none")]
    pub every_role: Option<String>,
}

/// The properties of a thread's worktree that are the same on each machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SharedWorktree {
    /// The commit at which its branch began.
    #[serde(deserialize_with = "commit_name")]
    pub base: String,
    /// The directory in it where agents work; empty for the top.
    #[schemars(with = "String")]
    pub inside: InnerPath,
    /// The repository's path on that machine.
    pub repository: PathBuf,
}

fn commit_name<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let name = String::deserialize(from)?;
    if is_commit(&name) { Ok(name) } else { Err(D::Error::custom("its `base` is not the name of a commit")) }
}

impl ThreadWorkplace {
    /// A directory of this machine without recorded files.
    pub(crate) fn here(workspace: &Path, node: NodeHash, worktree: Option<SharedWorktree>) -> ThreadWorkplace {
        let workspace = workspace.to_owned();
        ThreadWorkplace { machine: machine::name(), workspace, node, files: None, worktree, child_of: None }
    }

    /// The same workplace of a child thread.
    pub(crate) fn with_child_place(self, child_of: Option<ChildPlace>) -> ThreadWorkplace {
        ThreadWorkplace { child_of, ..self }
    }

    /// The same workplace with recorded files.
    pub(crate) fn with_files(self, files: Option<String>) -> ThreadWorkplace {
        ThreadWorkplace { files, ..self }
    }

    /// Whether a tree may have the files at a node. Attempts on two machines may have reached the same node with
    /// different files.
    pub(crate) fn has(&self, node: NodeHash, tree: &str) -> bool {
        self.node != node || self.files.as_deref().is_none_or(|files| files == tree)
    }

    /// Writes the note for other machines, if the store is shared.
    pub(crate) fn publish_note(&self, home: &Home, thread: &ThreadId) -> Result<()> {
        let value = serde_json::to_value(self).expect("its paths are in the thread's settings, which are also JSON");
        match home.notes().write_note(&name(thread), NoteWriteCondition::Anything, &value)? {
            // The last of two simultaneous writes counts.
            NoteWritten::Done(_) | NoteWritten::Moved(_) => Ok(()),
        }
    }
}

/// The workplace of a thread, as its machine noted it; `None` without a shared store, and for a thread of an older uwf.
///
/// # Errors
/// Errors of the store; `Data` if the note describes a worktree that this uwf can't use.
pub(crate) fn read_workplace(home: &Home, thread: &ThreadId) -> Result<Option<ThreadWorkplace>> {
    let Some(note) = home.notes().note(&name(thread))? else { return Ok(None) };
    let has_worktree = note.value.get("worktree").is_some_and(|worktree| !worktree.is_null());
    match serde_json::from_value(note.value) {
        Ok(place) => Ok(Some(place)),
        Err(error) if has_worktree => Err(strange_note(thread, &error)),
        Err(_) => Ok(None),
    }
}

fn strange_note(thread: &ThreadId, error: &serde_json::Error) -> Error {
    let note = name(thread);
    Error::data(format!("cannot use the note `{note}` about the files of thread {thread}: {error}"))
        .hint("a newer uwf or another user wrote it: update uwf, or run the thread on the machine that has its files")
        .hint(format!("or continue a copy of the thread without the files: `uwf thread fork {thread} --cwd DIR`"))
        .with_cause(ErrorCause::StrangeNote)
}

/// The workplaces of all other threads in the store, whether or not their notes are readable.
pub(crate) fn of_others(home: &Home, known: &BTreeSet<String>) -> Result<Vec<(ThreadId, Value)>> {
    let notes = home.notes();
    let thread_of = |name: &str| name.strip_prefix(KIND)?.parse::<ThreadId>().ok();
    let is_other = |name: &String| thread_of(name).is_some_and(|thread| !known.contains(thread.as_str()));
    let names: Vec<String> = notes.notes(KIND)?.into_iter().map(|listed| listed.name).filter(is_other).collect();
    let read = notes.read_notes(&names)?.into_iter();
    Ok(read.filter_map(|(name, note)| Some((thread_of(&name)?, note.value))).collect())
}

/// Removes the note of a thread.
pub(crate) fn forget(home: &Home, thread: &ThreadId) -> Result<()> {
    Ok(home.notes().remove_note(&name(thread))?)
}

/// Prefix of such a note's name.
pub(crate) const KIND: &str = "workspace.";

fn name(thread: &ThreadId) -> String {
    format!("{KIND}{thread}")
}
