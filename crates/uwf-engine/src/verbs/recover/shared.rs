//! `uwf recover` in a shared store: heads that are missing, damaged, or point at a missing node.
//!
//! Other machines continue to work meanwhile, and no index is held. So `recover` first looks at everything, and then sets each head by
//! compare-and-swap against what it saw: a head that another machine has moved stays. So does everything that may be right as it is.

use std::collections::{BTreeMap, BTreeSet};

use json_cas::{HeadsError, JournalRecords, NameDamage, NameVersion, NodeHash, Pointing, READ_AT_ONCE, SwapOutcome};
use serde_json::Value;
use uwf_core::node::NodeKind;
use uwf_core::thread::ThreadId;

use super::evidence::{HeadEvidence, HeadSource, RecordedHead};
use super::lost_nodes::{self, NodesBelowHead};
use super::standing::{self, HeadlessThreadEvidence, HeadlessThreadState};
use super::{NamesRecovery, RecoveryFinding, RecoverySummary, ThreadRecovery, archived, ended, lost, value};
use crate::error::Result;
use crate::root::history::{self, HistoryLine};
use crate::root::home::Home;
use crate::root::{node_types, registry};

/// Why a head cannot be set.
const IS_NOWHERE: &str =
    "neither the store nor this machine's cache has it; `uwf recover` on the machine that made it may restore it";

/// Repair of a name.
enum NameRepair {
    Nothing,
    /// Restore the missing nodes below this head.
    PutBack(NodeHash),
    Create(NodeHash),
    Mend(NameVersion, NodeHash),
    Swap {
        seen: NodeHash,
        to: NodeHash,
    },
    /// The thread has ended. Replace an unreadable head first.
    End(Box<HistoryLine>, Option<NameVersion>),
}

/// Sets wrong heads again, unless `dry_run` is set.
///
/// # Errors
/// Errors of the store; `Io` if records of this machine cannot be read just now. Heads set before the error stay.
pub(super) fn recover(home: &Home, dry_run: bool) -> Result<RecoverySummary> {
    let _hold = (!dry_run).then(|| home.hold_nodes()).transpose()?;
    if !dry_run {
        // Without uwf's types no node can be read or written.
        node_types::repair(home)?;
    }
    let evidence = HeadEvidence::new(home);
    let seen = StoreSurvey::read(home)?;
    let (plan, not_in_store) =
        SharedRecoveryPlanner { home, seen: &seen, standings: seen.standings(home, &evidence), evidence: &evidence }
            .plan()?;
    let names = look_at_names(home, &seen)?;
    evidence.complete()?;
    let mut report = RecoverySummary {
        store: Some(home.place()),
        changed: plan.iter().map(|(_, deed)| deed).chain([&names.1]).any(|deed| !matches!(deed, NameRepair::Nothing)),
        problems: seen.problems.clone(),
        not_in_store,
        ..RecoverySummary::default()
    };
    if dry_run {
        report.threads = plan.into_iter().map(|(row, _)| row).collect();
        report.names = names.0;
        return Ok(report);
    }
    let mut work = HeadRepairer { home, put_back: 0, changed: false };
    report.names = work.names(names)?;
    report.threads = plan.into_iter().map(|(row, deed)| work.thread(row, deed)).collect::<Result<_>>()?;
    (report.nodes_put_back, report.changed) = (work.put_back, work.changed);
    Ok(report)
}

/// State of the store.
struct StoreSurvey {
    /// Notes are read first: a new thread's note is written before its head.
    noted: BTreeMap<ThreadId, std::time::Duration>,
    heads: BTreeMap<String, Pointing>,
    history: Vec<Value>,
    problems: Vec<String>,
    /// Names that point at nodes that are missing from the store or of the wrong kind.
    astray: BTreeSet<String>,
}

impl StoreSurvey {
    fn read(home: &Home) -> Result<StoreSurvey> {
        let noted = standing::noted(home)?;
        let heads: BTreeMap<_, _> = home.heads().survey()?.into_iter().collect();
        let JournalRecords { readable, problems } = home.journal().records()?;
        Ok(StoreSurvey { noted, history: readable, problems, astray: astray(home, &heads)?, heads })
    }

    fn standings<'h>(&'h self, home: &'h Home, evidence: &'h HeadEvidence<'h>) -> HeadlessThreadEvidence<'h> {
        HeadlessThreadEvidence::new(home, evidence, &self.noted, &self.history)
    }
}

