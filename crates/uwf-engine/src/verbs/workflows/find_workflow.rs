//! Finds the workflow that a person typed. Every command searches in the same order: a path, the project's `.workflows/`, the registry, a
//! hash or a unique prefix of one.

use std::path::{Path, PathBuf};

use json_cas::{NodeHash, nearest};
use uwf_core::workflow::Workflow;

use crate::error::{Error, Result};
use crate::root::home::Home;
use crate::root::project_files;
use crate::root::registry::{self, Registry};
use crate::root::{project, trusted_workflows};
use crate::thread::nodes;
use crate::verbs::validate::WorkflowValidation;
use crate::verbs::{put, validate};

/// Where a workflow was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkflowOrigin {
    /// A file that the person named.
    File(PathBuf),
    /// A file of the project; `shadows` if the registry has the name as well.
    Project {
        /// The file.
        file: PathBuf,
        /// Whether the registry has the same name.
        shadows: bool,
    },
    /// The registry.
    Registry,
    /// A hash.
    Store,
}

/// A workflow that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedWorkflow {
    /// Its hash. It is stored, even if it came from a file.
    pub hash: NodeHash,
    /// Where it came from.
    pub origin: WorkflowOrigin,
    /// Messages for the person.
    pub notes: Vec<String>,
}

/// Whether the commands of a workflow run that is named by its path.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PathTrust {
    /// A person named the path at the command line to run the workflow, and so trusts its commands.
    Trusted,
    /// Another program named it, or it is only looked at. Its commands run once `uwf workflow trust` allows them.
    #[default]
    Untrusted,
}

/// Finds a workflow by the typed path, name or hash. Stores a workflow from a file first, without a name.
///
/// # Errors
/// As for [`locate`], and `Data` when the file has errors.
pub fn workflow(home: &Home, typed: &str, cwd: &Path, trust: PathTrust) -> Result<ResolvedWorkflow> {
    stored(home, typed, locate(home, typed, cwd)?, trust)
}

/// All versions of a workflow that was found by its name in the registry; otherwise only the workflow itself.
pub fn versions(registry: &Registry, typed: &str, found: &ResolvedWorkflow) -> Vec<NodeHash> {
    let entry = registry.get(typed).filter(|_| found.origin == WorkflowOrigin::Registry);
    let earlier = entry.into_iter().flat_map(|entry| entry.history.iter().map(|past| past.hash));
    std::iter::once(found.hash).chain(earlier).collect()
}

/// Like [`workflow`], but without project files, which may come from anyone: no person decided to use them here. A path is relative to
/// `dir`; without `dir`, only absolute paths are accepted.
pub(crate) fn without_project(home: &Home, typed: &str, dir: Option<&Path>) -> Result<ResolvedWorkflow> {
    stored(home, typed, find(home, typed, dir, false)?, PathTrust::Trusted)
}

fn stored(home: &Home, typed: &str, located: WorkflowLocation, trust: PathTrust) -> Result<ResolvedWorkflow> {
    let (file, origin) = match located {
        WorkflowLocation::Stored(hash, origin) => return Ok(ResolvedWorkflow { hash, origin, notes: Vec::new() }),
        WorkflowLocation::File(file, origin) => (file, origin),
    };
    let shadows = matches!(origin, WorkflowOrigin::Project { shadows: true, .. });
    let mut found = from_file(home, &file, origin, trust)?;
    if shadows {
        found.notes.insert(0, format!("{} shadows the registry's `{typed}`", file.display()));
    }
    Ok(found)
}

/// The file or node of a workflow, before it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkflowLocation {
    /// A file, and its origin.
    File(PathBuf, WorkflowOrigin),
    /// A node, and its origin.
    Stored(NodeHash, WorkflowOrigin),
}

/// Finds the file or node of a workflow; stores nothing.
///
/// # Errors
/// `NotFound` with the nearest name; errors of store and registry.
pub fn locate(home: &Home, typed: &str, cwd: &Path) -> Result<WorkflowLocation> {
    find(home, typed, Some(cwd), true)
}

