//! Listing threads. One readdir, one index, one history; nodes only of the threads that are shown.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use durable_files::regular;
use json_cas::Hash;
use serde::{Deserialize, Serialize};
use uwf_core::thread::ThreadId;
use uwf_core::workflow::START;

use crate::error::Result;
use crate::root::history;
use crate::root::home::Home;
use crate::root::marks::{self, Mark};
use crate::thread::load::{self, Thread};
use crate::thread::nodes;
use crate::thread::state::{self, State};
use crate::verbs::child_threads;
use crate::verbs::workflow_names::Names;

/// Up to this many heads are read from their nodes each time, so that damage shows at once. Beyond, what a head says
/// is remembered by its hash.
const READ_DIRECTLY: usize = 200;

/// One thread of a listing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    /// Its id.
    pub thread: ThreadId,
    /// Workflow it is pinned to; absent when its nodes are not readable.
    pub workflow: Option<Hash>,
    /// Its head.
    pub head: Hash,
    /// What it is doing.
    pub state: State,
    /// Role of its last step; absent before the first.
    pub role: Option<String>,
    /// Unix milliseconds of its start, from its id; absent when that is no ULID.
    pub started_at: Option<u64>,
    /// Unix milliseconds of its last change: its newest step, its start before the first, or when it ended.
    pub changed_at: Option<u64>,
    /// Why it is in this state, when there is something to say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Whether no further step begins once the one that is running has ended.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub pausing: bool,
}

impl Row {
    fn is_finished(&self) -> bool {
        matches!(self.state, State::Completed | State::Killed)
    }

    /// Whether what only its nodes tell is there.
    fn is_read(&self) -> bool {
        self.workflow.is_some() || self.state == State::Corrupt
    }
}

/// A thread with the name its workflow has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Named {
    /// The thread.
    #[serde(flatten)]
    pub row: Row,
    /// What its workflow is called; absent when that is not readable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflow_name: Option<String>,
}

impl Named {
    /// A row with its name.
    pub fn of(row: Row, names: &mut Names, home: &Home) -> Named {
        let workflow_name = row.workflow.and_then(|hash| names.name(home, hash));
        Named { row, workflow_name }
    }
}

/// What to list.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Finished threads too.
    pub all: bool,
    /// Only threads of these workflows.
    pub workflows: Option<Vec<Hash>>,
    /// Only threads in this state.
    pub state: Option<State>,
    /// At most this many.
    pub limit: Option<usize>,
    /// Leave out this many first.
    pub offset: usize,
}

impl Filter {
    /// Whether a thread may be shown, as far as that is known without its nodes.
    fn may_show(&self, row: &Row) -> bool {
        let is_of_workflow = match (&self.workflows, row.workflow) {
            (Some(wanted), Some(workflow)) => wanted.contains(&workflow),
            (Some(_), None) => !row.is_finished(),
            (None, _) => true,
        };
        is_of_workflow
            && self.state.is_none_or(|state| row.state == state || state == State::Corrupt && !row.is_finished())
    }

    /// Whether a thread whose nodes were read is shown.
    fn shows(&self, row: &Row) -> bool {
        let is_of_workflow = |wanted: &Vec<Hash>| row.workflow.is_some_and(|workflow| wanted.contains(&workflow));
        self.workflows.as_ref().is_none_or(is_of_workflow) && self.state.is_none_or(|state| row.state == state)
    }

    /// Whether it takes the nodes of all active threads to know which are shown.
    fn asks_nodes(&self) -> bool {
        self.workflows.is_some() || self.state == Some(State::Corrupt)
    }
}

/// Threads that were asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// Those within limit and offset, newest first.
    pub rows: Vec<Row>,
    /// How many there are without limit and offset.
    pub matching: usize,
}

/// What a head says about its thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Summary {
    workflow: Hash,
    role: Option<String>,
    timestamp: u64,
}

