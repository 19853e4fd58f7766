//! What happens in a thread, as everybody who watches one gets it: `thread live`, programs that read its JSON, the web page.
//!
//! Events follow from nodes, marks and the files of the running attempt; they are not stored. Whoever begins to watch gets
//! the thread's past first, so that the events of a thread are complete whenever one began.

use json_cas::Hash;
use serde::{Deserialize, Serialize};

use crate::agent_name::AgentName;
use crate::node::Tokens;
use crate::thread::{Step, ThreadId};

/// Version of the format. A reader may meet new events and new fields in one version, and ignores them.
pub const VERSION: u32 = 1;

/// Something that happened in a thread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// [`VERSION`].
    pub v: u32,
    /// The thread.
    pub thread: ThreadId,
    /// Threads above it among those that are watched: 0 for the watched thread, 1 for its child threads.
    pub depth: usize,
    /// Unix milliseconds at which it happened, or was seen to have happened.
    pub at: u64,
    /// What happened.
    #[serde(flatten)]
    pub what: What,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum What {
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
        /// Process of the agent, on the machine that runs it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pid: Option<u32>,
    },
    /// A turn of the running agent, as far as it got. The same turn comes again while it grows; the last one counts.
    Turn {
        /// The attempt.
        attempt: String,
        /// Position of the turn in the attempt, from 1.
        turn: usize,
        /// What the agent said.
        text: String,
        /// Tools it called.
        tool_calls: Vec<ToolCall>,
        /// Tokens of the turn, if they were counted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tokens: Option<Tokens>,
        /// Whether the turn is over.
        done: bool,
    },
    /// The agent's process printed something.
    Output {
        /// The attempt.
        attempt: String,
        /// Where.
        stream: Stream,
        /// What, without what came before.
        text: String,
    },
    /// An attempt failed. The head is where it was.
    Failed {
        /// The attempt.
        attempt: String,
        /// Role.
        role: String,
        /// Why.
        error: String,
        /// Node that keeps what the agent did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        node: Option<Hash>,
    },
    /// A step became the head.
    Step(Box<Step>),
    /// The thread's state changed: what it does now.
    State {
        /// The state, as `thread list` has it.
        state: String,
        /// Why, if there is something to say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
    /// The thread ended. No event of this thread follows.
    End {
        /// `completed` or `killed`.
        status: String,
        /// Why, if there is something to say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
}

impl What {
    /// What it is called in `event`.
    pub fn name(&self) -> &'static str {
        match self {
            What::Thread { .. } => "thread",
            What::Attempt { .. } => "attempt",
            What::Turn { .. } => "turn",
            What::Output { .. } => "output",
            What::Failed { .. } => "failed",
            What::Step(_) => "step",
            What::State { .. } => "state",
            What::End { .. } => "end",
        }
    }
}

/// A tool call of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    /// The tool.
    pub name: String,
    /// Its arguments as the model wrote them.
    pub arguments: String,
    /// What the tool answered; empty while it runs.
    pub result: String,
    /// Milliseconds.
    pub duration_ms: u64,
}

/// What a process prints to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stream {
    /// Its answer.
    Stdout,
    /// Everything else.
    Stderr,
}
