//! Reports of steps.

use json_cas::NodeHash;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uwf_core::agent_name::AgentName;
use uwf_core::outcome::SUCCEEDED;
use uwf_core::text::{ellipsize, one_line};
use uwf_core::thread::ThreadId;

use crate::attempt::recorded::FallbackReason;
use crate::attempt::snapshot::{PushedFiles, StepFiles};
use crate::attempt::worktree::setup::WorktreeSetup;
use crate::thread::ending::{self, ThreadEnding};
use crate::thread::moderate::DecisionExplanation;

/// Most characters of a task.
const TASK: usize = 80;

/// Result of a step. The first four keys are a stable contract.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StepReport {
    /// Workflow of the thread.
    pub workflow: NodeHash,
    /// The thread.
    pub thread: ThreadId,
    /// Its current head.
    pub head: NodeHash,
    /// Whether the thread has ended.
    pub done: bool,
    /// The beginning of its task on one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Role that was played.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// Agent that played it.
    #[serde(flatten)]
    pub agent: Option<AgentName>,
    /// The role's own agent that it played for, after a failure of that agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback_for: Option<FallbackReason>,
    /// Whether the result came from an earlier attempt: its keeper had died, or its answer could not be stored.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub adopted: bool,
    /// Tool calls that were denied to the agent, like `Bash(cargo test)`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denied: Vec<String>,
    /// Result for the files in the thread's worktree; absent if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<StepFiles>,
    /// How its new worktree was set up before the agent ran; absent if nothing was to be done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup: Option<WorktreeSetup>,
    /// How the thread ended: `end`, `no-match`, or `supervisor: ` and the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Return code of the thread-end node: 11 for another outcome than `succeeded`, 1 if the supervisor killed the thread. Absent in JSON
    /// if it is 0.
    #[serde(default, skip_serializing_if = "ending::is_zero")]
    pub return_code: Option<i32>,
    /// The outcome: `succeeded`, another word of the workflow, `no-match`, `stopped` by the supervisor, or `killed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// Name of the condition of the last transition, if it had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// The next role, or why it could not be chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<UpcomingRole>,
    /// How the moderator chose the role of this step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explain: Option<DecisionExplanation>,
    /// How the moderator chose what comes next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explain_next: Option<DecisionExplanation>,
}

impl StepReport {
    /// Warnings about files that were not copied into a new worktree, not recorded, not completely recorded, or not pushed.
    pub fn files_notes(&self) -> Vec<String> {
        let not_copied = self.setup.iter().flat_map(WorktreeSetup::warnings);
        not_copied.chain(self.recording_notes()).collect()
    }

    fn recording_notes(&self) -> Vec<String> {
        let (left_out, pushed) = match &self.files {
            None => return Vec::new(),
            Some(StepFiles::Recorded { left_out, pushed, .. }) => (left_out, pushed),
            Some(StepFiles::NotRecorded { not_recorded: why }) => {
                return vec![format!("the step is done, but its files were not recorded: {why}")];
            }
        };
        let left_out = left_out.iter().map(|why| format!("not all files of the step were recorded: {why}"));
        let not_pushed = pushed.iter().filter_map(|pushed| match pushed {
            PushedFiles::PushedTo(_) => None,
            PushedFiles::NotPushed(why) => Some(format!(
                "the step is done, but its files were not pushed, so only this machine can continue: {why}; the next step here pushes them"
            )),
        });
        left_out.chain(not_pushed).collect()
    }

    /// This report with the beginning of the thread's task.
    #[must_use]
    pub fn with_task(self, prompt: &str) -> StepReport {
        StepReport { task: Some(ellipsize(&one_line(prompt), TASK).into_owned()), ..self }
    }

    /// The report of a step that ended its thread.
    pub(crate) fn ended(self, ending: ThreadEnding) -> StepReport {
        let ThreadEnding { reason, outcome, condition, return_code, .. } = ending;
        let (reason, outcome, return_code) = (Some(reason), Some(outcome), Some(return_code));
        StepReport { done: true, reason, outcome, condition, return_code, ..self }
    }

    /// Whether the thread has ended with another outcome than `succeeded`.
    pub fn has_failed(&self) -> bool {
        self.outcome.as_deref().is_some_and(|outcome| outcome != SUCCEEDED)
    }

    /// Report of an active thread at `head`, without details.
    pub fn standing(workflow: NodeHash, thread: ThreadId, head: NodeHash) -> StepReport {
        StepReport {
            workflow,
            thread,
            head,
            done: false,
            task: None,
            role: None,
            agent: None,
            fallback_for: None,
            adopted: false,
            denied: Vec::new(),
            files: None,
            setup: None,
            reason: None,
            return_code: None,
            outcome: None,
            condition: None,
            next: None,
            explain: None,
            explain_next: None,
        }
    }
}

/// The next role, or the reason why the moderator failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum UpcomingRole {
    /// The next role.
    Role(String),
    /// The moderator failed. The next step reports the same error before an agent runs.
    Error(String),
}
