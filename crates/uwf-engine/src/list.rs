//! Listing threads. One readdir, one index, one history; nodes only of heads that are not known yet.

use std::collections::{HashMap, HashSet};

use json_cas::Hash;
use json_cas::regular;
use serde::{Deserialize, Serialize};
use uwf_core::thread::ThreadId;
use uwf_core::workflow::START;

use crate::children;
use crate::error::Result;
use crate::history;
use crate::home::Home;
use crate::load::{self, Thread};
use crate::marks::{self, Mark};
use crate::state::{self, State};

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
}

/// What to list.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Finished threads too.
    pub all: bool,
    /// Only threads of this workflow.
    pub workflow: Option<Hash>,
    /// Only threads in this state.
    pub state: Option<State>,
    /// At most this many.
    pub limit: Option<usize>,
    /// Leave out this many first.
    pub offset: usize,
}

/// What a head says about its thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Summary {
    workflow: Hash,
    role: Option<String>,
    timestamp: u64,
}

/// Threads, newest first.
///
/// # Errors
/// Those of index, history and marks as a whole; a single thread that is not readable is a row that says so.
pub fn list(home: &Home, filter: &Filter) -> Result<Vec<Row>> {
    let finished_only = matches!(filter.state, Some(State::Completed | State::Killed));
    let mut rows = active(home)?;
    if filter.all || finished_only {
        let history = history::all(home)?;
        // Whoever ended since the index was read is in both.
        let ended: HashSet<&ThreadId> = history.iter().map(|line| &line.thread).collect();
        rows.retain(|row| !ended.contains(&row.thread));
        rows.extend(history.into_iter().map(|line| finished(home, line)));
    }
    rows.retain(|row| filter.workflow.is_none_or(|workflow| row.workflow == Some(workflow)));
    rows.retain(|row| filter.state.is_none_or(|state| row.state == state));
    rows.sort_by(|a, b| b.thread.cmp(&a.thread));
    Ok(rows.into_iter().skip(filter.offset).take(filter.limit.unwrap_or(usize::MAX)).collect())
}

fn active(home: &Home) -> Result<Vec<Row>> {
    let heads = home.heads().list()?;
    let marks = marks::all(home)?;
    let paused_below = children::paused_below(home, &marks)?;
    let mut memory = if heads.len() > READ_DIRECTLY { Memory::load(home) } else { Memory::default() };
    let mut rows = Vec::with_capacity(heads.len());
    for (name, head) in &heads {
        let Ok(thread) = name.parse::<ThreadId>() else { continue };
        let marked = marks.get(name).cloned().unwrap_or_default();
        let row = Row {
            started_at: crate::ids::started_at(&thread),
            workflow: None,
            head: *head,
            state: state::of_active(home, &thread, &marked),
            role: None,
            changed_at: None,
            why: marked
                .iter()
                .find(|mark| **mark != Mark::Open)
                .and_then(|mark| marks::get(home, &thread, *mark))
                .map(|reason| reason.why),
            thread,
        };
        let row = match paused_below.get(&row.thread) {
            Some(above) if !matches!(row.state, State::Running | State::Paused) => {
                let reason = marks::get(home, above, Mark::Paused).map(|reason| children::paused_with(above, reason));
                Row { state: State::Paused, why: reason.map(|reason| reason.why), ..row }
            }
            _ => row,
        };
        rows.push(match memory.summary(home, &row.thread, *head) {
            Ok(summary) => {
                let stepped_at = summary.role.as_ref().map(|_| summary.timestamp);
                let changed_at = load::changed_at(row.started_at, stepped_at);
                Row { workflow: Some(summary.workflow), role: summary.role, changed_at, ..row }
            }
            Err(error) => Row { state: State::Corrupt, why: Some(error.message), ..row },
        });
    }
    if heads.len() > READ_DIRECTLY {
        memory.save(home, &heads);
    }
    Ok(rows)
}

fn finished(home: &Home, line: history::Finished) -> Row {
    let role = crate::load::step_node(home.store(), line.head).ok().map(|(step, _)| step.role);
    Row {
        started_at: crate::ids::started_at(&line.thread),
        workflow: line.workflow,
        head: line.head,
        state: state::of_finished(line.status),
        role,
        changed_at: Some(line.completed_at),
        why: None,
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
