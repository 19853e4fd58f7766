//! Checks the items of a group: the list that `each` gives, and the key that names them.

use std::collections::BTreeSet;

use serde_json::Value;

use super::expressions::{ExpressionCheck, known_fields, roles_before};
use super::schema_paths::{PathPossibility, can_have, descend};
use crate::document::{ProblemCollector, SourcePositions, join};
use crate::moderator::{CompiledCondition, FieldRead, SourceField, ValueShape};
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
    let sources = item_sources(draft, compiled.source_field(), &last);
    let whole = format!("`each` of `{name}`");
    ExpressionCheck { draft, positions, whole, at, last, has_step: false, is_condition: false, copies: None }
        .check(&compiled, problems);
    let items = ItemsCheck { name, each, at };
    items.form(compiled.shape(), problems);
    for source in &sources {
        if !items.values(source, compiled.shape(), problems) {
            continue;
        }
        items.length(source, problems);
        if let Some(key) = &group.key {
            let at = positions.value(&join(&role, "key"));
            items.key(source, (key, at), problems);
        }
    }
}

/// A place that the items come from.
struct ItemSource<'d> {
    /// The schema of the whole output or input.
    schema: &'d Value,
    /// Names from there inwards.
    path: &'d [String],
    /// The place in words.
    words: String,
}

/// The places that the items come from, if their schemas are known. `last` are the roles whose output the last step may have.
fn item_sources<'d>(
    draft: &'d WorkflowDraft,
    field: Option<&'d SourceField>,
    last: &BTreeSet<&'d str>,
) -> Vec<ItemSource<'d>> {
    let of_roles = |roles: Vec<&'d str>, path: &'d [String]| {
        let source = |role: &'d str| {
            let DraftSchema::Inline(schema) = &draft.roles.get(role)?.meta else { return None };
            Some(ItemSource { schema, path, words: format!("`{}` of `{role}`", path.join(".")) })
        };
        roles.into_iter().filter_map(source).collect()
    };
    match field {
        Some(SourceField::Output(FieldRead { role: Some(role), path, .. })) => of_roles(vec![role], path),
        Some(SourceField::Output(FieldRead { role: None, path, .. })) => of_roles(last.iter().copied().collect(), path),
        Some(SourceField::Input(path)) => match &draft.input {
            Some(DraftSchema::Inline(schema)) => {
                vec![ItemSource { schema, path, words: format!("`{}` of the input", path.join(".")) }]
            }
            _ => Vec::new(),
        },
        None => Vec::new(),
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
    fn values(&self, source: &ItemSource<'_>, shape: ValueShape, problems: &mut ProblemCollector) -> bool {
        // Brackets make a list of everything.
        if self.each.trim_start().starts_with('[') || shape != ValueShape::Unknown {
            return true;
        }
        let of = |path: &[String]| descend(source.schema, path).unwrap_or_default();
        let here = of(source.path);
        if here.is_empty() || !here.iter().all(|schema| is_no_list(schema)) {
            return true;
        }
        let mut lengths = 0..source.path.len();
        let is_mapped = lengths.any(|length| of(&source.path[..length]).iter().any(|above| is_list(above)));
        match is_mapped {
            true => self.single_item(problems),
            false => self.no_list(&source.words, problems),
        }
        is_mapped
    }

    /// Warns of a list of any length.
    fn length(&self, source: &ItemSource<'_>, problems: &mut ProblemCollector) {
        let lists = descend(source.schema, source.path).unwrap_or_default();
        if lists.iter().any(|list| is_list(list) && list.get("maxItems").is_none()) {
            let message = format!("`each` plays as many branches as {} has items", source.words);
            let hint = "limit them: `maxItems` in its schema".to_owned();
            problems.warning("unlimited-branches", self.at, message, Some(hint));
        }
    }

    /// Warns of a key that no item can have.
    fn key(&self, source: &ItemSource<'_>, (key, at): (&str, TextPosition), problems: &mut ProblemCollector) {
        let of_key: Vec<String> = source.path.iter().cloned().chain([key.to_owned()]).collect();
        let items = format!("the items of {}", source.words);
        match can_have(source.schema, &of_key) {
            PathPossibility::NoField { field, known } if field == key => {
                let hint = known_fields(&field, &known);
                problems.warning("impossible-key", at, format!("{items} have no `{key}`"), Some(hint));
            }
            PathPossibility::NotAnObject { field } if source.path.last() == Some(&field) => {
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
