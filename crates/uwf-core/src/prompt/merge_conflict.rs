//! The conflict that a role resolves.

use crate::text::one_line;

/// The part of a prompt about a merge with conflicts. `git_branch` has the changes of the branch `branch`.
#[must_use]
pub fn merge_conflict_part(branch: &str, git_branch: &str, files: &[String]) -> String {
    let files = list(files);
    format!(
        "\n# Conflict to resolve\n\nThe changes of branch `{branch}` are on the git branch `{git_branch}`. They conflict with files in your \
         working directory:\n\n{files}\nRun `git merge {git_branch}` in your working directory. Resolve the conflicts and keep the changes of both \
         sides, then run `git add` for the files and `git commit`. If a merge is already in progress there, an earlier attempt began it: \
         complete it.\n"
    )
}

/// The part of a prompt about conflict markers that are left in the files of a merge.
#[must_use]
pub fn conflict_markers_part(branch: &str, git_branch: &str, files: &[String]) -> String {
    let files = list(files);
    format!(
        "\n# Conflict markers to remove\n\nThe changes of branch `{branch}` were merged from the git branch `{git_branch}`, but the commit \
         still has conflict markers (`<<<<<<<`, `=======`, `>>>>>>>`) in these files of your working directory:\n\n{files}\nResolve the \
         conflicts and keep the changes of both sides, then run `git add` for the files and `git commit`.\n"
    )
}

fn list(files: &[String]) -> String {
    files.iter().map(|file| format!("- `{}`\n", one_line(file))).collect()
}
