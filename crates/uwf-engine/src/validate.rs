//! `workflow validate`: everything that is wrong with a workflow file. Nothing is written.

use std::path::Path;

use json_cas::{Draft, Hash, Store};
use serde_json::Value;
use uwf_core::node::Payload;
use uwf_core::workflow::{self, Meta, Parsed, Problem, Severity, WorkflowDraft};

use crate::error::Result;
use crate::home::Home;
use crate::{load, put};

/// A file as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Validated {
    /// Its text; empty when it could not be read.
    pub text: String,
    /// Everything wrong with it, in order of place.
    pub problems: Vec<Problem>,
    /// Name and hash the workflow would have, when it can be stored.
    pub workflow: Option<(String, Hash)>,
}

/// Reads and checks a workflow file; one that cannot be read is a problem like others, so that further files are still
/// looked at.
///
/// # Errors
/// Those of looking for the stored schemas it names.
pub fn file(home: &Home, path: &Path) -> Result<Validated> {
    let origin = path.display().to_string();
    let text = match put::read_text(path) {
        Ok(text) => text,
        Err(error) => {
            let hint = error.hints.into_iter().next();
            let problem = problem(&origin, "unreadable", error.message, hint, (1, 1));
            return Ok(Validated { text: String::new(), problems: vec![problem], workflow: None });
        }
    };
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    self::text(home, text, &origin, stem.as_deref())
}

/// Checks a workflow that is stored, with the schemas of its roles: rules may be newer than it.
///
/// # Errors
/// Those of its nodes.
pub fn stored(home: &Home, hash: Hash, origin: &str) -> Result<Validated> {
    let mut payload = load::payload::<Value>(hash, &home.store().get(hash)?)?;
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
    let Parsed { draft, mut problems, .. } = workflow::check(&text, origin, stem);
    // The draft of `check` is there only without errors; schemas that are missing are told beside any other error.
    if let Some(all) = workflow::parse(&text, origin).draft {
        problems.extend(missing_schemas(home, &all, &text, origin)?);
        problems.sort_by_key(|problem| (problem.line, problem.column));
    }
    let usable = draft.filter(|_| !problems.iter().any(Problem::is_error));
    let workflow = usable.map(|draft| Ok::<_, crate::error::Error>((draft.name.clone(), hash(draft)?))).transpose()?;
    Ok(Validated { text, problems, workflow })
}

/// The hash a workflow would have. Nothing is stored.
///
/// # Errors
/// Those of a schema that cannot be a node.
pub fn hash(draft: WorkflowDraft) -> Result<Hash> {
    let workflow = draft.resolve(|_, schema| Store::schema_draft(schema).map(|draft: Draft| draft.hash()))?;
    Ok(workflow.draft().hash())
}

/// Roles that name a stored schema which is not there.
fn missing_schemas(home: &Home, draft: &WorkflowDraft, text: &str, origin: &str) -> Result<Vec<Problem>> {
    let mut missing = Vec::new();
    for (role, data) in &draft.roles {
        let Meta::Stored(hash) = data.meta else { continue };
        if !home.store().has(hash)? {
            let message = format!("role `{role}` names schema {hash}, which is not in the store");
            let hint = Some(
                "`uwf cas schema put FILE` stores a schema; `uwf cas schema list` shows those there are".to_owned(),
            );
            missing.push(problem(origin, "unknown-schema", message, hint, place_of(hash, text)));
        }
    }
    Ok(missing)
}

fn problem(
    file: &str,
    code: &'static str,
    message: String,
    hint: Option<String>,
    (line, column): (usize, usize),
) -> Problem {
    Problem { severity: Severity::Error, code, message, hint, file: file.to_owned(), line, column }
}

/// Line and column, in characters, where a hash is written.
fn place_of(hash: Hash, text: &str) -> (usize, usize) {
    let hash = hash.to_string();
    let lines = text.lines().enumerate();
    let mut found = lines.filter_map(|(line, content)| {
        let byte = content.to_ascii_uppercase().find(&hash)?;
        Some((line + 1, content[..byte].chars().count() + 1))
    });
    found.next().unwrap_or((1, 1))
}
