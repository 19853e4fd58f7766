//! Writes a stored workflow as its author would: a role that is a command or a group has only the keys of its kind.

use serde_json::{Map, Value};

use super::group::PLAY;
use super::model::{START, Workflow};
use super::older_forms::ROLE_KEYS;
use super::parse::WORKFLOW_KEYS;
use super::role_options::RUN;
use super::role_order;

/// Changes the roles of a stored workflow's payload into the form of a workflow file.
pub fn into_file_form(payload: &mut Value) {
    let roles = payload.get_mut("roles").and_then(Value::as_object_mut);
    for role in roles.into_iter().flat_map(Map::values_mut).filter_map(Value::as_object_mut) {
        if let Some(timeout) = role.get("timeout").and_then(Value::as_u64) {
            role.insert("timeout".to_owned(), format!("{timeout}ms").into());
        }
        for (kind, first) in [(PLAY, "roles"), (RUN, "command")] {
            if let Some(Value::Object(mut keys)) = role.get(kind).cloned() {
                role.retain(|key, _| ["description", "timeout"].contains(&key.as_str()));
                role.extend(keys.shift_remove(first).map(|value| (kind.to_owned(), value)));
                role.extend(keys);
            }
        }
        for branch in role.get_mut(PLAY).and_then(Value::as_array_mut).into_iter().flatten() {
            branch.as_object_mut().into_iter().for_each(|branch| branch.retain(|_, value| !value.is_null()));
        }
    }
}

/// The text of a workflow file, YAML, for a payload in file form: keys, roles and transitions in the order in which people write them, and no
/// key that says nothing.
#[must_use]
pub fn file_text(workflow: &Workflow, mut payload: Value) -> String {
    let order = role_order(workflow);
    let graph: Vec<&str> = [START].into_iter().chain(order.iter().copied()).collect();
    for (name, keys) in [("roles", &order), ("graph", &graph)] {
        payload.get_mut(name).and_then(Value::as_object_mut).into_iter().for_each(|entries| sort(entries, keys));
    }
    let roles = payload.get_mut("roles").and_then(Value::as_object_mut);
    for (name, role) in roles.into_iter().flat_map(Map::iter_mut) {
        let Some(role) = role.as_object_mut() else { continue };
        // A schema without a title is stored with this one, and the schema of a group is derived before that.
        let title = Value::from(format!("{}.{name}", workflow.name));
        let meta = role.get_mut("meta").and_then(Value::as_object_mut);
        meta.into_iter().for_each(|meta| meta.retain(|key, value| key != "title" || *value != title));
        role.retain(|_, value| !says_nothing(value));
        sort(role, &ROLE_KEYS);
    }
    let transitions = payload.get_mut("graph").and_then(Value::as_object_mut);
    let transitions = transitions.into_iter().flat_map(Map::values_mut).filter_map(Value::as_array_mut).flatten();
    transitions.filter_map(Value::as_object_mut).for_each(|transition| transition.retain(|_, value| !value.is_null()));
    if let Some(fields) = payload.as_object_mut() {
        fields.retain(|_, value| !says_nothing(value));
        sort(fields, &WORKFLOW_KEYS);
    }
    yaml_tree::write::block(&payload)
}

/// Whether a value means the same as an absent key.
fn says_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    }
}

/// Sorts entries by the order of their keys; unknown keys come last.
fn sort(entries: &mut Map<String, Value>, order: &[&str]) {
    let rank = |key: &str| order.iter().position(|known| *known == key).unwrap_or(order.len());
    let mut sorted: Vec<(String, Value)> = std::mem::take(entries).into_iter().collect();
    sorted.sort_by_key(|(key, _)| rank(key));
    entries.extend(sorted);
}
