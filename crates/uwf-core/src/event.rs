//! Events of a thread, for `thread live`, for programs that read its JSON, and for the web page.
//!
//! Events are derived from nodes, marks and the files of the running attempt; they are not stored. A new watcher gets the thread's past
//! first, so it sees all events of a thread whenever it starts.

use json_cas::NodeHash;
use serde::{Deserialize, Serialize};

use crate::agent_name::AgentName;
use crate::node::TokenCounts;
use crate::thread::{Step, ThreadId};

/// Version of the format. Within a version, new events and new fields may be added. A reader ignores those it doesn't know.
pub const VERSION: u32 = 1;

/// Something that happened in a thread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadEvent {
    /// [`VERSION`].
    pub v: u32,
    /// The thread.
    pub thread: ThreadId,
    /// Number of watched threads above it: 0 for the watched thread, 1 for its child threads.
    pub depth: usize,
    /// Path of the branch that the thread is: `GROUP.BRANCH`. Absent if the thread is not a branch of a group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// If a workflow plays a branch, the path of that branch, in the events of the threads below it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
    /// Unix milliseconds at which it happened, or was observed.
    pub at: u64,
    /// The kind of the event, with its data.
    #[serde(flatten)]
    pub what: ThreadEventKind,
}

/// The kind of an event, with its data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ThreadEventKind {
    /// The first event of each thread.
    Thread {
        /// Name of its workflow; its hash if the workflow is not readable.
        workflow: String,
        /// Its task.
        prompt: String,
    },
    /// An attempt at a role began.
    Attempt {
        /// Id of the attempt.
        attempt: String,
        /// Role.
        role: String,
        /// The agent.
        #[serde(flatten)]
        agent: AgentName,
        /// The agent's process, on the machine that runs it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pid: Option<u32>,
    },
    /// A turn of the running agent so far. The event repeats while the turn grows; the last one counts.
    Turn {
        /// The attempt.
        attempt: String,
        /// Position of the turn in the attempt, from 1.
        turn: usize,
        /// Text of the agent.
        text: String,
        /// Tools it called.
        tool_calls: Vec<EventToolCall>,
        /// Tokens of the turn, if they are known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tokens: Option<TokenCounts>,
        /// Whether the turn is over.
        done: bool,
    },
    /// The agent's process printed something.
    Output {
        /// The attempt.
        attempt: String,
        /// The stream.
        stream: OutputStream,
        /// The new output, without earlier output.
        text: String,
    },
    /// An attempt failed. The head does not change.
    Failed {
        /// The attempt.
        attempt: String,
        /// Role.
        role: String,
        /// Why.
        error: String,
        /// Node with the record of what the agent did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        node: Option<NodeHash>,
        /// Tool calls that were denied to the agent.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        denied: Vec<String>,
    },
    /// A step became the head.
    Step(Box<Step>),
    /// The thread's state changed.
    State {
        /// The state, as in `thread list`.
        state: String,
        /// The reason, if there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
        /// When it can continue, in Unix milliseconds: at the end of a usage limit, at `askTimeout` of a question, or after the wait between
        /// two attempts.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<u64>,
    },
    /// The thread ended. No event of this thread follows.
    End {
        /// `completed` or `killed`.
        status: String,
        /// The reason, if there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// The outcome: see [`crate::outcome`].
        #[serde(default, skip_serializing_if = "Option::is_none")]
        outcome: Option<String>,
        /// Name of the condition of the last transition.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        condition: Option<String>,
    },
}

impl ThreadEventKind {
    /// The value of `event` in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            ThreadEventKind::Thread { .. } => "thread",
            ThreadEventKind::Attempt { .. } => "attempt",
            ThreadEventKind::Turn { .. } => "turn",
            ThreadEventKind::Output { .. } => "output",
            ThreadEventKind::Failed { .. } => "failed",
            ThreadEventKind::Step(_) => "step",
            ThreadEventKind::State { .. } => "state",
            ThreadEventKind::End { .. } => "end",
        }
    }
}

/// A tool call of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EventToolCall {
    /// The tool.
    pub name: String,
    /// Its arguments as the model wrote them.
    pub arguments: String,
    /// The tool's answer; empty while it runs.
    pub result: String,
    /// Duration in milliseconds.
    pub duration_ms: u64,
}

/// An output stream of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OutputStream {
    /// The agent's answer.
    Stdout,
    /// Everything else.
    Stderr,
}
