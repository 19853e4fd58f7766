//! Writes a stored workflow as its author would: a role that is a command or a group has only the keys of its kind.

use serde_json::{Map, Value};

use super::group::PLAY;
use super::role_options::RUN;

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
