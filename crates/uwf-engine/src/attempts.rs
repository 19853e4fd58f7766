//! The record of a thread's newest attempt: what was tried, by which processes, and what came of it.
//!
//! `threads/<id>/attempt.jsonl` is appended to; the newest `opened` line begins the record, what stands before it is of
//! earlier attempts. Its name is made durable once, when the thread starts, so recording a finished output costs one
//! fsync. Its lines:
//!
//! | event | written by | when |
//! |---|---|---|
//! | `opened` | keeper | before the agent starts |
//! | `started` | keeper | when the agent's process exists |
//! | `answered` | agent process | when the agent has answered in full, and the answer is in its output file |
//! | `named` | keeper | when an agent that stores its nodes itself has named its step, before that is verified |
//! | `finished` | agent process | when its nodes are stored, before it reports them; fsynced |
//! | `gaveUp` | agent process | instead, when it knows why there is no result |
//! | `closed` | keeper | when the head moved, or the attempt failed |
//! | `ended` | whoever ended the thread | when its line is in the history: a second copy of it |
//!
//! A line of another attempt (a late result) is ignored: the `opened` line says whose record it is.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use json_cas::Hash;
use serde::{Deserialize, Serialize};
use uwf_core::config::ExtractRungs;
use uwf_core::thread::ThreadId;

use crate::agents::{self, AgentSpec, HUMAN};
use crate::error::{AtPath, Error, Kind, Result};
use crate::history;
use crate::home::Home;
use crate::marks::{self, Mark};
use crate::reextract;

/// Bytes after which the record is begun anew, some twenty attempts: it is read four times a step.
const RECORD_LIMIT: u64 = 16 << 10;

/// How often a kept answer is read by processes that end without a word before its agent is run again: they may be dying
/// of that answer. Those that say why, the disk being full for instance, are not counted.
const MAX_REREADS: u32 = 3;

/// One line of the record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "camelCase")]
enum Line {
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
    /// Bytes its answer has in [`OutputFiles::raw`].
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

/// The newest attempt as far as it got.
#[derive(Debug, Clone, PartialEq)]
pub struct Attempt {
    /// What was planned.
    pub opened: Opened,
    /// Process of the agent.
    pub started: Option<Started>,
    /// That the agent answered in full.
    pub answered: Option<Answered>,
    /// Its result as the agent named it.
    pub named: Option<Named>,
    /// Its result.
    pub finished: Option<Finished>,
    /// Why it has none.
    pub gave_up: Option<GaveUp>,
    /// How it was concluded.
    pub closed: Option<Closed>,
}

impl Attempt {
    /// One of which nothing is known but how it was planned.
    pub fn begun(opened: Opened) -> Attempt {
        Attempt { opened, started: None, answered: None, named: None, finished: None, gave_up: None, closed: None }
    }

    /// Its result, verified or not.
    pub fn result(&self) -> Option<Hash> {
        let finished = self.finished.as_ref().map(|finished| finished.step);
        finished.or_else(|| self.named.as_ref().map(|named| named.step))
    }

    /// What [`Opened::rereads`] of an attempt to read its text again is.
    pub fn rereads(&self) -> u32 {
        self.opened.rereads.saturating_add(u32::from(self.gave_up.is_none()))
    }

    /// Whether its agent had answered `role` at this head, and all that failed was to keep the answer: the disk was full,
    /// or a process was killed. What the agent was paid for is then in the attempt node.
    ///
    /// # Errors
    /// `Io` when it cannot be told: taken for "no", the agent would be paid again.
    pub fn has_unread_answer(&self, home: &Home, head: Hash, role: &str) -> Result<bool> {
        let opened = &self.opened;
        let is_kept = self.closed.as_ref().is_some_and(|closed| closed.node.is_some());
        let may_be = opened.expected_head == head
            && opened.role == role
            && is_kept
            && self.result().is_none()
            && self.gave_up.as_ref().is_none_or(|gave_up| gave_up.kind == Kind::Io)
            && opened.rereads < MAX_REREADS;
        match &self.answered {
            _ if !may_be => Ok(false),
            _ if opened.reextract.is_some() => Ok(true),
            Some(answered) => self.is_whole(home, answered),
            None => Ok(false),
        }
    }

    /// Whether all of an answer is in its file. Neither the line nor the file was synced: after a power loss the one may
    /// be there without the other.
    fn is_whole(&self, home: &Home, answered: &Answered) -> Result<bool> {
        let files = OutputFiles::of(home, &self.opened.thread, &self.opened.attempt);
        let bytes = match files.raw.metadata() {
            Err(error) if error.kind() == ErrorKind::NotFound => 0,
            meta => meta.at("look at", &files.raw)?.len(),
        };
        Ok(answered.bytes == bytes
            && self.opened.boot_id == boot_id()?
            && !files.submitted.try_exists().at("look at", &files.submitted)?)
    }

