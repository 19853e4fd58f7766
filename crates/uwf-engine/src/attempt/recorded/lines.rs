//! What the lines of an attempt say.

use std::path::{Path, PathBuf};

use json_cas::Hash;
use serde::{Deserialize, Serialize};
use uwf_core::config::ExtractRungs;
use uwf_core::thread::ThreadId;

use crate::attempt::agents::{self, AgentSpec};
use crate::attempt::processes;
use crate::error::ErrorKind;
use crate::root::history;
use crate::root::record;
use crate::thread::digest::Digest;

/// One line of the record of a thread.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "camelCase")]
pub(super) enum Line {
    Opened(Box<Opened>),
    Started(Started),
    Answered(Answered),
    Named(Named),
    Finished(Finished),
    GaveUp(GaveUp),
    Closed(Closed),
    Replied(Replied),
    Ended(history::Finished),
}

impl Line {
    /// Reads a line; `None` when it is none, being torn for instance. The field `event` is looked for first: serde's own way
    /// with tagged enums keeps all fields until it has met the tag, and a step reads the record often.
    pub(super) fn parse(line: &[u8]) -> Option<Line> {
        Some(match record::event(line)? {
            // The id becomes part of file names.
            "opened" => Line::Opened(Box::new(serde_json::from_slice(line).ok().filter(Opened::has_id)?)),
            "started" => Line::Started(serde_json::from_slice(line).ok()?),
            "answered" => Line::Answered(serde_json::from_slice(line).ok()?),
            "named" => Line::Named(serde_json::from_slice(line).ok()?),
            "finished" => Line::Finished(serde_json::from_slice(line).ok()?),
            "gaveUp" => Line::GaveUp(serde_json::from_slice(line).ok()?),
            "closed" => Line::Closed(serde_json::from_slice(line).ok()?),
            "replied" => Line::Replied(serde_json::from_slice(line).ok()?),
            "ended" => Line::Ended(serde_json::from_slice(line).ok()?),
            _ => return None,
        })
    }
}

impl Line {
    /// The attempt that it is of.
    pub(super) fn attempt(&self) -> Option<&String> {
        match self {
            Line::Opened(line) => Some(&line.attempt),
            Line::Started(line) => Some(&line.attempt),
            Line::Answered(line) => Some(&line.attempt),
            Line::Named(line) => Some(&line.attempt),
            Line::Finished(line) => Some(&line.attempt),
            Line::GaveUp(line) => Some(&line.attempt),
            Line::Closed(line) => Some(&line.attempt),
            Line::Replied(line) => Some(&line.attempt),
            Line::Ended(_) => None,
        }
    }
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
    /// Digest of the thread at `expected_head`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// The machine it was made on, if that was another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// Attempt nodes of earlier failed tries at this position, oldest first.
    pub earlier: Vec<Hash>,
    /// What the agent has asked a person at this position, oldest first, and what that said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replies: Vec<Exchange>,
    /// Process id of the keeper.
    pub keeper: u32,
    /// Boot the process ids belong to.
    pub boot_id: String,
    /// Unix milliseconds.
    pub opened_at: u64,
}

impl Opened {
    fn has_id(&self) -> bool {
        self.attempt.parse::<ulid::Ulid>().is_ok()
    }

    /// Whether uwf itself is the agent process, which runs a command and records what came of it.
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
                    // It is closed to others, so that this finds it once its keeper is gone: its environment is not shown.
                    words.splice(3..3, [processes::ATTEMPT_ARGUMENT.to_owned(), self.attempt.clone()]);
                }
                words
            }
        }
    }
}

/// What an agent asked, and the reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Exchange {
    /// The attempt that asked.
    pub attempt: Hash,
    /// A `Content` node with the question.
    pub question: Hash,
    /// A `Content` node with the reply.
    pub reply: Hash,
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
    /// Digest of the thread at that step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
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
    pub kind: ErrorKind,
    /// Why, one line or more.
    pub error: String,
    /// What to try next.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<String>,
    /// Exit code of the command inside, if there was one.
    pub exit_code: Option<i32>,
    /// Question of the agent to a person; the reply lets it continue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
}

impl GaveUp {
    /// That there is no result, for a reason that is neither the agent's nor a question.
    pub(crate) fn because(attempt: &str, kind: ErrorKind, error: String) -> GaveUp {
        GaveUp { attempt: attempt.to_owned(), kind, error, hints: Vec::new(), exit_code: None, question: None }
    }
}

/// A person has replied to what the attempt asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Replied {
    /// Attempt.
    pub attempt: String,
    /// A `Content` node with the question.
    pub question: Hash,
    /// A `Content` node with what the person said.
    pub reply: Hash,
    /// Unix milliseconds.
    pub replied_at: u64,
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
    /// Whether its step was linked by a later keeper than its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub adopted: bool,
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
    /// Its agent asked a person something. What it said is kept, and it continues with the reply.
    Asked,
    /// It waits for a person or for room below a limit: nothing has failed, and nothing came of it yet.
    Suspended,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{AgentSpec, Line};

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
            let line = Line::parse(written.to_string().as_bytes());
            let Some(line) = line else { panic!("{written} is a line") };
            let again = serde_json::to_value(&line).unwrap();
            assert_eq!(again["event"], written["event"]);
            assert_eq!(Line::parse(again.to_string().as_bytes()), Some(line), "{written}");
        }
    }

    #[test]
    fn what_is_no_line_is_none() {
        for text in ["", "{", "null", "[]", r#"{"event":"finished"}"#, r#"{"event":"other"}"#, r#"{"event":7}"#, "{}"] {
            assert_eq!(Line::parse(text.as_bytes()), None, "{text}");
        }
    }
}
