//! Paths for sockets, which have at most about 100 bytes.

use std::fs::File;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// A short path to a directory, which is valid until this is dropped.
#[derive(Debug)]
pub struct ShortDirectory {
    path: PathBuf,
    _open: Option<File>,
    _link: Option<TempDir>,
}

impl ShortDirectory {
    /// The path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A path that an open directory has in this process.
    #[cfg(target_os = "linux")]
    pub(crate) fn open(dir: &Path, path_of: impl FnOnce(&File) -> PathBuf) -> io::Result<ShortDirectory> {
        let open = File::open(dir)?;
        Ok(ShortDirectory { path: path_of(&open), _open: Some(open), _link: None })
    }

    /// A link in the directory for temporary files, which must have a short path itself.
    pub(crate) fn link(dir: &Path) -> io::Result<ShortDirectory> {
        let dir = dir.canonicalize()?;
        let link = tempfile::Builder::new().prefix("uwf").tempdir_in("/tmp")?;
        let path = link.path().join("d");
        symlink(dir, &path)?;
        Ok(ShortDirectory { path, _open: None, _link: Some(link) })
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::{UnixListener, UnixStream};

    use crate::HostSystem;
    use crate::posix::PosixHost;

    #[test]
    fn sockets_work_in_deep_directories() {
        let dir = tempfile::tempdir().unwrap();
        let deep = dir.path().join("d".repeat(120));
        std::fs::create_dir(&deep).unwrap();
        for host in [&PosixHost as &dyn HostSystem, crate::native()] {
            let short = host.short_directory(&deep).unwrap();
            assert!(short.path().as_os_str().len() < 80, "{short:?}");
            let listener = UnixListener::bind(short.path().join("socket")).unwrap();
            let other = host.short_directory(&deep).unwrap();
            UnixStream::connect(other.path().join("socket")).unwrap();
            drop((listener, short));
            std::fs::remove_file(deep.join("socket")).unwrap();
        }
    }
}
