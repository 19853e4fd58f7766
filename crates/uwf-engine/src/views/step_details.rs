//! `thread step-details`: a node with its references expanded, so that one document shows how an output was obtained.
//!
//! Each text replaces its reference. A node already in the document is not repeated: turns refer to all earlier texts, and repeating
//! those would make a long session quadratic. The chain of a thread is not followed.

use std::collections::HashSet;

use json_cas::{Node, NodeHash, Store};
use serde_json::{Map, Value, json};
use uwf_core::node::{NodeKind, ReactSession, StartNode, StepNode};

use crate::error::Result;
use crate::thread::nodes;

/// Maximum nesting of expanded nodes. A session, its turns, their tool calls and the texts of these are four levels.
pub const MAX_DEPTH: usize = 12;

/// Maximum size of expanded payloads in bytes; beyond it, references stay hashes. More than any reader needs, less than any machine has.
pub const MAX_BYTES: usize = 64 << 20;

/// Maximum size of a text that is repeated instead of referenced, in bytes.
const SHORT: usize = 200;

/// A node with its references expanded.
#[derive(Debug, Clone, PartialEq)]
pub struct ExpandedNode {
    /// The document: hash, type and timestamp of the node, then its payload.
    pub value: Value,
    /// Missing parts and why: limits, and unreadable nodes.
    pub notes: Vec<String>,
}

/// Expands a node of any type.
///
/// # Errors
/// Errors of the node itself. An unreadable node below it is replaced by the reason.
pub fn expand(store: &Store, hash: NodeHash) -> Result<ExpandedNode> {
    expand_within(store, hash, MAX_BYTES)
}

fn expand_within(store: &Store, hash: NodeHash, limit: usize) -> Result<ExpandedNode> {
    let node = store.get(hash)?;
    let mut expansion = NodeExpander { store, limit, placed: HashSet::new(), bytes: 0, notes: Vec::new() };
    expansion.placed.insert(hash);
    let mut value = expansion.node(hash, &node, 0);
    if let Value::Object(fields) = &mut value {
        fields.shift_insert(2.min(fields.len()), "timestamp".to_owned(), json!(node.timestamp));
        let at = fields.keys().position(|name| name == "agent");
        if let (Some(at), Some(alias)) = (at, alias(store, &node)) {
            fields.shift_insert(at, "alias".to_owned(), json!(alias));
        }
    }
    Ok(ExpandedNode { value, notes: expansion.notes })
}

/// The name in the configuration of the agent that played a step. The step stores only its command.
fn alias(store: &Store, node: &Node) -> Option<String> {
    NodeKind::from_type_hash(node.type_hash).filter(|kind| *kind == NodeKind::StepNode)?;
    let detail: NodeHash = node.payload.get("detail")?.as_str()?.parse().ok()?;
    let found = store.get(detail).ok()?;
    let kind = NodeKind::from_type_hash(found.type_hash);
    let session: ReactSession =
        kind.filter(|kind| *kind == NodeKind::ReactSession).and_then(|_| nodes::payload(detail, &found).ok())?;
    nodes::alias(store, &session)
}

/// Which texts of a payload are references to expand.
enum PayloadReferences {
    /// The values of these fields.
    Fields(&'static [&'static str]),
    /// Every hash of a stored node: other implementations choose their own field names.
    Stored,
}

fn references(kind: NodeKind) -> PayloadReferences {
    PayloadReferences::Fields(match kind {
        NodeKind::Workflow | NodeKind::StartNode | NodeKind::ThreadEnd | NodeKind::Content | NodeKind::Agent => &[],
        NodeKind::StepNode => &["output", "detail"],
        NodeKind::Attempt => &["agent", "raw", "stderr", "turns"],
        NodeKind::ReactSession => &["agent", "turns", "raw", "attempts"],
        NodeKind::ReactTurn => &["input", "output", "toolCalls"],
        NodeKind::ReactToolCall => &["arguments", "result"],
        NodeKind::HermesTurn | NodeKind::HermesDetail | NodeKind::HermesRaw => return PayloadReferences::Stored,
    })
}

/// Fields in reading order: what the node is, how it went, then the long texts. The store sorts fields by length; all other fields follow
/// in that order.
fn order(kind: NodeKind) -> &'static [&'static str] {
    match kind {
        NodeKind::Workflow => &["name", "description", "roles", "conditions", "graph"],
        NodeKind::StartNode => &["workflow", "parent", "depth", "prompt"],
        NodeKind::StepNode => &["role", "agent", "start", "prev", "output", "detail"],
        NodeKind::ThreadEnd => {
            &["status", "outcome", "condition", "reason", "returnCode", "start", "lastStep", "summary"]
        }
        NodeKind::Agent => &["name", "command", "args", "config", "model", "version"],
        NodeKind::Attempt => {
            &["role", "agent", "source", "sessionId", "exitCode", "error", "tokens", "raw", "stderr", "turns"]
        }
        NodeKind::ReactSession => &[
            "role",
            "agent",
            "source",
            "sessionId",
            "extractedBy",
            "extraction",
            "extras",
            "durationMs",
            "totalTokens",
            "tokens",
            "raw",
            "turns",
            "attempts",
        ],
        NodeKind::ReactTurn => &["latencyMs", "tokens", "input", "output", "toolCalls"],
        NodeKind::ReactToolCall => &["name", "durationMs", "arguments", "result"],
        NodeKind::Content | NodeKind::HermesTurn | NodeKind::HermesDetail | NodeKind::HermesRaw => &[],
    }
}

