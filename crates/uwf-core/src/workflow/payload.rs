//! Reads and writes `Workflow` payloads, including those of other implementations.

use std::collections::BTreeMap;

use json_cas::NodeHash;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::model::{NamedCondition, PayloadError, Role, RoleOptions, Transition, Workflow};
use super::older_forms::{graph_name, names};
use crate::document::join;
use crate::usage::ThreadLimits;
use crate::workspace::WorkspaceKind;

impl Workflow {
    /// The payload of the `Workflow` node that stores this workflow.
    #[must_use]
    pub fn to_payload(&self) -> Value {
        serde_json::to_value(self).expect("maps with text keys and plain texts always serialise")
    }

    /// Reads the payload of a stored `Workflow` node, including those of other implementations: role texts may be missing or have older
    /// names (`systemPrompt`, `extractPrompt`, `outputSchema`), a transition's `condition` may be missing, and the ends of the graph may be
    /// `__start__` and `__end__`.
    pub fn from_payload(payload: &Value) -> Result<Workflow, PayloadError> {
        read(payload)
    }
}

fn read(payload: &Value) -> Result<Workflow, PayloadError> {
    let fields = object(payload, "")?;
    let mut graph = BTreeMap::new();
    for (from, list) in entries(fields, "graph")? {
        let at = join("/graph", from);
        let items = list.as_array().ok_or_else(|| fail(&at, "not a list"))?;
        let transitions = items.iter().enumerate().map(|(i, item)| transition(item, &join(&at, &i.to_string())));
        graph.insert(graph_name(from).to_owned(), transitions.collect::<Result<_, _>>()?);
    }
    let roles = entries(fields, "roles")?.map(|(name, value)| Ok((name.clone(), role(value, &join("/roles", name))?)));
    let roles = roles.collect::<Result<_, PayloadError>>()?;
    let conditions = entries(fields, "conditions")?
        .map(|(name, value)| Ok((name.clone(), condition(value, &join("/conditions", name))?)));
    let conditions = conditions.collect::<Result<_, PayloadError>>()?;
    let name = fields.get("name").and_then(Value::as_str).ok_or_else(|| fail("/name", "no text"))?.to_owned();
    let limits = field(fields, "limits").map(ThreadLimits::deserialize).transpose();
    let limits = limits.map_err(|error| fail("/limits", &error.to_string()))?.unwrap_or_default();
    let workspace = field(fields, "workspace").map(WorkspaceKind::deserialize).transpose();
    let workspace = workspace.map_err(|error| fail("/workspace", &error.to_string()))?.unwrap_or_default();
    let description = text(fields, "", "description")?;
    let input = field(fields, "input").map(|value| schema(value, "/input")).transpose()?;
    Ok(Workflow { name, description, roles, conditions, graph, limits, workspace, input })
}

fn fail(path: &str, reason: &str) -> PayloadError {
    PayloadError { path: path.to_owned(), reason: reason.to_owned() }
}

fn object<'v>(value: &'v Value, path: &str) -> Result<&'v Map<String, Value>, PayloadError> {
    value.as_object().ok_or_else(|| fail(path, "not an object"))
}

fn entries<'v>(
    fields: &'v Map<String, Value>,
    key: &str,
) -> Result<impl Iterator<Item = (&'v String, &'v Value)>, PayloadError> {
    let map = match fields.get(key) {
        None | Some(Value::Null) => None,
        Some(value) => Some(object(value, &join("", key))?),
    };
    Ok(map.into_iter().flatten())
}

/// The value under the first of a field's names that is present and not null.
fn field<'v>(fields: &'v Map<String, Value>, key: &str) -> Option<&'v Value> {
    names(key).filter_map(|name| fields.get(name)).find(|value| !value.is_null())
}

fn text(fields: &Map<String, Value>, path: &str, key: &str) -> Result<String, PayloadError> {
    match field(fields, key) {
        None => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(_) => Err(fail(&join(path, key), "not a text")),
    }
}

fn role(value: &Value, path: &str) -> Result<Role, PayloadError> {
    let fields = object(value, path)?;
    let at_capabilities = join(path, "capabilities");
    let capabilities = match field(fields, "capabilities") {
        None => Vec::new(),
        Some(Value::Array(items)) => {
            let texts = items.iter().map(|item| item.as_str().map(str::to_owned));
            texts.collect::<Option<_>>().ok_or_else(|| fail(&at_capabilities, "not a list of texts"))?
        }
        Some(_) => return Err(fail(&at_capabilities, "not a list of texts")),
    };
    let meta = field(fields, "meta").unwrap_or(&Value::Null);
    Ok(Role {
        description: text(fields, path, "description")?,
        goal: text(fields, path, "goal")?,
        capabilities,
        procedure: text(fields, path, "procedure")?,
        output: text(fields, path, "output")?,
        meta: schema(meta, &join(path, "meta"))?,
        more: RoleOptions::deserialize(value).map_err(|error| fail(path, &error.to_string()))?,
    })
}

fn schema(value: &Value, path: &str) -> Result<NodeHash, PayloadError> {
    value.as_str().and_then(|text| text.parse().ok()).ok_or_else(|| fail(path, "not the hash of a schema"))
}

fn condition(value: &Value, path: &str) -> Result<NamedCondition, PayloadError> {
    let fields = object(value, path)?;
    let expression = field(fields, "expression").and_then(Value::as_str);
    let expression = expression.ok_or_else(|| fail(&join(path, "expression"), "no text"))?.to_owned();
    Ok(NamedCondition { description: text(fields, path, "description")?, expression })
}

fn transition(value: &Value, path: &str) -> Result<Transition, PayloadError> {
    let fields = object(value, path)?;
    let role = field(fields, "role").and_then(Value::as_str).ok_or_else(|| fail(&join(path, "role"), "no text"))?;
    let condition = match field(fields, "condition") {
        None => None,
        Some(Value::String(name)) => Some(name.clone()),
        Some(_) => return Err(fail(&join(path, "condition"), "neither a name nor null")),
    };
    let outcome = match field(fields, "outcome") {
        None => None,
        Some(Value::String(word)) => Some(word.clone()),
        Some(_) => return Err(fail(&join(path, "outcome"), "not a text")),
    };
    Ok(Transition { role: graph_name(role).to_owned(), condition, outcome })
}