fn find(home: &Home, typed: &str, dir: Option<&Path>, with_project: bool) -> Result<WorkflowLocation> {
    let cwd = dir.unwrap_or(Path::new("/"));
    let as_path = cwd.join(typed);
    let looks_like_path = typed.contains('/') || project_files::has_workflow_extension(Path::new(typed));
    let may_be_path = looks_like_path && (dir.is_some() || typed.starts_with('/'));
    if may_be_path && as_path.is_file() {
        return Ok(WorkflowLocation::File(as_path.clone(), WorkflowOrigin::File(as_path)));
    }
    let registry = registry::read(home)?;
    if let Some(file) = project_file(typed, cwd).filter(|_| with_project) {
        let shadows = registry.contains_key(typed);
        return Ok(WorkflowLocation::File(file.clone(), WorkflowOrigin::Project { file, shadows }));
    }
    if let Some(entry) = registry.get(typed) {
        return Ok(WorkflowLocation::Stored(entry.hash, WorkflowOrigin::Registry));
    }
    if let Some(hash) = by_hash(home, typed)? {
        return Ok(WorkflowLocation::Stored(hash, WorkflowOrigin::Store));
    }
    let project = if with_project { project_files::all(cwd) } else { Vec::new() };
    let names = registry.keys().map(String::as_str).chain(project.iter().map(|(name, _)| name.as_str()));
    let nearest = nearest::nearest(typed, names).map(str::to_owned);
    let error = Error::not_found(format!("workflow `{typed}` does not exist"));
    Err(if let Some(gone) = registry::gone(home)? {
        error.hint(format!("{gone}: {}", gone.remedy()))
    } else if let Some(file) = project_file(typed, cwd).filter(|_| !with_project) {
        let file = file.display();
        error
            .hint(format!(
                "{file} counts only when a person starts a thread, or binds it again: `uwf run THREAD --agent ROLE=AGENT`"
            ))
            .hint(format!("`uwf workflow put {file}` stores it for all"))
    } else if let Some(near) = nearest {
        error.hint(format!("did you mean `{near}`?"))
    } else if looks_like_path {
        error.hint(format!("the file {} does not exist", as_path.display()))
    } else {
        error.hint("`uwf workflow list` shows the workflows; you can also give the path of a YAML file")
    })
}

/// The workflow that was typed, if it is readable. Stores nothing and reports no problems, so use it only for names.
pub fn peek(home: &Home, typed: &str, cwd: &Path) -> Option<Workflow> {
    match locate(home, typed, cwd).ok()? {
        WorkflowLocation::Stored(hash, _) => nodes::workflow(home.store(), hash).ok(),
        WorkflowLocation::File(file, _) => {
            let draft = validate::file(home, &file).ok()?.draft?;
            draft.resolve(|_, schema| json_cas::Store::schema_draft(schema).map(|draft| draft.hash())).ok()
        }
    }
}

/// The file for a name in `.workflows/`, in the current directory or above, up to the directory with `.git`.
fn project_file(name: &str, cwd: &Path) -> Option<PathBuf> {
    if name.contains('/') || name.starts_with('.') {
        return None;
    }
    let dir = project_files::dir(cwd)?;
    let is_workflow = |file: &PathBuf| file.is_file() && !project_files::is_config(file);
    ["yaml", "yml", "json"].iter().map(|extension| dir.join(format!("{name}.{extension}"))).find(is_workflow)
}

fn from_file(home: &Home, path: &Path, origin: WorkflowOrigin, trust: PathTrust) -> Result<ResolvedWorkflow> {
    let WorkflowValidation { problems, draft, .. } = validate::text_of_file(home, validate::read_text(path)?, path)?;
    let notes = problems.iter().filter(|problem| !problem.is_error()).map(ToString::to_string).collect();
    let draft = draft.ok_or_else(|| validate::invalid(&problems))?;
    let (_, hash) = put::store(home, draft)?;
    let is_trusted = match &origin {
        WorkflowOrigin::File(_) => trust == PathTrust::Trusted,
        WorkflowOrigin::Project { file, .. } => {
            let real = std::fs::canonicalize(file).unwrap_or_else(|_| file.clone());
            project::is_trusted_by_environment(&real)?
        }
        WorkflowOrigin::Registry | WorkflowOrigin::Store => false,
    };
    if is_trusted {
        trusted_workflows::trust(home, hash, &nodes::workflow(home.store(), hash)?)?;
    }
    Ok(ResolvedWorkflow { hash, origin, notes })
}

fn by_hash(home: &Home, typed: &str) -> Result<Option<NodeHash>> {
    let could_be = typed.len() >= 4 && typed.len() <= NodeHash::LEN && typed.bytes().all(uwf_core::thread::is_symbol);
    if !could_be {
        return Ok(None);
    }
    match home.store().resolve_prefix(typed) {
        Ok(hash) if home.store().has(hash)? => Ok(Some(hash)),
        Ok(_) => Ok(None),
        Err(json_cas::StoreError::NoSuchPrefix { .. } | json_cas::StoreError::BadHash(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
