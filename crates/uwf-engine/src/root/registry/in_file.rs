//! The names in a file of the storage root.

use std::io::ErrorKind;
use std::path::PathBuf;
use std::time::Duration;

use durable_files::{FileLock, regular};

use super::text::{self, RegistryLayout, unreadable};
use super::{MissingRegistry, Registry, busy};
use crate::error::{AtPath, Error, Result};
use crate::root::home::Home;

/// How long to wait for another writer of the registry.
const LOCK_WAIT: Duration = Duration::from_secs(10);

/// Reads the file; falls back to the file of an older store.
///
/// # Errors
/// `Data` when it is not readable, `Io`.
pub(super) fn read(home: &Home) -> Result<Registry> {
    let files = [
        (home.registry_file(), RegistryLayout::AtTop),
        (home.older_registry_file(), RegistryLayout::AtTop),
        (home.oldest_registry_file(), RegistryLayout::BelowWorkflows),
    ];
    for (path, names) in files {
        match regular::read(&path, regular::MAX_TEXT) {
            Ok(bytes) => {
                let names_text = std::str::from_utf8(&bytes).map_err(|_| unreadable(&path, "it is not UTF-8 text"))?;
                // A workflow may also have this file name; then it is not the registry.
                if names == RegistryLayout::BelowWorkflows
                    && !names_text.lines().any(|line| line.starts_with("workflows:"))
                {
                    continue;
                }
                return text::parse(&path, names_text, names);
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                // If it counted as missing, it would be rewritten with a single name.
                if path.is_symlink() {
                    return Err(unreadable(&path, "it is a link that leads nowhere"));
                }
            }
            Err(error) => return Err(Error::file("read", &path, error)),
        }
    }
    Ok(Registry::new())
}

/// The file, if it is missing although a process has written it, or was about to.
pub(super) fn gone(home: &Home) -> Result<Option<MissingRegistry>> {
    let is_there = |path: PathBuf| path.try_exists().path_context("look at", &path);
    if !is_there(home.registry_lock())? {
        return Ok(None);
    }
    for file in [home.registry_file(), home.older_registry_file(), home.oldest_registry_file()] {
        if is_there(file)? {
            return Ok(None);
        }
    }
    Ok(Some(MissingRegistry::File(home.registry_file())))
}

/// Changes the names under the lock of the file.
///
/// # Errors
/// `Busy` when another process holds the lock for too long, the error of `change`, `Data` and `Io`.
pub(super) fn update<T, E: From<Error>>(
    home: &Home,
    mut change: impl FnMut(&mut Registry) -> Result<T, E>,
) -> Result<T, E> {
    let _lock = lock(home)?;
    let before = read(home)?;
    let mut registry = before.clone();
    let result = change(&mut registry)?;
    if registry != before {
        durable_files::replace(&home.registry_file(), text::write(&registry).as_bytes()).map_err(Error::from)?;
    }
    Ok(result)
}

fn lock(home: &Home) -> Result<FileLock> {
    home.make_root()?;
    let path = home.registry_lock();
    FileLock::acquire(&path, LOCK_WAIT)?.ok_or_else(|| busy(&path))
}
