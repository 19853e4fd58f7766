//! The result of a branch of a group.

use serde_json::{Value, json};

/// The key of a failed branch's output.
const FAILED: &str = "failed";

/// The output of a branch that failed, where the group continues without it: the reason.
#[must_use]
pub fn failed_branch_schema() -> Value {
    json!({
        "type": "object",
        "properties": { FAILED: { "type": "string", "description": "why the branch has no result" } },
        "required": [FAILED],
        "additionalProperties": false,
    })
}

/// The output of a branch that failed.
#[must_use]
pub fn failed_branch(why: &str) -> Value {
    json!({ FAILED: why })
}

/// The result of a branch of a group.
#[derive(Debug, Clone, PartialEq)]
pub struct BranchOutput {
    /// The name of the branch.
    pub name: String,
    /// Its output.
    pub output: Value,
    /// The text beside it.
    pub message: Option<String>,
}

impl BranchOutput {
    /// Why it failed, if the group continued without it.
    #[must_use]
    pub fn failure(&self) -> Option<&str> {
        let keys = self.output.as_object().filter(|keys| keys.len() == 1)?;
        keys.get(FAILED)?.as_str()
    }
}
