//! A step of a thread, for all who show it, put it into a prompt or decide by it.

use json_cas::Hash;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Keys every header may carry, for people and conditions; where the role's schema lacks them, they are not part of the output.
pub const ALWAYS_ALLOWED: [&str; 5] = ["status", "next", "confidence", "artifacts", "scope"];

/// A step of a thread. Its reader loads what it needs: a part that is not loaded is empty, 0 or `None`.
///
/// As JSON it is what agents get of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    /// Its position in the thread, from 1.
    pub index: usize,
    /// The `StepNode`.
    pub hash: Hash,
    /// Role that was played.
    pub role: String,
    /// Its structured output, valid under the role's schema; null when it is not readable.
    pub output: Value,
    /// What the agent wrote beside its output; `None` when that was all.
    #[serde(rename = "text")]
    pub message: Option<String>,
    /// Configured command of the agent, or the whole command line it was given as.
    pub agent: String,
    /// Node that says how the output came to be. If a child thread played the role, that thread's last step.
    pub detail: Hash,
    /// Unix milliseconds the `StepNode` was first put at.
    pub timestamp: u64,
    /// Alias of the agent, if it has one and the detail says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alias: Option<String>,
    /// How the output was obtained (`submit`, `frontmatter`, `feedback`, `llm`, …), when the detail says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extracted_by: Option<String>,
    /// What its header said beside the output, of the keys every header may carry, when the detail says so.
    #[serde(default, rename = "frontmatter", skip_serializing_if = "Map::is_empty")]
    pub header: Map<String, Value>,
    /// Failed attempts before the one that made it.
    #[serde(skip)]
    pub failed_attempts: usize,
    /// Whether a child thread played the role.
    #[serde(skip)]
    pub is_child_thread: bool,
    /// What of it is damaged.
    #[serde(skip)]
    pub unreadable: Unreadable,
}

/// Why parts of a step are not readable.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unreadable {
    /// Why its output is not.
    pub output: Option<String>,
    /// Why its detail is not.
    pub detail: Option<String>,
}

impl Step {
    /// A step of which is known what it delivered and nothing else.
    pub fn new(index: usize, role: impl Into<String>, output: Value) -> Step {
        Step {
            index,
            hash: Hash::from_u64(0),
            role: role.into(),
            output,
            message: None,
            agent: String::new(),
            detail: Hash::from_u64(0),
            timestamp: 0,
            alias: None,
            extracted_by: None,
            header: Map::new(),
            failed_attempts: 0,
            is_child_thread: false,
            unreadable: Unreadable::default(),
        }
    }
}