    /// Whether it ended without an answer and yet nothing failed: the agent gave up because it has to wait, or it was
    /// a person's.
    pub fn only_waits(&self) -> bool {
        let waits = self.gave_up.as_ref().is_some_and(|gave_up| gave_up.kind == Kind::Waiting);
        self.finished.is_none() && (waits || self.opened.agent.is_built_in(HUMAN))
    }

    /// Whether it was the wait of this role at this head.
    pub fn was_suspended_at(&self, head: Hash, role: &str) -> bool {
        let suspended = self.closed.as_ref().is_some_and(|closed| closed.outcome == Outcome::Suspended);
        suspended && self.opened.expected_head == head && self.opened.role == role
    }

    /// Attempt nodes a next try at `head` inherits.
    pub fn earlier_at(&self, head: Hash) -> Vec<Hash> {
        if self.opened.expected_head != head {
            return Vec::new();
        }
        let own = self.closed.as_ref().and_then(|closed| closed.node);
        self.opened.earlier.iter().copied().chain(own).collect()
    }
}

/// Mode of the directory of [`OutputFiles`]: for nobody but their owner.
pub(crate) const OUTPUT_DIR_MODE: u32 = 0o700;

/// Files one attempt writes its output to.
#[derive(Debug, Clone)]
pub struct OutputFiles {
    /// Stdout of the agent process.
    pub out: PathBuf,
    /// Stderr of everything in the attempt.
    pub err: PathBuf,
    /// Stdout of the command inside, for agents with `output: text` or `json`.
    pub raw: PathBuf,
    /// Value that was handed in through the submit tool.
    pub submitted: PathBuf,
    /// What the agent has done so far: see [`crate::live_trace`].
    pub trace: PathBuf,
    /// The turn it is at.
    pub turn: PathBuf,
}

impl OutputFiles {
    /// The files of an attempt.
    pub fn of(home: &Home, thread: &ThreadId, attempt: &str) -> OutputFiles {
        let dir = home.attempts_dir(thread);
        let file = |extension: &str| dir.join(format!("{attempt}.{extension}"));
        OutputFiles {
            out: file("out"),
            err: file("err"),
            raw: file("raw"),
            submitted: file("submitted"),
            trace: file("trace"),
            turn: file("turn"),
        }
    }
}

/// Reads the newest attempt; `None` when there was none, or its first line never got written whole (then no agent
/// was started).
///
/// # Errors
/// `Io` when the file cannot be read.
pub fn read(home: &Home, thread: &ThreadId) -> Result<Option<Attempt>> {
    Ok(newest(&bytes(home, thread)?))
}

/// The newest attempt in a record. The lines are looked at from the end, and no further than where it was opened: what
/// stands before that is of earlier attempts.
fn newest(record: &[u8]) -> Option<Attempt> {
    // Lines are led by a newline too, so that a torn one before them does no harm.
    let mut lines = record.rsplit(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok());
    let mut later = Vec::new();
    let opened = lines.find_map(|line| match line {
        Line::Opened(opened) => Some(*opened),
        other => {
            later.push(other);
            None
        }
    })?;
    Some(later.into_iter().rev().fold(Attempt::begun(opened), with_line))
}

/// What the record says last about the thread's end; `None` when it has not ended, or was begun anew since.
///
/// # Errors
/// `Io` when the file cannot be read.
pub fn end_of(home: &Home, thread: &ThreadId) -> Result<Option<history::Finished>> {
    let record = bytes(home, thread)?;
    let newest = record.rsplit(|byte| *byte == b'\n').find_map(|line| match serde_json::from_slice(line).ok()? {
        Line::Ended(finished) => Some(Some(finished).filter(|finished| finished.thread == *thread)),
        Line::Opened(_) => Some(None),
        Line::Started(_)
        | Line::Answered(_)
        | Line::Named(_)
        | Line::Finished(_)
        | Line::GaveUp(_)
        | Line::Closed(_) => None,
    });
    Ok(newest.flatten())
}

/// The record; without a byte when there is none.
fn bytes(home: &Home, thread: &ThreadId) -> Result<Vec<u8>> {
    let path = home.attempt_file(thread);
    match std::fs::read(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        other => other.at("read", &path),
    }
}

/// An attempt with what one more line says about it; a line of another attempt says nothing.
fn with_line(attempt: Attempt, line: Line) -> Attempt {
    let id = &attempt.opened.attempt;
    match line {
        Line::Started(started) if started.attempt == *id => Attempt { started: Some(started), ..attempt },
        Line::Answered(answered) if answered.attempt == *id => Attempt { answered: Some(answered), ..attempt },
        Line::Named(named) if named.attempt == *id => Attempt { named: Some(named), ..attempt },
        Line::Finished(finished) if finished.attempt == *id => Attempt { finished: Some(finished), ..attempt },
        Line::GaveUp(gave_up) if gave_up.attempt == *id => Attempt { gave_up: Some(gave_up), ..attempt },
        Line::Closed(closed) if closed.attempt == *id => Attempt { closed: Some(closed), ..attempt },
        Line::Opened(_)
        | Line::Started(_)
        | Line::Answered(_)
        | Line::Named(_)
        | Line::Finished(_)
        | Line::GaveUp(_)
        | Line::Closed(_)
        | Line::Ended(_) => attempt,
    }
}

/// Opens an attempt. Written before the agent starts; not synced, because after a power loss no agent is alive and a
/// record that lacks the line means just that.
///
/// # Errors
/// `Io`.
pub fn open(home: &Home, opened: Opened) -> Result<()> {
    let path = home.attempt_file(&opened.thread);
    let thread = opened.thread.clone();
    let mut file = OpenOptions::new().create(true).append(true).open(&path).at("open", &path)?;
    let line = Line::Opened(Box::new(opened));
    if file.metadata().at("read", &path)?.len() > RECORD_LIMIT {
        // Synced, because the lines it takes the place of are what a lost index is rebuilt from.
        json_cas::durable::replace(&path, text(&line)?.as_bytes())?;
    } else {
        write_line(&mut file, &path, &line)?;
    }
    marks::open(home, &thread)
}

/// Records the agent's process.
///
/// # Errors
/// `Io`.
pub fn started(home: &Home, thread: &ThreadId, started: Started) -> Result<()> {
    append(home, thread, &Line::Started(started)).map(drop)
}

/// Records that the agent has answered, with all that is in [`OutputFiles::raw`] now.
///
/// # Errors
/// `Io`.
pub fn answered(home: &Home, thread: &ThreadId, attempt: &str) -> Result<()> {
    let raw = OutputFiles::of(home, thread, attempt).raw;
    let bytes = raw.metadata().at("look at", &raw)?.len();
    append(home, thread, &Line::Answered(Answered { attempt: attempt.to_owned(), bytes })).map(drop)
}

/// Records the step an agent named, so that it need not run again whatever becomes of its verification.
///
/// # Errors
/// `Io`.
pub fn named(home: &Home, thread: &ThreadId, attempt: &str, step: Hash) -> Result<()> {
    append(home, thread, &Line::Named(Named { attempt: attempt.to_owned(), step })).map(drop)
}

/// Records a result durably. After it returns, the output can't be lost.
///
/// # Errors
/// `Io`.
pub fn finished(home: &Home, thread: &ThreadId, attempt: &str, step: Hash) -> Result<()> {
    let line = Finished { attempt: attempt.to_owned(), step, finished_at: crate::ids::now_ms() };
    let file = append(home, thread, &Line::Finished(line))?;
    file.sync_data().at("sync", home.attempt_file(thread))
}

/// Records why there is no result.
///
/// # Errors
/// `Io`.
pub fn gave_up(home: &Home, thread: &ThreadId, gave_up: GaveUp) -> Result<()> {
    append(home, thread, &Line::GaveUp(gave_up)).map(drop)
}

/// Records how an attempt was concluded.
///
/// # Errors
/// `Io`.
pub fn closed(home: &Home, thread: &ThreadId, closed: Closed) -> Result<()> {
    append(home, thread, &Line::Closed(closed))?;
    marks::clear(home, thread, &[Mark::Open])
}

/// Keeps a copy of a thread's line in the history. Whether that works does not matter as long as the history is whole.
pub fn ended(home: &Home, finished: &history::Finished) {
    let path = home.attempt_file(&finished.thread);
    let file = OpenOptions::new().append(true).open(&path);
    let _ = file.map(|mut file| write_line(&mut file, &path, &Line::Ended(finished.clone())));
}

/// Removes output files of attempts other than `keep`, and of `keep` too when it is `None`.
pub fn sweep(home: &Home, thread: &ThreadId, keep: Option<&str>) {
    let Ok(entries) = std::fs::read_dir(home.attempts_dir(thread)) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let of_kept = keep.is_some_and(|keep| name.to_string_lossy().starts_with(keep));
        if !of_kept {
            let path = entry.path();
            // Left-overs only cost space; the next sweep tries again.
            let _ = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
        }
    }
}

