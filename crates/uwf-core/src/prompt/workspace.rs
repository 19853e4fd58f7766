//! The git repository that a thread works in, in a prompt. For a worktree of the thread: its branch, where it began, and the files that
//! changed since. For a checkout that others may use: its branch and its commit.

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

/// The git repository that a thread works in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PromptWorkspace {
    /// A worktree of the thread.
    Worktree(PromptWorktree),
    /// A checkout that is not only this thread's.
    Checkout {
        /// The branch; `None` for a detached HEAD.
        branch: Option<String>,
        /// The commit that is checked out.
        commit: String,
        /// The commit that was checked out when the thread began, if it is known. An earlier role may have committed its work since.
        base: Option<String>,
    },
}

/// The git worktree of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptWorktree {
    /// Its branch.
    pub branch: String,
    /// The commit at which the branch began; for a branch of a group, the commit at which the whole work began.
    pub base: String,
    /// Whether the worktree began with the files of earlier steps, because it belongs to a branch of a group.
    pub is_of_branch: bool,
    /// The files that steps changed since the commit.
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
        let text = match self {
            PromptWorkspace::Worktree(worktree) => worktree.text(budget),
            PromptWorkspace::Checkout { branch, commit, base } => {
                checkout(branch.as_deref(), shown(commit), base.as_deref().map(shown))
            }
        };
        PromptPart { kind: PartKind::Workspace, text }
    }
}

fn shown(commit: &str) -> &str {
    commit.get(..COMMIT_SHOWN).unwrap_or(commit)
}

fn checkout(branch: Option<&str>, commit: &str, base: Option<&str>) -> String {
    let place = branch.map_or_else(
        || format!("at commit `{commit}`, on no branch"),
        |branch| format!("on the branch `{}`, at commit `{commit}`", one_line(branch)),
    );
    let base = base.unwrap_or(commit);
    let begun = if base == commit { String::new() } else { format!("The work began at commit `{base}`. ") };
    format!(
        "\n# Workspace\n\nYou work in a git repository {place}. {begun}`git diff {base}` shows all changes of tracked files since then, and \
         `git status --short` lists new files. Some of them may be older than this task.\n"
    )
}

impl PromptWorktree {
    fn text(&self, budget: usize) -> String {
        let base = shown(&self.base);
        let begun = match self.is_of_branch {
            true => format!(
                "which is only yours. It began with the files of the steps before. The work began at commit `{base}`."
            ),
            false => format!("which began at commit `{base}`."),
        };
        let mut text = format!(
            "\n# Workspace\n\nYou work on the git branch `{}`, {begun} `git diff {base}` shows all changes of \
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
        text
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