/// Heads whose nodes are missing from the store itself, which a cache would hide, or of the wrong kind.
fn astray(home: &Home, heads: &BTreeMap<String, Pointing>) -> Result<BTreeSet<String>> {
    let heads: Vec<(&String, NodeHash)> =
        heads.iter().filter_map(|(name, head)| Some((name, *head.as_ref().ok()?))).collect();
    let mut astray = BTreeSet::new();
    for some in heads.chunks(READ_AT_ONCE) {
        let hashes: Vec<NodeHash> = some.iter().map(|(_, hash)| *hash).collect();
        for ((name, _), node) in some.iter().zip(home.store().try_get_all_uncached(&hashes)?) {
            let kind = match node {
                Err(error) if error.is_of_the_moment() => return Err(error.into()),
                node => node.ok().flatten().and_then(|node| NodeKind::from_type_hash(node.type_hash)),
            };
            let can_be = match kind {
                Some(NodeKind::StartNode | NodeKind::StepNode) => *name != registry::SHARED,
                Some(NodeKind::Content) => *name == registry::SHARED,
                _ => false,
            };
            if !can_be {
                astray.insert((*name).clone());
            }
        }
    }
    Ok(astray)
}

/// Input for the decision about each thread.
struct SharedRecoveryPlanner<'l> {
    home: &'l Home,
    seen: &'l StoreSurvey,
    standings: HeadlessThreadEvidence<'l>,
    evidence: &'l HeadEvidence<'l>,
}

impl SharedRecoveryPlanner<'_> {
    /// Every thread that needs a row, and how many of this machine's threads are not in the store.
    fn plan(&self) -> Result<(Vec<(ThreadRecovery, NameRepair)>, usize)> {
        let ended = ended(&self.seen.history);
        let parsed =
            self.seen.heads.keys().filter_map(|name| name.parse::<ThreadId>().ok().filter(|id| id.as_str() == name));
        let ids: BTreeSet<ThreadId> =
            parsed.chain(self.seen.noted.keys().cloned()).chain(super::with_records(self.home, None)?).collect();
        let (mut plan, mut not_in_store) = (Vec::new(), 0);
        // A thread that ended after the heads were read is in both.
        for id in ids.into_iter().filter(|id| !ended.contains_key(id)) {
            match self.seen.heads.get(id.as_str()) {
                Some(Ok(head)) => plan.push(self.with_head(&id, *head)?),
                Some(Err(damaged)) => plan.extend(self.without_head(&id, Some(damaged))?),
                None => match self.without_head(&id, None)? {
                    Some(planned) => plan.push(planned),
                    None => not_in_store += usize::from(!self.seen.noted.contains_key(&id)),
                },
            }
        }
        Ok((plan, not_in_store))
    }

    fn with_head(&self, id: &ThreadId, head: NodeHash) -> Result<(ThreadRecovery, NameRepair)> {
        let row = |finding, note: Option<String>| row(id, finding, Some(head), HeadSource::Store, note);
        if let Some(end) = self.evidence.end_of(id) {
            return Ok((
                archived(id, end.head, "the copy of its line in the history"),
                NameRepair::End(Box::new(end), None),
            ));
        }
        if !self.seen.astray.contains(id.as_str()) {
            let later = self.standings.later_step(id, head)?;
            return Ok(match later {
                None => (row(RecoveryFinding::Kept, None), NameRepair::Nothing),
                Some(later) => {
                    let note = format!("its head was moved back: {later}, which this machine made, comes after it");
                    (row(RecoveryFinding::Differs, Some(note)), NameRepair::Nothing)
                }
            });
        }
        if let NodesBelowHead::Cached = lost_nodes::below(self.home, head)?
            && self.evidence.is_readable(head)
        {
            let note = "its nodes were restored from this machine's cache".to_owned();
            return Ok((row(RecoveryFinding::Kept, Some(note)), NameRepair::PutBack(head)));
        }
        if let HeadlessThreadState::At(RecordedHead { head: to, from, .. }) = self.standings.of_thread(id)?
            && to != head
            && !matches!(lost_nodes::below(self.home, to)?, NodesBelowHead::Lacks(_))
        {
            let note = Some("the node at its head is not in the store".to_owned());
            let moved =
                ThreadRecovery { before: Some(head), ..self::row(id, RecoveryFinding::Moved, Some(to), from, note) };
            return Ok((moved, NameRepair::Swap { seen: head, to }));
        }
        let note = Some(format!("node {head}: {IS_NOWHERE}"));
        Ok((row(RecoveryFinding::Differs, note), NameRepair::Nothing))
    }

    /// A thread with a missing or unreadable head; `None` if nothing needs to be reported.
    fn without_head(
        &self,
        id: &ThreadId,
        damaged: Option<&NameDamage>,
    ) -> Result<Option<(ThreadRecovery, NameRepair)>> {
        let about = |why: String| match damaged {
            Some(damaged) => format!("{}; {why}", damaged.reason),
            None => why,
        };
        if let Some(NameDamage { version: None, reason }) = damaged {
            return Ok(Some((lost(id, reason.clone()), NameRepair::Nothing)));
        }
        if let Some(problem) = self.seen.problems.iter().find(|problem| problem.contains(id.as_str())) {
            let note = about(format!("it seems to have ended, and its remaining records are not readable: {problem}"));
            return Ok(Some((lost(id, note), NameRepair::Nothing)));
        }
        let standing = self.standings.of_thread(id)?;
        // The thread may have started or ended after the heads were read.
        if damaged.is_none() && !matches!(standing, HeadlessThreadState::Nowhere) && is_somewhere(self.home, id)? {
            return Ok(None);
        }
        Ok(match standing {
            HeadlessThreadState::Ended(end) => {
                let version = damaged.and_then(|damaged| damaged.version.clone());
                let row = archived(id, end.head, "the copy of its line in the history");
                Some((row, NameRepair::End(end, version)))
            }
            HeadlessThreadState::At(RecordedHead { head, from, .. }) => {
                Some(match lost_nodes::below(self.home, head)? {
                    NodesBelowHead::Lacks(node) => {
                        let why = about(format!("its head was {head}, and node {node} is lost: {IS_NOWHERE}"));
                        (lost(id, why), NameRepair::Nothing)
                    }
                    NodesBelowHead::Whole | NodesBelowHead::Cached => {
                        let note = damaged.map(|damaged| damaged.reason.clone());
                        let row = row(id, RecoveryFinding::Restored, Some(head), from, note);
                        let version = damaged.and_then(|damaged| damaged.version.clone());
                        (row, version.map_or(NameRepair::Create(head), |version| NameRepair::Mend(version, head)))
                    }
                })
            }
            HeadlessThreadState::Unclear(why) => {
                let row = ThreadRecovery { finding: RecoveryFinding::Differs, ..lost(id, about(why)) };
                Some((row, NameRepair::Nothing))
            }
            HeadlessThreadState::Nowhere if damaged.is_some() => {
                Some((lost(id, about("no record names its head".to_owned())), NameRepair::Nothing))
            }
            HeadlessThreadState::Beginning | HeadlessThreadState::Nowhere => None,
        })
    }
}

