//! Checks the items of a group: the list that `each` gives, and the key that names them.

use serde_json::Value;

use super::expressions::{ExpressionCheck, known_fields, roles_before};
use super::schema_paths::{PathPossibility, can_have, descend};
use crate::document::{ProblemCollector, SourcePositions, join};
use crate::moderator::{CompiledCondition, FieldRead, ValueShape};
use crate::workflow::model::{DraftSchema, WorkflowDraft};
use crate::workflow::role_group::RoleGroup;
use yaml_tree::TextPosition;

/// The code of most problems of groups.
pub(super) const BAD_GROUP: &str = "bad-group";

pub(super) fn check(
    draft: &WorkflowDraft,
    positions: &SourcePositions,
    (name, group): (&str, &RoleGroup),
    problems: &mut ProblemCollector,
) {
    let Some(each) = &group.each else { return };
    let role = join("/roles", name);
    let at = positions.value(&join(&role, "each"));
    let compiled = match CompiledCondition::compile(each) {
        Ok(compiled) => compiled,
        Err(error) => return problems.error(BAD_GROUP, at, format!("`each` cannot be used: {error}"), None),
    };
    let last = roles_before(draft, name);
    let sources = match compiled.source_field() {
        Some(FieldRead { role: Some(role), path, .. }) => vec![(role.as_str(), path.as_slice())],
        Some(FieldRead { role: None, path, .. }) => last.iter().map(|role| (*role, path.as_slice())).collect(),
        None => Vec::new(),
    };
    let whole = format!("`each` of `{name}`");
    ExpressionCheck { draft, positions, whole, at, last, has_step: false, is_condition: false }
        .check(&compiled, problems);
    let items = ItemsCheck { name, each, at };
    items.form(compiled.shape(), problems);
    for (source, path) in sources {
        let Some(DraftSchema::Inline(schema)) = draft.roles.get(source).map(|role| &role.meta) else { continue };
        if !items.values(schema, (source, path), compiled.shape(), problems) {
            continue;
        }
        items.length(schema, (source, path), problems);
        if let Some(key) = &group.key {
            let at = positions.value(&join(&role, "key"));
            items.key(schema, (source, path), (key, at), problems);
        }
    }
}

/// Checks the items of one group.
struct ItemsCheck<'d> {
    /// The group.
    name: &'d str,
    each: &'d str,
    at: TextPosition,
}

impl ItemsCheck<'_> {
    fn form(&self, shape: ValueShape, problems: &mut ProblemCollector) {
        match shape {
            ValueShape::Matches => self.single_item(problems),
            ValueShape::Single(value) => self.no_list(value, problems),
            ValueShape::Unknown => {}
        }
    }

    fn single_item(&self, problems: &mut ProblemCollector) {
        let message = format!("`each` of `{}` gives no list if there is only one item", self.name);
        problems.warning("single-item", self.at, message, Some(self.in_brackets()));
    }

    fn no_list(&self, value: &str, problems: &mut ProblemCollector) {
        let message = format!("`each` of `{}` gives {value}, but must give a list", self.name);
        problems.warning("no-list", self.at, message, Some("name a list with one item for each branch".to_owned()));
    }

    fn in_brackets(&self) -> String {
        format!("write `[…]` around it: `each: \"[{}]\"`", self.each)
    }

    /// Whether the schema of the items' source may have a list there; warns if not, or if the list is around it.
    fn values(
        &self,
        schema: &Value,
        (role, path): (&str, &[String]),
        shape: ValueShape,
        problems: &mut ProblemCollector,
    ) -> bool {
        // Brackets make a list of everything.
        if self.each.trim_start().starts_with('[') || shape != ValueShape::Unknown {
            return true;
        }
        let of = |path: &[String]| descend(schema, path).unwrap_or_default();
        let here = of(path);
        if here.is_empty() || !here.iter().all(|schema| is_no_list(schema)) {
            return true;
        }
        let is_mapped = (0..path.len()).any(|length| of(&path[..length]).iter().any(|schema| is_list(schema)));
        match is_mapped {
            true => self.single_item(problems),
            false => self.no_list(&format!("`{}` of `{role}`", path.join(".")), problems),
        }
        is_mapped
    }

    /// Warns of a list of any length.
    fn length(&self, schema: &Value, (role, path): (&str, &[String]), problems: &mut ProblemCollector) {
        let lists = descend(schema, path).unwrap_or_default();
        if lists.iter().any(|list| is_list(list) && list.get("maxItems").is_none()) {
            let message = format!("`each` plays as many branches as `{}` of `{role}` has items", path.join("."));
            let hint = "limit them: `maxItems` in its schema".to_owned();
            problems.warning("unlimited-branches", self.at, message, Some(hint));
        }
    }

    /// Warns of a key that no item can have.
    fn key(
        &self,
        schema: &Value,
        (role, path): (&str, &[String]),
        (key, at): (&str, TextPosition),
        problems: &mut ProblemCollector,
    ) {
        let of_key: Vec<String> = path.iter().cloned().chain([key.to_owned()]).collect();
        let items = format!("the items of `{}` of `{role}`", path.join("."));
        match can_have(schema, &of_key) {
            PathPossibility::NoField { field, known } if field == key => {
                let hint = known_fields(&field, &known);
                problems.warning("impossible-key", at, format!("{items} have no `{key}`"), Some(hint));
            }
            PathPossibility::NotAnObject { field } if path.last() == Some(&field) => {
                let hint = format!("leave `key` out, or let the items be objects with `{key}`");
                problems.warning("impossible-key", at, format!("{items} have no keys"), Some(hint));
            }
            // Another part of the path is wrong, which was already reported.
            PathPossibility::Possible | PathPossibility::NoField { .. } | PathPossibility::NotAnObject { .. } => {}
        }
    }
}

fn is_list(schema: &Value) -> bool {
    schema.get("type").and_then(Value::as_str) == Some("array")
}

/// Whether the schema rules lists out.
fn is_no_list(schema: &Value) -> bool {
    let types = match schema.get("type") {
        Some(Value::String(one)) => vec![one.as_str()],
        Some(Value::Array(many)) => many.iter().filter_map(Value::as_str).collect(),
        _ => return false,
    };
    !types.contains(&"array")
}
