//! Steps with the parts their readers need. Every part costs reading at least one node.

use json_cas::{Node, NodeHash, Store};
use serde_json::Value;
use uwf_core::node::{NodeKind, ReactSession, StepNode};
use uwf_core::thread::Step;
use uwf_core::view;
use uwf_core::workflow::GROUP_AGENT;

use crate::error::Result;
use crate::thread::message;
use crate::thread::nodes;

/// Parts of a step to load besides its StepNode and its output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepParts {
    /// The agent's text besides the output.
    pub message: bool,
    /// The agent's name in the configuration, and the tool calls that it was denied; absent if the detail is not readable.
    pub alias: bool,
    /// How the output was obtained, and the other keys of the header.
    pub detail: bool,
    /// The keys of the output in the order of a reader; otherwise in the order of the store.
    pub order: bool,
}

impl StepParts {
    /// The StepNode and the output.
    pub const NONE: StepParts = StepParts { message: false, alias: false, detail: false, order: false };

    /// For agents: also the message.
    pub const MESSAGE: StepParts = StepParts { message: true, ..StepParts::NONE };

    /// For lists: also the alias.
    pub const ALIAS: StepParts = StepParts { alias: true, ..StepParts::NONE };

    /// For lists that show outputs: also the order of keys.
    pub const LISTED: StepParts = StepParts { order: true, ..StepParts::ALIAS };
}

/// The step of a StepNode that is already loaded; `index` from 1.
pub(crate) fn of_node(
    store: &Store,
    index: usize,
    hash: NodeHash,
    node: (StepNode, u64),
    parts: StepParts,
) -> Result<Step> {
    let output = nodes::get(store, node.0.output)?;
    let schema = output.type_hash;
    let output = if parts.order { in_order(store, &node.0, output) } else { output.payload };
    let mut step = with_output(index, hash, node, output);
    let detail = step.detail;
    if parts.detail {
        let (_, telling) = nodes::telling(store, detail)?;
        step.extracted_by = nodes::extracted_by_of(&telling);
        step.header = nodes::header_of(&telling);
    }
    if parts.alias
        && let Some(session) = nodes::session(store, detail)
    {
        step.alias = nodes::alias(store, &session);
        step.denied = nodes::denied_in_session(&session);
        step.answered_by = nodes::answered_by(&session);
    }
    Ok(Step { message: if parts.message { message::of_detail(store, detail, Some(schema))? } else { None }, ..step })
}

fn with_output(index: usize, hash: NodeHash, (node, timestamp): (StepNode, u64), output: Value) -> Step {
    Step { hash, agent: node.agent, detail: node.detail, timestamp, ..Step::new(index, node.role, output) }
}

/// A step in full, for a page; `index` from 1. Unreadable nodes below its StepNode are listed in [`Step::unreadable`], and the keys of
/// its output have the order of their schema, or the order of the branches.
pub(crate) fn whole(store: &Store, index: usize, hash: NodeHash) -> Result<Step> {
    let node = nodes::step_node(store, hash)?;
    let (output, schema, why) = match store.get(node.0.output) {
        Ok(output) => {
            let schema = output.type_hash;
            (in_order(store, &node.0, output), Some(schema), None)
        }
        Err(error) => (Value::Null, None, Some(error.to_string())),
    };
    let mut step = with_output(index, hash, node, output);
    step.unreadable.output = why;
    step.unreadable.detail = add_detail(store, &mut step, schema).err().map(|error| error.to_string());
    Ok(step)
}

/// The output of a step with its keys in the order of its schema, and the results of a group in the order of its branches; as stored if a
/// node with the order is not readable.
fn in_order(store: &Store, step: &StepNode, output: Node) -> Value {
    let value = match store.schema(output.type_hash) {
        Ok(schema) => view::in_schema_order(output.payload, schema.value()),
        Err(_) => output.payload,
    };
    if step.agent == GROUP_AGENT { message::in_branch_order(store, step.detail, value) } else { value }
}

/// Adds the data of a step's detail, all of it or nothing; `schema` is the type of its output.
fn add_detail(store: &Store, step: &mut Step, schema: Option<NodeHash>) -> Result<()> {
    let detail = nodes::get(store, step.detail)?;
    let message = message::of_node(store, step.detail, &detail, schema)?;
    match NodeKind::from_type_hash(detail.type_hash) {
        Some(NodeKind::StepNode) => {
            step.is_child_thread = true;
            if step.agent == GROUP_AGENT {
                step.message = message::of_detail(store, step.detail, schema)?;
                return Ok(());
            }
        }
        Some(NodeKind::ReactSession) => {
            let session: ReactSession = nodes::payload(step.detail, &detail)?;
            // The successful attempt is included if it printed something on stderr.
            step.failed_attempts = session.attempts.iter().filter(|hash| nodes::has_failed(store, **hash)).count();
            step.alias = nodes::alias(store, &session);
            step.denied = nodes::denied_in_session(&session);
            step.answered_by = nodes::answered_by(&session);
            step.exchanges = nodes::exchanges(&session);
            step.extracted_by = nodes::extracted_by_of(&detail);
        }
        _ => {}
    }
    step.message = message;
    Ok(())
}
