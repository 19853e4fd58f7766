//! Converts older forms of workflow files into today's form, before anything is hashed.

use std::collections::{BTreeMap, HashMap};

use super::model::{END, NamedCondition, START, Transition};
use super::reader::WorkflowReader;
use crate::document;
use crate::document::ProblemCollector;
use crate::document::fields::{MappingFields, list, text};
use crate::document::join;
use yaml_tree::{MappingEntry, YamlNode};

/// Keys of a role, today's first. `name` repeats the role's key.
pub(crate) const ROLE_KEYS: [&str; 31] = [
    "description",
    "goal",
    "capabilities",
    "procedure",
    "output",
    "meta",
    "sees",
    "model",
    "effort",
    "timeout",
    "run",
    "shell",
    "env",
    "cwd",
    "fails",
    "play",
    "each",
    "key",
    "copies",
    "pick",
    "max",
    "mayFail",
    "files",
    "merge",
    "resolve",
    "with",
    "systemPrompt",
    "extractPrompt",
    "outputSchema",
    "schema",
    "name",
];

pub(crate) const TABLE_KEYS: [&str; 3] = ["from", "to", "when"];

/// Keys of today's form that people write in the table, and the keys they mean.
const TABLE_MEANT: [(&str, &str); 4] = [("condition", "when"), ("if", "when"), ("expression", "when"), ("role", "to")];

/// The older names of a role's field.
pub(crate) fn older_names(key: &str) -> &'static [&'static str] {
    match key {
        "goal" => &["systemPrompt"],
        "output" => &["extractPrompt"],
        "meta" => &["outputSchema", "schema"],
        _ => &[],
    }
}

/// Today's name of a role's field and its older names.
pub(super) fn names(key: &str) -> impl Iterator<Item = &str> {
    std::iter::once(key).chain(older_names(key).iter().copied())
}

/// The field of a role under today's or an older name. If two names are present with different values, reports an error.
pub(super) fn role_field<'n>(
    fields: MappingFields<'n>,
    key: &str,
    problems: &mut ProblemCollector,
) -> Option<&'n MappingEntry> {
    let mut found: Option<&MappingEntry> = None;
    for entry in names(key).filter_map(|name| fields.get(name)) {
        match found {
            None => found = Some(entry),
            Some(first) if same(&first.value, &entry.value) => {}
            Some(first) => {
                let message = format!("`{}` and `{}` are names of one thing and differ", first.key, entry.key);
                problems.error("conflict", entry.key_at, message, Some(format!("keep `{key}`")));
            }
        }
    }
    found
}

fn same(a: &YamlNode, b: &YamlNode) -> bool {
    let mut ignored = ProblemCollector::new("");
    document::to_json(a, &mut ignored) == document::to_json(b, &mut ignored)
}

/// Reports a role whose `name` differs from its key.
pub(super) fn check_role_name(fields: MappingFields<'_>, role: &str, problems: &mut ProblemCollector) {
    if let Some(entry) = fields.get("name")
        && entry.value.as_raw() != Some(role)
    {
        let found = entry.value.as_raw().unwrap_or_else(|| entry.value.kind());
        let message = format!("the role `{role}` calls itself `{found}`");
        problems.error("conflict", entry.value.at, message, Some("leave `name` out".to_owned()));
    }
}

/// `__start__` and `__end__`, in any case, are `$START` and `$END`.
pub(super) fn graph_name(name: &str) -> &str {
    if name.eq_ignore_ascii_case("__start__") {
        START
    } else if name.eq_ignore_ascii_case("__end__") {
        END
    } else {
        name
    }
}

/// Reads `moderator: [{from, to, when}]`.
pub(super) fn transition_table(
    reader: &mut WorkflowReader,
    table: &MappingEntry,
    conditions: &mut BTreeMap<String, NamedCondition>,
) -> BTreeMap<String, Vec<Transition>> {
    let mut graph: BTreeMap<String, Vec<Transition>> = BTreeMap::new();
    reader.locate("/graph", table);
    let Some(rows) = list(&table.value, "moderator", "a list of {from, to, when}", &mut reader.problems) else {
        reader.positions.set_broken("/graph");
        return graph;
    };
    for row in rows {
        if row_of(reader, row, conditions, &mut graph).is_none() {
            reader.positions.set_broken("/graph");
        }
    }
    graph
}

