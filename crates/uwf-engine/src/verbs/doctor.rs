//! Checks a storage root, and repairs problems that need no decision.
//!
//! Each check inspects one thing and returns findings. With [`DoctorMode::Apply`] it also makes safe repairs, such as removing files that no
//! running process needs.

mod chains;
mod files;
mod processes;
mod threads;

use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread;

use json_cas::{DamagedPack, NodeHash};
use parking_lot::Mutex;
use schemars::JsonSchema;
use serde::Serialize;

use crate::error::{Error, Result};
use crate::root::home::Home;
use crate::root::registry;
use crate::thread::nodes;

/// Report of the checks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DoctorReport {
    /// Whether no check failed.
    pub ok: bool,
    /// Their findings.
    pub checks: Vec<DoctorFinding>,
}

impl DoctorReport {
    /// A report with these findings.
    pub fn from_findings(checks: Vec<DoctorFinding>) -> DoctorReport {
        DoctorReport { ok: checks.iter().all(|check| check.status != DoctorStatus::Fail), checks }
    }
}

/// A finding of a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DoctorFinding {
    /// Name of the check, with its subject after a colon if there are several.
    pub check: String,
    /// Its severity.
    pub status: DoctorStatus,
    /// The finding, in one line.
    pub message: String,
    /// How to fix it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// Severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DoctorStatus {
    /// Correct, or repaired.
    Ok,
    /// It works, but needs attention.
    Warn,
    /// Something will not work.
    Fail,
}

/// Whether to repair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DoctorMode {
    /// Only read, because a page of the server must not write. Permissions show whether files are writable.
    Read,
    /// Repair nothing, but try to write a file.
    Tell,
    /// Repair what is safe to repair.
    Apply,
}

impl DoctorFinding {
    /// A finding without a problem.
    pub fn ok(check: impl Into<String>, message: impl Into<String>) -> DoctorFinding {
        DoctorFinding { check: check.into(), status: DoctorStatus::Ok, message: message.into(), hint: None }
    }

    /// A finding that needs attention.
    pub fn warn(check: impl Into<String>, message: impl Into<String>) -> DoctorFinding {
        DoctorFinding { status: DoctorStatus::Warn, ..DoctorFinding::ok(check, message) }
    }

    /// A finding that something will not work.
    pub fn fail(check: impl Into<String>, message: impl Into<String>) -> DoctorFinding {
        DoctorFinding { status: DoctorStatus::Fail, ..DoctorFinding::ok(check, message) }
    }

    /// Adds a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> DoctorFinding {
        self.hint = Some(hint.into());
        self
    }

    /// A failure for an error that prevented the check.
    pub fn of_error(check: &str, error: &Error) -> DoctorFinding {
        DoctorFinding { hint: error.hints.first().cloned(), ..DoctorFinding::fail(check, error.message.clone()) }
    }
}

/// The storage root during an examination. Data that several checks need is read once.
struct RootExam<'h> {
    home: &'h Home,
    mode: DoctorMode,
    stored: Mutex<Option<Arc<StoredNodes>>>,
}

/// The nodes of the store.
struct StoredNodes {
    /// All readable ones, sorted.
    nodes: Vec<NodeHash>,
    /// Packs whose nodes are unknown.
    damaged: Vec<DamagedPack>,
}

impl RootExam<'_> {
    fn stored(&self) -> Result<Arc<StoredNodes>> {
        // Held while the store is read, so that a check that runs at the same time waits for it.
        let mut stored = self.stored.lock();
        if let Some(stored) = &*stored {
            return Ok(Arc::clone(stored));
        }
        // Nodes that are stored elsewhere are in no packs.
        let (nodes, damaged) = match self.home.files() {
            Ok(files) => files.list_with_damage()?,
            Err(_) => (self.home.store().objects().list_readable()?, Vec::new()),
        };
        Ok(Arc::clone(stored.insert(Arc::new(StoredNodes { nodes, damaged }))))
    }
}

/// A check.
type Check = fn(&RootExam<'_>) -> Result<Vec<DoctorFinding>>;

/// Runs all checks of the storage root, but not of the configuration.
pub fn examine(home: &Home, mode: DoctorMode) -> Vec<DoctorFinding> {
    let checks: [(&str, Check); 10] = [
        ("storage", files::root),
        ("env-file", files::env_file),
        ("store", files::store),
        ("leftovers", files::leftovers),
        ("locks", files::locks),
        ("workflows", names),
        ("threads", threads::index),
        ("attempts", threads::attempts),
        ("orphans", processes::orphans),
        ("platform", processes::platform),
    ];
    let exam = RootExam { home, mode, stored: Mutex::new(None) };
    let look =
        |(name, check): (&str, Check)| check(&exam).unwrap_or_else(|error| vec![DoctorFinding::of_error(name, &error)]);
    if mode == DoctorMode::Apply {
        return checks.into_iter().flat_map(look).collect();
    }
    // With thousands of threads, each check asks the file system thousands of times.
    let look = &look;
    thread::scope(|scope| {
        let running = checks.map(|check| scope.spawn(move || look(check)));
        running.into_iter().flat_map(|check| check.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    })
}

/// Whether the names of workflows are readable and refer to workflows.
fn names(RootExam { home, .. }: &RootExam<'_>) -> Result<Vec<DoctorFinding>> {
    let registry = registry::read(home)?;
    if let Some(gone) = registry::gone(home)? {
        let message = format!("{gone}, so no workflow has a name");
        return Ok(vec![DoctorFinding::warn("workflows", message).hint(gone.remedy())]);
    }
    let mut findings = vec![DoctorFinding::ok("workflows", format!("{} registered", registry.len()))];
    for (name, entry) in &registry {
        if let Err(error) = nodes::workflow(home.store(), entry.hash) {
            let finding = DoctorFinding::fail("workflows", format!("`{name}`: {error}"));
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
