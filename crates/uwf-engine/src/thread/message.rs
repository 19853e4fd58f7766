//! The agent's text besides its structured output, for pages and for later roles.

use json_cas::{Node, NodeHash, Store};
use serde::Deserialize;
use serde_json::{Map, Value};
use uwf_core::extract;
use uwf_core::node::{COMMAND_SOURCE, NodeKind, StartNode, StepNode};
use uwf_core::thread::BranchOutput;
use uwf_core::workflow::{GROUP_AGENT, is_text};

use crate::error::Result;
use crate::thread::nodes;

/// The end of the nodes below a step's detail. Prompts read a hundred details, so each node is read once.
enum DetailEnd {
    /// The last step of a group's thread.
    Group(NodeHash),
    /// The node that describes how the output was made. If a workflow played the role, it describes the last step of the workflow's thread.
    Telling(NodeHash, Node),
}

impl DetailEnd {
    fn find(store: &Store, detail: NodeHash) -> Result<DetailEnd> {
        let mut at = detail;
        for _ in 0..nodes::MAX_NESTING {
            let node = nodes::get(store, at)?;
            if NodeKind::from_type_hash(node.type_hash) != Some(NodeKind::StepNode) {
                return Ok(DetailEnd::Telling(at, node));
            }
            let step: StepNode = nodes::payload(at, &node)?;
            if is_of_group(store, &step)? {
                return Ok(DetailEnd::Group(at));
            }
            at = step.detail;
        }
        Err(nodes::too_deep(detail))
    }

    fn message(self, store: &Store, schema: Option<NodeHash>) -> Result<Option<String>> {
        match self {
            DetailEnd::Group(last) => {
                // A text has everything that the branches wrote.
                let is_text =
                    schema.is_some_and(|schema| store.schema(schema).is_ok_and(|schema| is_text(schema.value())));
                if is_text { Ok(None) } else { of_group(store, last, BranchText::Beside) }
            }
            DetailEnd::Telling(detail, node) => of_node(store, detail, &node, schema),
        }
    }
}

/// Returns the text of a step's detail besides the output, wherever the step was made. If a workflow played the role, that is the text of
/// the last step of its thread. `schema` is the type of the output.
pub fn of_detail(store: &Store, detail: NodeHash, schema: Option<NodeHash>) -> Result<Option<String>> {
    DetailEnd::find(store, detail)?.message(store, schema)
}

/// The same for a prompt, which shows the results of a group's branches instead. They are empty for other roles.
pub fn of_detail_or_branches(
    store: &Store,
    detail: NodeHash,
    schema: Option<NodeHash>,
) -> Result<(Option<String>, Vec<BranchOutput>)> {
    match DetailEnd::find(store, detail)? {
        DetailEnd::Group(last) if last == detail => Ok((None, branches(store, last)?)),
        end => Ok((end.message(store, schema)?, Vec::new())),
    }
}

/// The results of the branches of a group, in its order. `last` is the last step of the group's thread.
pub fn branches(store: &Store, last: NodeHash) -> Result<Vec<BranchOutput>> {
    let branch = |step: StepNode| {
        let output = store.get(step.output)?;
        let message = of_detail(store, step.detail, Some(output.type_hash))?;
        Ok(BranchOutput { name: step.role, output: output.payload, message })
    };
    group_steps(store, last)?.into_iter().map(branch).collect()
}

/// The same for a step of any role; empty unless the role is a group.
pub fn branches_of(store: &Store, detail: NodeHash) -> Result<Vec<BranchOutput>> {
    if is_group(store, detail)? { branches(store, detail) } else { Ok(Vec::new()) }
}

