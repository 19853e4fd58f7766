//! `.worktreeinclude`: ignored files that a new worktree gets a copy of, such as `.env`.
//!
//! The file is in the directory that the worktree was created from, and has the syntax of `.gitignore`. uwf copies only files that git
//! ignores in both places, so that no step records them.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use uwf_core::thread::ThreadId;

use crate::attempt::git::GitRunner;
use crate::attempt::worktree::{checkout_of, gone, is_there};
use crate::error::{AtPath, Error, Result};
use crate::root::home::Home;
use crate::root::project_files;
use crate::root::worktree::Worktree;

/// The file with the patterns.
const PATTERNS: &str = ".worktreeinclude";

/// Most files that are copied. More are dependencies, which a command installs faster.
const MOST_FILES: usize = 5_000;

/// Most bytes that are copied: each thread gets its own copy.
const MOST_BYTES: u64 = 512 << 20;

/// Why a file was not copied: the copy would be in the recorded files, and at the remote.
const RECORDED: &str = "git does not ignore it in the worktree";

/// Why a link was not copied.
const LEADS_OUT: &str = "a symbolic link out of the repository";

/// Why a file has no place in the worktree.
const BLOCKED: &str = "its directory is a symbolic link or a file in the worktree";

/// The result of copying files into a worktree.
#[derive(Debug, Default)]
pub(crate) struct IncludedFiles {
    /// Directory that they come from.
    pub(crate) from: PathBuf,
    /// Their paths in it.
    pub(crate) copied: Vec<PathBuf>,
    /// Files that match, but were not copied, with the reason.
    pub(crate) skipped: Vec<(PathBuf, &'static str)>,
}

/// Copies the files that `.worktreeinclude` names into a worktree, unless they are already there.
///
/// # Errors
/// `Config` if there are too many or if they are too large: then nothing is copied. `Io`, errors of git.
pub(crate) fn copy(home: &Home, thread: &ThreadId, worktree: &Worktree) -> Result<IncludedFiles> {
    let origin = project_files::origin(home, &worktree.dir);
    let from = if origin == worktree.dir { checkout_of(&worktree.repository) } else { origin };
    let patterns = from.join(PATTERNS);
    if !is_there(&patterns)? {
        return Ok(IncludedFiles::default());
    }
    let scratch = home.worktree_scratch(thread);
    let copied = copy_matches(thread, worktree, from, &patterns, &scratch);
    gone(fs::remove_dir_all(&scratch)).path_context("remove", &scratch)?;
    copied
}

fn copy_matches(
    thread: &ThreadId,
    worktree: &Worktree,
    from: PathBuf,
    patterns: &Path,
    scratch: &Path,
) -> Result<IncludedFiles> {
    let git = GitRunner::for_directory(&from);
    let mut matches = git.ignored(&git.untracked_matches(patterns)?)?;
    matches.sort();
    check_size(thread, &from, patterns, &matches)?;
    let view = GitRunner::view(&worktree.repository, &worktree.dir, scratch)?;
    // Git fails for a path behind a link.
    let (matches, behind): (Vec<PathBuf>, Vec<PathBuf>) =
        matches.into_iter().partition(|path| has_real_parents(&worktree.dir, path));
    let ignored: BTreeSet<PathBuf> = view.ignored(&matches)?.into_iter().collect();
    let copier = FileCopier {
        from: &from,
        real: fs::canonicalize(&from).path_context("look at", &from)?,
        to: &worktree.dir,
        scratch,
    };
    let mut copied = Vec::new();
    let mut skipped: Vec<(PathBuf, &'static str)> = behind.into_iter().map(|path| (path, BLOCKED)).collect();
    for path in matches {
        match ignored.contains(&path) {
            false if is_there(&worktree.dir.join(&path))? => {}
            false => skipped.push((path, RECORDED)),
            true => match copier.copy(&path)? {
                CopyResult::Done => copied.push(path),
                CopyResult::AlreadyThere => {}
                CopyResult::Skipped(why) => skipped.push((path, why)),
            },
        }
    }
    Ok(IncludedFiles { from, copied, skipped })
}

/// Whether all existing directories above a path are directories, and not links to them.
fn has_real_parents(top: &Path, path: &Path) -> bool {
    let above = path.ancestors().skip(1).map(|above| top.join(above));
    above.filter_map(|above| above.symlink_metadata().ok()).all(|meta| meta.is_dir())
}

/// Checks the limits, before anything is copied.
fn check_size(thread: &ThreadId, from: &Path, patterns: &Path, matches: &[PathBuf]) -> Result<()> {
    // A file that is gone by now has no size, and is not copied.
    let size = |path: &PathBuf| fs::symlink_metadata(from.join(path)).map_or(0, |meta| meta.len());
    let bytes: u64 = matches.iter().map(size).sum();
    let patterns = patterns.display();
    let what = if matches.len() > MOST_FILES {
        format!("{} files, and at most {MOST_FILES} are copied into a worktree", matches.len())
    } else if bytes > MOST_BYTES {
        format!("{} MiB, and at most {} MiB are copied into a worktree", bytes >> 20, MOST_BYTES >> 20)
    } else {
        return Ok(());
    };
    Err(Error::config(format!("{patterns} matches {what}"))
        .hint(format!("name fewer files in it, then run `uwf thread retry {thread}`"))
        .hint("a command of `worktree.prepare` in config.yaml can install dependencies instead"))
}

enum CopyResult {
    Done,
    AlreadyThere,
    Skipped(&'static str),
}

/// Copies files from one directory to the same paths in another one.
struct FileCopier<'p> {
    from: &'p Path,
    /// `from` without links.
    real: PathBuf,
    to: &'p Path,
    /// A directory on the file system of `to`, for files that are not complete.
    scratch: &'p Path,
}

impl FileCopier<'_> {
    /// Copies one file or link, with its permissions. The copy appears only when it is complete.
    fn copy(&self, path: &Path) -> Result<CopyResult> {
        let (source, target) = (self.from.join(path), self.to.join(path));
        if target.symlink_metadata().is_ok() {
            return Ok(CopyResult::AlreadyThere);
        }
        let Ok(meta) = fs::symlink_metadata(&source) else { return Ok(CopyResult::Skipped("it is gone")) };
        let parent = path.parent().unwrap_or(Path::new(""));
        let real_parent = self.from.join(parent);
        if fs::canonicalize(&real_parent).path_context("look at", &real_parent)? != self.real.join(parent) {
            return Ok(CopyResult::Skipped(LEADS_OUT));
        }
        if meta.is_symlink() && !self.stays_inside(path, &source)? {
            return Ok(CopyResult::Skipped(LEADS_OUT));
        }
        if !meta.is_symlink() && !meta.is_file() {
            return Ok(CopyResult::Skipped(if meta.is_dir() {
                "a git repository of its own"
            } else {
                "not a regular file"
            }));
        }
        if !self.make_parents(parent)? {
            return Ok(CopyResult::Skipped(BLOCKED));
        }
        if meta.is_symlink() {
            let to = fs::read_link(&source).path_context("read", &source)?;
            symlink(to, &target).path_context("create", &target)?;
        } else {
            let part = self.scratch.join("copy");
            copy_file(&source, &part).path_context("copy", &source)?;
            fs::rename(&part, &target).path_context("create", &target)?;
        }
        Ok(CopyResult::Done)
    }

    /// Whether a link points to a path in the directory, both as written and on the disk.
    fn stays_inside(&self, path: &Path, source: &Path) -> Result<bool> {
        let to = fs::read_link(source).path_context("read", source)?;
        let mut depth = path.components().count() - 1;
        for component in to.components() {
            match component {
                Component::Normal(_) => depth += 1,
                Component::CurDir => {}
                Component::ParentDir if depth > 0 => depth -= 1,
                Component::ParentDir | Component::RootDir | Component::Prefix(_) => return Ok(false),
            }
        }
        match fs::canonicalize(source) {
            Ok(real) => Ok(real.starts_with(&self.real)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(true),
            Err(error) => Err(Error::file("look at", source, error)),
        }
    }

    /// Creates the directories of a file; `false` if one of them is something else.
    fn make_parents(&self, parent: &Path) -> Result<bool> {
        let mut dir = self.to.to_owned();
        for component in parent.components() {
            dir.push(component);
            match fs::symlink_metadata(&dir) {
                Ok(meta) if meta.is_dir() => {}
                Ok(_) => return Ok(false),
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    fs::create_dir(&dir).path_context("create", &dir)?;
                }
                Err(error) => return Err(Error::file("look at", &dir, error)),
            }
        }
        Ok(true)
    }
}

/// Copies a regular file with its permissions. Follows no link.
fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut file = fs::File::from(rustix::fs::open(from, flags, Mode::empty())?);
    // Another process may have replaced it since it was looked at.
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut copy = fs::File::create(to)?;
    io::copy(&mut file, &mut copy)?;
    copy.set_permissions(file.metadata()?.permissions())
}
