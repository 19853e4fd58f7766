//! What the lines of an attempt's record say.

use std::path::{Path, PathBuf};

use json_cas::Hash;
use serde::{Deserialize, Serialize};
use uwf_core::config::ExtractRungs;
use uwf_core::thread::ThreadId;

use crate::agents::{self, AgentSpec};
use crate::error::Kind;
use crate::history;
use crate::reextract;

/// One line of the record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "camelCase")]
pub(super) enum Line {
    Opened(Box<Opened>),
    Started(Started),
    Answered(Answered),
    Named(Named),
    Finished(Finished),
    GaveUp(GaveUp),
    Closed(Closed),
    Ended(history::Finished),
}

/// An attempt as planned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Opened {
    /// Id of the attempt, a ULID; also the value of `UWF_ATTEMPT`.
    pub attempt: String,
    /// Thread it belongs to.
    pub thread: ThreadId,
    /// Head the thread had, and must still have when the result is linked.
    pub expected_head: Hash,
    /// Role.
    pub role: String,
    /// Agent.
    pub agent: AgentSpec,
    /// Directory the agent works in.
    pub workspace: PathBuf,
    /// Names of all configured secrets, so that the agent process can redact them.
    pub secrets: Vec<String>,
    /// Bytes the prompt may have.
    pub prompt_budget: usize,
    /// Rungs of the extraction ladder that are tried.
    #[serde(default)]
    pub extract: ExtractRungs,
    /// A failed attempt whose text is to be read again; then no agent is started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reextract: Option<Hash>,
    /// How many attempts to read that text have ended without a word.
    #[serde(default)]
    pub rereads: u32,
    /// Bytes kept of each output stream.
    pub output_cap: u64,
    /// Attempt nodes of earlier failed tries at this position, oldest first.
    pub earlier: Vec<Hash>,
    /// Process id of the keeper.
    pub keeper: u32,
    /// Boot the process ids belong to.
    pub boot_id: String,
    /// Unix milliseconds.
    pub opened_at: u64,
}

impl Opened {
    /// Whether uwf itself is the agent process, which runs a command and records what came of it.
    pub fn is_wrapped(&self) -> bool {
        self.reextract.is_none() && self.agent.is_wrapped()
    }

    /// The command line of the agent process.
    pub fn command_line(&self, bin: &Path) -> Vec<String> {
        match self.reextract {
            Some(_) => agents::built_in_command_line(bin, reextract::AGENT, self.thread.as_str(), &self.role),
            None => self.agent.command_line(bin, self.thread.as_str(), &self.role),
        }
    }
}

/// The agent's process exists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Started {
    /// Attempt.
    pub attempt: String,
    /// Process id of the agent, which is also its process group.
    pub pid: u32,
}

/// The agent has answered: from now on only keeping the answer can fail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Answered {
    /// Attempt.
    pub attempt: String,
    /// Bytes its answer has in [`OutputFiles::raw`](super::OutputFiles::raw).
    pub bytes: u64,
}

/// The agent says that this step is its result; what it stored is neither verified nor synced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Named {
    /// Attempt.
    pub attempt: String,
    /// The StepNode.
    pub step: Hash,
}

/// The agent's result is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Finished {
    /// Attempt.
    pub attempt: String,
    /// The StepNode; everything below it was stored and synced before this line was written.
    pub step: Hash,
    /// Unix milliseconds.
    pub finished_at: u64,
}

/// The agent process knows why there is no result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GaveUp {
    /// Attempt.
    pub attempt: String,
    /// Which kind of failure.
    pub kind: Kind,
    /// Why, one line or more.
    pub error: String,
    /// What to try next.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<String>,
    /// Exit code of the command inside, if there was one.
    pub exit_code: Option<i32>,
}

/// The attempt is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Closed {
    /// Attempt.
    pub attempt: String,
    /// What came of it.
    pub outcome: Outcome,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Attempt node of a failed one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<Hash>,
    /// Unix milliseconds.
    pub closed_at: u64,
}

/// What came of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Its StepNode became the head.
    Linked,
    /// It has no result.
    Failed,
    /// It has a result, but the head had moved: kept, not linked.
    Quarantined,
    /// It waits for a person or for room below a limit: nothing has failed, and nothing came of it yet.
    Suspended,
}
