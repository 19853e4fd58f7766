//! `uwf recover`: rebuilds the index of threads from everything else this machine knows about them.
//!
//! Every move of a head leaves a trace beside the index, without a sync of its own: a new thread names its head in its settings, a step
//! names its result in the lines of its attempt. Both are synced before the index is. An end has its line in the history. So `recover`
//! can rebuild an index that was lost, damaged, or restored from an old backup.
//!
//! # Why the head follows the record
//!
//! The order of the writes decides which of two differing heads is right. A step syncs its nodes, then its line in the record, then the
//! index. A crash between the last two leaves a record that is one step ahead, and the agent of that step is paid. So if the record's head
//! comes after the index's head, the thread moves forward. If the index is ahead, the record is only old: another storage root or an older
//! copy of the record explains that, and the index stays. A head never moves to a node that cannot be read while the other one can be.
//! If no head leads to the other, their order is unknown, and a person decides.
//!
//! # Why a shared store has its own plan
//!
//! On one machine the index itself is in doubt, and no head moves while it is held (`own_index.rs`). The heads of a shared store cannot
//! be held. There a head counts as right until its node is missing, since another machine may have moved it, and records of this machine may
//! be old (`shared.rs`). The two plans share the evidence and the rows of the report, but none of the rules by which a head is chosen.

mod ends;
mod evidence;
mod lost_nodes;
mod own_index;
mod shared;
mod standing;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use json_cas::{NodeHash, SalvagedIndex};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uwf_core::number;
use uwf_core::thread::ThreadId;

pub use evidence::HeadSource;

use crate::error::Result;
use crate::root::history::HistoryLine;
use crate::root::home::Home;
use crate::root::{history, record};
use crate::verbs::start::new_thread;

/// Result for a thread's line in the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RecoveryFinding {
    /// Unchanged.
    Kept,
    /// Missing from the index, or unreadable there.
    Restored,
    /// The index had another head: an older one, an unreadable one, or one of another run.
    Moved,
    /// The thread has ended, but the history or the index did not say so.
    Archived,
    /// Index and records disagree, and either can be right. Left unchanged.
    Differs,
    /// The thread has records, but no record names its head.
    Lost,
}

/// Result for one thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadRecovery {
    /// Its id.
    pub thread: ThreadId,
    /// The finding.
    pub finding: RecoveryFinding,
    /// Its head; absent if the thread is lost.
    pub head: Option<NodeHash>,
    /// The head in the index, if it differed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<NodeHash>,
    /// Where its head, or its end, was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<HeadSource>,
    /// A remark about the thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// The names of workflows, in a store that machines share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NamesRecovery {
    /// The finding.
    pub finding: RecoveryFinding,
    /// The node with the names; absent if they are lost.
    pub head: Option<NodeHash>,
    /// Their previous head, if it differed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<NodeHash>,
    /// A remark about the names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Findings, and repairs unless it was a dry run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RecoverySummary {
    /// The index; absent if machines share a store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<PathBuf>,
    /// The shared store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub store: Option<String>,
    /// Why the index was unreadable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// Whether the index was changed, or would be.
    pub changed: bool,
    /// The file with the old index.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept_as: Option<PathBuf>,
    /// The names of workflows, if their head in a shared store was wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub names: Option<NamesRecovery>,
    /// Nodes missing from a shared store, restored from this machine's cache.
    #[serde(skip_serializing_if = "number::is_zero")]
    pub nodes_put_back: usize,
    /// Threads with records on this machine but unknown to the shared store: they were removed there, or never copied to it.
    #[serde(skip_serializing_if = "number::is_zero")]
    pub not_in_store: usize,
    /// Every active thread, and threads that were changed or lost.
    pub threads: Vec<ThreadRecovery>,
    /// Unreadable lines of the history.
    pub problems: Vec<String>,
}

/// Compares the index with everything else that is known about threads and, unless `dry_run` is set, writes the corrected index. Keeps
/// the old index beside it. Also stores uwf's own types again if they are damaged. A shared store has no index: there it sets missing or
/// damaged heads again.
///
/// # Errors
/// `Io` if files cannot be read or written, `Busy` if another process holds the index for too long, and errors of a shared store.
pub fn recover(home: &Home, dry_run: bool) -> Result<RecoverySummary> {
    match home.index() {
        Some(index) => own_index::recover(home, index, dry_run),
        None => shared::recover(home, dry_run),
    }
}

/// Started threads, by this machine's records, that are in neither the index nor the history. For a shared store, only threads with notes
/// there: another machine may have removed the others.
pub fn missing(home: &Home) -> Result<Vec<ThreadId>> {
    let mut missing = home.recorded_threads()?;
    if home.peers().may_lack_threads() && !missing.is_empty() {
        let noted = standing::noted(home)?;
        missing.retain(|id| noted.contains_key(id));
    }
    for (name, _) in home.heads().list()? {
        if let Ok(id) = name.parse::<ThreadId>() {
            missing.remove(&id);
        }
    }
    for id in ended(&home.journal().records()?.readable).keys() {
        missing.remove(id);
    }
    let mut begun = Vec::new();
    for id in missing {
        // The thread may have started after the index was read.
        let is_missing = new_thread::has_begun(home, &id)?
            && home.heads().read(id.as_str())?.is_none()
            && history::newest_line(home, &id)?.is_none();
        if is_missing {
            begun.push(id);
        }
    }
    Ok(begun)
}

fn archived(id: &ThreadId, head: NodeHash, note: &str) -> ThreadRecovery {
    ThreadRecovery {
        thread: id.clone(),
        finding: RecoveryFinding::Archived,
        head: Some(head),
        before: None,
        from: Some(HeadSource::History),
        note: Some(format!("it has ended, according to {note}")),
    }
}

fn lost(id: &ThreadId, note: String) -> ThreadRecovery {
    ThreadRecovery {
        thread: id.clone(),
        finding: RecoveryFinding::Lost,
        head: None,
        before: None,
        from: None,
        note: Some(note),
    }
}

/// Lists the threads with records on this machine. Leaves out threads that a running command is starting, and threads whose start or fork
/// was killed before they had a head. Without an intact index the two look like started threads, so then all are listed. A
/// shared store has no index.
fn with_records(home: &Home, index: Option<&SalvagedIndex>) -> Result<BTreeSet<ThreadId>> {
    let (mut begun, mut others) = (BTreeSet::new(), BTreeSet::new());
    for id in home.recorded_threads()? {
        if !record::says_anything(home, &id)? || new_thread::is_under_way(home, &id)? {
            continue;
        }
        if new_thread::has_begun(home, &id)? {
            begun.insert(id)
        } else {
            others.insert(id)
        };
    }
    // A missing index was never created if no thread has started.
    let is_lost = |index: &SalvagedIndex| index.fault.is_some() || index.is_missing() && !begun.is_empty();
    if index.is_none_or(is_lost) {
        begun.append(&mut others);
    }
    Ok(begun)
}

/// Correctly spelled threads of the history, with their newest lines if these are complete.
fn ended(history: &[Value]) -> BTreeMap<ThreadId, Option<HistoryLine>> {
    let mut ended = BTreeMap::new();
    for line in history {
        let Some(name) = line.get("thread").and_then(Value::as_str) else { continue };
        if let Some(id) = name.parse::<ThreadId>().ok().filter(|id| id.as_str() == name) {
            ended.insert(id, HistoryLine::deserialize(line).ok());
        }
    }
    ended
}

fn value(end: &HistoryLine) -> Value {
    serde_json::to_value(end).expect("a history line is texts and numbers")
}
