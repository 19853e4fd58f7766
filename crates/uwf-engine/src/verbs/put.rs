//! `workflow put`: stores a workflow file under a name.

use std::path::Path;

use json_cas::{CompiledSchema, NodeDraft, NodeHash, Store, StoreError, cbor};
use schemars::JsonSchema;
use serde::Serialize;
use uwf_core::document::FileProblem;
use uwf_core::node::{ContentNode, TypedPayload};
use uwf_core::prompt::{self, AnswerForm};
use uwf_core::workflow::{self, Role, Workflow, WorkflowDraft};

use crate::attempt::redactor::SecretRedactor;
use crate::error::{Error, Result};
use crate::root::env_file;
use crate::root::home::Home;
use crate::root::node_types;
use crate::root::{ids, registry, trusted_workflows};
use crate::thread::nodes;
use crate::verbs::validate;
use crate::verbs::validate::WorkflowValidation;

/// A stored workflow and its name in the registry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StoredWorkflow {
    /// Its name in the registry.
    pub name: String,
    /// Its version.
    pub hash: NodeHash,
}

/// Result for a workflow file.
#[derive(Debug)]
pub struct WorkflowPutReport {
    /// Its text.
    pub text: String,
    /// Everything wrong with it, in order of position.
    pub problems: Vec<FileProblem>,
    /// The workflow; `None` if problems prevented storing it.
    pub stored: Option<StoredWorkflow>,
}

/// How a workflow is stored.
#[derive(Debug, Clone, Default)]
pub struct PutOptions<'o> {
    /// Whether warnings prevent storing it.
    pub strict: bool,
    /// Name in the registry instead of the workflow's own.
    pub name: Option<&'o str>,
    /// The version that the name must have now, so that no other change is overwritten; `Some(None)` if the name must be free.
    pub expected: Option<Option<NodeHash>>,
    /// Whether the commands of its roles stay untrusted.
    pub is_untrusted: bool,
}

/// Stores a workflow file under its name, unless it has errors (or warnings, if `strict` is set).
///
/// # Errors
/// `Io` if the file cannot be read, `Data` if it is not text, and errors of [`put_text`].
pub fn put(home: &Home, path: &Path, options: &PutOptions<'_>) -> Result<WorkflowPutReport> {
    let checked = validate::text_of_file(home, validate::read_text(path)?, path)?;
    put_checked(home, checked, options)
}

/// Stores a workflow from the text of a file that came from `origin`.
///
/// # Errors
/// `Usage` for an invalid name, `Busy` if the name has another version than expected, and errors of store and registry.
pub fn put_text(home: &Home, text: String, origin: &str, options: &PutOptions<'_>) -> Result<WorkflowPutReport> {
    put_checked(home, validate::text(home, text, origin, None)?, options)
}

fn put_checked(home: &Home, checked: WorkflowValidation, options: &PutOptions<'_>) -> Result<WorkflowPutReport> {
    if let Some(name) = options.name
        && let Some(fault) = workflow::name_fault(name)
    {
        return Err(Error::usage(format!("the workflow name `{}` {fault}", name.escape_debug()))
            .hint("use words joined by `-`"));
    }
    let WorkflowValidation { text, problems, draft } = checked;
    let is_refused = options.strict && problems.iter().any(FileProblem::is_refused_strictly);
    let Some(draft) = draft.filter(|_| !is_refused) else {
        return Ok(WorkflowPutReport { text, problems, stored: None });
    };
    let _hold = home.hold_nodes()?;
    let (own, hash) = store(home, draft)?;
    let name = options.name.map_or(own, str::to_owned);
    registry::update(home, |registry| {
        let current = registry.get(&name).map(|entry| entry.hash);
        match options.expected {
            Some(expected) if expected != current && current != Some(hash) => Err(moved(&name, current)),
            Some(_) | None => {
                registry::name(registry, &name, hash, ids::now_ms());
                Ok(())
            }
        }
    })?;
    // Not before the name is given: a refused change must not make its commands trusted.
    if !options.is_untrusted {
        trusted_workflows::trust(home, hash, &nodes::workflow(home.store(), hash)?)?;
    }
    Ok(WorkflowPutReport { text, problems, stored: Some(StoredWorkflow { name, hash }) })
}

/// The rejection of a workflow whose name has another version than the expected one.
fn moved(name: &str, current: Option<NodeHash>) -> Error {
    match current {
        Some(current) => Error::busy(format!("`{name}` is now version {current}, not the expected one"))
            .hint(format!("`uwf workflow show {name} --source` prints that version")),
        None => Error::busy(format!("the registry has no `{name}`, so it cannot have the expected version"))
            .hint("someone removed or renamed it meanwhile"),
    }
}

/// Stores a checked workflow without giving it a name. Returns its own name and its hash.
///
/// # Errors
/// Errors of the store; `NotFound` if a role names a schema the store lacks.
pub fn store(home: &Home, draft: WorkflowDraft) -> Result<(String, NodeHash)> {
    node_types::ensure(home)?;
    let mut drafts: Vec<NodeDraft> = Vec::new();
    let workflow: Workflow = draft.resolve(|_, schema| {
        let draft = Store::schema_draft(schema)?;
        let hash = draft.hash();
        drafts.push(draft);
        Ok::<NodeHash, Error>(hash)
    })?;
    drafts.extend(instructions(home, &workflow, &drafts)?);
    let node = workflow.draft();
    let hash = node.hash();
    drafts.push(node);
    refuse_secrets(home, &drafts)?;
    home.store().put_all(&drafts)?;
    Ok((workflow.name, hash))
}

/// Rejects a workflow that contains a secret: nodes are permanent.
pub(crate) fn refuse_secrets(home: &Home, drafts: &[NodeDraft]) -> Result<()> {
    // An unreadable configuration starts no agent either; the secrets of `.env` and the environment are known.
    let names = home.config().map(|config| config.secret_names()).unwrap_or_default();
    let redactor = SecretRedactor::new(names, &env_file::read(&home.env_file()).unwrap_or_default());
    match drafts.iter().find_map(|draft| redactor.found_in(&draft.payload().to_string())) {
        None => Ok(()),
        Some(variable) => Err(Error::data(format!("the workflow has the value of {variable} in it"))
            .hint("take it out: agents are given secrets by `env` in config.yaml")),
    }
}

/// Instructions of roles and the last line of prompts, which are the same in every thread, in the form most agents receive. Otherwise the
/// first prompt of each role would store them, with one more wait for the disk in that step. Nothing depends on them.
fn instructions(home: &Home, workflow: &Workflow, schemas: &[NodeDraft]) -> Result<Vec<NodeDraft>> {
    let instruction = |(name, role): (&String, &Role)| {
        // Read it as a reader of the store sees it: the file may order its keys differently, which makes a different text.
        let schema = match schemas.iter().find(|draft| draft.hash() == role.meta) {
            Some(draft) => {
                let stored = cbor::decode(draft.cbor()).expect("an encoded text can be decoded");
                CompiledSchema::compile(&stored).map_err(StoreError::from)?.value().clone()
            }
            None => home.store().schema(role.meta)?.value().clone(),
        };
        let form = prompt::answer_form(&schema, AnswerForm::default(), true);
        let text = prompt::instruction(&workflow.name, name, role, form);
        Ok(ContentNode { text }.draft())
    };
    let closing = ContentNode { text: prompt::CLOSING.to_owned() }.draft();
    workflow.roles.iter().map(instruction).chain([Ok(closing)]).collect()
}