/// Threads, newest first. Their states are known from index, marks and locks; nodes are read of those only that are shown,
/// unless the filter is about what nodes tell.
///
/// # Errors
/// Those of index, history and marks as a whole; a single thread that is not readable is a row that says so.
pub fn list(home: &Home, filter: &Filter) -> Result<Listing> {
    let heads = home.heads().list()?;
    let marks = marks::all(home)?;
    let paused_below = child_threads::paused_below(home, &marks)?;
    let known = Known { home, marks, paused_below };
    let mut rows: Vec<Row> = heads.iter().filter_map(|(name, head)| known.active(name, *head)).collect();
    let finished_only = matches!(filter.state, Some(State::Completed | State::Killed));
    if filter.all || finished_only {
        let history = history::all(home)?;
        // Whoever ended since the index was read is in both.
        let ended: HashSet<&ThreadId> = history.iter().map(|line| &line.thread).collect();
        rows.retain(|row| !ended.contains(&row.thread));
        rows.extend(history.into_iter().map(finished));
    }
    rows.retain(|row| filter.may_show(row));
    rows.sort_by(|a, b| b.thread.cmp(&a.thread));
    let active = rows.iter().filter(|row| !row.is_finished()).count();
    let asked = if filter.asks_nodes() { active } else { active.min(filter.limit.unwrap_or(usize::MAX)) };
    let mut memory = if asked > READ_DIRECTLY { Memory::load(home) } else { Memory::default() };
    if filter.asks_nodes() {
        rows.iter_mut().filter(|row| !row.is_finished()).for_each(|row| known.read(row, &mut memory));
        rows.retain(|row| filter.shows(row));
    }
    let mut matching = rows.len();
    let mut rows: Vec<Row> = rows.into_iter().skip(filter.offset).take(filter.limit.unwrap_or(usize::MAX)).collect();
    for row in &mut rows {
        if row.is_finished() {
            row.role = nodes::step_node(home.store(), row.head).ok().map(|(step, _)| step.role);
        } else if !row.is_read() {
            known.read(row, &mut memory);
        }
    }
    // Whose nodes turned out to be damaged is in another state than the one asked for.
    let shown = rows.len();
    rows.retain(|row| filter.state.is_none_or(|state| row.state == state));
    matching -= shown - rows.len();
    if asked > READ_DIRECTLY {
        memory.save(home, &heads);
    }
    Ok(Listing { rows, matching })
}

/// What is known of active threads without their nodes.
struct Known<'h> {
    home: &'h Home,
    marks: BTreeMap<String, BTreeSet<Mark>>,
    /// Threads that are paused with one above them, and which one that is.
    paused_below: BTreeMap<ThreadId, ThreadId>,
}

impl Known<'_> {
    fn marks_of(&self, name: &str) -> &BTreeSet<Mark> {
        static NONE: BTreeSet<Mark> = BTreeSet::new();
        self.marks.get(name).unwrap_or(&NONE)
    }

    /// The row of an active thread before its nodes are read.
    fn active(&self, name: &str, head: Hash) -> Option<Row> {
        let thread: ThreadId = name.parse().ok()?;
        let marked = self.marks_of(name);
        let is_paused = self.paused_below.contains_key(&thread) || marked.contains(&Mark::Paused);
        let state = match state::of_active(self.home, &thread, marked) {
            State::Running => State::Running,
            _ if is_paused => State::Paused,
            other => other,
        };
        Some(Row {
            started_at: crate::root::ids::started_at(&thread),
            workflow: None,
            head,
            state,
            role: None,
            changed_at: None,
            why: None,
            pausing: state == State::Running && is_paused,
            thread,
        })
    }

    /// Adds to a row what its nodes and marks tell.
    fn read(&self, row: &mut Row, memory: &mut Memory) {
        row.why = self.why(row);
        match memory.summary(self.home, &row.thread, row.head) {
            Ok(summary) => {
                let stepped_at = summary.role.as_ref().map(|_| summary.timestamp);
                row.changed_at = load::changed_at(row.started_at, stepped_at);
                row.workflow = Some(summary.workflow);
                row.role = summary.role;
            }
            Err(error) => {
                row.state = State::Corrupt;
                row.why = Some(error.message);
            }
        }
    }

    fn why(&self, row: &Row) -> Option<String> {
        let own = self.marks_of(row.thread.as_str()).iter().find(|mark| **mark != Mark::Open);
        match (self.paused_below.get(&row.thread), own) {
            (Some(above), own) if own != Some(&Mark::Paused) => {
                let reason = marks::get(self.home, above, Mark::Paused)?;
                Some(child_threads::paused_with(above, reason).why)
            }
            (_, own) => marks::get(self.home, &row.thread, *own?).map(|reason| reason.why),
        }
    }
}

