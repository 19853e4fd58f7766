//! Cache of summaries of heads. Its keys are hashes of content, so it is never outdated.

use std::collections::HashMap;
use std::path::PathBuf;

use json_cas::NodeHash;
use uwf_core::node::{NodeKind, StartNode, StepNode};
use uwf_core::text::{ellipsize, one_line};
use uwf_core::thread::ThreadId;
use uwf_core::workflow::START;

use super::{ThreadFilter, ThreadRow};
use crate::error::Result;
use crate::root::cache_file;
use crate::root::home::Home;
use crate::thread::load::Thread;
use crate::thread::nodes;

/// Up to this many heads are read from their nodes each time, so that damage shows at once. Beyond that, listings use the cache.
pub(crate) const READ_DIRECTLY: usize = 200;

/// Bytes of an entry before the role and the task.
const FIXED: usize = 36;

/// Characters of a task in a row.
const TASK: usize = 80;

/// Summary of a thread at a head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HeadSummary {
    pub(super) workflow: NodeHash,
    pub(super) start: NodeHash,
    pub(super) role: Option<String>,
    /// Whether it is a child thread.
    pub(super) is_child: bool,
    /// Unix milliseconds.
    pub(super) timestamp: u64,
    /// The beginning of its task on one line; `None` if its start is unreadable.
    pub(super) task: Option<String>,
}

/// The beginning of a task, as rows show it.
pub(super) fn beginning(task: &str) -> String {
    ellipsize(&one_line(task), TASK).into_owned()
}

/// The caches of active and of finished threads. Not every listing needs finished threads.
pub(super) struct HeadSummaryCaches {
    pub(super) active: HeadSummaryCache,
    pub(super) finished: HeadSummaryCache,
}

impl HeadSummaryCaches {
    /// Loads the caches for a listing that reads many heads.
    pub(super) fn load(home: &Home, filter: &ThreadFilter, rows: &[ThreadRow]) -> HeadSummaryCaches {
        let finished = rows.iter().filter(|row| row.is_finished()).count();
        let active = filter.reads_of(filter.asks_nodes(), rows.len() - finished);
        let finished = filter.reads_of(filter.asks_last_steps(), finished);
        HeadSummaryCaches {
            active: HeadSummaryCache::load(home.active_heads_cache(), active),
            finished: HeadSummaryCache::load(home.finished_heads_cache(), finished),
        }
    }

    /// The StartNode of a thread that was read.
    pub(super) fn start_of(&self, row: &ThreadRow) -> Option<NodeHash> {
        let memory = if row.is_finished() { &self.finished } else { &self.active };
        memory.known.get(&row.head).map(|summary| summary.start)
    }

    /// Saves the summaries of these heads, which must be all existing heads.
    pub(super) fn save(&self, home: &Home, active: impl IntoIterator<Item = NodeHash>, finished: Vec<NodeHash>) {
        self.active.save(home, active);
        self.finished.save(home, finished);
    }
}

/// Summaries of heads.
#[derive(Debug, Default)]
pub(super) struct HeadSummaryCache {
    /// File of the cache; none when there are few heads.
    path: Option<PathBuf>,
    known: HashMap<NodeHash, HeadSummary>,
    learned: bool,
}

impl HeadSummaryCache {
    /// The cache at a path, for a listing that reads so many heads.
    pub(super) fn load(path: PathBuf, asked: usize) -> HeadSummaryCache {
        if asked <= READ_DIRECTLY {
            return HeadSummaryCache::default();
        }
        let known = cache_file::read(&path).map(|body| decode(&body)).unwrap_or_default();
        HeadSummaryCache { path: Some(path), known, learned: false }
    }

    /// The summary of an active thread.
    pub(super) fn of_active(&mut self, home: &Home, id: &ThreadId, head: NodeHash) -> Result<HeadSummary> {
        if let Some(known) = self.known.get(&head) {
            return Ok(known.clone());
        }
        let thread = Thread::load_at(home, id.clone(), head)?;
        let role = (thread.position() != START).then(|| thread.position().to_owned());
        let (workflow, start, timestamp) = (thread.start.workflow, thread.start_hash, thread.head_timestamp_ms);
        let (is_child, task) = (thread.start.parent.is_some(), Some(beginning(&thread.start.prompt)));
        Ok(self.learn(head, HeadSummary { workflow, start, role, is_child, timestamp, task }))
    }

