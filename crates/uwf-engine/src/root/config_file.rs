//! Changes to `config.yaml`: edited as text, checked as a whole, replaced at once.

use std::path::Path;
use std::time::Duration;

use durable_files::FileLock;
use serde_json::Value;
use uwf_core::config::edit::{self, EditError, KeyPath};
use uwf_core::document::FileProblem;

use crate::error::{Error, Result};
use crate::root::config_text;
use crate::root::home::Home;

/// How long to wait for another process that changes the file, which takes milliseconds.
const LOCK_WAIT: Duration = Duration::from_secs(2);

/// Hint for a change that is rejected.
const NOT_WRITTEN: &str = "nothing was written";

/// One change of the configuration.
#[derive(Debug, Clone, PartialEq)]
pub enum ConfigChange {
    /// Set a key to a value, creating missing parents.
    Set(KeyPath, Value),
    /// Remove a key; a missing key is not an error.
    Unset(KeyPath),
}

/// Result of changes.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfigChangeReport {
    /// Whether the file changed.
    pub changed: bool,
    /// Warnings about the changed parts.
    pub warnings: Vec<FileProblem>,
    /// Number of earlier errors in the file that remain.
    pub errors_left: usize,
}

/// Finds all problems in the text of a configuration, including problems on this machine.
pub type Judge<'j> = dyn Fn(&str) -> Result<Vec<FileProblem>> + 'j;

/// Makes all changes or none. Keeps comments, order, unknown keys and formatting elsewhere in the file, and its mode.
/// Creates a missing file.
///
/// # Errors
/// `Config` when a value looks like it contains a key, when the file can't be edited, or when the result would have a
/// new error; `Busy` when another process changes the file; `Io`. Nothing is written then.
pub fn change(home: &Home, changes: &[ConfigChange], judge: &Judge<'_>) -> Result<ConfigChangeReport> {
    let _lock = lock(home)?;
    let (text, configured) = changed(home, changes, judge)?;
    if configured.changed {
        durable_files::replace(&home.config_file(), text.as_bytes())?;
    }
    Ok(configured)
}

/// The result of [`change`], without writing anything.
pub fn preview(home: &Home, changes: &[ConfigChange], judge: &Judge<'_>) -> Result<ConfigChangeReport> {
    changed(home, changes, judge).map(|(_, configured)| configured)
}

/// Replaces the whole file, which contained `before` when the person began to edit.
///
/// # Errors
/// `Busy` when the file has changed meanwhile, `Config` when the new text looks like it contains a key or has an error,
/// `Io`. Nothing is written then.
pub fn replace(home: &Home, before: &str, after: &str, judge: &Judge<'_>) -> Result<ConfigChangeReport> {
    let path = home.config_file();
    let _lock = lock(home)?;
    stays_inside(home, &path)?;
    if config_text::read(&path)? != before {
        return Err(Error::busy(format!("{} was changed meanwhile", path.display())));
    }
    let values = edit::values(after, &path.display().to_string()).map_err(|error| not_edited(&path, &error))?;
    for (key, value) in values.as_object().into_iter().flatten() {
        refuse_key(&ConfigChange::Set(KeyPath::below(None, key), value.clone()))?;
    }
    let (warnings, errors_left) = check(before, after, judge)?;
    let configured = ConfigChangeReport { changed: after != before, warnings, errors_left };
    if configured.changed {
        durable_files::replace(&path, after.as_bytes())?;
    }
    Ok(configured)
}

/// Keeps other processes from changing configuration and secrets.
pub(crate) fn lock(home: &Home) -> Result<FileLock> {
    home.make_root()?;
    let path = home.config_lock();
    FileLock::acquire(&path, LOCK_WAIT)?.ok_or_else(|| {
        Error::busy("the configuration is being changed by another process").hint("try again when it has finished")
    })
}

fn changed(home: &Home, changes: &[ConfigChange], judge: &Judge<'_>) -> Result<(String, ConfigChangeReport)> {
    let path = home.config_file();
    changes.iter().try_for_each(refuse_key)?;
    stays_inside(home, &path)?;
    let before = config_text::read(&path)?;
    let origin = path.display().to_string();
    let after = changes.iter().try_fold(before.clone(), |text, change| apply(&text, &origin, change));
    let after = after.map_err(|error| not_edited(&path, &error))?;
    let (warnings, errors_left) = check(&before, &after, judge)?;
    let configured = ConfigChangeReport { changed: after != before, warnings, errors_left };
    Ok((after, configured))
}

fn apply(text: &str, origin: &str, change: &ConfigChange) -> Result<String, EditError> {
    match change {
        ConfigChange::Set(path, value) => edit::set(text, origin, path, value),
        ConfigChange::Unset(path) => Ok(edit::unset(text, origin, path)?.unwrap_or_else(|| text.to_owned())),
    }
}

fn refuse_key(change: &ConfigChange) -> Result<()> {
    let ConfigChange::Set(path, value) = change else { return Ok(()) };
    let Some(at) = uwf_core::config::key_in(path, value) else { return Ok(()) };
    Err(Error::config(format!("the value for `{at}` looks like an API key; config.yaml must not contain secrets"))
        .hint("put the key into `.env` of the storage root, as NAME=key, and set `providers.<name>.apiKeyEnv` to NAME")
        .hint("`uwf setup` does both"))
}

fn not_edited(path: &Path, error: &EditError) -> Error {
    let refusal = || Error::config(format!("{}: {error}", path.display()));
    match error {
        EditError::Unreadable(problems) => config_text::invalid(problems).hint(NOT_WRITTEN),
        EditError::NotAMapping { .. } => {
            refusal().hint("set the whole value, for example to `{key: value}` or `[a, b]`")
        }
        EditError::Entangled { .. } => refusal().hint("nothing was written; edit it by hand"),
    }
}

/// Rejects a link to a file outside the storage root: the content of that file does not concern uwf.
pub(crate) fn stays_inside(home: &Home, path: &Path) -> Result<()> {
    let Ok(meta) = std::fs::symlink_metadata(path) else { return Ok(()) };
    if !meta.is_symlink() {
        return Ok(());
    }
    let target = std::fs::canonicalize(path).map_err(|source| Error::file("follow the link", path, source))?;
    let root = std::fs::canonicalize(home.root()).map_err(|source| Error::file("read", home.root(), source))?;
    if target.starts_with(&root) {
        return Ok(());
    }
    Err(Error::config(format!("{} is a link to {}, outside the storage root", path.display(), target.display()))
        .hint("edit that file, or put a file of its own into the storage root"))
}

/// The new warnings in the result, and the number of earlier errors that remain. Those don't prevent a change: it may
/// be the first of two that repair the file.
fn check(before: &str, after: &str, judge: &Judge<'_>) -> Result<(Vec<FileProblem>, usize)> {
    let known = judge(before)?;
    let same = |a: &FileProblem, b: &FileProblem| (a.code, &a.message) == (b.code, &b.message);
    let (old, new): (Vec<FileProblem>, Vec<FileProblem>) =
        judge(after)?.into_iter().partition(|problem| known.iter().any(|old| same(old, problem)));
    let (errors, warnings): (Vec<FileProblem>, Vec<FileProblem>) = new.into_iter().partition(FileProblem::is_error);
    if !errors.is_empty() {
        let found = errors.iter().map(|problem| &*problem.message).collect::<Vec<_>>().join("; ");
        return Err(Error::config(format!("the result would not be valid: {found}"))
            .hints(config_text::hints_of(&errors))
            .hint(NOT_WRITTEN));
    }
    Ok((warnings, old.iter().filter(|problem| problem.is_error()).count()))
}
