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
//! The comparison runs twice. The first run takes no lock, because it reads a file per thread, and steps must not wait for it. It may see
//! an index from before a step and a record from after it. So the second run holds the index: no head moves, and only differences that it
//! still finds are real. The old index stays beside the new one, because the evidence may be worse than it looks.
//!
//! # Why a shared store has its own plan
//!
//! No process can hold the index of a shared store. There a head counts as right until its node is missing, since another machine may have
//! moved it, and records of this machine may be old (`shared.rs`). Here the index itself is in doubt. The two plans share the evidence and
//! the rows of the report, but none of the rules by which a head is chosen.

mod ends;
mod evidence;
mod lost_nodes;
mod shared;
mod standing;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use durable_files::regular;
use json_cas::{FsHeads, HeadsError, JournalRecords, NodeHash, SalvagedIndex};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uwf_core::thread::ThreadId;
use uwf_core::view;

pub use evidence::HeadSource;

use crate::error::{AtPath, Error, Result};
use crate::root::history::HistoryLine;
use crate::root::home::Home;
use crate::root::{history, ids, node_types, record};
use crate::verbs::start::new_thread;
use evidence::{HeadEvidence, RecordedHead};

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
    #[serde(skip_serializing_if = "is_none")]
    pub nodes_put_back: usize,
    /// Threads with records on this machine but unknown to the shared store: they were removed there, or never copied to it.
    #[serde(skip_serializing_if = "is_none")]
    pub not_in_store: usize,
    /// Every active thread, and threads that were changed or lost.
    pub threads: Vec<ThreadRecovery>,
    /// Unreadable lines of the history.
    pub problems: Vec<String>,
}

fn is_none(count: &usize) -> bool {
    *count == 0
}

/// Compares the index with everything else that is known about threads and, unless `dry_run` is set, writes the corrected index. Keeps
/// the old index beside it. Also stores uwf's own types again if they are damaged. A shared store has no index: there it sets missing or
/// damaged heads again.
///
/// # Errors
/// `Io` if files cannot be read or written, `Busy` if another process holds the index for too long, and errors of a shared store.
pub fn recover(home: &Home, dry_run: bool) -> Result<RecoverySummary> {
    let Some(index) = home.index() else { return shared::recover(home, dry_run) };
    let has_nodes = home.has_objects_dir()?;
    let _hold = if !dry_run && has_nodes { Some(home.hold_nodes()?) } else { None };
    if !dry_run && has_nodes {
        // Without uwf's types no node can be read or written.
        node_types::repair(home)?;
    }
    let (_, plan) = compared(home, index)?;
    if plan.is_whole() {
        return Ok(plan.report);
    }
    // Index, history and records were read one after the other, and heads may have moved in between. No head moves while the index is
    // held, so only differences found now are real.
    let held = match index.hold() {
        // If the root is read-only, the first comparison is as good.
        Err(HeadsError::Io { .. }) if dry_run => return Ok(plan.report),
        held => held?,
    };
    let (salvaged, mut plan) = compared(home, index)?;
    if dry_run || !plan.report.changed {
        return Ok(plan.report);
    }
    let suffix = format!(".broken-{}", stamp(ids::now_ms()));
    if !index.rebuild(&held, &salvaged, &plan.heads, &plan.ended, &suffix)? {
        return Err(Error::busy("another process changed the index without its lock while it was being recovered")
            .hint("nothing was changed; try again"));
    }
    let kept = home.index_file().with_file_name(format!("threads.yaml{suffix}"));
    plan.report.kept_as = kept.symlink_metadata().is_ok().then_some(kept);
    Ok(plan.report)
}

