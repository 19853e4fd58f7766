//! Changing `config.yaml`: edited as text, checked as a whole, replaced at once.

use std::path::Path;
use std::time::Duration;

use durable_files::FileLock;
use serde_json::Value;
use uwf_core::config::edit::{self, EditError, KeyPath};
use uwf_core::document::Problem;

use crate::error::{Error, Result};
use crate::root::config_text;
use crate::root::home::Home;

/// How long to wait for somebody else who changes the file, which takes milliseconds.
const LOCK_WAIT: Duration = Duration::from_secs(2);

/// What is said of a change that is refused.
const NOT_WRITTEN: &str = "nothing was written";

/// One change of the configuration.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// A key gets a value; parents that are missing are made.
    Set(KeyPath, Value),
    /// A key goes; one that is not there is no error.
    Unset(KeyPath),
}

/// What came of changes.
#[derive(Debug, Clone, PartialEq)]
pub struct Configured {
    /// Whether the file is another than before.
    pub changed: bool,
    /// Warnings about what was changed.
    pub warnings: Vec<Problem>,
    /// Errors the file had before and still has.
    pub errors_left: usize,
}

/// Everything that is wrong with the text of a configuration, on this machine too.
pub type Judge<'j> = dyn Fn(&str) -> Result<Vec<Problem>> + 'j;

/// Makes changes, all or none. Comments, order, unknown keys and formatting elsewhere in the file stay, as does its
/// mode; it is made if there is none.
///
/// # Errors
/// `Config` when a value holds what looks like a key, when the file can't be edited, or when the result would have an
/// error that the file does not have yet; `Busy` when somebody else changes it; `Io`. Nothing is written then.
pub fn change(home: &Home, changes: &[Change], judge: &Judge<'_>) -> Result<Configured> {
    let _lock = lock(home)?;
    let (text, configured) = changed(home, changes, judge)?;
    if configured.changed {
        durable_files::replace(&home.config_file(), text.as_bytes())?;
    }
    Ok(configured)
}

/// What [`change`] would do; nothing is written.
///
/// # Errors
/// As of [`change`].
pub fn preview(home: &Home, changes: &[Change], judge: &Judge<'_>) -> Result<Configured> {
    changed(home, changes, judge).map(|(_, configured)| configured)
}

/// Replaces the whole file, which said `before` when the new text was begun.
///
/// # Errors
/// `Busy` when the file says something else by now, `Config` when the new text holds what looks like a key or has an
/// error, `Io`. Nothing is written then.
pub fn replace(home: &Home, before: &str, after: &str, judge: &Judge<'_>) -> Result<Configured> {
    let path = home.config_file();
    let _lock = lock(home)?;
    stays_inside(home, &path)?;
    if config_text::read(&path)? != before {
        return Err(Error::busy(format!("{} was changed meanwhile", path.display())));
    }
    let values = edit::values(after, &path.display().to_string()).map_err(|error| not_edited(&path, &error))?;
    for (key, value) in values.as_object().into_iter().flatten() {
        refuse_key(&Change::Set(KeyPath::below(None, key), value.clone()))?;
    }
    let (warnings, errors_left) = check(before, after, judge)?;
    let configured = Configured { changed: after != before, warnings, errors_left };
    if configured.changed {
        durable_files::replace(&path, after.as_bytes())?;
    }
    Ok(configured)
}

/// Keeps others from changing configuration and secrets.
pub(crate) fn lock(home: &Home) -> Result<FileLock> {
    home.make_root()?;
    let path = home.config_lock();
    FileLock::acquire(&path, LOCK_WAIT)?.ok_or_else(|| {
        Error::busy("the configuration is being changed by another process").hint("try again when it has finished")
    })
}

fn changed(home: &Home, changes: &[Change], judge: &Judge<'_>) -> Result<(String, Configured)> {
    let path = home.config_file();
    changes.iter().try_for_each(refuse_key)?;
    stays_inside(home, &path)?;
    let before = config_text::read(&path)?;
    let origin = path.display().to_string();
    let after = changes.iter().try_fold(before.clone(), |text, change| apply(&text, &origin, change));
    let after = after.map_err(|error| not_edited(&path, &error))?;
    let (warnings, errors_left) = check(&before, &after, judge)?;
    let configured = Configured { changed: after != before, warnings, errors_left };
    Ok((after, configured))
}

fn apply(text: &str, origin: &str, change: &Change) -> Result<String, EditError> {
    match change {
        Change::Set(path, value) => edit::set(text, origin, path, value),
        Change::Unset(path) => Ok(edit::unset(text, origin, path)?.unwrap_or_else(|| text.to_owned())),
    }
}

fn refuse_key(change: &Change) -> Result<()> {
    let Change::Set(path, value) = change else { return Ok(()) };
    let Some(at) = uwf_core::config::key_in(path, value) else { return Ok(()) };
    Err(Error::config(format!("the value for `{at}` looks like an API key, which does not belong into config.yaml"))
        .hint("put the key into `.env` of the storage root, as NAME=key, and set `providers.<name>.apiKeyEnv` to NAME")
        .hint("`uwf setup` does both"))
}

fn not_edited(path: &Path, error: &EditError) -> Error {
    let refusal = || Error::config(format!("{}: {error}", path.display()));
    match error {
        EditError::Unreadable(problems) => config_text::invalid(problems).hint(NOT_WRITTEN),
        EditError::NotAMapping { .. } => {
            refusal().hint("set the whole of it, for example to `{key: value}` or `[a, b]`")
        }
        EditError::Entangled { .. } => refusal().hint("nothing was written; edit it by hand"),
    }
}

/// A link that leads out of the storage root is not followed: what is written there is not ours to know.
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

/// What the result has that the file did not have yet, and how many of its errors are left. Those are no reason to
/// refuse a change: it may be the first of two that repair the file.
fn check(before: &str, after: &str, judge: &Judge<'_>) -> Result<(Vec<Problem>, usize)> {
    let known = judge(before)?;
    let same = |a: &Problem, b: &Problem| (a.code, &a.message) == (b.code, &b.message);
    let (old, new): (Vec<Problem>, Vec<Problem>) =
        judge(after)?.into_iter().partition(|problem| known.iter().any(|old| same(old, problem)));
    let (errors, warnings): (Vec<Problem>, Vec<Problem>) = new.into_iter().partition(Problem::is_error);
    if !errors.is_empty() {
        let found = errors.iter().map(|problem| &*problem.message).collect::<Vec<_>>().join("; ");
        return Err(Error::config(format!("the result would not be valid: {found}"))
            .hints(config_text::hints_of(&errors))
            .hint(NOT_WRITTEN));
    }
    Ok((warnings, old.iter().filter(|problem| problem.is_error()).count()))
}
