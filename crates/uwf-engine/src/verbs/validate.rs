//! The check of a workflow, for `workflow validate` and for everything that stores one. Nothing is written.

use std::path::Path;

use durable_files::regular::{self, Refused};
use json_cas::{Draft, Hash, Store};
use serde_json::Value;
use uwf_core::document::{Problem, Severity};
use uwf_core::node::Payload;
use uwf_core::workflow::{self, Parsed, WorkflowDraft};

use crate::error::{Error, Result};
use crate::root::home::Home;
use crate::thread::nodes;

/// A file as it was found.
#[derive(Debug, Clone)]
pub struct Validated {
    /// Its text; empty when it could not be read.
    pub text: String,
    /// Everything wrong with it, in order of place.
    pub problems: Vec<Problem>,
    /// The workflow, if no problem is an error.
    pub draft: Option<WorkflowDraft>,
}

/// Reads and checks a workflow file; one that cannot be read is a problem like others, so that further files are still
/// looked at.
///
/// # Errors
/// Those of looking for the stored schemas it names.
pub fn file(home: &Home, path: &Path) -> Result<Validated> {
    match read_text(path) {
        Ok(text) => text_of_file(home, text, path),
        Err(Error { message, hints, .. }) => {
            let (file, hint) = (path.display().to_string(), hints.into_iter().next());
            let (severity, code) = (Severity::Error, "unreadable");
            let problem = Problem { severity, code, message, hint, file, line: 1, column: 1 };
            Ok(Validated { text: String::new(), problems: vec![problem], draft: None })
        }
    }
}

/// Checks the text of a workflow file.
///
/// # Errors
/// Those of looking for the stored schemas it names.
pub(crate) fn text_of_file(home: &Home, text: String, path: &Path) -> Result<Validated> {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    self::text(home, text, &path.display().to_string(), stem.as_deref())
}

/// Checks a workflow that is stored, with the schemas of its roles: rules may be newer than it.
///
/// # Errors
/// Those of its nodes.
pub fn stored(home: &Home, hash: Hash, origin: &str) -> Result<Validated> {
    let mut payload = nodes::payload::<Value>(hash, &home.store().get(hash)?)?;
    for role in payload.get_mut("roles").and_then(Value::as_object_mut).into_iter().flat_map(|roles| roles.values_mut())
    {
        let schema = role.get("meta").and_then(Value::as_str).and_then(|meta| meta.parse().ok());
        if let Some(schema) = schema {
            role["meta"] = home.store().schema(schema)?.value().clone();
        }
    }
    text(home, format!("{payload:#}\n"), origin, None)
}

/// Checks the text of a workflow, which comes from `origin`; the name should be that of its file, if it is from one.
///
/// # Errors
/// Those of looking for the stored schemas it names.
pub fn text(home: &Home, text: String, origin: &str, stem: Option<&str>) -> Result<Validated> {
    let Parsed { draft, problems, .. } = workflow::check_with(&text, origin, stem, |hash| home.store().has(hash))?;
    Ok(Validated { text, problems, draft })
}

/// The hash a workflow would have. Nothing is stored.
///
/// # Errors
/// Those of a schema that cannot be a node.
pub fn hash(draft: WorkflowDraft) -> Result<Hash> {
    let workflow = draft.resolve(|_, schema| Store::schema_draft(schema).map(|draft: Draft| draft.hash()))?;
    Ok(workflow.draft().hash())
}

/// The text of a file.
pub(crate) fn read_text(path: &Path) -> Result<String> {
    // Named by a person, or found by a search for files.
    let bytes = regular::read_named(path, regular::MAX_TEXT).map_err(|error| match Refused::of(&error) {
        // As of one that is a little smaller, and is looked at.
        Some(refused) => Error::data(format!("{}: {refused}", path.display())),
        None => Error::file("read", path, error),
    })?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Error::data(format!("{} is not UTF-8 text (byte {at})", path.display()))
    })
}

/// The refusal of a workflow with errors.
pub(crate) fn invalid(problems: &[Problem]) -> Error {
    let text = |problem: &Problem| match &problem.hint {
        Some(hint) => format!("{problem}\n  hint: {hint}"),
        None => problem.to_string(),
    };
    Error::data(problems.iter().map(text).collect::<Vec<_>>().join("\n"))
}