/// The results of a group in the order of its branches, which the store sorts by key. `detail` is the detail of the group's step.
pub(crate) fn in_branch_order(store: &Store, detail: NodeHash, value: Value) -> Value {
    let Ok(DetailEnd::Group(last)) = DetailEnd::find(store, detail) else { return value };
    let steps = group_steps(store, last).unwrap_or_default();
    let inner = |step: &StepNode, value: Value| {
        if step.agent == GROUP_AGENT { in_branch_order(store, step.detail, value) } else { value }
    };
    match value {
        Value::Object(mut fields) if steps.iter().all(|step| fields.contains_key(&step.role)) => {
            let mut ordered = Map::new();
            for step in &steps {
                ordered.extend(fields.shift_remove_entry(&step.role).map(|(key, value)| (key, inner(step, value))));
            }
            ordered.extend(fields);
            Value::Object(ordered)
        }
        Value::Array(items) if items.len() == steps.len() => {
            steps.iter().zip(items).map(|(step, item)| inner(step, item)).collect()
        }
        other => other,
    }
}

/// The steps of a group's thread, in its order. `last` is its last step.
fn group_steps(store: &Store, last: NodeHash) -> Result<Vec<StepNode>> {
    let mut steps = Vec::new();
    let mut at = Some(last);
    while let Some(hash) = at {
        let (step, _) = nodes::step_node(store, hash)?;
        at = step.prev;
        steps.push(step);
    }
    steps.reverse();
    Ok(steps)
}

/// Whether a step's detail is the last step of a group's thread.
pub(crate) fn is_group(store: &Store, detail: NodeHash) -> Result<bool> {
    let node = nodes::get(store, detail)?;
    let is_step = NodeKind::from_type_hash(node.type_hash) == Some(NodeKind::StepNode);
    Ok(is_step && is_of_group(store, &nodes::payload(detail, &node)?)?)
}

/// Whether a step is in a group's thread. The agent alone does not say so: the step that a group is in another thread has the same one.
fn is_of_group(store: &Store, step: &StepNode) -> Result<bool> {
    if step.agent != GROUP_AGENT {
        return Ok(false);
    }
    let start: StartNode = nodes::typed(store, step.start)?;
    Ok(nodes::workflow(store, start.workflow)?.planned_branches().is_some())
}

/// Everything that the branches of a group delivered, as a text; `None` if no group made the step with this detail.
pub fn whole_group(store: &Store, detail: NodeHash) -> Result<Option<String>> {
    match DetailEnd::find(store, detail)? {
        DetailEnd::Group(last) => of_group(store, last, BranchText::Whole),
        DetailEnd::Telling(..) => Ok(None),
    }
}

/// The parts of what a branch delivered.
#[derive(Clone, Copy)]
enum BranchText {
    /// The text besides the output.
    Beside,
    /// The output as well.
    Whole,
}

/// The texts of a group's branches, each below the name of its branch. The branches of a group within it have their paths.
fn of_group(store: &Store, last: NodeHash, parts: BranchText) -> Result<Option<String>> {
    let mut texts = Vec::new();
    add_texts(store, last, "", parts, &mut texts)?;
    Ok((!texts.is_empty()).then(|| texts.join("\n")))
}

fn add_texts(store: &Store, last: NodeHash, above: &str, parts: BranchText, texts: &mut Vec<String>) -> Result<()> {
    for step in group_steps(store, last)? {
        let name = format!("{above}{}", step.role);
        let (detail, node) = match DetailEnd::find(store, step.detail)? {
            DetailEnd::Group(last) => {
                add_texts(store, last, &format!("{name}."), parts, texts)?;
                continue;
            }
            DetailEnd::Telling(detail, node) => (detail, node),
        };
        let output = store.get(step.output)?;
        let message = of_node(store, detail, &node, Some(output.type_hash))?;
        let branch = BranchOutput { name, output: output.payload, message };
        let text = match (branch.failure(), parts) {
            (Some(why), _) => Some(format!("failed: {why}")),
            (None, BranchText::Beside) => branch.message,
            (None, BranchText::Whole) => Some(whole(&branch)),
        };
        texts.extend(text.map(|text| format!("## {}\n\n{}\n", branch.name, text.trim())));
    }
    Ok(())
}