fn ordered(kind: NodeKind, payload: &Map<String, Value>) -> impl Iterator<Item = (&String, &Value)> {
    let first = order(kind);
    let rest = payload.iter().filter(|(name, _)| !first.contains(&name.as_str()));
    first.iter().filter_map(|name| payload.get_key_value(*name)).chain(rest)
}

/// The name of a node's type: the name of its kind, the title of its schema, or else the schema's hash.
fn type_name(store: &Store, node: &Node) -> Value {
    if let Some(kind) = NodeKind::from_type_hash(node.type_hash) {
        return json!(kind.title());
    }
    let schema = store.try_get(node.type_hash).ok().flatten();
    let title = schema.and_then(|schema| schema.payload.get("title").and_then(Value::as_str).map(str::to_owned));
    title.map_or_else(|| json!(node.type_hash), Value::from)
}

struct NodeExpander<'s> {
    store: &'s Store,
    limit: usize,
    /// Nodes already in the document.
    placed: HashSet<NodeHash>,
    bytes: usize,
    notes: Vec<String>,
}

impl NodeExpander<'_> {
    /// A node as an object that begins with its hash and type.
    fn node(&mut self, hash: NodeHash, node: &Node, depth: usize) -> Value {
        self.bytes += node.payload.to_string().len();
        let mut fields = Map::new();
        fields.insert("hash".to_owned(), json!(hash));
        fields.insert("type".to_owned(), type_name(self.store, node));
        match (NodeKind::from_type_hash(node.type_hash), &node.payload) {
            (Some(kind), Value::Object(payload)) if !payload.contains_key("hash") && !payload.contains_key("type") => {
                let references = references(kind);
                for (name, value) in ordered(kind, payload) {
                    let value = match &references {
                        PayloadReferences::Fields(names) if names.contains(&name.as_str()) => {
                            self.referred(value, depth)
                        }
                        PayloadReferences::Fields(_) => value.clone(),
                        PayloadReferences::Stored => self.stored(value, depth),
                    };
                    fields.insert(name.clone(), value);
                }
            }
            (_, payload) => {
                fields.insert("payload".to_owned(), payload.clone());
            }
        }
        Value::Object(fields)
    }

    /// A reference, or a list of references, expanded.
    fn referred(&mut self, value: &Value, depth: usize) -> Value {
        match value {
            Value::String(text) => match text.parse() {
                Ok(hash) => self.reference(hash, depth),
                Err(_) => value.clone(),
            },
            Value::Array(items) => items.iter().map(|item| self.referred(item, depth)).collect(),
            other => other.clone(),
        }
    }

    /// A value with every hash of a stored node expanded.
    fn stored(&mut self, value: &Value, depth: usize) -> Value {
        match value {
            Value::String(text) => match text.parse::<NodeHash>() {
                Ok(hash) if self.store.has(hash).unwrap_or(false) => self.reference(hash, depth),
                _ => value.clone(),
            },
            Value::Array(items) => items.iter().map(|item| self.stored(item, depth)).collect(),
            Value::Object(fields) => {
                fields.iter().map(|(name, value)| (name.clone(), self.stored(value, depth))).collect()
            }
            other => other.clone(),
        }
    }

    fn reference(&mut self, hash: NodeHash, depth: usize) -> Value {
        if depth + 1 > MAX_DEPTH {
            return self
                .left_out(hash, format!("nodes nested more than {MAX_DEPTH} deep are left as hashes under `leftOut`"));
        }
        if self.bytes > self.limit {
            let limit = self.limit;
            return self.left_out(
                hash,
                format!("the details have more than {limit} bytes; the rest is left as hashes under `leftOut`"),
            );
        }
        let node = match self.store.get(hash) {
            Ok(node) => node,
            Err(error) => {
                self.note(error.to_string());
                return json!({"unreadable": hash, "error": error.to_string()});
            }
        };
        match NodeKind::from_type_hash(node.type_hash) {
            Some(NodeKind::Content) => self.text(hash, &node),
            Some(NodeKind::StepNode) => self.child_thread(hash, &node),
            // For a role's output, the value is enough.
            None => {
                self.bytes += node.payload.to_string().len();
                node.payload
            }
            Some(_) if self.placed.contains(&hash) => json!({"toldAbove": hash}),
            Some(_) => {
                self.placed.insert(hash);
                self.node(hash, &node, depth + 1)
            }
        }
    }

    fn text(&mut self, hash: NodeHash, node: &Node) -> Value {
        let text = node.payload.get("text").and_then(Value::as_str).unwrap_or_default();
        if text.len() > SHORT && !self.placed.insert(hash) {
            return json!({"toldAbove": hash, "bytes": text.len()});
        }
        self.bytes += text.len();
        json!(text)
    }

    /// A step of another thread: enough to find it, without its history.
    fn child_thread(&mut self, head: NodeHash, node: &Node) -> Value {
        let step: Option<StepNode> = nodes::payload(head, node).ok();
        let start: Option<StartNode> =
            step.as_ref().and_then(|step| nodes::payload(step.start, &self.store.get(step.start).ok()?).ok());
        json!({
            "childThread": {
                "head": head,
                "role": step.map(|step| step.role),
                "workflow": start.as_ref().map(|start| start.workflow),
                "prompt": start.map(|start| start.prompt),
            },
            "hint": format!("`uwf thread step-details {head}` shows its last step, `uwf thread fork {head}` continues from it"),
        })
    }

    fn left_out(&mut self, hash: NodeHash, why: String) -> Value {
        self.note(why);
        json!({ "leftOut": hash })
    }

    fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}

