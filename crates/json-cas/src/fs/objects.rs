//! One file per object in one flat directory.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use std::time::Duration;

use durable_files::regular::{self, MAX_OBJECT, Refused};
use durable_files::{Access, FileError, FileLock, TEMP_PREFIX};

use crate::error::StoreError;
use crate::hash::{Hash, HashPrefix};
use crate::objects::{Hold, Objects, Put, Stored, Stray, Sweep};

/// How long whoever holds waits for a sweep: it keeps the directory for a few seconds at most, unless it is stopped.
const HOLD_WAIT: Duration = Duration::from_mins(1);

/// How long a sweep waits until nobody holds.
const SWEEP_WAIT: Duration = Duration::from_secs(10);

/// Ending of an object's file name after the hash.
const EXTENSION: &str = ".bin";

/// Objects as files `<hash>.bin` in one directory.
#[derive(Debug, Clone)]
pub struct FsObjects {
    dir: PathBuf,
}

impl FsObjects {
    /// The objects in `dir`. Costs nothing; the directory is made by the first put.
    pub fn new(dir: impl Into<PathBuf>) -> FsObjects {
        FsObjects { dir: dir.into() }
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The file an object is in, or would be.
    pub fn path(&self, hash: Hash) -> PathBuf {
        self.dir.join(file_name(hash))
    }

    /// A lock on the directory: shared by those who hold, alone with whoever sweeps.
    fn lock(&self, access: Access, wait: Duration) -> Result<FileLock, StoreError> {
        let busy = || StoreError::Busy {
            path: self.dir.clone(),
            waited_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
        };
        FileLock::acquire_dir(&self.dir, access, wait)?.ok_or_else(busy)
    }

    /// Names in the directory, without temporary files.
    fn names(&self) -> Result<Vec<String>, FileError> {
        let entries = match fs::read_dir(&self.dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(FileError::at("list", &self.dir)(error)),
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(FileError::at("list", &self.dir))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if !name.starts_with(TEMP_PREFIX) {
                names.push(name);
            }
        }
        Ok(names)
    }
}

impl Objects for FsObjects {
    fn get(&self, hash: Hash) -> Result<Option<Vec<u8>>, StoreError> {
        let path = self.path(hash);
        match regular::read(&path, MAX_OBJECT) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(FileError::at("read", &path)(error).into()),
        }
    }

    fn contains(&self, hash: Hash) -> Result<bool, StoreError> {
        let path = self.path(hash);
        Ok(fs::exists(&path).map_err(FileError::at("look at", &path))?)
    }

    fn put_all(&self, objects: &[(Hash, Vec<u8>)]) -> Result<Vec<Put>, StoreError> {
        let mut files = Vec::with_capacity(objects.len());
        for (hash, bytes) in objects {
            if bytes.len() as u64 > MAX_OBJECT {
                let refused = Refused::TooLarge { limit: MAX_OBJECT };
                return Err(FileError::at("write", &self.path(*hash))(refused.into()).into());
            }
            files.push((PathBuf::from(file_name(*hash)), bytes.as_slice()));
        }
        let published = durable_files::publish_all(&self.dir, &files)?;
        Ok(published.into_iter().map(|is_new| if is_new { Put::Published } else { Put::Present }).collect())
    }

    fn replace(&self, hash: Hash, bytes: &[u8]) -> Result<(), StoreError> {
        // A link among the objects may lead to another object, which must not be overwritten.
        Ok(durable_files::replace_itself(&self.path(hash), bytes)?)
    }

    fn sync(&self, hashes: &[Hash]) -> Result<(), StoreError> {
        for hash in hashes {
            match durable_files::sync_file(&self.path(*hash)) {
                Err(error) if error.source.kind() == io::ErrorKind::NotFound => {
                    return Err(StoreError::NotFound { hash: *hash });
                }
                other => other?,
            }
        }
        match durable_files::sync_dir(&self.dir) {
            Err(error) if hashes.is_empty() && error.source.kind() == io::ErrorKind::NotFound => Ok(()),
            other => Ok(other?),
        }
    }

    fn list(&self, prefix: Option<&HashPrefix>) -> Result<Vec<Hash>, StoreError> {
        let mut hashes: Vec<Hash> = self
            .names()?
            .iter()
            .filter_map(|name| hash_of(name))
            .filter(|hash| prefix.is_none_or(|prefix| prefix.matches(*hash)))
            .collect();
        hashes.sort_unstable();
        Ok(hashes)
    }

    fn stored(&self, hash: Hash) -> Result<Option<Stored>, StoreError> {
        let path = self.path(hash);
        let looked = fs::symlink_metadata(&path).and_then(|meta| Ok((meta.len(), meta.modified()?)));
        match looked {
            Ok((bytes, put_at)) => Ok(Some(Stored { bytes, put_at })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(FileError::at("look at", &path)(error).into()),
        }
    }

    fn refresh(&self, hash: Hash) -> Result<bool, StoreError> {
        let path = self.path(hash);
        match durable_files::touch(&path) {
            // Nothing can be removed from it either.
            Err(error) if error.source.kind() == io::ErrorKind::ReadOnlyFilesystem => self.contains(hash),
            // It is somebody else's, and only they may change it. The same content in a file of our own is as young.
            Err(error) if error.source.kind() == io::ErrorKind::PermissionDenied => match self.get(hash)? {
                Some(bytes) => self.replace(hash, &bytes).map(|()| true),
                None => Ok(false),
            },
            other => Ok(other?),
        }
    }

    fn hold(&self) -> Result<Hold, StoreError> {
        Ok(Hold::new(self.lock(Access::Shared, HOLD_WAIT)?))
    }

    fn sweep(&self) -> Result<Sweep, StoreError> {
        Ok(Sweep::new(self.lock(Access::Exclusive, SWEEP_WAIT)?))
    }

    fn remove(&self, _sweep: &Sweep, hash: Hash) -> Result<bool, StoreError> {
        let path = self.path(hash);
        match fs::remove_file(&path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(FileError::at("remove", &path)(error).into()),
        }
    }

    fn strays(&self) -> Result<Vec<Stray>, StoreError> {
        let mut names = self.names()?;
        names.retain(|name| hash_of(name).is_none());
        names.sort_unstable();
        Ok(names.into_iter().map(|name| Stray { name, reason: format!("not named <hash>{EXTENSION}") }).collect())
    }
}

fn file_name(hash: Hash) -> String {
    format!("{hash}{EXTENSION}")
}

/// The hash a file name stands for; only the exact spelling counts, as the file of a hash is
/// looked for under no other.
fn hash_of(name: &str) -> Option<Hash> {
    let text = name.strip_suffix(EXTENSION)?;
    let hash: Hash = text.parse().ok()?;
    (hash.to_ascii() == text.as_bytes()).then_some(hash)
}
