//! A step of a thread, as shown to readers, put into prompts and used in decisions.

use json_cas::NodeHash;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::BranchOutput;

/// Keys every header may carry, for people and conditions. If the role's schema lacks a key, it is not part of the output.
pub const ALWAYS_ALLOWED: [&str; 5] = ["status", "next", "confidence", "artifacts", "scope"];

/// A step of a thread. Its reader loads only the parts it needs. Parts that are not loaded are empty, 0 or `None`.
///
/// Agents get steps in this form, as JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    /// Its position in the thread, from 1.
    pub index: usize,
    /// The `StepNode`.
    pub hash: NodeHash,
    /// The role that was played.
    pub role: String,
    /// The structured output, valid under the role's schema; null if it is not readable.
    pub output: Value,
    /// The text that the agent wrote beside its output; `None` if it wrote no other text.
    #[serde(rename = "text")]
    pub message: Option<String>,
    /// The configured command of the agent, or its whole command line.
    pub agent: String,
    /// The node that says how the output was obtained. If a child thread played the role, that thread's last step.
    pub detail: NodeHash,
    /// Unix milliseconds at which the `StepNode` was first stored.
    pub timestamp: u64,
    /// Alias of the agent, if it has one and the detail names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alias: Option<String>,
    /// The person who gave the output, if the detail says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered_by: Option<String>,
    /// How the output was obtained (`submit`, `frontmatter`, `feedback`, `llm`, …), if the detail says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extracted_by: Option<String>,
    /// The outcome of the child thread that played the role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// Tool calls that were denied to the agent, if the detail says so.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denied: Vec<String>,
    /// The agent's questions to a person with the replies, if the detail is loaded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exchanges: Vec<QuestionReply>,
    /// The keys every header may carry that are in the header but not in the output, if they are in the detail.
    #[serde(default, rename = "frontmatter", skip_serializing_if = "Map::is_empty")]
    pub header: Map<String, Value>,
    /// The results of its branches, if the role is a group and they are loaded.
    #[serde(skip)]
    pub branches: Vec<BranchOutput>,
    /// Failed attempts before the successful one.
    #[serde(skip)]
    pub failed_attempts: usize,
    /// Whether a child thread played the role.
    #[serde(skip)]
    pub is_child_thread: bool,
    /// Damaged parts.
    #[serde(skip)]
    pub unreadable: StepDamage,
}

/// A question and the reply to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionReply {
    /// The agent's question.
    pub question: String,
    /// The person's reply.
    pub reply: String,
    /// Who replied, if it was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// Why parts of a step are not readable.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StepDamage {
    /// Why the output is not readable.
    pub output: Option<String>,
    /// Why the detail is not readable.
    pub detail: Option<String>,
}

impl Step {
    /// A step with only a position, a role and an output.
    pub fn new(index: usize, role: impl Into<String>, output: Value) -> Step {
        Step {
            index,
            hash: NodeHash::from_u64(0),
            role: role.into(),
            output,
            message: None,
            agent: String::new(),
            detail: NodeHash::from_u64(0),
            timestamp: 0,
            alias: None,
            answered_by: None,
            extracted_by: None,
            outcome: None,
            denied: Vec::new(),
            exchanges: Vec::new(),
            header: Map::new(),
            branches: Vec::new(),
            failed_attempts: 0,
            is_child_thread: false,
            unreadable: StepDamage::default(),
        }
    }
}
