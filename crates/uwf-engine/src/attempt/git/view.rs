//! Git's view of a thread's working tree.
//!
//! An agent may write anything there: another `.git`, attributes that name programs, pipes instead of files. So git
//! never searches that directory for the repository. Each look creates a separate git directory, with the commit and
//! index of the worktree, and with only those settings that control how files are read. Objects go to the repository.
//! Other settings of the repository are ignored as well, because an agent may be able to write them. Settings of the
//! person and the system apply, including filters such as Git LFS.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use durable_files::{FileError, regular};

use super::{GitDirectory, GitRunner};
use crate::error::{Error, ErrorCause, Result};

/// Repository settings that control how files are read. None of them names a program or a file.
const SETTINGS: &str = r"^(core\.(autocrlf|eol|filemode|ignorecase|precomposeunicode|symlinks|sparsecheckout|sparsecheckoutcone)|extensions\.objectformat)$";

/// The directory in which a repository keeps the data of one of its working trees.
///
/// # Errors
/// `Data` when the repository has no such working tree; `Io` when a file that could name it can't be read.
pub(crate) fn own_dir(repository: &Path, dir: &Path) -> Result<PathBuf> {
    let entries = repository.join("worktrees");
    let is_of_dir = |entry: &Path| -> Result<bool> {
        let file = entry.join("gitdir");
        let names =
            missing_is_none(regular::read(&file, regular::MAX_TEXT)).map_err(FileError::failed_to("read", &file))?;
        Ok(names.is_some_and(|names| names.trim_ascii_end() == dir.join(".git").as_os_str().as_encoded_bytes()))
    };
    // Git gives the entry the directory's name, unless that name was taken.
    if let Some(first) = dir.file_name().map(|name| entries.join(name))
        && is_of_dir(&first)?
    {
        return Ok(first);
    }
    let listed = missing_is_none(fs::read_dir(&entries)).map_err(FileError::failed_to("list", &entries))?;
    for entry in listed.into_iter().flatten() {
        let entry = entry.map_err(FileError::failed_to("list", &entries))?.path();
        if is_of_dir(&entry)? {
            return Ok(entry);
        }
    }
    Err(Error::data(format!("{} is no longer a worktree of {}", dir.display(), repository.display()))
        .hint("an agent may have replaced it; its files are still there")
        .with_cause(ErrorCause::OtherRepository))
}

impl<'d> GitRunner<'d> {
    /// Git for the branch and commit of a working tree. It must not look at the files: see [`GitRunner::view`].
    pub(crate) fn of_worktree(repository: &Path, dir: &'d Path) -> Result<GitRunner<'d>> {
        let named = GitDirectory {
            git_dir: own_dir(repository, dir)?,
            // The directory's own information about the repository may come from the agent.
            common: Some(repository.to_owned()),
            objects: None,
        };
        Ok(GitRunner { named: Some(named), ..GitRunner::for_directory(dir) })
    }

    /// Git for the files of a working tree. `scratch` is a directory for this call alone, and is recreated.
    pub(crate) fn view(repository: &Path, dir: &'d Path, scratch: &Path) -> Result<GitRunner<'d>> {
        let of_worktree = GitRunner::of_worktree(repository, dir)?;
        let own = own_dir(repository, dir)?;
        let head = of_worktree.commit("HEAD")?;
        let settings = of_worktree.settings()?;
        absent(fs::remove_dir_all(scratch)).map_err(FileError::failed_to("remove", scratch))?;
        for dir in ["refs", "info"].map(|name| scratch.join(name)) {
            fs::create_dir_all(&dir).map_err(FileError::failed_to("create", &dir))?;
        }
        for (name, text) in [("config", &*settings), ("HEAD", head.as_deref().unwrap_or("ref: refs/heads/none"))] {
            let path = scratch.join(name);
            fs::write(&path, text).map_err(FileError::failed_to("write", &path))?;
        }
        copy(&repository.join("info/exclude"), &scratch.join("info/exclude"))?;
        copy(&own.join("info/sparse-checkout"), &scratch.join("info/sparse-checkout"))?;
        copy_index(&own.join("index"), &scratch.join("index"))?;
        let named =
            GitDirectory { git_dir: scratch.to_owned(), common: None, objects: Some(repository.join("objects")) };
        let git = GitRunner { named: Some(named), ..GitRunner::for_directory(dir) };
        if !scratch.join("index").exists() && head.is_some() {
            git.run("read the commit of the worktree", ["read-tree", "HEAD"])?;
        }
        Ok(git)
    }

    /// The settings that control how files are read, as the text of a configuration file.
    fn settings(&self) -> Result<String> {
        let listed = self.output(["config", "--null", "--get-regexp", SETTINGS])?;
        let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
        let mut text = "[core]\n\trepositoryformatversion = 1\n\tbare = false\n".to_owned();
        for (key, value) in listed.split_terminator('\0').filter_map(|entry| entry.split_once('\n')) {
            let is_plain = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_alphanumeric());
            if let Some((section, name)) = key.split_once('.').filter(|_| is_plain) {
                text.push_str(&format!("[{section}]\n\t{name} = {value}\n"));
            }
        }
        Ok(text)
    }
}

/// Copies a file if it exists.
///
/// # Errors
/// If a file cannot be read or written, or `from` is not a regular file.
fn copy(from: &Path, to: &Path) -> Result<(), FileError> {
    let Some(mut file) = missing_is_none(regular::open(from)).map_err(FileError::failed_to("open", from))? else {
        return Ok(());
    };
    fs::File::create(to)
        .and_then(|mut copy| io::copy(&mut file, &mut copy))
        .map_err(FileError::failed_to("write", to))?;
    Ok(())
}

/// Copies an index and its modification time: git compares the content of files that are as recent as the index.
fn copy_index(from: &Path, to: &Path) -> Result<(), FileError> {
    copy(from, to)?;
    let Some(of_copy) =
        missing_is_none(fs::File::options().append(true).open(to)).map_err(FileError::failed_to("open", to))?
    else {
        return Ok(());
    };
    let changed =
        fs::metadata(from).and_then(|metadata| metadata.modified()).map_err(FileError::failed_to("look at", from))?;
    of_copy.set_modified(changed).map_err(FileError::failed_to("write", to))
}

/// Returns `None` if the path, or a directory above it, doesn't exist.
fn missing_is_none<T>(done: io::Result<T>) -> io::Result<Option<T>> {
    match done {
        Ok(done) => Ok(Some(done)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(error),
    }
}

fn absent(removed: io::Result<()>) -> io::Result<()> {
    missing_is_none(removed).map(|_| ())
}