/// The row of a finished thread before its last step is read.
fn finished(line: history::Finished) -> Row {
    Row {
        started_at: crate::root::ids::started_at(&line.thread),
        workflow: line.workflow,
        head: line.head,
        state: state::of_finished(line.status),
        role: None,
        changed_at: Some(line.completed_at),
        why: None,
        pausing: false,
        thread: line.thread,
    }
}

/// What heads said the last time: a cache keyed by content, so it is never out of date.
#[derive(Debug, Default)]
struct Memory {
    known: HashMap<Hash, Summary>,
    learned: bool,
}

impl Memory {
    fn load(home: &Home) -> Memory {
        let bytes = regular::read(&home.heads_cache(), regular::MAX_LIST).unwrap_or_default();
        let Some((sum, body)) = bytes.split_first_chunk::<8>() else { return Memory::default() };
        if u64::from_le_bytes(*sum) != json_cas::xxh64(body).as_u64() {
            return Memory::default();
        }
        Memory { known: decode(body), learned: false }
    }

    fn summary(&mut self, home: &Home, id: &ThreadId, head: Hash) -> Result<Summary> {
        if let Some(known) = self.known.get(&head) {
            return Ok(known.clone());
        }
        let thread = Thread::at(home, id.clone(), head)?;
        let role = (thread.position() != START).then(|| thread.position().to_owned());
        let summary = Summary { workflow: thread.start.workflow, role, timestamp: thread.head_timestamp_ms };
        self.known.insert(head, summary.clone());
        self.learned = true;
        Ok(summary)
    }

    /// Keeps what the present heads say. A failure costs time at the next listing, nothing else.
    fn save(&self, home: &Home, heads: &[(String, Hash)]) {
        if !self.learned {
            return;
        }
        let body = encode(heads.iter().filter_map(|(_, head)| Some((*head, self.known.get(head)?))));
        let mut bytes = json_cas::xxh64(&body).as_u64().to_le_bytes().to_vec();
        bytes.extend(body);
        let path = home.heads_cache();
        let _ = std::fs::create_dir_all(home.cache_dir());
        let _ = tempfile::NamedTempFile::new_in(home.cache_dir()).and_then(|mut file| {
            std::io::Write::write_all(&mut file, &bytes)?;
            file.persist(&path).map_err(|error| error.error)
        });
    }
}

/// Head, workflow, timestamp as u64, then the role's length and text; length 0 is "no role".
fn encode<'s>(known: impl Iterator<Item = (Hash, &'s Summary)>) -> Vec<u8> {
    let mut body = Vec::new();
    for (head, summary) in known {
        let role = summary.role.as_deref().unwrap_or_default();
        let Ok(length) = u8::try_from(role.len()) else { continue };
        for word in [head.as_u64(), summary.workflow.as_u64(), summary.timestamp] {
            body.extend(word.to_le_bytes());
        }
        body.push(length);
        body.extend(role.as_bytes());
    }
    body
}

fn decode(mut body: &[u8]) -> HashMap<Hash, Summary> {
    let mut known = HashMap::new();
    while let Some((words, rest)) = body.split_first_chunk::<25>() {
        let word = |at: usize| words[at..at + 8].iter().rev().fold(0u64, |value, byte| value << 8 | u64::from(*byte));
        let length = usize::from(words[24]);
        let Some((role, rest)) = rest.split_at_checked(length) else { break };
        let role = (length > 0).then(|| String::from_utf8_lossy(role).into_owned());
        known.insert(Hash::from_u64(word(0)), Summary { workflow: Hash::from_u64(word(8)), role, timestamp: word(16) });
        body = rest;
    }
    known
}