/// Id of this boot, so that process ids of an earlier one are never acted upon. Empty on a system that has none.
///
/// # Errors
/// `Io` when it cannot be told just now: taken for another boot, processes would not be ended and answers not be read.
pub fn boot_id() -> Result<String> {
    let path = Path::new("/proc/sys/kernel/random/boot_id");
    match std::fs::read_to_string(path) {
        Ok(id) => Ok(id.trim().to_owned()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(Error::io("read", path, error)),
    }
}

fn append(home: &Home, thread: &ThreadId, line: &Line) -> Result<File> {
    let path = home.attempt_file(thread);
    let mut file = OpenOptions::new().create(true).append(true).open(&path).at("open", &path)?;
    write_line(&mut file, &path, line)?;
    Ok(file)
}

/// One `write` a line, led by a newline when the file's last line may be torn.
fn write_line(file: &mut File, path: &Path, line: &Line) -> Result<()> {
    file.write_all(text(line)?.as_bytes()).at("write", path)
}

fn text(line: &Line) -> Result<String> {
    let json = serde_json::to_string(line)
        .map_err(|error| Error::new(Kind::Internal, format!("cannot write the attempt record: {error}")))?;
    Ok(format!("\n{json}\n"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// An attempt whose agent has answered and which was closed as failed, with what else is given.
    fn answered(home: &Home, more: &serde_json::Value, gave_up: Option<Kind>) -> Attempt {
        let agent = json!({ "name": "a", "command": "a", "args": [], "config": {} });
        let agent = serde_json::from_value(agent).unwrap();
        let mut opened = json!({
            "attempt": "01ARZ3NDEKTSV4RRFFQ69G5FAV", "thread": "01ARZ3NDEKTSV4RRFFQ69G5FAW",
            "expectedHead": "0000000000001", "role": "worker", "workspace": "/", "secrets": [], "promptBudget": 1,
            "outputCap": 1, "earlier": [], "keeper": 1, "bootId": boot_id().unwrap(), "openedAt": 1,
            "agent": AgentSpec::recorded(agent),
        });
        opened.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let opened: Opened = serde_json::from_value(opened).unwrap();
        let (thread, attempt) = (opened.thread.clone(), opened.attempt.clone());
        let raw = OutputFiles::of(home, &thread, &attempt).raw;
        std::fs::create_dir_all(raw.parent().unwrap()).unwrap();
        std::fs::write(&raw, "an answer").unwrap();
        home.make_thread_dir(&thread).unwrap();
        append(home, &thread, &Line::Opened(Box::new(opened))).unwrap();
        super::answered(home, &thread, &attempt).unwrap();
        if let Some(kind) = gave_up {
            let line =
                GaveUp { attempt: attempt.clone(), kind, error: String::new(), hints: Vec::new(), exit_code: None };
            super::gave_up(home, &thread, line).unwrap();
        }
        let node = Some(Hash::from_u64(2));
        let failed = Closed { attempt, outcome: Outcome::Failed, error: None, node, closed_at: 1 };
        append(home, &thread, &Line::Closed(failed)).unwrap();
        read(home, &thread).unwrap().unwrap()
    }

    #[test]
    fn an_answer_is_unread_only_while_it_is_whole_and_nobody_has_read_it() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::open(dir.path(), "uwf");
        let (head, other) = (Hash::from_u64(1), Hash::from_u64(3));
        let unread = |more, gave_up| answered(&home, &more, gave_up).has_unread_answer(&home, head, "worker").unwrap();
        assert!(unread(json!({}), None), "its process was killed");
        assert!(unread(json!({}), Some(Kind::Io)), "the disk was full");
        assert!(!unread(json!({}), Some(Kind::NotExtractable)), "it was read, and is no use");
        assert!(!unread(json!({ "bootId": "another" }), None), "after a power loss the file may be shorter");
        assert!(unread(json!({ "reextract": head, "rereads": MAX_REREADS - 1 }), None));
        assert!(!unread(json!({ "reextract": head, "rereads": MAX_REREADS }), None), "whoever reads it dies");
        let attempt = answered(&home, &json!({}), None);
        assert!(
            !attempt.has_unread_answer(&home, other, "worker").unwrap()
                && !attempt.has_unread_answer(&home, head, "writer").unwrap()
        );
        let raw = OutputFiles::of(&home, &attempt.opened.thread, &attempt.opened.attempt).raw;
        std::fs::write(raw, "an ans").unwrap();
        assert!(!attempt.has_unread_answer(&home, head, "worker").unwrap(), "it is not whole");
    }
}
