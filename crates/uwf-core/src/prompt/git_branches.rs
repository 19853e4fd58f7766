//! The git branches with the changes of a group's branches.

use super::{AgentPrompt, PartKind, PromptPart};

/// A git branch with the changes of a branch of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitBranch {
    /// Name of the group's branch.
    pub name: String,
    /// The git branch.
    pub branch: String,
}

impl AgentPrompt {
    /// The prompt with the git branches of the group that was just played, before any replies.
    #[must_use]
    pub fn with_git_branches(mut self, group: &str, branches: &[GitBranch]) -> AgentPrompt {
        if branches.is_empty() {
            return self;
        }
        let text = git_branches_part(group, branches);
        self.insert_before_end(PromptPart { kind: PartKind::GitBranches, text });
        self
    }
}

/// The part of a prompt that lists git branches.
#[must_use]
pub fn git_branches_part(group: &str, branches: &[GitBranch]) -> String {
    let lines: String = branches.iter().map(|GitBranch { name, branch }| format!("- `{name}`: `{branch}`\n")).collect();
    format!(
        "\n# Git branches of `{group}`\n\nThe changes of each branch of `{group}` are committed on a git branch of this repository, and not merged:\n\n{lines}"
    )
}
