//! The thread's workspace for the file tools: no path from a model can leave it.
//!
//! Paths are opened relative to the workspace's directory handle, and the kernel rejects a path that would leave it (`openat2` with
//! `RESOLVE_BENEATH`). Without `openat2`, every component is opened without following links, so even a link within the workspace is
//! rejected. Don't check a path first and open it afterwards, because of the race.

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use uwf_engine::error::{AtPath, Result};
use uwf_platform::host;

/// Flags for every file: opening must not block (a FIFO would), and later processes must not inherit it.
const ALWAYS: OFlags = OFlags::CLOEXEC.union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

/// Mode of new files, less the umask.
const FILE_MODE: Mode = Mode::from_raw_mode(0o666);

/// Mode of new directories, less the umask.
const DIR_MODE: Mode = Mode::from_raw_mode(0o777);

/// A directory that no path can leave.
#[derive(Debug)]
pub struct ConfinedWorkspace {
    root: OwnedFd,
    path: PathBuf,
    real: PathBuf,
    hard_links: bool,
}

/// Why a path was not opened, in words for the model.
pub type Refused = String;

impl ConfinedWorkspace {
    /// Opens the directory.
    ///
    /// # Errors
    /// `NotFound`, `Io` if it does not exist or is not a directory.
    pub fn open(path: &Path) -> Result<ConfinedWorkspace> {
        let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
        let root = rustix::fs::open(path, flags, Mode::empty()).map_err(std::io::Error::from);
        Ok(ConfinedWorkspace {
            root: root.path_context("open the workspace", path)?,
            path: path.to_owned(),
            real: path.canonicalize().path_context("find the workspace", path)?,
            hard_links: false,
        })
    }

    /// The workspace, with or without permission to write files that have several hard links. By default they are rejected: another name of
    /// the file may be outside the workspace, and nothing shows it.
    #[must_use]
    pub fn with_hard_links(self, hard_links: bool) -> ConfinedWorkspace {
        ConfinedWorkspace { hard_links, ..self }
    }

    /// The path of the workspace.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a regular file for reading.
    pub fn read(&self, typed: &str) -> std::result::Result<File, Refused> {
        let path = self.inside(typed)?;
        self.beneath(&path, OFlags::RDONLY, Mode::empty())
            .map_err(|errno| explain(typed, errno))
            .and_then(regular(typed))
    }

    /// Opens an existing regular file for reading and writing.
    pub fn edit(&self, typed: &str) -> std::result::Result<File, Refused> {
        let path = self.inside(typed)?;
        self.beneath(&path, OFlags::RDWR, Mode::empty())
            .map_err(|errno| explain(typed, errno))
            .and_then(regular(typed))
            .and_then(|file| self.with_one_name(typed, file))
    }

    /// Opens a regular file for writing, and creates it and its directories if they are missing. Its contents stay until they are
    /// overwritten.
    pub fn write(&self, typed: &str) -> std::result::Result<File, Refused> {
        let path = self.inside(typed)?;
        let create = || self.beneath(&path, OFlags::WRONLY | OFlags::CREATE, FILE_MODE);
        let opened = match create() {
            Err(Errno::NOENT) => self.make_parents(&path).and_then(|()| create()),
            other => other,
        };
        let file = opened.map_err(|errno| explain(typed, errno)).and_then(regular(typed))?;
        self.with_one_name(typed, file)
    }

    fn with_one_name(&self, typed: &str, file: File) -> std::result::Result<File, Refused> {
        let names = file.metadata().map_err(|error| format!("`{typed}`: {error}"))?.nlink();
        if names > 1 && !self.hard_links {
            return Err(format!(
                "`{typed}` is one of {names} names of its file (hard links), and another may be outside the workspace: it is \
                 not written; make a copy and put that in its place"
            ));
        }
        Ok(file)
    }

    fn make_parents(&self, path: &Path) -> std::result::Result<(), Errno> {
        let mut made = PathBuf::new();
        for component in path.parent().unwrap_or(Path::new("")).components() {
            let parent = self.directory(&made)?;
            match rustix::fs::mkdirat(&parent, component.as_os_str(), DIR_MODE) {
                Ok(()) | Err(Errno::EXIST) => made.push(component),
                Err(errno) => return Err(errno),
            }
        }
        Ok(())
    }