/// The output of a branch and the text beside it.
fn whole(branch: &BranchOutput) -> String {
    match (&branch.output, &branch.message) {
        (Value::String(text), None) => text.clone(),
        (output, None) => format!("```json\n{output:#}\n```"),
        (output, Some(text)) => format!("```json\n{output:#}\n```\n\n{text}"),
    }
}

/// The text of a step's detail without the output it may contain; `None` if it contains only the output. `schema` is the type of the
/// output: with it, malformed headers are recognized as well.
pub(crate) fn of_node(
    store: &Store,
    detail: NodeHash,
    node: &Node,
    schema: Option<NodeHash>,
) -> Result<Option<String>> {
    if node.payload.get("source").and_then(Value::as_str) == Some(COMMAND_SOURCE) {
        return Ok(None);
    }
    let Some(raw) = raw(store, detail, node)? else { return Ok(None) };
    let text = match node.payload.get("extractedBy").and_then(Value::as_str) {
        // Submitted as a value: the text is that value, or the text beside it.
        Some("submit") if serde_json::from_str::<Value>(raw.trim()).is_ok() => return Ok(None),
        // The value came from elsewhere, so the text has no readable header.
        Some("feedback" | "llm") => raw,
        _ => beside_output(store, raw, schema),
    };
    Ok(Some(text).filter(|text| !text.trim().is_empty()))
}

/// The full text of a step's detail, if it has one.
pub fn raw(store: &Store, detail: NodeHash, node: &Node) -> Result<Option<String>> {
    Ok(match NodeKind::from_type_hash(node.type_hash) {
        Some(NodeKind::ReactSession) => {
            let session: SessionTextReference = nodes::payload(detail, node)?;
            text_of(&nodes::get(store, session.raw)?.payload)
        }
        Some(NodeKind::Content | NodeKind::HermesRaw) => text_of(&node.payload),
        Some(NodeKind::HermesDetail) => last_words(store, &node.payload)?,
        _ => None,
    })
}

/// The required part of a session node.
#[derive(Deserialize)]
struct SessionTextReference {
    raw: NodeHash,
}

/// The text without the output; the full text if the output cannot be found in it.
fn beside_output(store: &Store, raw: String, schema: Option<NodeHash>) -> String {
    let schema = schema.and_then(|schema| store.schema(schema).ok());
    let beside = schema.and_then(|schema| extract::text_beside(&raw, &schema));
    beside.unwrap_or_else(|| after_header(&raw).map_or_else(|| raw.clone(), str::to_owned))
}

/// The text after its header, if the header is well formed.
fn after_header(raw: &str) -> Option<&str> {
    let text = raw.trim_start_matches(['\u{feff}', '\n', '\r', ' ']);
    let rest = text.strip_prefix("---\n").or_else(|| text.strip_prefix("---\r\n"))?;
    let mut offset = 0;
    for line in rest.split_inclusive('\n') {
        offset += line.len();
        if line.trim_end() == "---" {
            return Some(&rest[offset..]);
        }
    }
    None
}

/// The text of a text node; in nodes of earlier implementations, the payload itself is the text.
pub fn text_of(payload: &Value) -> Option<String> {
    payload.as_str().or_else(|| payload.get("text")?.as_str()).map(str::to_owned)
}

/// The text of the last turn of a session that an earlier implementation recorded.
fn last_words(store: &Store, session: &Value) -> Result<Option<String>> {
    let turns = session.get("turns").and_then(Value::as_array);
    let Some(last) = turns.and_then(|turns| turns.last()).and_then(Value::as_str).and_then(|turn| turn.parse().ok())
    else {
        return Ok(None);
    };
    let turn = nodes::get(store, last)?;
    Ok(turn.payload.get("content").and_then(Value::as_str).map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::after_header;

    #[test]
    fn the_header_is_left_out() {
        assert_eq!(after_header("---\na: 1\n---\nbody\n"), Some("body\n"));
        assert_eq!(after_header("\n---\r\na: 1\r\n---\r\nbody"), Some("body"));
        assert_eq!(after_header("no header"), None);
        assert_eq!(after_header("---\nunclosed"), None);
    }
}
