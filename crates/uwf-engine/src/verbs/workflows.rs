//! `workflow list`, `workflow show`, `workflow history`: workflows and their names.

pub mod find_workflow;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use json_cas::{NodeHash, Store, nearest};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use uwf_core::input::{self, InputField};
use uwf_core::node::TypedPayload;
use uwf_core::workflow::{DraftSchema, Role, Workflow, WorkflowDraft, is_text};

use self::find_workflow::{WorkflowLocation, WorkflowOrigin};
use crate::error::{Error, Result};
use crate::root::home::Home;
use crate::root::project_files;
use crate::root::registry::{self, Registry, RegistryEntry};
use crate::thread::nodes;
use crate::verbs::{put, validate};

/// Origin of workflows in the registry.
pub const REGISTRY: &str = "registry";

/// A workflow in a listing.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct NamedWorkflow {
    /// Its name.
    pub name: String,
    /// Its version; absent if its file is not valid.
    pub hash: Option<NodeHash>,
    /// `registry`, or the file of the project.
    pub origin: String,
    /// When the registry gave it the name, in Unix milliseconds; absent for a file, and if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<u64>,
    /// Names of its input; absent if it has none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<InputField>,
    /// Why it is not usable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// The workflows of the registry, and of the project that contains `cwd`, by name. If two have the same name, the project's comes first.
pub fn list(home: &Home, cwd: &Path) -> Result<Vec<NamedWorkflow>> {
    let mut rows = of_project(home, cwd)?;
    for (name, entry) in registry::read(home)? {
        let problem = (!home.store().has(entry.hash)?).then(|| "its node is not in the store".to_owned());
        let timestamp = Some(entry.timestamp).filter(|timestamp| *timestamp > 0);
        let workflow = nodes::workflow(home.store(), entry.hash);
        let inputs = workflow.and_then(|workflow| inputs_of(home.store(), &workflow)).unwrap_or_default();
        let (hash, origin) = (Some(entry.hash), REGISTRY.to_owned());
        rows.push(NamedWorkflow { name, hash, origin, timestamp, inputs, problem });
    }
    // A stable sort: with equal names, the project's workflow stays first.
    rows.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(rows)
}

fn of_project(home: &Home, cwd: &Path) -> Result<Vec<NamedWorkflow>> {
    let mut rows = Vec::new();
    for (name, file) in project_files::all(cwd) {
        let checked = validate::file(home, &file)?;
        let problem = checked.problems.iter().find(|problem| problem.is_error()).map(|problem| {
            format!("not valid: {} (line {}); `uwf workflow validate` shows all", problem.message, problem.line)
        });
        rows.push(NamedWorkflow {
            name,
            inputs: checked
                .draft
                .as_ref()
                .map(|draft| inputs_of_draft(home.store(), draft))
                .transpose()?
                .unwrap_or_default(),
            hash: checked.draft.map(validate::hash).transpose()?,
            origin: file.display().to_string(),
            timestamp: None,
            problem,
        });
    }
    Ok(rows)
}

/// The names of a stored workflow's input.
fn inputs_of(store: &Store, workflow: &Workflow) -> Result<Vec<InputField>> {
    let schema = workflow.input.map(|input| store.schema(input)).transpose()?;
    Ok(schema.map(|schema| input::fields(schema.value())).unwrap_or_default())
}

/// The names of the input in a file.
fn inputs_of_draft(store: &Store, draft: &WorkflowDraft) -> Result<Vec<InputField>> {
    Ok(match &draft.input {
        Some(DraftSchema::Inline(schema)) => input::fields(schema),
        Some(DraftSchema::Stored(hash)) => input::fields(store.schema(*hash)?.value()),
        None => Vec::new(),
    })
}

/// A stored workflow.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ShownWorkflow {
    /// Its version.
    pub hash: NodeHash,
    /// Its own name.
    pub name: String,
    /// Type of its node.
    pub r#type: NodeHash,
    /// Its node's content.
    pub payload: Value,
    /// When it was first stored, in Unix milliseconds; 0 if it is not stored yet.
    pub timestamp: u64,
    /// Versions of its name in the registry, newest first; none if the registry has no such name.
    pub history: Vec<WorkflowVersion>,
    /// Names of its input; absent if it has none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<InputField>,
    /// The parsed payload.
    #[serde(skip)]
    pub workflow: Workflow,
    /// Role → schema of its output; `None` if it is not readable.
    #[serde(skip)]
    pub schemas: BTreeMap<String, Option<Value>>,
}

impl ShownWorkflow {
    /// A role's output in one line: its keys, with a `?` after optional keys, or its type; `None` if its schema is not readable.
    pub fn output_of(&self, role: &str) -> Option<String> {
        let schema = self.schemas.get(role)?.as_ref()?;
        if is_text(schema) {
            return Some("text".to_owned());
        }
        let required: Vec<&str> =
            schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
        let properties = schema.get("properties").and_then(Value::as_object);
        let key = |key: &String| if required.contains(&key.as_str()) { key.clone() } else { format!("{key}?") };
        Some(match properties {
            Some(properties) => properties.keys().map(key).collect::<Vec<_>>().join(", "),
            None => schema.get("type").and_then(Value::as_str).unwrap_or_default().to_owned(),
        })
    }
}

