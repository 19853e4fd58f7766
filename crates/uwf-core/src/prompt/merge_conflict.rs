//! The conflict that a role resolves.

use crate::text::one_line;

/// The part of a prompt about a merge with conflicts. `git_branch` has the changes of the branch `branch`.
#[must_use]
pub fn merge_conflict_part(branch: &str, git_branch: &str, files: &[String]) -> String {
    let files: String = files.iter().map(|file| format!("- `{}`\n", one_line(file))).collect();
    format!(
        "\n# Conflict to resolve\n\nThe changes of branch `{branch}` are on the git branch `{git_branch}`. They conflict with files in your \
         working directory:\n\n{files}\nRun `git merge {git_branch}` in your working directory. Resolve the conflicts and keep the changes of both \
         sides, then run `git add` for the files and `git commit`.\n"
    )
}