/// The index, and the plan from comparing it with everything else.
fn compared(home: &Home, index: &FsHeads) -> Result<(SalvagedIndex, RecoveryPlan)> {
    let salvaged = index.salvage();
    refuse_unread(&salvaged)?;
    let plan = plan(home, index, &salvaged)?;
    Ok((salvaged, plan))
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

/// Rejects an index that this user may not read, or that cannot be read just now: it is not broken.
fn refuse_unread(salvaged: &SalvagedIndex) -> Result<()> {
    let Some(HeadsError::Io { source, path, action }) = &salvaged.fault else { return Ok(()) };
    // An `io::Error` cannot be cloned.
    let source = source.raw_os_error().map_or_else(|| source.kind().into(), std::io::Error::from_raw_os_error);
    match Error::file(action, path, source) {
        error if error.is_damage() => Ok(()),
        error => Err(error.hint("nothing was changed; if it can never be read, move it away and try again")),
    }
}

/// `20261122T044100Z`.
fn stamp(now_ms: u64) -> String {
    let digits: String = view::time(now_ms).replace(' ', "T").chars().filter(|c| !matches!(c, '-' | ':')).collect();
    format!("{digits}Z")
}

struct RecoveryPlan {
    report: RecoverySummary,
    heads: Vec<(String, NodeHash)>,
    ended: Vec<Value>,
}

impl RecoveryPlan {
    fn is_whole(&self) -> bool {
        !self.report.changed && self.report.threads.iter().all(|row| row.finding == RecoveryFinding::Kept)
    }
}

fn plan(home: &Home, index: &FsHeads, salvaged: &SalvagedIndex) -> Result<RecoveryPlan> {
    let is_no_file = index.journal_is_no_file();
    let (history, problems) = if is_no_file {
        (Vec::new(), vec![format!("{} is no file", home.history_file().display())])
    } else {
        let JournalRecords { readable, problems } = home.journal().records()?;
        (readable, problems.iter().map(|problem| format!("history.jsonl, {problem}")).collect())
    };
    let ended_before = ended(&history);
    let (own, foreign) = lines(salvaged);
    let evidence = HeadEvidence::new(home);
    let mut rows = Vec::new();
    let mut heads = foreign;
    let mut ended = Vec::new();
    let ids: BTreeSet<ThreadId> = own.keys().cloned().chain(with_records(home, Some(salvaged))?).collect();
    let damaged = if is_no_file { Vec::new() } else { damaged_history(home)? };
    for id in ids {
        let line = own.get(&id).copied();
        let (row, end) = match ended_before.get(&id) {
            Some(Some(end)) if !evidence.is_better_known(end) => {
                (line.map(|head| archived(&id, head, "its line in the history")), None)
            }
            is_ended => examine_thread(&evidence, &id, line, is_ended.is_some(), &damaged),
        };
        ended.extend(end);
        if let Some(row) = row {
            let is_active = !matches!(row.finding, RecoveryFinding::Archived | RecoveryFinding::Lost);
            heads.extend(row.head.filter(|_| is_active).map(|head| (id.to_string(), head)));
            rows.push(row);
        }
    }
    evidence.complete()?;
    heads.sort_unstable();
    let mut before = salvaged.entries.clone();
    before.sort_unstable();
    let report = RecoverySummary {
        index: Some(home.index_file()),
        fault: salvaged.fault.as_ref().map(ToString::to_string),
        changed: salvaged.fault.is_some() || is_no_file || before != heads || !ended.is_empty(),
        threads: rows,
        problems,
        ..RecoverySummary::default()
    };
    Ok(RecoveryPlan { report, heads, ended })
}

/// Lines of the index that are threads, by their correctly spelled id, and all other lines.
fn lines(salvaged: &SalvagedIndex) -> (BTreeMap<ThreadId, NodeHash>, Vec<(String, NodeHash)>) {
    let mut own = BTreeMap::new();
    let mut foreign = Vec::new();
    for (name, hash) in &salvaged.entries {
        match name.parse::<ThreadId>() {
            // If an id has two spellings, the correct one counts.
            Ok(id) if id.as_str() == name => drop(own.insert(id, *hash)),
            Ok(id) => drop(own.entry(id).or_insert(*hash)),
            Err(_) => foreign.push((name.clone(), *hash)),
        }
    }
    (own, foreign)
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

/// A thread that the history says too little about. Returns its row, and a line for the history if the thread has ended.
fn examine_thread(
    evidence: &HeadEvidence<'_>,
    id: &ThreadId,
    line: Option<NodeHash>,
    is_ended: bool,
    damaged: &[String],
) -> (Option<ThreadRecovery>, Option<Value>) {
    if let Some(end) = evidence.end_of(id) {
        let row = archived(id, end.head, "the copy of its line in the history");
        return (Some(row), Some(value(&end)));
    }
    if is_ended {
        return (Some(lost(id, "it has ended, but its line in history.jsonl says little more".to_owned())), None);
    }
    if let (None, Some(number)) = (line, damaged.iter().position(|line| line.contains(id.as_str()))) {
        let note = format!("it seems to have ended: damaged line {} of history.jsonl names it", number + 1);
        return (Some(lost(id, note)), None);
    }
    let known = evidence.known(id);
    let row = match (line, known) {
        (None, None) => lost(id, "it has records, but none names its head".to_owned()),
        (None, Some(RecordedHead { head, from, .. })) => {
            let note = (!evidence.is_readable(head))
                .then(|| "its nodes are not readable: `uwf cas verify` shows why".to_owned());
            ThreadRecovery {
                thread: id.clone(),
                finding: RecoveryFinding::Restored,
                head: Some(head),
                before: None,
                from: Some(from),
                note,
            }
        }
        (Some(line), known) => compare(evidence, id, line, known),
    };
    (Some(row), None)
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

/// Compares a thread in the index with what is known about it.
fn compare(evidence: &HeadEvidence<'_>, id: &ThreadId, line: NodeHash, known: Option<RecordedHead>) -> ThreadRecovery {
    let kept = |finding, note| ThreadRecovery {
        thread: id.clone(),
        finding,
        head: Some(line),
        before: None,
        from: Some(HeadSource::Index),
        note,
    };
    let Some(RecordedHead { head, from, pending_from }) = known else { return kept(RecoveryFinding::Kept, None) };
    let moved = |why: &str| ThreadRecovery {
        finding: RecoveryFinding::Moved,
        head: Some(head),
        before: Some(line),
        from: Some(from),
        ..kept(RecoveryFinding::Moved, Some(why.to_owned()))
    };
    let readable = evidence.is_readable(line);
    match () {
        () if head == line || pending_from == Some(line) => kept(RecoveryFinding::Kept, None),
        () if !evidence.is_readable(head) && readable => kept(RecoveryFinding::Kept, None),
        () if !readable && evidence.is_readable(head) => moved("the head in the index is not readable"),
        () if !readable => {
            kept(RecoveryFinding::Differs, Some("its nodes are not readable: `uwf cas verify` shows why".to_owned()))
        }
        // Another machine stepped the thread, or the record is older.
        () if evidence.leads_to(line, head) => kept(RecoveryFinding::Kept, None),
        () if evidence.leads_to(head, line) => moved("the index was behind"),
        () if !evidence.same_start(line, head) => moved("the head in the index belongs to another run"),
        () => kept(RecoveryFinding::Differs, Some(format!("{} says {head}, on another branch", from.in_words()))),
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

/// The lines of the history, with each readable line left empty.
fn damaged_history(home: &Home) -> Result<Vec<String>> {
    let path = home.history_file();
    let bytes = match regular::read(&path, regular::MAX_LIST) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.path_context("read", &path)?,
    };
    let damaged = |line: &[u8]| match serde_json::from_slice::<Value>(line) {
        Ok(_) => String::new(),
        Err(_) => String::from_utf8_lossy(line).to_ascii_uppercase(),
    };
    Ok(bytes.split(|byte| *byte == b'\n').map(damaged).collect())
}

fn value(end: &HistoryLine) -> Value {
    serde_json::to_value(end).expect("a history line is texts and numbers")
}