#[cfg(test)]
mod tests {
    use uwf_core::foreign;
    use uwf_core::node::{self, ContentNode, ReactTurn, TypedPayload};

    use super::*;

    fn store() -> Store {
        let store = Store::memory().with_clock(|| 7).with_known(foreign::known_schema);
        store.put_all(&node::schema_drafts()).unwrap();
        store
    }

    fn put(store: &Store, payload: &impl TypedPayload) -> NodeHash {
        store.put(&payload.draft()).unwrap()
    }

    fn text(store: &Store, text: &str) -> NodeHash {
        put(store, &ContentNode { text: text.to_owned() })
    }

    fn turn(store: &Store, input: Vec<NodeHash>, output: NodeHash) -> NodeHash {
        put(store, &ReactTurn { input, output, tool_calls: Vec::new(), tokens: None, latency_ms: 1 })
    }

    #[test]
    fn a_long_text_is_there_once() {
        let store = store();
        let [short, long] = [text(&store, "short"), text(&store, &"long ".repeat(100))];
        let expanded = expand(&store, turn(&store, vec![short, long, short, long], long)).unwrap();
        let above = json!({"toldAbove": long, "bytes": 500});
        assert_eq!(expanded.value["input"], json!(["short", "long ".repeat(100), "short", above]));
        assert_eq!(expanded.value["output"], above);
        assert_eq!(expanded.value["timestamp"], json!(7));
        assert_eq!(expanded.notes, [""; 0]);
    }

    #[test]
    fn a_child_thread_is_named_and_not_followed() {
        let store = store();
        let start = put(
            &store,
            &StartNode {
                workflow: NodeHash::from_u64(1),
                prompt: "the child's task".to_owned(),
                parent: None,
                depth: Some(1),
                input: None,
            },
        );
        let output = text(&store, "x");
        let step = |prev, role: &str, detail| StepNode {
            start,
            prev,
            role: role.to_owned(),
            output,
            detail,
            agent: "a".to_owned(),
        };
        let first = put(&store, &step(None, "first", output));
        let child = put(&store, &step(Some(first), "second", output));
        let parent = put(&store, &step(None, "delegate", child));
        let expanded = expand(&store, parent).unwrap();
        let expected =
            json!({"head": child, "role": "second", "workflow": NodeHash::from_u64(1), "prompt": "the child's task"});
        assert_eq!(expanded.value["detail"]["childThread"], expected);
        assert_eq!(expand(&store, child).unwrap().value["prev"], json!(first), "the chain is not followed");
    }

    #[test]
    fn beyond_the_limit_references_stay_hashes() {
        let store = store();
        let texts: Vec<NodeHash> = (0..10).map(|n| text(&store, &format!("text {n} ").repeat(50))).collect();
        let expanded = expand_within(&store, turn(&store, texts.clone(), texts[0]), 1500).unwrap();
        let is_placed: Vec<bool> = expanded.value["input"].as_array().unwrap().iter().map(Value::is_string).collect();
        assert_eq!(is_placed.iter().filter(|placed| **placed).count(), 4, "{is_placed:?}");
        assert_eq!(expanded.value["input"][9], json!({"leftOut": texts[9]}));
        assert_eq!(
            expanded.notes,
            ["the details have more than 1500 bytes; the rest is left as hashes under `leftOut`"]
        );
    }

    #[test]
    fn nesting_has_an_end() {
        let store = store();
        let turn_type = NodeHash::literal("05HQB8BWV4KTW");
        let mut hash = text(&store, "the innermost");
        for _ in 0..40 {
            hash = store.put(&json_cas::NodeDraft::new(turn_type, json!({"in": hash})).unwrap()).unwrap();
        }
        let expanded = expand(&store, hash).unwrap();
        let mut depth = 0;
        let mut value = &expanded.value;
        while value["in"].is_object() {
            value = &value["in"];
            depth += 1;
        }
        assert_eq!(depth, MAX_DEPTH + 1);
        assert!(value["leftOut"].is_string(), "{value}");
        assert_eq!(expanded.notes.len(), 1);
    }
}
