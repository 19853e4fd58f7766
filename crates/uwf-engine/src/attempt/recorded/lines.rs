//! The lines of an attempt's record.

use std::path::{Path, PathBuf};

use json_cas::NodeHash;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uwf_core::config::{ExtractRungs, QuestionPolicy};
use uwf_core::number;
use uwf_core::thread::ThreadId;

use crate::attempt::agents::{self, AgentSpec};
use crate::attempt_variable::ATTEMPT_ARGUMENT;
use crate::error::{AttemptFailure, Error, ErrorKind, SentError};
use crate::root::record;
use crate::root::thread_branch::ThreadBranch;
use crate::root::{history, ids};
use crate::thread::digest::ThreadDigest;

/// One line of a thread's record.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "camelCase")]
pub(super) enum ThreadRecordLine {
    Opened(Box<AttemptOpening>),
    Started(AttemptProcess),
    Answered(AttemptAnswer),
    Named(NamedStep),
    Finished(FinishedStep),
    GaveUp(GaveUp),
    Closed(AttemptEnd),
    Replied(AttemptReply),
    Ended(history::HistoryLine),
}

impl ThreadRecordLine {
    /// Parses a line; `None` if it is torn or otherwise not valid. Finds the field `event` first: serde's tagged enums
    /// buffer all fields until they meet the tag, and a step reads the record often.
    pub(super) fn parse(line: &[u8]) -> Option<ThreadRecordLine> {
        Some(match record::event(line)? {
            // The id becomes part of file names.
            "opened" => {
                ThreadRecordLine::Opened(Box::new(serde_json::from_slice(line).ok().filter(AttemptOpening::has_id)?))
            }
            "started" => ThreadRecordLine::Started(serde_json::from_slice(line).ok()?),
            "answered" => ThreadRecordLine::Answered(serde_json::from_slice(line).ok()?),
            "named" => ThreadRecordLine::Named(serde_json::from_slice(line).ok()?),
            "finished" => ThreadRecordLine::Finished(serde_json::from_slice(line).ok()?),
            "gaveUp" => ThreadRecordLine::GaveUp(serde_json::from_slice(line).ok()?),
            "closed" => ThreadRecordLine::Closed(serde_json::from_slice(line).ok()?),
            "replied" => ThreadRecordLine::Replied(serde_json::from_slice(line).ok()?),
            "ended" => ThreadRecordLine::Ended(serde_json::from_slice(line).ok()?),
            _ => return None,
        })
    }
}

impl ThreadRecordLine {
    /// The attempt that it belongs to.
    pub(super) fn attempt(&self) -> Option<&String> {
        match self {
            ThreadRecordLine::Opened(line) => Some(&line.attempt),
            ThreadRecordLine::Started(line) => Some(&line.attempt),
            ThreadRecordLine::Answered(line) => Some(&line.attempt),
            ThreadRecordLine::Named(line) => Some(&line.attempt),
            ThreadRecordLine::Finished(line) => Some(&line.attempt),
            ThreadRecordLine::GaveUp(line) => Some(&line.attempt),
            ThreadRecordLine::Closed(line) => Some(&line.attempt),
            ThreadRecordLine::Replied(line) => Some(&line.attempt),
            ThreadRecordLine::Ended(_) => None,
        }
    }
}

/// A planned attempt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AttemptOpening {
    /// Id of the attempt, a ULID; also the value of `UWF_ATTEMPT`.
    pub attempt: String,
    /// Thread it belongs to.
    pub thread: ThreadId,
    /// Head of the thread, which must be unchanged when the result is linked.
    pub expected_head: NodeHash,
    /// Role.
    pub role: String,
    /// Agent.
    pub agent: AgentSpec,
    /// Directory the agent works in.
    pub workspace: PathBuf,
    /// Names of all configured secrets, so that the agent process can redact them.
    pub secrets: Vec<String>,
    /// Most bytes of the prompt.
    pub prompt_budget: usize,
    /// Whether the agent may ask a person.
    #[serde(default)]
    pub ask: QuestionPolicy,
    /// Enabled rungs of the extraction ladder.
    #[serde(default)]
    pub extract: ExtractRungs,
    /// A failed attempt whose text is read again instead of starting an agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reextract: Option<NodeHash>,
    /// How many attempts to read that text have ended without an error.
    #[serde(default)]
    pub rereads: u32,
    /// Bytes kept of each output stream.
    pub output_cap: u64,
    /// The branch of a group that the thread is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<ThreadBranch>,
    /// The list to which a group hands over the threads of its branches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branches_to: Option<PathBuf>,
    /// Digest of the thread at `expected_head`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<ThreadDigest>,
    /// The machine that made it, if it is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// Attempt nodes of earlier failed attempts at this position, oldest first.
    pub earlier: Vec<NodeHash>,
    /// The agent that this one stands in for, after a failure of that agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback_for: Option<FallbackReason>,
    /// The agent's questions to a person at this position, with the replies, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replies: Vec<QuestionExchange>,
    /// Process id of the keeper.
    pub keeper: u32,
    /// Boot that the process ids belong to.
    pub boot_id: String,
    /// Unix milliseconds.
    pub opened_at: u64,
}