fn is_somewhere(home: &Home, id: &ThreadId) -> Result<bool> {
    Ok(home.heads().read(id.as_str())?.is_some() || history::newest_line(home, id)?.is_some())
}

fn row(
    id: &ThreadId,
    finding: RecoveryFinding,
    head: Option<NodeHash>,
    from: HeadSource,
    note: Option<String>,
) -> ThreadRecovery {
    ThreadRecovery { thread: id.clone(), finding, head, before: None, from: Some(from), note }
}

/// The repair of the names of workflows, and what to report about them.
fn look_at_names(home: &Home, seen: &StoreSurvey) -> Result<(Option<NamesRecovery>, NameRepair)> {
    let (damaged, now) = match seen.heads.get(registry::SHARED) {
        Some(Ok(_)) if !seen.astray.contains(registry::SHARED) => return Ok((None, NameRepair::Nothing)),
        Some(Ok(head)) => (None, Some(*head)),
        Some(Err(damaged)) => (Some(damaged), None),
        None => (None, None),
    };
    let names = |finding, head, note: Option<String>| {
        Some(NamesRecovery { finding, head, before: now.filter(|now| head != Some(*now)), note })
    };
    let traced = registry::traced(home)?;
    let to = match traced.or(now) {
        Some(to) if !matches!(lost_nodes::below(home, to)?, NodesBelowHead::Lacks(_)) => to,
        // Perhaps no workflow ever had a name.
        None if damaged.is_none() => return Ok((None, NameRepair::Nothing)),
        _ => {
            let what = damaged.map(|damaged| format!("{}; ", damaged.reason)).unwrap_or_default();
            return Ok((
                names(RecoveryFinding::Lost, None, Some(format!("{what}{}", registry::NAMES_ARE_LOST))),
                NameRepair::Nothing,
            ));
        }
    };
    let note = damaged.map(|damaged| damaged.reason.clone());
    Ok(match (damaged, now) {
        (Some(NameDamage { version: Some(version), .. }), _) => {
            (names(RecoveryFinding::Restored, Some(to), note), NameRepair::Mend(version.clone(), to))
        }
        (Some(_), _) => (names(RecoveryFinding::Lost, None, note), NameRepair::Nothing),
        (None, Some(now)) if now == to => (names(RecoveryFinding::Kept, Some(to), None), NameRepair::PutBack(to)),
        (None, Some(seen)) => (names(RecoveryFinding::Moved, Some(to), None), NameRepair::Swap { seen, to }),
        (None, None) => (names(RecoveryFinding::Restored, Some(to), None), NameRepair::Create(to)),
    })
}

