//! The schemas of the outputs of groups, made from the schemas of their roles.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::model::{DraftSchema, RoleDraft};
use super::picker::WINNER;
use super::role_group::{GroupBranch, RoleGroup};
use crate::thread::failed_branch_schema;

/// Most properties of a group's schema, including groups within it. Beyond them, any value fits.
const MAX_PROPERTIES: usize = 256;

/// Gives each group the schema of its output.
pub(super) fn derive_schemas(roles: &mut BTreeMap<String, RoleDraft>) {
    let groups: Vec<String> =
        roles.iter().filter(|(_, role)| role.more.play.is_some()).map(|(name, _)| name.clone()).collect();
    for name in groups {
        let schema = if plays_itself(roles, &name) {
            Value::Bool(true)
        } else {
            schema_of(roles, &name, &mut { MAX_PROPERTIES })
        };
        if let Some(role) = roles.get_mut(&name) {
            role.meta = DraftSchema::Inline(schema);
        }
    }
}

/// Whether a group is among the roles that it plays, also by groups within it: the schema of its output would never end.
fn plays_itself(roles: &BTreeMap<String, RoleDraft>, name: &str) -> bool {
    let mut seen = BTreeSet::new();
    let mut open = vec![name];
    while let Some(role) = open.pop() {
        let group = roles.get(role).and_then(|role| role.more.play.as_ref());
        for played in group.into_iter().flat_map(RoleGroup::played) {
            if played == name {
                return true;
            }
            if seen.insert(played) {
                open.push(played);
            }
        }
    }
    false
}

/// The schema of a role's output. A schema in the store, and one with references, is not repeated here: the branch itself is checked by it.
/// `left` bounds the work, because groups within groups multiply.
fn schema_of(roles: &BTreeMap<String, RoleDraft>, name: &str, left: &mut usize) -> Value {
    let Some(role) = roles.get(name).filter(|_| *left > 0) else { return Value::Bool(true) };
    let Some(group) = &role.more.play else {
        return match &role.meta {
            DraftSchema::Inline(schema) if !schema.to_string().contains("\"$") => schema.clone(),
            DraftSchema::Inline(_) | DraftSchema::Stored(_) => Value::Bool(true),
        };
    };
    let mut of_branch = |branch: &GroupBranch| {
        *left = left.saturating_sub(1);
        let own = schema_of(roles, &branch.role, left);
        let may_fail = group.may_fail || branch.may_fail;
        if may_fail { json!({ "anyOf": [own, failed_branch_schema()] }) } else { own }
    };
    let Some(repeated) = group.repeated() else { return map_of(group, of_branch) };
    let result = of_branch(repeated);
    match (group.copies, &group.key) {
        (Some(copies), _) => {
            let judge = group.pick.as_deref().filter(|pick| roles.contains_key(*pick));
            let verdict = judge.map(|judge| schema_of(roles, judge, left));
            picked(copies, &result, verdict)
        }
        (None, Some(_)) => json!({ "type": "object", "additionalProperties": result }),
        (None, None) => json!({ "type": "array", "items": result }),
    }
}

/// A property for each branch.
fn map_of(group: &RoleGroup, mut schema_of: impl FnMut(&GroupBranch) -> Value) -> Value {
    let properties: Map<String, Value> =
        group.roles.iter().map(|branch| (branch.role.clone(), schema_of(branch))).collect();
    let always = group.roles.iter().filter(|branch| branch.condition.is_none());
    let required: Vec<&str> = always.map(|branch| branch.role.as_str()).collect();
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

/// The number of the best copy, the judge's output, and the outputs of all copies.
fn picked(copies: u64, result: &Value, verdict: Option<Value>) -> Value {
    let mut properties = Map::new();
    properties.insert(WINNER.to_owned(), json!({ "type": "integer", "minimum": 1, "maximum": copies }));
    let mut required = vec![WINNER];
    if let Some(verdict) = verdict {
        properties.insert("verdict".to_owned(), verdict);
        required.push("verdict");
    }
    properties.insert("results".to_owned(), json!({ "type": "array", "items": result }));
    required.push("results");
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}
