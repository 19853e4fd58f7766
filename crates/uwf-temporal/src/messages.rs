//! Data that goes through Temporal: ids, hashes and names. Never texts of people or agents.

use serde::{Deserialize, Serialize};

/// Steps in a run of the workflow before it continues as a new run. Temporal keeps at most 51,200 events of a run. A step makes six events,
/// and a look about ten.
pub(crate) const STEPS_PER_RUN: u32 = 1000;

/// Seconds until the first look at a stopped thread.
pub(crate) const LOOK_AGAIN: u64 = 5 * 60;

/// Longest agent name that is sent. A longer one, or one that is not a valid name, is a command line.
const LONGEST_NAME: usize = 100;

/// Input of a run of a thread's workflow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ThreadWorkflowInput {
    /// The thread.
    pub thread: String,
    /// Steps and looks before it continues as a new run.
    pub steps_per_run: u32,
    /// Seconds until the first look at a stopped thread.
    pub look_again: u64,
    /// Whether the thread was paused when the run began.
    #[serde(default)]
    pub paused: bool,
    /// Number of calls before the run.
    #[serde(default)]
    pub calls: u32,
    /// State of the thread when the run began.
    #[serde(default)]
    pub standing: Option<TemporalThreadState>,
}

/// A thread and its head, for the next step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StepActivityInput {
    /// The thread.
    pub thread: String,
    /// Its head, as far as the workflow knows.
    pub head: String,
}

/// The state of a thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "camelCase")]
pub enum TemporalThreadState {
    /// There is a next step.
    Ready {
        /// Its head.
        head: String,
        /// The next role.
        role: Option<String>,
        /// The role's agent, if it has a name.
        agent: Option<String>,
    },
    /// Another machine must find the next role, because the machine that did the last step can't.
    Unseen,
    /// It needs a person to continue.
    Stopped {
        /// Its head, if it could be read.
        head: Option<String>,
        /// waiting, paused, limited, stuck, or the kind of failure.
        state: String,
        /// Exit code of the step or look that reported the state.
        exit_code: u8,
        /// The next role.
        role: Option<String>,
    },
    /// It has ended.
    Ended(TemporalThreadEnd),
}

/// How a thread ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TemporalThreadEnd {
    /// The thread.
    pub thread: String,
    /// Its last head.
    pub head: String,
    /// `end`, `no-match`, or its state: killed, completed.
    pub reason: String,
}

impl TemporalThreadState {
    /// One line for Temporal's pages.
    pub(crate) fn in_words(&self, thread: &str) -> String {
        match self {
            TemporalThreadState::Ready { role, agent, .. } => {
                let role = role.as_deref().unwrap_or("the end");
                agent.as_ref().map_or_else(|| format!("next: {role}"), |agent| format!("next: {role} by {agent}"))
            }
            TemporalThreadState::Stopped { state, role, exit_code, .. } => {
                let stopped = stopped_in_words(state, role.as_deref());
                format!("{stopped} (exit code {exit_code}); see: uwf thread show {thread}")
            }
            TemporalThreadState::Unseen => "another worker finds the next role".to_owned(),
            TemporalThreadState::Ended(TemporalThreadEnd { reason, .. }) => format!("ended: {reason}"),
        }
    }
}

/// Why a thread does not continue, in words. A `state` that is not one of a thread is a kind of failure.
pub fn stopped_in_words(state: &str, role: Option<&str>) -> String {
    let role = role.map(|role| format!(" at `{role}`")).unwrap_or_default();
    match state {
        "not-found" => "no worker has found the thread or its directory: check that all use the same store".to_owned(),
        "config" => "no worker can take the thread: each has an unusable configuration or store".to_owned(),
        "waiting" | "paused" | "limited" | "stuck" => format!("the thread is {state}{role}"),
        failure => format!("the thread cannot continue{role}: {failure}"),
    }
}

/// People's actions on a thread that its Temporal workflow must learn about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TemporalAction {
    /// A person answered, or removed what had stopped the thread. The workflow looks at it again.
    Answer,
    /// The thread continues.
    Resume,
    /// No further step begins.
    Pause,
    /// The thread was killed. Its workflow and a running step are ended.
    Kill,
}

/// The name of an agent, if it may be sent and used in the name of a task queue.
pub(crate) fn name(agent: &str) -> Option<String> {
    let is_plain = agent.len() <= LONGEST_NAME && agent.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    (is_plain && !agent.is_empty()).then(|| agent.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_is_no_name() {
        assert_eq!(name("claude-code_2.1"), Some("claude-code_2.1".to_owned()));
        for line in ["my-agent --key hush", "./agent", "", &"a".repeat(LONGEST_NAME + 1)] {
            assert_eq!(name(line), None, "{line}");
        }
    }
}
