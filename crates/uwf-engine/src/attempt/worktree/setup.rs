//! Whether a worktree is new: nothing was copied into it, and no command prepared it.
//!
//! A file beside git's own data of the worktree says how it was set up. Git removes that data with the worktree, so a worktree that is
//! made again is new.

use std::path::{Path, PathBuf};

use durable_files::regular;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uwf_core::text::first_names;

use crate::attempt::git::own_dir;
use crate::attempt::worktree::includes::IncludedFiles;
use crate::attempt::worktree::is_there;
use crate::error::{AtPath, Error, ErrorCause, Result};
use crate::root::worktree::Worktree;

/// The file that says so.
const READY: &str = "uwf-ready";

/// Most names of files in a message.
const NAMED: usize = 20;

/// How a new worktree was set up before its first agent worked there.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorktreeSetup {
    /// Directory that the copies come from.
    pub from: PathBuf,
    /// Ignored files that were copied, because `.worktreeinclude` names them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub copied: Vec<String>,
    /// Files that it names and that were not copied, each with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<String>,
    /// Commands of `worktree.prepare` that ran.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prepared: Vec<String>,
    /// File with their output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<PathBuf>,
    /// Whether the project's configuration is ignored there: the committed one is not trusted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ignores_config: bool,
}

/// The warning about an ignored configuration.
const IGNORED_CONFIG: &str = "the committed `.workflows/config.yaml` is not trusted, so the worktree ignores it: commit the version that you \
                              trusted, or trust the committed one with `uwf config trust`";

impl WorktreeSetup {
    pub(crate) fn new(included: &IncludedFiles) -> WorktreeSetup {
        let name = |path: &PathBuf| path.display().to_string();
        WorktreeSetup {
            from: included.from.clone(),
            copied: included.copied.iter().map(name).collect(),
            skipped: included.skipped.iter().map(|(path, why)| format!("{}: {why}", path.display())).collect(),
            ..WorktreeSetup::default()
        }
    }

    /// Whether nothing was to be done.
    pub(crate) fn is_empty(&self) -> bool {
        self.copied.is_empty() && self.skipped.is_empty() && self.prepared.is_empty() && !self.ignores_config
    }

    /// Sentences about what was done, for a person.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if !self.copied.is_empty() {
            lines.push(format!(
                "copied {} from {} into the worktree",
                first_names(&self.copied, NAMED),
                self.from.display()
            ));
        }
        if let Some(output) = &self.output {
            lines.push(format!(
                "prepared the worktree with {}, output in {}",
                first_names(&self.commands(), NAMED),
                output.display()
            ));
        }
        lines
    }

    fn commands(&self) -> Vec<String> {
        self.prepared.iter().map(|command| format!("`{command}`")).collect()
    }

    /// Sentences about files that were not copied and an ignored configuration, for a person.
    pub fn warnings(&self) -> Vec<String> {
        let not_copied = |skipped: &String| format!("`.worktreeinclude` names a file that was not copied: {skipped}");
        let more = self.skipped.len().saturating_sub(NAMED);
        let and_more = (more > 0).then(|| format!("and {more} more files were not copied"));
        // The same text for each branch of a group, which is said once.
        let ignored = self.ignores_config.then(|| IGNORED_CONFIG.to_owned());
        self.skipped.iter().take(NAMED).map(not_copied).chain(and_more).chain(ignored).collect()
    }
}

/// Sentences about several worktrees that were set up in the same way, for a person.
pub(crate) fn lines_about_all(all: &[WorktreeSetup]) -> Vec<String> {
    let Some(first) = all.first() else { return Vec::new() };
    let worktrees = if all.len() == 1 { "1 worktree" } else { &format!("{} worktrees", all.len()) };
    let mut lines = Vec::new();
    if !first.copied.is_empty() {
        lines.push(format!(
            "copied {} from {} into {worktrees}",
            first_names(&first.copied, NAMED),
            first.from.display()
        ));
    }
    if let Some(output) = &first.output {
        let more = if all.len() == 1 { String::new() } else { format!(" and {} more", all.len() - 1) };
        let commands = first_names(&first.commands(), NAMED);
        lines.push(format!("prepared {worktrees} with {commands}, output in {}{more}", output.display()));
    }
    lines
}

/// The file that says that a worktree was set up; `None` if its repository does not list the worktree.
fn ready_file(worktree: &Worktree) -> Result<Option<PathBuf>> {
    match own_dir(&worktree.repository, &worktree.dir) {
        Ok(own) => Ok(Some(own.join(READY))),
        // Its files are not recorded either, and the step says so.
        Err(Error { cause: Some(ErrorCause::OtherRepository), .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The file to write once a worktree is set up; `None` if it already was.
pub(crate) fn file_if_new(worktree: &Worktree) -> Result<Option<PathBuf>> {
    match ready_file(worktree)? {
        Some(file) if !is_there(&file)? => Ok(Some(file)),
        Some(_) | None => Ok(None),
    }
}

/// Records how a worktree was set up.
pub(crate) fn mark_ready(file: &Path, done: &WorktreeSetup) -> Result<()> {
    let text = serde_json::to_string(done).unwrap_or_default();
    regular::write(file, text.as_bytes()).path_context("write", file)
}

/// How a worktree was set up; `None` if it is new or unreadable, or if a version of uwf set it up that did not record it.
pub(crate) fn recorded(worktree: &Worktree) -> Option<WorktreeSetup> {
    let file = ready_file(worktree).ok()??;
    serde_json::from_str(&regular::read_to_string(&file, regular::MAX_TEXT).ok()?).ok()
}
