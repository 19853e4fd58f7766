//! The history that conditions are evaluated on.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::thread::Step;
use crate::usage::ThreadUsage;

/// The name of the input in the start.
pub(super) const INPUT: &str = "input";

/// A thread's history, loaded as far as [`HistoryReads`](super::HistoryReads) asked for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadHistory {
    /// The thread's id: `threadId` and `$threadId`.
    pub thread_id: String,
    /// Hash of the workflow: `start.workflow`.
    pub workflow: String,
    /// The task: `start.prompt`.
    pub prompt: String,
    /// The values it was started with besides its task: `start.input`. `None` if its workflow has no input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// The item of the branch whose expression is evaluated: `item` and `$item`. `None` outside a group with `each`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<Value>,
    /// Number of threads this one is nested in, 0 if a person started it: `depth` and `$depth`.
    pub depth: u32,
    /// Number of steps the thread has, loaded or not.
    pub total: usize,
    /// Steps per role, for the roles of [`HistoryReads::count_of`](super::HistoryReads::count_of). A role without steps is absent.
    #[serde(default)]
    pub counts: BTreeMap<String, usize>,
    /// The steps at [`HistoryReads::positions`](super::HistoryReads::positions), oldest first, including facts from their details if
    /// [`HistoryReads::details`](super::HistoryReads::details) asks for them. If it holds all [`total`](ThreadHistory::total) steps, the three maps are
    /// ignored.
    pub steps: Vec<Step>,
    /// First output of each role of [`HistoryReads::first_of`](super::HistoryReads::first_of) that has run.
    #[serde(default)]
    pub first_of: BTreeMap<String, Value>,
    /// Newest output of each role of [`HistoryReads::last_of`](super::HistoryReads::last_of) that has run.
    #[serde(default)]
    pub last_of: BTreeMap<String, Value>,
    /// The branches of the newest step of each group, if [`HistoryReads::branches`](super::HistoryReads::branches) asks for them: `$branches`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub branches: BTreeMap<String, Value>,
    /// The usage of the thread so far, if [`HistoryReads::usage`](super::HistoryReads::usage) asks for it: `$usage`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<ThreadUsage>,
}

impl ThreadHistory {
    /// Whether every step is loaded.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.steps.len() == self.total
    }
}

/// The context value that expressions start from, `{start: {workflow, prompt, input}, steps: [{role, output, meta, detail, agent}], threadId,
/// depth}`, with the loaded steps. For display only; evaluation builds its own.
#[must_use]
pub fn context(history: &ThreadHistory) -> Value {
    let steps: Vec<Value> = history
        .steps
        .iter()
        .map(|step| {
            json!({
                "role": step.role,
                "output": step.output,
                "meta": step.output,
                "detail": step.detail,
                "agent": step.agent,
            })
        })
        .collect();
    let mut start = json!({"workflow": history.workflow, "prompt": history.prompt});
    if let Some(input) = &history.input {
        start[INPUT] = input.clone();
    }
    json!({
        "start": start,
        "steps": steps,
        "threadId": history.thread_id,
        "depth": history.depth,
    })
}

#[cfg(test)]
mod tests {
    use json_cas::NodeHash;

    use super::*;

    #[test]
    fn context_has_start_and_steps_with_meta_alias() {
        let history = ThreadHistory {
            thread_id: "T".into(),
            workflow: "W".into(),
            prompt: "P".into(),
            total: 1,
            steps: vec![Step {
                detail: NodeHash::from_u64(1),
                agent: "mock".into(),
                extracted_by: Some("llm".into()),
                ..Step::new(1, "coder", json!({"done": true}))
            }],
            ..ThreadHistory::default()
        };
        assert_eq!(
            context(&history),
            json!({
                "start": {"workflow": "W", "prompt": "P"},
                "steps": [{"role": "coder", "output": {"done": true}, "meta": {"done": true},
                           "detail": "0000000000001", "agent": "mock"}],
                "threadId": "T",
                "depth": 0,
            })
        );
    }
}
