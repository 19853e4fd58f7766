//! `uwf recover` on a machine with an index of its own: rebuilds the index.
//!
//! The comparison runs twice. The first run takes no lock, because it reads a file per thread, and steps must not wait for it. It may see
//! an index from before a step and a record from after it. So the second run holds the index: no head moves, and only differences that it
//! still finds are real. The old index stays beside the new one, because the evidence may be worse than it looks.

use std::collections::{BTreeMap, BTreeSet};

use durable_files::regular;
use json_cas::{FsHeads, HeadsError, JournalRecords, NodeHash, SalvagedIndex};
use serde_json::Value;
use uwf_core::thread::ThreadId;
use uwf_core::view;

use super::evidence::{HeadEvidence, HeadSource, RecordedHead};
use super::{RecoveryFinding, RecoverySummary, ThreadRecovery, archived, ended, lost, value, with_records};
use crate::error::{AtPath, Error, Result};
use crate::root::home::Home;
use crate::root::{ids, node_types};

/// Compares the index with everything else that is known about threads and, unless `dry_run` is set, writes the corrected index.
///
/// # Errors
/// `Io` if files cannot be read or written, `Busy` if another process holds the index for too long.
pub(super) fn recover(home: &Home, index: &FsHeads, dry_run: bool) -> Result<RecoverySummary> {
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
    let is_same = head == line || pending_from == Some(line);
    if is_same || (readable && !evidence.is_readable(head)) {
        kept(RecoveryFinding::Kept, None)
    } else if !readable && evidence.is_readable(head) {
        moved("the head in the index is not readable")
    } else if !readable {
        kept(RecoveryFinding::Differs, Some("its nodes are not readable: `uwf cas verify` shows why".to_owned()))
    } else if evidence.leads_to(line, head) {
        // Another machine stepped the thread, or the record is older.
        kept(RecoveryFinding::Kept, None)
    } else if evidence.leads_to(head, line) {
        moved("the index was behind")
    } else if !evidence.same_start(line, head) {
        moved("the head in the index belongs to another run")
    } else {
        kept(RecoveryFinding::Differs, Some(format!("{} says {head}, on another branch", from.in_words())))
    }
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
