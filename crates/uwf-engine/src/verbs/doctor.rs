//! What is wrong with a storage root, and what of it can be put right without asking.
//!
//! Each check looks at one thing and gives findings. With [`Remedy::Apply`] it also repairs what is safe to repair:
//! what nobody alive can need any more.

mod files;
mod processes;
mod threads;

use schemars::JsonSchema;
use serde::Serialize;

use crate::error::{Error, Result};
use crate::root::home::Home;
use crate::root::registry;
use crate::thread::nodes;

/// What the checks found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DoctorReport {
    /// Whether no check failed.
    pub ok: bool,
    /// What each found.
    pub checks: Vec<Finding>,
}

impl DoctorReport {
    /// The report of these findings.
    pub fn of(checks: Vec<Finding>) -> DoctorReport {
        DoctorReport { ok: checks.iter().all(|check| check.status != Status::Fail), checks }
    }
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Finding {
    /// Name of the check; what it is about after a colon, where there are several.
    pub check: String,
    /// How bad it is.
    pub status: Status,
    /// What was found, one line.
    pub message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// As it should be, or put right.
    Ok,
    /// It works, but somebody should know.
    Warn,
    /// Something will not work.
    Fail,
}

/// Whether to repair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remedy {
    /// Only read: a server that is asked for a page writes nothing. Whether files can be written is told by their permissions.
    Read,
    /// Repair nothing, and try whether files can be written.
    Tell,
    /// Repair what is safe to repair.
    Apply,
}

impl Finding {
    /// All is well.
    pub fn ok(check: impl Into<String>, message: impl Into<String>) -> Finding {
        Finding { check: check.into(), status: Status::Ok, message: message.into(), hint: None }
    }

    /// Somebody should know.
    pub fn warn(check: impl Into<String>, message: impl Into<String>) -> Finding {
        Finding { status: Status::Warn, ..Finding::ok(check, message) }
    }

    /// It will not work.
    pub fn fail(check: impl Into<String>, message: impl Into<String>) -> Finding {
        Finding { status: Status::Fail, ..Finding::ok(check, message) }
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Finding {
        self.hint = Some(hint.into());
        self
    }

    /// What an error says about the thing that was to be looked at.
    pub fn of_error(check: &str, error: &Error) -> Finding {
        Finding { hint: error.hints.first().cloned(), ..Finding::fail(check, error.message.clone()) }
    }
}

/// Looks at one thing.
type Check = fn(&Home, Remedy) -> Result<Vec<Finding>>;

/// Looks at everything the storage root holds, configuration excepted.
pub fn examine(home: &Home, remedy: Remedy) -> Vec<Finding> {
    let checks: [(&str, Check); 9] = [
        ("storage", files::root),
        ("env-file", files::env_file),
        ("store", files::store),
        ("leftovers", files::leftovers),
        ("locks", files::locks),
        ("workflows", names),
        ("threads", threads::index),
        ("attempts", threads::attempts),
        ("orphans", processes::orphans),
    ];
    let look = |(name, check): (&str, Check)| {
        check(home, remedy).unwrap_or_else(|error| vec![Finding::of_error(name, &error)])
    };
    checks.into_iter().flat_map(look).collect()
}

/// Whether the names of workflows can be read, and lead to workflows.
fn names(home: &Home, _: Remedy) -> Result<Vec<Finding>> {
    let registry = registry::read(home)?;
    if let Some(gone) = registry::gone(home)? {
        let message = format!("{gone}: no name leads to a workflow");
        return Ok(vec![Finding::warn("workflows", message).hint(gone.remedy())]);
    }
    let mut findings = vec![Finding::ok("workflows", counted(registry.len(), "name"))];
    for (name, entry) in &registry {
        if let Err(error) = nodes::workflow(home.store(), entry.hash) {
            let finding = Finding::fail("workflows", format!("`{name}`: {error}"));
            findings.push(finding.hint("`uwf workflow put FILE` stores it again"));
        }
    }
    Ok(findings)
}

/// `1 file`, `2 files`, `2 processes`, `2 entries`.
fn counted(count: usize, what: &str) -> String {
    match (count, what.strip_suffix('y')) {
        (1, _) => format!("1 {what}"),
        (_, Some(stem)) => format!("{count} {stem}ies"),
        _ if what.ends_with('s') => format!("{count} {what}es"),
        _ => format!("{count} {what}s"),
    }
}
