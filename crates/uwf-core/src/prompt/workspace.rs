//! The git worktree of a thread in a prompt: its branch, where it began, and the files that changed since.

use super::{PartKind, PromptPart};
use crate::text::{ellipsize, one_line};

/// Most files in the list.
const MOST_FILES: usize = 50;

/// The largest share of the prompt that the list takes, as a divisor of the budget.
const SHARE: usize = 16;

/// Most characters of the reason why git failed.
const LONGEST_REASON: usize = 300;

/// Digits of a commit's name that are shown: enough for git in any repository.
const COMMIT_SHOWN: usize = 12;

/// The git worktree that a thread works in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptWorkspace {
    /// Its branch.
    pub branch: String,
    /// The commit at which the branch began.
    pub base: String,
    /// The files that steps changed since then.
    pub files: WorkspaceFiles,
}

/// The changed files of a worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkspaceFiles {
    /// All of them.
    Known(Vec<WorkspaceFile>),
    /// They are not recorded.
    Unrecorded,
    /// Git failed, for this reason.
    Unreadable(String),
}

/// A file that changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceFile {
    /// Its path.
    pub path: String,
    /// The roles that changed it, in order of their first change; empty if that is not known.
    pub roles: Vec<String>,
}

impl PromptWorkspace {
    /// The part of a prompt of `budget` bytes.
    pub(super) fn part(&self, budget: usize) -> PromptPart {
        let base = self.base.get(..COMMIT_SHOWN).unwrap_or(&self.base);
        let mut text = format!(
            "\n# Workspace\n\nYou work on the git branch `{}`, which began at commit `{base}`. `git diff {base}` shows all changes of \
             tracked files since then, and `git status --short` lists new files.\n",
            self.branch
        );
        match &self.files {
            WorkspaceFiles::Unrecorded => text.push_str("\nIt is not known which files previous steps changed.\n"),
            WorkspaceFiles::Unreadable(why) => {
                let why = ellipsize(&one_line(why), LONGEST_REASON).into_owned();
                text.push_str(&format!("\ngit could not say what changed: {why}\n"));
            }
            WorkspaceFiles::Known(files) if files.is_empty() => text.push_str("\nPrevious steps changed no files.\n"),
            WorkspaceFiles::Known(files) => push_files(&mut text, files, budget / SHARE),
        }
        PromptPart { kind: PartKind::Workspace, text }
    }
}

/// Adds the list of files, in at most `bytes`, and the number of omitted files.
fn push_files(text: &mut String, files: &[WorkspaceFile], bytes: usize) {
    text.push_str("\nFiles that previous steps changed, with the roles that changed them:\n\n");
    let mut left = bytes;
    for (shown, WorkspaceFile { path, roles }) in files.iter().enumerate() {
        let by = if roles.is_empty() { String::new() } else { format!(" ({})", roles.join(", ")) };
        let line = format!("- `{}`{by}\n", one_line(path));
        if shown == MOST_FILES || line.len() > left {
            text.push_str(&format!("- and {} more\n", files.len() - shown));
            return;
        }
        left -= line.len();
        text.push_str(&line);
    }
}
