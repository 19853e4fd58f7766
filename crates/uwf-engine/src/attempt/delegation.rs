//! Which workflow plays a role: decided when a thread starts, by the person who starts it, and kept by hash. What anybody
//! writes into the workspace afterwards changes nothing about it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use json_cas::Hash;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::attempt::agents::{self, AgentSpec};

/// The workflows of a thread and of its child threads, by what agents call them.
pub(crate) type Decisions = BTreeMap<String, Decided>;

/// A workflow that was decided on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Decided {
    /// The workflow as it was then.
    pub hash: Hash,
    /// The file it came from, if it did not come from the registry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// Roles of the thread itself that it plays; empty when it plays one of a child thread.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<String>,
}

/// The workflow an agent says that it is, by path, name or hash; `None` for an agent of another kind, or one that does not
/// say.
pub fn workflow_of(spec: &AgentSpec) -> Option<&str> {
    let configured = || spec.config.get("workflow").and_then(Value::as_str);
    (spec.built_in() == Some(agents::WORKFLOW)).then(|| configured().or(spec.args.first().map(String::as_str)))?
}
