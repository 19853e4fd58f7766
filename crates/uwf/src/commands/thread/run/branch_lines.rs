//! The lines about the branches of a group that has just been played.

use std::time::Duration;

use json_cas::{Hash, Store};
use serde_json::Value;
use uwf_core::thread::BranchOutput;
use uwf_core::workflow::GROUP_AGENT;
use uwf_engine::error::Result;
use uwf_engine::thread::nodes;

use crate::style;
use crate::table;

/// One line for each branch, in the order of the file; none if the step at the head is not of a group. If a node is unreadable, the lines
/// are left out, because they only repeat what `thread read` shows.
pub(super) fn branch_lines(store: &Store, head: Hash) -> Vec<String> {
    lines(store, head).unwrap_or_default()
}

fn lines(store: &Store, head: Hash) -> Result<Vec<String>> {
    let (step, _) = nodes::step_node(store, head)?;
    let mut lines = Vec::new();
    let mut at = Some(step.detail).filter(|_| step.agent == GROUP_AGENT);
    while let Some(hash) = at {
        let (branch, _) = nodes::step_node(store, hash)?;
        lines.push(match nodes::step_node(store, branch.detail) {
            Ok((own, _)) => {
                let took = store.get(own.detail)?.payload.get("durationMs").and_then(Value::as_u64);
                let took = took.map(|ms| format!(", {}", table::duration(Duration::from_millis(ms))));
                let took = took.unwrap_or_default();
                format!("  {} {} by {}{took}", style::green("✓"), style::bold(&branch.role), own.agent)
            }
            // The group continued without this branch.
            Err(_) => {
                let output = store.get(branch.output)?.payload;
                let failed = BranchOutput { name: branch.role, output, message: None };
                let why = failed.failure().unwrap_or_default();
                format!("  {} {} failed: {why}", style::red("✗"), style::bold(&failed.name))
            }
        });
        at = branch.prev;
    }
    lines.reverse();
    Ok(lines)
}
