//! Which workflow plays a role. The person who starts a thread decides it at the start, and uwf keeps it by hash. Later
//! changes in the workspace don't affect it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use json_cas::NodeHash;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::attempt::agents::{self, AgentSpec};

/// The workflows of a thread and its child threads, by the names that agents use.
pub(crate) type Decisions = BTreeMap<String, RoleWorkflow>;

/// A workflow chosen for a role.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RoleWorkflow {
    /// The workflow at the time of the choice.
    pub hash: NodeHash,
    /// The file it came from, if it did not come from the registry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// Roles of the thread itself that it plays; empty if it plays a role of a child thread.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<String>,
}

/// The workflow of an agent, as a path, name or hash; `None` for another kind of agent, or an agent that names no
/// workflow.
pub fn workflow_of(spec: &AgentSpec) -> Option<&str> {
    let configured = || spec.config.get("workflow").and_then(Value::as_str);
    (spec.built_in() == Some(agents::WORKFLOW)).then(|| configured().or(spec.args.first().map(String::as_str)))?
}