/// Reads a workflow.
///
/// # Errors
/// Errors of its node. An unreadable schema is missing in [`ShownWorkflow::schemas`].
pub fn show(home: &Home, hash: NodeHash) -> Result<ShownWorkflow> {
    let store = home.store();
    let workflow = nodes::workflow(store, hash)?;
    let node = store.get(hash)?;
    let schema = |role: &Role| store.schema(role.meta).ok().map(|schema| schema.value().clone());
    let schemas = workflow.roles.iter().map(|(name, role)| (name.clone(), schema(role))).collect();
    Ok(ShownWorkflow {
        hash,
        name: workflow.name.clone(),
        r#type: node.type_hash,
        payload: node.payload,
        timestamp: node.timestamp,
        history: Vec::new(),
        inputs: inputs_of(store, &workflow)?,
        workflow,
        schemas,
    })
}

/// Reads a workflow with its versions. If it has several names, the typed name counts.
pub fn show_by(home: &Home, typed: &str, hash: NodeHash) -> Result<ShownWorkflow> {
    let registry = registry::read(home)?;
    let shown = show(home, hash)?;
    let has_version = |entry: &&RegistryEntry| entry.hash == hash || entry.history.iter().any(|past| past.hash == hash);
    let named = |name: &str| registry.get(name).filter(has_version).map(versions);
    let history = named(typed).or_else(|| named(&shown.name)).unwrap_or_default();
    Ok(ShownWorkflow { history, ..shown })
}

/// Resolves a name, a hash or a unique hash prefix, and stores nothing. A project file is shown as it would be stored.
///
/// # Errors
/// As of [`find_workflow::locate`] and [`show`]; `Data` if the file has errors, or contains a secret.
pub fn resolve_and_show(home: &Home, typed: &str, cwd: &Path) -> Result<(ShownWorkflow, WorkflowOrigin)> {
    match find_workflow::locate(home, typed, cwd)? {
        WorkflowLocation::Stored(hash, origin) => Ok((show_by(home, typed, hash)?, origin)),
        WorkflowLocation::File(file, origin) => Ok((of_file(home, &file)?, origin)),
    }
}

/// The workflow with a typed name, hash or path as the text of a file: the file itself, or one that `workflow put` stores as the same version.
///
/// # Errors
/// As of [`find_workflow::locate`]; `Io` or `Data` if the file or the stored workflow is not readable.
pub fn source(home: &Home, typed: &str, cwd: &Path) -> Result<String> {
    match find_workflow::locate(home, typed, cwd)? {
        WorkflowLocation::Stored(hash, _) => validate::source(home, hash),
        WorkflowLocation::File(file, _) => validate::read_text(&file),
    }
}

fn of_file(home: &Home, file: &Path) -> Result<ShownWorkflow> {
    let checked = validate::file(home, file)?;
    let draft = checked.draft.ok_or_else(|| validate::invalid(&checked.problems))?;
    let hash = validate::hash(draft.clone())?;
    if home.store().has(hash)? {
        return show(home, hash);
    }
    let mut schemas = BTreeMap::new();
    let mut drafts = Vec::new();
    for (name, role) in &draft.roles {
        if let DraftSchema::Stored(hash) = role.meta {
            schemas.insert(name.clone(), home.store().schema(hash).ok().map(|schema| schema.value().clone()));
        }
    }
    let inputs = inputs_of_draft(home.store(), &draft)?;
    let roles: BTreeSet<String> = draft.roles.keys().cloned().collect();
    let workflow = draft.resolve(|role, schema| {
        // The schema of the input comes last, under a name that a role may have.
        if roles.contains(role) {
            schemas.entry(role.to_owned()).or_insert_with(|| Some(schema.clone()));
        }
        let draft = Store::schema_draft(schema)?;
        let hash = draft.hash();
        drafts.push(draft);
        Ok::<NodeHash, Error>(hash)
    })?;
    let node = workflow.draft();
    let (r#type, payload) = (node.type_hash(), node.payload().clone());
    drafts.push(node);
    put::refuse_secrets(home, &drafts)?;
    Ok(ShownWorkflow {
        hash,
        name: workflow.name.clone(),
        r#type,
        payload,
        timestamp: 0,
        history: Vec::new(),
        inputs,
        workflow,
        schemas,
    })
}

/// A version that a name referred to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WorkflowVersion {
    /// The workflow.
    pub hash: NodeHash,
    /// When it was given the name, in Unix milliseconds; 0 if unknown.
    pub timestamp: u64,
    /// Whether the name refers to it now.
    pub current: bool,
}

/// The versions that a name referred to, newest first.
pub fn history(home: &Home, name: &str, cwd: &Path) -> Result<Vec<WorkflowVersion>> {
    let registry = registry::read(home)?;
    Ok(versions(entry(home, &registry, name, cwd)?))
}

fn versions(entry: &RegistryEntry) -> Vec<WorkflowVersion> {
    let RegistryEntry { hash, timestamp, history } = entry;
    let current = WorkflowVersion { hash: *hash, timestamp: *timestamp, current: true };
    let past =
        history.iter().map(|past| WorkflowVersion { hash: past.hash, timestamp: past.timestamp, current: false });
    std::iter::once(current).chain(past).collect()
}

/// The registry's entry for a name.
///
/// # Errors
/// `NotFound` if the registry does not have it. The error then names a file of the project that contains `cwd`, if there is one.
pub fn entry<'r>(home: &Home, registry: &'r Registry, name: &str, cwd: &Path) -> Result<&'r RegistryEntry> {
    registry.get(name).ok_or_else(|| {
        let hint = match project_files::all(cwd).into_iter().find(|(project, _)| project == name) {
            Some((_, file)) => {
                format!("`{name}` is the project's file {}: see the history of that file", file.display())
            }
            None => nearest::did_you_mean(name, registry.keys().map(String::as_str))
                .unwrap_or_else(|| "`uwf workflow list` shows all names".to_owned()),
        };
        Error::not_found(format!("{} has no workflow `{name}`", home.registry_file().display())).hint(hint)
    })
}