fn row_of(
    reader: &mut WorkflowReader,
    row: &YamlNode,
    conditions: &mut BTreeMap<String, NamedCondition>,
    graph: &mut BTreeMap<String, Vec<Transition>>,
) -> Option<()> {
    let fields = MappingFields::from_mapping(row, "moderator[]", &mut reader.problems)?;
    fields.refuse_unknown(&TABLE_KEYS, &TABLE_MEANT, &mut reader.problems);
    let from = end_of_row(reader, fields, "from");
    let to = end_of_row(reader, fields, "to");
    let (from_entry, from) = from?;
    let (to_entry, to) = to?;
    let at_from = join("/graph", &from);
    if !graph.contains_key(&from) {
        reader.positions.set_key(at_from.clone(), from_entry.value.at);
        reader.positions.set_value(at_from.clone(), from_entry.value.at);
    }
    let transitions = graph.entry(from.clone()).or_default();
    let pointer = join(&at_from, &transitions.len().to_string());
    reader.positions.set_value(pointer.clone(), row.at);
    reader.locate(&join(&pointer, "role"), to_entry);
    let condition = match fields.get("when") {
        None => None,
        Some(entry) => {
            reader.locate(&join(&pointer, "condition"), entry);
            let written = text(&entry.value, "when", &mut reader.problems)?;
            Some(named(reader, &written, entry, (&from, &to), conditions))
        }
    };
    transitions.push(Transition { role: to, condition, outcome: None });
    Some(())
}

fn end_of_row<'n>(
    reader: &mut WorkflowReader,
    fields: MappingFields<'n>,
    key: &str,
) -> Option<(&'n MappingEntry, String)> {
    let Some(entry) = fields.get(key) else {
        reader.problems.error("missing-key", fields.at, format!("the transition has no `{key}`"), None);
        return None;
    };
    let name = text(&entry.value, key, &mut reader.problems)?;
    Some((entry, graph_name(&name).to_owned()))
}

/// The name of the condition of a transition. Text that is neither a condition's name nor could be one is an expression. Each expression
/// becomes a condition, named after the first edge that has it.
pub(super) fn named(
    reader: &mut WorkflowReader,
    written: &str,
    entry: &MappingEntry,
    edge: (&str, &str),
    conditions: &mut BTreeMap<String, NamedCondition>,
) -> String {
    if conditions.contains_key(written) || is_name(written) {
        return written.to_owned();
    }
    let expression = written.trim();
    if reader.inlined.names.is_empty() {
        let known = conditions.iter().map(|(name, condition)| (condition.expression.clone(), name.clone()));
        // Reverse the order, so that the first by name wins among equal conditions.
        reader.inlined.names = known.rev().collect();
    }
    if let Some(name) = reader.inlined.names.get(expression) {
        return name.clone();
    }
    let name = fresh_name(edge, &mut reader.inlined.numbers, conditions);
    reader.inlined.names.insert(expression.to_owned(), name.clone());
    let pointer = join("/conditions", &name);
    reader.locate(&pointer, entry);
    reader.positions.set_key(pointer.clone(), entry.value.at);
    reader.locate(&join(&pointer, "expression"), entry);
    let condition = NamedCondition { description: String::new(), expression: expression.to_owned() };
    conditions.insert(name.clone(), condition);
    name
}

/// Whether a text is a plain word, which must be the name of a condition.
fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'))
}

/// `planner-to-end`, or `planner-to-end-2` if that is taken. `when` if the roles' names are not words.
fn fresh_name(
    (from, to): (&str, &str),
    numbers: &mut HashMap<String, usize>,
    conditions: &BTreeMap<String, NamedCondition>,
) -> String {
    let edge = format!("{}-to-{}", word(from), word(to));
    // 60 leaves room for a number within the 64 symbols a name may have.
    let base = if is_name(&edge) && edge.chars().count() <= 60 { edge } else { "when".to_owned() };
    let number = numbers.entry(base.clone()).or_default();
    loop {
        *number += 1;
        let name = if *number == 1 { base.clone() } else { format!("{base}-{number}") };
        if !conditions.contains_key(&name) {
            return name;
        }
    }
}

fn word(name: &str) -> &str {
    match name {
        START => "start",
        END => "end",
        other => other,
    }
}