/// Result of setting a head.
enum HeadUpdateOutcome {
    Done,
    /// Another process has set it meanwhile; its current head, if it has one.
    Outrun(Option<NodeHash>),
    /// This node could not be restored.
    Lacks(NodeHash),
}

/// The repairs.
struct HeadRepairer<'h> {
    home: &'h Home,
    put_back: usize,
    changed: bool,
}

impl HeadRepairer<'_> {
    fn thread(&mut self, planned: ThreadRecovery, deed: NameRepair) -> Result<ThreadRecovery> {
        let id = planned.thread.clone();
        Ok(match self.set(id.as_str(), deed)? {
            HeadUpdateOutcome::Done => planned,
            HeadUpdateOutcome::Outrun(Some(now)) => row(
                &id,
                RecoveryFinding::Kept,
                Some(now),
                HeadSource::Store,
                Some("another machine has set its head meanwhile".to_owned()),
            ),
            HeadUpdateOutcome::Outrun(None) => ThreadRecovery {
                finding: RecoveryFinding::Archived,
                before: None,
                from: Some(HeadSource::History),
                note: Some("it has ended meanwhile".to_owned()),
                ..planned
            },
            HeadUpdateOutcome::Lacks(node) => lost(&id, format!("node {node}: {IS_NOWHERE}")),
        })
    }

    fn names(&mut self, (names, deed): (Option<NamesRecovery>, NameRepair)) -> Result<Option<NamesRecovery>> {
        let Some(planned) = names else { return Ok(None) };
        Ok(Some(match self.set(registry::SHARED, deed)? {
            HeadUpdateOutcome::Done => planned,
            HeadUpdateOutcome::Outrun(now) => {
                NamesRecovery { finding: RecoveryFinding::Kept, head: now, before: None, note: None }
            }
            HeadUpdateOutcome::Lacks(node) => NamesRecovery {
                finding: RecoveryFinding::Lost,
                head: None,
                before: None,
                note: Some(format!("node {node}: {IS_NOWHERE}")),
            },
        }))
    }

    fn set(&mut self, name: &str, deed: NameRepair) -> Result<HeadUpdateOutcome> {
        let heads = self.home.heads();
        let (to, set): (NodeHash, Box<dyn FnOnce() -> Result<SwapOutcome, HeadsError> + '_>) = match deed {
            NameRepair::Nothing => return Ok(HeadUpdateOutcome::Done),
            NameRepair::PutBack(to) => (to, Box::new(|| Ok(SwapOutcome::Done))),
            NameRepair::Create(to) => (to, Box::new(move || heads.create(name, to))),
            NameRepair::Mend(version, to) => (to, Box::new(move || heads.mend(name, &version, to))),
            NameRepair::Swap { seen, to } => (
                to,
                Box::new(move || match heads.read(name)? {
                    Some(now) if now.hash == seen => heads.swap(name, &now.version, to),
                    now => Ok(SwapOutcome::Moved(now)),
                }),
            ),
            NameRepair::End(end, damaged) => return self.end(&end, damaged.as_ref()),
        };
        match lost_nodes::put_back(self.home, to)? {
            Err(node) => return Ok(HeadUpdateOutcome::Lacks(node)),
            Ok(0) => {}
            Ok(count) => (self.put_back, self.changed) = (self.put_back + count, true),
        }
        self.record_swap(set())
    }

    /// Records the end of a thread in the history by removing its head. If it has no head, sets one first.
    fn end(&mut self, end: &HistoryLine, damaged: Option<&NameVersion>) -> Result<HeadUpdateOutcome> {
        let (heads, name) = (self.home.heads(), end.thread.as_str());
        let begun = match (damaged, heads.read(name)) {
            (Some(damaged), Err(HeadsError::Unreadable { .. })) => heads.mend(name, damaged, end.head),
            (_, Ok(None)) => heads.create(name, end.head),
            (_, Ok(Some(_))) => Ok(SwapOutcome::Done),
            (_, Err(error)) => Err(error),
        };
        match self.record_swap(begun)? {
            HeadUpdateOutcome::Done => {}
            other => return Ok(other),
        }
        let Some(head) = heads.read(name)? else { return Ok(HeadUpdateOutcome::Outrun(None)) };
        self.record_swap(heads.remove(name, &head.version, &value(end)))
    }

    fn record_swap(&mut self, swap: Result<SwapOutcome, HeadsError>) -> Result<HeadUpdateOutcome> {
        match swap {
            Ok(SwapOutcome::Done) => {
                self.changed = true;
                Ok(HeadUpdateOutcome::Done)
            }
            Ok(SwapOutcome::Moved(now)) => Ok(HeadUpdateOutcome::Outrun(now.map(|head| head.hash))),
            Err(HeadsError::Removed { .. }) => Ok(HeadUpdateOutcome::Outrun(None)),
            Err(error) => Err(error.into()),
        }
    }
}