impl AttemptOpening {
    fn has_id(&self) -> bool {
        self.attempt.parse::<ulid::Ulid>().is_ok()
    }

    /// Whether uwf is the agent process, runs a command, and records the result.
    pub fn is_wrapped(&self) -> bool {
        self.reextract.is_none() && self.agent.is_wrapped()
    }

    /// The command line of the agent process.
    pub(crate) fn command_line(&self, bin: &Path) -> Vec<String> {
        match self.reextract {
            Some(_) => agents::built_in_command_line(bin, agents::REEXTRACT, self.thread.as_str(), &self.role),
            None => {
                let mut words = self.agent.command_line(bin, self.thread.as_str(), &self.role);
                if self.agent.holds_store() {
                    // Its environment is closed to other processes. The argument identifies it after its keeper is
                    // gone.
                    words.splice(3..3, [ATTEMPT_ARGUMENT.to_owned(), self.attempt.clone()]);
                }
                words
            }
        }
    }
}

/// Why an agent plays a role in place of another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FallbackReason {
    /// The role's own agent.
    pub agent: String,
    /// Why that agent does not play it.
    pub why: String,
}

/// An agent's question and the reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QuestionExchange {
    /// The attempt that asked.
    pub attempt: NodeHash,
    /// A `ContentNode` with the question.
    pub question: NodeHash,
    /// A `ContentNode` with the reply.
    pub reply: NodeHash,
    /// Who replied; absent in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// The agent's process exists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AttemptProcess {
    /// Attempt.
    pub attempt: String,
    /// Process id of the agent, which is also its process group.
    pub pid: u32,
    /// Unix milliseconds; absent in lines of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<u64>,
    /// Milliseconds that it waited for a place among the agents at work.
    #[serde(default, skip_serializing_if = "number::is_zero")]
    pub waited_ms: u64,
    /// Distinguishes the process from a later one with the same id, on a system that does not recognize it by its environment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub birth: Option<u64>,
}

/// The agent has answered: from now on, only keeping the answer can fail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AttemptAnswer {
    /// Attempt.
    pub attempt: String,
    /// Size of its answer in [`AttemptOutputFiles::raw`](super::AttemptOutputFiles::raw), bytes.
    pub bytes: u64,
    /// Whether these bytes were on disk before this line.
    #[serde(default, rename = "durable", skip_serializing_if = "std::ops::Not::not")]
    pub is_durable: bool,
    /// Exit code of its program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
}

/// The agent named this step as its result; its nodes are neither verified nor synced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NamedStep {
    /// Attempt.
    pub attempt: String,
    /// The StepNode.
    pub step: NodeHash,
}

/// The agent's result is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FinishedStep {
    /// Attempt.
    pub attempt: String,
    /// The StepNode; everything below it was stored and synced before this line was written.
    pub step: NodeHash,
    /// Digest of the thread at that step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<ThreadDigest>,
    /// Unix milliseconds.
    pub finished_at: u64,
}

/// The agent process knows why it has no result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GaveUp {
    /// Attempt.
    pub attempt: String,
    /// Kind of failure.
    pub kind: ErrorKind,
    /// The reason, one line or more.
    pub error: String,
    /// Hints about what to try next.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<String>,
    /// Exit code of the wrapped command, if there was one.
    pub exit_code: Option<i32>,
    /// The agent's question to a person; it continues after the reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// The replies that the question offers. Any other reply is also allowed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// Why the attempt failed, if that is known beside the error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<AttemptFailure>,
}

