//! Git's files in the view of a program. Git runs the hooks of a repository, and the programs that its configuration names, later
//! and outside the sandbox. So the program must change neither.
//!
//! In a worktree of a thread, git's own files are in the repository that the worktree belongs to. The program gets the directories that a
//! commit needs. In any other directory git's files are in `.git`, where hooks and configuration cannot be separated from the rest: `.git` is
//! read-only there.

use std::path::{Path, PathBuf};

use durable_files::regular;

use super::PathAccess;

/// Most bytes of a file of git that names a directory.
const MAX_BYTES: u64 = 64 << 10;

/// Directories of a repository that a commit in a worktree writes.
const WRITTEN: [&str; 3] = ["objects", "refs", "logs"];

/// Files of a worktree that say where its repository is.
const LINKS: [&str; 3] = ["commondir", "gitdir", "config.worktree"];

/// The entries of a view for git's files of a directory that the program may write.
pub(super) fn entries(dir: &Path) -> Vec<(PathBuf, PathAccess)> {
    let Some((top, git)) =
        dir.ancestors().map(|top| (top, top.join(".git"))).find(|(_, git)| git.symlink_metadata().is_ok())
    else {
        return Vec::new();
    };
    if let Some((own, repository)) = linked(top, &git) {
        let written = WRITTEN.iter().map(|name| repository.join(name)).filter(|path| path.is_dir());
        let written = written.chain([own.clone()]).map(|path| (path, PathAccess::Write));
        let links = LINKS.iter().map(|name| own.join(name)).filter(|path| path.exists());
        let links = links.chain([git]).map(|path| (path, PathAccess::PreferablyRead));
        return [(repository.clone(), PathAccess::Read)].into_iter().chain(written).chain(links).collect();
    }
    match top == dir {
        // A link would be followed, to any place.
        true => vec![(git.canonicalize().unwrap_or(git), PathAccess::Read)],
        // The repository is above the directory, where the program writes nothing anyway.
        false => Vec::new(),
    }
}

/// The git directory of a linked worktree, and the repository that it belongs to. An earlier program may have written `.git`, so both must
/// confirm each other: only git itself writes into the repository.
fn linked(top: &Path, git: &Path) -> Option<(PathBuf, PathBuf)> {
    let named = regular::read_to_string(git, MAX_BYTES).ok()?;
    let own = top.join(named.strip_prefix("gitdir:")?.trim()).canonicalize().ok()?;
    let worktrees = own.parent().filter(|dir| dir.file_name().is_some_and(|name| name == "worktrees"))?;
    let repository = worktrees.parent()?.to_owned();
    let back = regular::read_to_string(&own.join("gitdir"), MAX_BYTES).ok()?;
    let back = own.join(back.trim()).canonicalize().ok()?;
    (back == git.canonicalize().ok()? && !own.starts_with(top)).then_some((own, repository))
}
