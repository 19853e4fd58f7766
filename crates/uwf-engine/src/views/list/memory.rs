//! Cache of summaries of heads. Its keys are hashes of content, so it is never outdated.

use std::collections::HashMap;
use std::path::PathBuf;

use json_cas::NodeHash;
use uwf_core::node::{NodeKind, StartNode, StepNode};
use uwf_core::thread::ThreadId;
use uwf_core::workflow::START;

use super::{ThreadFilter, ThreadRow};
use crate::error::Result;
use crate::root::cache_file;
use crate::root::home::Home;
use crate::thread::load::Thread;
use crate::thread::nodes;

/// Up to this many heads are read from their nodes each time, so that damage shows at once. Beyond that, listings use the cache.
const READ_DIRECTLY: usize = 200;

/// Bytes of an entry before the role.
const FIXED: usize = 34;

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
        let is_child = thread.start.parent.is_some();
        Ok(self.learn(head, HeadSummary { workflow, start, role, is_child, timestamp }))
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
        let begun = nodes::typed::<StartNode>(store, start).ok();
        let workflow = row.workflow.or(begun.as_ref().map(|begun| begun.workflow))?;
        let is_child = begun.is_some_and(|begun| begun.parent.is_some());
        Some(self.learn(head, HeadSummary { workflow, start, role, is_child, timestamp: node.timestamp }))
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

/// Head, workflow, StartNode, timestamp as u64, 1 for a child thread, then the role's length and text; length 0 is "no role".
fn encode<'s>(known: impl Iterator<Item = (NodeHash, &'s HeadSummary)>) -> Vec<u8> {
    let mut body = Vec::new();
    for (head, summary) in known {
        let role = summary.role.as_deref().unwrap_or_default();
        let Ok(length) = u8::try_from(role.len()) else { continue };
        for word in [head.as_u64(), summary.workflow.as_u64(), summary.start.as_u64(), summary.timestamp] {
            body.extend(word.to_le_bytes());
        }
        body.extend([u8::from(summary.is_child), length]);
        body.extend(role.as_bytes());
    }
    body
}

fn decode(mut body: &[u8]) -> HashMap<NodeHash, HeadSummary> {
    let mut known = HashMap::new();
    while let Some((words, rest)) = body.split_first_chunk::<FIXED>() {
        let word = |at: usize| words[at..at + 8].iter().rev().fold(0u64, |value, byte| value << 8 | u64::from(*byte));
        let hash = |at| NodeHash::from_u64(word(at));
        let length = usize::from(words[FIXED - 1]);
        let Some((role, rest)) = rest.split_at_checked(length) else { break };
        let role = (length > 0).then(|| String::from_utf8_lossy(role).into_owned());
        let is_child = words[FIXED - 2] == 1;
        let summary = HeadSummary { workflow: hash(8), start: hash(16), role, is_child, timestamp: word(24) };
        known.insert(hash(0), summary);
        body = rest;
    }
    known
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_tasks_are_read_back() {
        let of = |number: u64, role: Option<&str>| {
            let (workflow, start) = (NodeHash::from_u64(number * 2), NodeHash::from_u64(number * 3));
            let role = role.map(str::to_owned);
            let summary = HeadSummary { workflow, start, is_child: role.is_none(), role, timestamp: number * 5 };
            (NodeHash::from_u64(number), summary)
        };
        let known: HashMap<NodeHash, HeadSummary> =
            [of(7, None), of(u64::MAX / 8, Some("größer")), of(1, Some("r"))].into();
        assert_eq!(decode(&encode(known.iter().map(|(head, summary)| (*head, summary)))), known);
    }
}