impl GaveUp {
    /// No result, for a reason that is neither the agent's fault nor a question.
    pub(crate) fn because(attempt: &str, kind: ErrorKind, error: String) -> GaveUp {
        let (hints, options, exit_code, question, failure) = (Vec::new(), Vec::new(), None, None, None);
        GaveUp { attempt: attempt.to_owned(), kind, error, hints, exit_code, question, options, failure }
    }

    /// The error that the agent process gave up with.
    pub(crate) fn to_error(&self) -> Error {
        let (kind, message, hints) = (self.kind, self.error.clone(), self.hints.clone());
        SentError { kind, message, hints, failure: self.failure }.into()
    }
}

/// A person has replied to the question of the attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AttemptReply {
    /// Attempt.
    pub attempt: String,
    /// A `ContentNode` with the question.
    pub question: NodeHash,
    /// A `ContentNode` with the person's reply.
    pub reply: NodeHash,
    /// Who replied; absent in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Unix milliseconds.
    pub replied_at: u64,
}

/// The attempt is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AttemptEnd {
    /// Attempt.
    pub attempt: String,
    /// The outcome.
    pub outcome: AttemptOutcome,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Why, as far as it decides what happens next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<AttemptFailure>,
    /// Attempt node, if it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<NodeHash>,
    /// Whether a later keeper linked its step.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub adopted: bool,
    /// Unix milliseconds.
    pub closed_at: u64,
}

impl AttemptEnd {
    /// An end without error and node, as of now.
    pub fn now(attempt: &str, outcome: AttemptOutcome) -> AttemptEnd {
        let (error, failure, node, adopted) = (None, None, None, false);
        AttemptEnd { attempt: attempt.to_owned(), outcome, error, failure, node, adopted, closed_at: ids::now_ms() }
    }
}

/// Outcome of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AttemptOutcome {
    /// Its StepNode became the head.
    Linked,
    /// It has no result.
    Failed,
    /// It has a result, but the head had moved: the result is kept and not linked.
    Quarantined,
    /// Its agent asked a person a question. Its output is kept, and the agent continues after the reply.
    Asked,
    /// It waits for a person or for room below a limit: it has not failed, and has no result yet.
    Suspended,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{AgentSpec, ThreadRecordLine};

    #[test]
    fn lines_round_trip() {
        let (attempt, step) = ("01ARZ3NDEKTSV4RRFFQ69G5FAV", "0000000000001");
        let thread = "01ARZ3NDEKTSV4RRFFQ69G5FAW";
        let agent = json!({ "name": "a", "command": "a", "args": ["-x"], "config": {} });
        let agent = serde_json::from_value(agent).unwrap();
        let lines = [
            json!({
                "event": "opened", "attempt": attempt, "thread": thread, "expectedHead": step, "role": "coder",
                "agent": AgentSpec::recorded(agent), "workspace": "/w", "secrets": ["KEY"], "promptBudget": 1,
                "outputCap": 1, "earlier": [step], "keeper": 1, "bootId": "b", "openedAt": 1,
            }),
            json!({ "event": "started", "attempt": attempt, "pid": 7 }),
            json!({ "event": "answered", "attempt": attempt, "bytes": 12 }),
            json!({ "event": "named", "attempt": attempt, "step": step }),
            json!({ "event": "finished", "attempt": attempt, "step": step, "finishedAt": 5 }),
            json!({ "event": "gaveUp", "attempt": attempt, "kind": "waiting", "error": "e\n", "exitCode": 2 }),
            json!({ "event": "replied", "attempt": attempt, "question": step, "reply": step, "repliedAt": 6 }),
            json!({ "event": "closed", "attempt": attempt, "outcome": "failed", "node": step, "closedAt": 6 }),
            json!({ "event": "ended", "thread": thread, "workflow": step, "head": step, "completedAt": 1, "status": "killed" }),
        ];
        for written in lines {
            let line = ThreadRecordLine::parse(written.to_string().as_bytes());
            let Some(line) = line else { panic!("{written} is a line") };
            let again = serde_json::to_value(&line).unwrap();
            assert_eq!(again["event"], written["event"]);
            assert_eq!(ThreadRecordLine::parse(again.to_string().as_bytes()), Some(line), "{written}");
        }
    }

    #[test]
    fn other_texts_are_no_record_lines() {
        for text in ["", "{", "null", "[]", r#"{"event":"finished"}"#, r#"{"event":"other"}"#, r#"{"event":7}"#, "{}"] {
            assert_eq!(ThreadRecordLine::parse(text.as_bytes()), None, "{text}");
        }
    }
}