    /// The summary of a finished thread; `None` if it is unreadable. The history has the workflow, unless the nodes were unreadable when
    /// the thread ended.
    pub(super) fn of_finished(&mut self, home: &Home, row: &ThreadRow) -> Option<HeadSummary> {
        if let Some(known) = self.known.get(&row.head) {
            return Some(known.clone());
        }
        let (head, store) = (row.head, home.store());
        let node = store.get(head).ok()?;
        let (start, role) = match NodeKind::from_type_hash(node.type_hash) {
            Some(NodeKind::StartNode) => (head, None),
            Some(NodeKind::StepNode) => {
                let step: StepNode = nodes::payload(head, &node).ok()?;
                (step.start, Some(step.role))
            }
            _ => return None,
        };
        // The start of another program's thread is not always readable.
        let begun = nodes::get(store, start).and_then(|node| nodes::payload::<StartNode>(start, &node)).ok();
        let workflow = row.workflow.or(begun.as_ref().map(|begun| begun.workflow))?;
        let is_child = begun.as_ref().is_some_and(|begun| begun.parent.is_some());
        let task = begun.map(|begun| beginning(&begun.prompt));
        Some(self.learn(head, HeadSummary { workflow, start, role, is_child, timestamp: node.timestamp, task }))
    }

    fn learn(&mut self, head: NodeHash, summary: HeadSummary) -> HeadSummary {
        self.known.insert(head, summary.clone());
        self.learned = true;
        summary
    }

    /// Saves the summaries of these heads. A failure only makes the next listing slower.
    pub(super) fn save(&self, home: &Home, heads: impl IntoIterator<Item = NodeHash>) {
        let Some(path) = self.path.as_ref().filter(|_| self.learned) else { return };
        let body = encode(heads.into_iter().filter_map(|head| Some((head, self.known.get(&head)?))));
        cache_file::write(home, path, &body);
    }
}

/// Head, workflow, StartNode, timestamp as u64, a byte of flags, the lengths of role and task as u8 and u16, then both texts.
fn encode<'s>(known: impl Iterator<Item = (NodeHash, &'s HeadSummary)>) -> Vec<u8> {
    let mut body = Vec::new();
    for (head, summary) in known {
        let text = |text: &'s Option<String>| text.as_deref().unwrap_or_default();
        let (role, task) = (text(&summary.role), text(&summary.task));
        let (Ok(role_length), Ok(task_length)) = (u8::try_from(role.len()), u16::try_from(task.len())) else {
            continue;
        };
        for word in [head.as_u64(), summary.workflow.as_u64(), summary.start.as_u64(), summary.timestamp] {
            body.extend(word.to_le_bytes());
        }
        body.extend([u8::from(summary.is_child) | u8::from(summary.task.is_some()) << 1, role_length]);
        body.extend(task_length.to_le_bytes());
        body.extend([role, task].concat().as_bytes());
    }
    body
}

fn decode(mut body: &[u8]) -> HashMap<NodeHash, HeadSummary> {
    let mut known = HashMap::new();
    while let Some((fixed, rest)) = body.split_first_chunk::<FIXED>() {
        let word = |at: usize| fixed[at..at + 8].iter().rev().fold(0u64, |value, byte| value << 8 | u64::from(*byte));
        let hash = |at| NodeHash::from_u64(word(at));
        let [flags, role_length, task_low, task_high] = [32, 33, 34, 35].map(|at| fixed[at]);
        let Some((role, rest)) = rest.split_at_checked(role_length.into()) else { break };
        let Some((task, rest)) = rest.split_at_checked(u16::from_le_bytes([task_low, task_high]).into()) else { break };
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        let (role, task) = ((role_length > 0).then(|| text(role)), (flags & 2 > 0).then(|| text(task)));
        let (workflow, start, timestamp) = (hash(8), hash(16), word(24));
        known.insert(hash(0), HeadSummary { workflow, start, role, is_child: flags & 1 > 0, timestamp, task });
        body = rest;
    }
    known
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_summaries_are_read_back() {
        let of = |number: u64, role: Option<&str>| {
            let (workflow, start) = (NodeHash::from_u64(number * 2), NodeHash::from_u64(number * 3));
            let role = role.map(str::to_owned);
            let (is_child, task) = (role.is_none(), role.as_ref().map(|role| role.repeat(99)));
            let summary = HeadSummary { workflow, start, is_child, role, timestamp: number * 5, task };
            (NodeHash::from_u64(number), summary)
        };
        let known: HashMap<NodeHash, HeadSummary> =
            [of(7, None), of(u64::MAX / 8, Some("größer")), of(1, Some("r"))].into();
        assert_eq!(decode(&encode(known.iter().map(|(head, summary)| (*head, summary)))), known);
    }
}