    fn directory(&self, path: &Path) -> std::result::Result<OwnedFd, Errno> {
        if path.as_os_str().is_empty() {
            return self.root.try_clone().map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO));
        }
        self.beneath(path, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())
    }

    /// The path relative to the workspace. Absolute paths within it are accepted, because models like to use them.
    fn inside(&self, typed: &str) -> std::result::Result<PathBuf, Refused> {
        let path = Path::new(typed);
        let relative = if path.is_absolute() {
            path.strip_prefix(&self.path).or_else(|_| path.strip_prefix(&self.real)).map_err(|_| {
                format!("`{typed}` is outside the workspace {}; give a path relative to it", self.path.display())
            })?
        } else {
            path
        };
        let mut clean = PathBuf::new();
        for component in relative.components() {
            match component {
                Component::Normal(name) => clean.push(name),
                Component::CurDir => {}
                Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                    return Err(format!("`{typed}` has `..` in it; give a path relative to the workspace without it"));
                }
            }
        }
        if clean.as_os_str().is_empty() {
            return Err(format!("`{typed}` names no file"));
        }
        Ok(clean)
    }

    fn beneath(&self, path: &Path, flags: OFlags, mode: Mode) -> std::result::Result<OwnedFd, Errno> {
        let opened = host().open_beneath(self.root.as_fd(), path, flags | ALWAYS, mode);
        opened.unwrap_or_else(|| self.by_components(path, flags, mode))
    }

    /// Opens one component after the other without following links.
    fn by_components(&self, path: &Path, flags: OFlags, mode: Mode) -> std::result::Result<OwnedFd, Errno> {
        let down = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | ALWAYS;
        let name = path.file_name().ok_or(Errno::INVAL)?;
        let mut dir = self.directory(Path::new(""))?;
        for component in path.parent().unwrap_or(Path::new("")).components() {
            dir = rustix::fs::openat(&dir, component.as_os_str(), down, Mode::empty())?;
        }
        rustix::fs::openat(&dir, name, flags | OFlags::NOFOLLOW | ALWAYS, mode)
    }
}

/// Accepts only regular files: a device or a FIFO would block, and a directory has no text.
fn regular(typed: &str) -> impl FnOnce(OwnedFd) -> std::result::Result<File, Refused> + '_ {
    move |fd| {
        let file = File::from(fd);
        let meta = file.metadata().map_err(|error| format!("`{typed}`: {error}"))?;
        if meta.is_dir() {
            return Err(format!("`{typed}` is a directory"));
        }
        if !meta.is_file() {
            return Err(format!("`{typed}` is not a regular file"));
        }
        Ok(file)
    }
}

fn explain(typed: &str, errno: Errno) -> Refused {
    let why = match errno {
        Errno::XDEV | Errno::LOOP => "leads out of the workspace through a symbolic link, or has too many links",
        Errno::NOENT => "does not exist",
        Errno::ISDIR => "is a directory",
        Errno::NOTDIR => "goes through something that is not a directory",
        Errno::NXIO => "is not a regular file",
        other => return format!("`{typed}`: {}", std::io::Error::from(other)),
    };
    format!("`{typed}` {why}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The path for systems without `openat2`, which the other tests don't cover on Linux.
    #[test]
    fn one_component_after_the_other_follows_no_link() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("w/sub")).unwrap();
        std::fs::write(dir.path().join("secret"), "s").unwrap();
        std::fs::write(dir.path().join("w/sub/file"), "f").unwrap();
        std::os::unix::fs::symlink("../secret", dir.path().join("w/out")).unwrap();
        std::os::unix::fs::symlink("sub", dir.path().join("w/in")).unwrap();
        let workspace = ConfinedWorkspace::open(&dir.path().join("w")).unwrap();
        let open = |path: &str| workspace.by_components(Path::new(path), OFlags::RDONLY, Mode::empty()).err();
        assert_eq!(open("sub/file"), None);
        assert_eq!(open("out"), Some(Errno::LOOP));
        assert!(open("in/file").is_some());
    }
}
