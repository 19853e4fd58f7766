//! The check of a workflow, for `workflow validate` and for every command that stores one. Writes nothing.

use std::path::Path;

use durable_files::regular::{self, RegularFileError};
use json_cas::{NodeDraft, NodeHash, Store};
use serde_json::Value;
use uwf_core::document::{FileProblem, SchemaSeverity};
use uwf_core::node::TypedPayload;
use uwf_core::workflow::{self, ParsedWorkflow, Workflow, WorkflowDraft};

use crate::error::{Error, Result};
use crate::root::home::Home;
use crate::thread::nodes;

/// A checked file.
#[derive(Debug, Clone)]
pub struct WorkflowValidation {
    /// Its text; empty if it could not be read.
    pub text: String,
    /// Everything wrong with it, in order of position.
    pub problems: Vec<FileProblem>,
    /// The workflow, if no problem is an error.
    pub draft: Option<WorkflowDraft>,
}

/// Reads and checks a workflow file. An unreadable file is a problem like any other, so that further files are still checked.
pub fn file(home: &Home, path: &Path) -> Result<WorkflowValidation> {
    match read_text(path) {
        Ok(text) => text_of_file(home, text, path),
        Err(Error { message, hints, .. }) => {
            let (file, hint) = (path.display().to_string(), hints.into_iter().next());
            let (severity, code) = (SchemaSeverity::Error, "unreadable");
            let problem = FileProblem { severity, code, message, hint, file, line: 1, column: 1 };
            Ok(WorkflowValidation { text: String::new(), problems: vec![problem], draft: None })
        }
    }
}

/// Checks the text of a workflow file.
pub(crate) fn text_of_file(home: &Home, text: String, path: &Path) -> Result<WorkflowValidation> {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    self::text(home, text, &path.display().to_string(), stem.as_deref())
}

/// Checks a stored workflow with the schemas of its roles: some rules may be newer than the workflow.
pub fn stored(home: &Home, hash: NodeHash, origin: &str) -> Result<WorkflowValidation> {
    text(home, source(home, hash)?, origin, None)
}

/// A stored workflow as the text of a file, which has the same hash. Comments and layout of the original file are not stored.
///
/// # Errors
/// Errors of the store; `Data` if the node is no workflow, or a schema is not readable.
pub fn source(home: &Home, hash: NodeHash) -> Result<String> {
    let read = nodes::workflow(home.store(), hash)?;
    let mut payload = nodes::payload::<Value>(hash, &home.store().get(hash)?)?;
    workflow::into_file_form(&mut payload);
    let with_schema = |place: &mut Value| {
        if let Some(schema) = place.as_str().and_then(|hash| hash.parse().ok()) {
            *place = home.store().schema(schema)?.value().clone();
        }
        Ok::<(), Error>(())
    };
    let roles = payload.get_mut("roles").and_then(Value::as_object_mut);
    for role in roles.into_iter().flat_map(|roles| roles.values_mut()) {
        role.get_mut("meta").map_or(Ok(()), with_schema)?;
    }
    payload.get_mut("input").map_or(Ok(()), with_schema)?;
    Ok(workflow::file_text(&read, payload))
}

/// Checks the text of a workflow from `origin`. If it comes from a file, its name should be the name of the file.
pub fn text(home: &Home, text: String, origin: &str, stem: Option<&str>) -> Result<WorkflowValidation> {
    let ParsedWorkflow { draft, problems, .. } =
        workflow::check_with(&text, origin, stem, |hash| home.store().has(hash))?;
    Ok(WorkflowValidation { text, problems, draft })
}

/// The hash a workflow would have. Stores nothing.
///
/// # Errors
/// Errors of a schema that cannot be a node.
pub fn hash(draft: WorkflowDraft) -> Result<NodeHash> {
    Ok(resolved(draft)?.draft().hash())
}

/// The workflow as it would be stored. Stores nothing.
///
/// # Errors
/// Errors of a schema that cannot be a node.
pub fn resolved(draft: WorkflowDraft) -> Result<Workflow> {
    Ok(draft.resolve(|_, schema| Store::schema_draft(schema).map(|draft: NodeDraft| draft.hash()))?)
}

/// The text of a file.
pub(crate) fn read_text(path: &Path) -> Result<String> {
    // A person named the file, or a search found it.
    let bytes = regular::read_named(path, regular::MAX_TEXT).map_err(|error| {
        match RegularFileError::from_io_error(&error) {
            // The same kind of error as for other invalid files.
            Some(refused) => Error::data(format!("{}: {refused}", path.display())),
            None => Error::file("read", path, error),
        }
    })?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Error::data(format!("{} is not UTF-8 text (byte {at})", path.display()))
    })
}

/// The rejection of a workflow with errors.
pub(crate) fn invalid(problems: &[FileProblem]) -> Error {
    let text = |problem: &FileProblem| match &problem.hint {
        Some(hint) => format!("{problem}\n  hint: {hint}"),
        None => problem.to_string(),
    };
    let (errors, warnings): (Vec<_>, Vec<_>) = problems.iter().partition(|problem| problem.is_error());
    Error::data(errors.into_iter().chain(warnings).map(text).collect::<Vec<_>>().join("\n"))
}
