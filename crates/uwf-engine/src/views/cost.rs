//! `thread cost`: the costs of threads, from the details of their steps and of failed attempts.
//!
//! Each step takes two reads: its node and its detail. Its turns are also read if the detail has no tokens, or if a model read the answer.
//! Each failed attempt takes one read, and one for each of its turns. An attempt in progress counts with what its trace says so far. A step
//! that several threads share is read once, and counts once in the total.

mod attempt_times;
mod csv;
mod day_zone;
mod group_place;
mod in_progress;
mod ledger;
mod memory;

use std::collections::{BTreeMap, HashSet};

use json_cas::NodeHash;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uwf_core::config::UwfConfig;
use uwf_core::node::EndStatus;
use uwf_core::spending::SpendingTotals;
use uwf_core::thread::ThreadId;

use self::attempt_times::AttemptTimes;
pub use self::day_zone::{DayZone, days_after};
use self::ledger::{CostAccount, CostLedger};
use self::memory::CachedThreadSteps;
pub use self::memory::CostMemory;
use crate::attempt::child_threads;
use crate::error::{Error, Result};
use crate::root::file_sign::FileSign;
use crate::root::history;
use crate::root::home::Home;
use crate::root::ids;
use crate::root::marks;
use crate::root::project_files::ProjectRoot;
use crate::thread::children;
use crate::thread::load::Thread;
use crate::views::thread_now::ThreadNow;

/// Which threads to add up, and how to group their costs.
#[derive(Debug, Clone, Default)]
pub struct CostRequest {
    /// The threads; all if empty.
    pub threads: Vec<ThreadId>,
    /// Only threads of this project.
    pub project: Option<ProjectRoot>,
    /// Only costs since this time (Unix milliseconds).
    pub since: Option<u64>,
    /// Only costs before this time (Unix milliseconds).
    pub until: Option<u64>,
    /// The subject of each row.
    pub by: CostBy,
    /// The time zone of the days.
    pub zone: DayZone,
    /// Leave out runs in progress, whose usage is not final.
    pub only_ended: bool,
}

/// The subject of each row of costs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CostBy {
    /// A thread, with the child threads that played its roles.
    #[default]
    Thread,
    /// A role.
    Role,
    /// A branch of a group, by its path; outside of groups, a role.
    Branch,
    /// An agent, by its name in the configuration.
    Agent,
    /// A model.
    Model,
    /// A workflow, by its name.
    Workflow,
    /// A label, `KEY=VALUE`. A thread with several labels is in several rows.
    Label,
    /// A day.
    Day,
}

/// Costs of threads.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CostReport {
    /// The subject of each row.
    pub by: CostBy,
    /// The time zone of the days, also of those that bound the period: `Europe/Berlin`, `UTC`.
    pub time_zone: String,
    /// The rows: threads newest first, days oldest first, others by tokens.
    pub rows: Vec<CostRow>,
    /// The total; steps that several threads share count once.
    pub total: SpendingTotals,
    /// Number of threads that were read.
    pub threads: usize,
    /// Number of steps that occur in several rows of threads.
    pub shared_steps: usize,
    /// The configured price table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prices: Option<PricesUsed>,
    /// The list prices that ship with uwf, if some money is calculated from them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list_prices: Option<PricesUsed>,
    /// Models whose runs have no known cost; null for runs without a known model.
    pub unpriced: Vec<Option<String>>,
    /// Threads that could not be read completely.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<UnreadableThread>,
}

/// One row.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CostRow {
    /// The thread, role, agent, model, workflow, label or day; null if unknown, or for threads without a label.
    pub name: Option<String>,
    /// For a thread: the name of its workflow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflow: Option<String>,
    /// Its costs.
    #[serde(flatten)]
    pub spent: SpendingTotals,
}

/// A table of prices.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PricesUsed {
    /// The day of the prices.
    pub date: String,
    /// Their currency.
    pub currency: String,
}

/// A thread that could not be read completely.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct UnreadableThread {
    /// The thread.
    pub thread: ThreadId,
    /// Why.
    pub why: String,
}

/// Adds up what threads spent.
///
/// # Errors
/// `Usage` for a time span that ends before it begins; `NotFound` for a requested thread that does not exist; errors of its nodes, errors of
/// index and history as a whole. If no threads were requested by id, the report lists unreadable ones instead.
pub fn cost(home: &Home, config: &UwfConfig, request: &CostRequest) -> Result<CostReport> {
    if let (Some(since), Some(until)) = (request.since, request.until)
        && until < since
    {
        return Err(Error::usage("the time span ends before it begins")
            .hint("`since` is the earlier time, `until` the later one"));
    }
    cost_again(home, config, request, &mut CostMemory::default())
}

/// Like [`cost`], for callers that add up repeatedly: `memory` keeps everything read so far.
pub fn cost_again(
    home: &Home,
    config: &UwfConfig,
    request: &CostRequest,
    memory: &mut CostMemory,
) -> Result<CostReport> {
    memory.begin(config);
    let mut ledger = CostLedger::new(home, config, request, memory);
    let threads = match request.threads.as_slice() {
        [] => add_all(home, &mut ledger, request)?,
        named => add_named(home, &mut ledger, named)?,
    };
    Ok(ledger.costs(threads))
}

/// Adds all threads of a request, and returns their number. A child thread comes after the thread above it if rows are of threads.
fn add_all(home: &Home, ledger: &mut CostLedger<'_>, request: &CostRequest) -> Result<usize> {
    ledger.names_places = request.by == CostBy::Branch;
    ledger.marks = Some(marks::all_here(home)?);
    let mut membership = request.project.as_ref().map(|project| project.membership(home));
    let mut threads = all(home, request.since)?;
    threads.retain(|(id, _)| membership.as_mut().is_none_or(|is_of_project| is_of_project(id)));
    let count = threads.len();
    let mut read = Vec::with_capacity(count);
    for (id, standing) in threads {
        let known = ledger.reader.memory.line(standing.head);
        let line = known.or_else(|| match Thread::load_at(home, id.clone(), standing.head) {
            Ok(thread) => ledger.line_of(&thread),
            Err(error) => {
                ledger.lacks(&(Some(id.to_string()), None), id.clone(), error.to_string());
                None
            }
        });
        read.extend(line.map(|line| (id, standing, line)));
    }
    let ids: HashSet<ThreadId> = read.iter().map(|(id, ..)| id.clone()).collect();
    let has_parent = |id| child_threads::parent_of(home, id).is_some_and(|parent| ids.contains(&parent));
    let is_part = |id, line: &CachedThreadSteps| request.by == CostBy::Thread && line.is_child && has_parent(id);
    let (parts, whole): (Vec<_>, Vec<_>) = read.iter().partition(|(id, _, line)| is_part(id, line));
    whole.iter().for_each(|(id, standing, line)| ledger.line(id, standing, line, false));
    parts.iter().for_each(|(id, standing, line)| ledger.line(id, standing, line, true));
    Ok(count)
}

/// Adds these threads, each once, and returns their number.
fn add_named(home: &Home, ledger: &mut CostLedger<'_>, threads: &[ThreadId]) -> Result<usize> {
    let mut named = HashSet::new();
    for id in threads.iter().filter(|id| named.insert((*id).clone())) {
        let thread = Thread::any(home, id)?;
        let standing = HeadAndRecord { head: thread.head, record: FileSign::from_file(&home.record_file(id)) };
        ledger.thread(&thread, &standing);
    }
    Ok(named.len())
}

/// Like [`cost`], for one thread at the moment it was read.
pub fn of_thread(now: &ThreadNow<'_>, config: &UwfConfig, by: CostBy) -> CostReport {
    let (thread, home) = (&now.thread, now.thread.home());
    let standing = HeadAndRecord { head: thread.head, record: FileSign::from_file(&home.record_file(&thread.id)) };
    let mut memory = CostMemory::default();
    memory.keep_tries(&thread.id, &standing, now.failed());
    memory.keep_times(&thread.id, standing.record, AttemptTimes::from_record(home, &thread.id, now.record.all()));
    let request = CostRequest { by, ..CostRequest::default() };
    let mut ledger = CostLedger::new(home, config, &request, &mut memory);
    ledger.thread(thread, &standing);
    ledger.costs(1)
}

/// The costs of a step, including the failed attempts before it. If a child thread played the step, all steps of that thread count. An
/// unreadable part counts as a run with unknown costs.
pub fn of_step(home: &Home, config: &UwfConfig, step: NodeHash) -> SpendingTotals {
    let mut memory = CostMemory::default();
    let mut ledger = CostLedger::new(home, config, &CostRequest::default(), &mut memory);
    let mut account = CostAccount::default();
    ledger.step(&mut account, step, 0);
    if account.why.is_some() {
        ledger.total.add_unknown();
    }
    ledger.total
}

/// Head and record of a thread, from index and history.
struct HeadAndRecord {
    head: NodeHash,
    /// Its record: attempts may have failed since its newest step.
    record: Option<FileSign>,
}

/// All threads that may have costs since this time, newest first. An active thread has none if its record is unchanged since. Each attempt
/// begins and ends with a line in the record, written after the nodes that hold its costs.
fn all(home: &Home, since: Option<u64>) -> Result<Vec<(ThreadId, HeadAndRecord)>> {
    let mut threads = BTreeMap::new();
    for (name, head) in home.heads().list()? {
        let Ok(id) = name.parse::<ThreadId>() else { continue };
        let record = FileSign::from_file(&home.record_file(&id));
        let changed = record.and_then(|record| record.changed_ms());
        if since.is_none_or(|since| changed.is_none_or(|changed| changed >= since)) {
            threads.insert(id, HeadAndRecord { head, record });
        }
    }
    for line in history::all(home)? {
        // A thread that ended since the index was read is in both.
        threads.remove(&line.thread);
        if since.is_none_or(|since| line.completed_at >= since) {
            let is_killed = line.status == EndStatus::Killed;
            let record = is_killed.then(|| FileSign::from_file(&home.record_file(&line.thread))).flatten();
            threads.insert(line.thread, HeadAndRecord { head: line.head, record });
        }
    }
    Ok(threads.into_iter().rev().collect())
}

fn children_without_step<'h>(home: &'h Home, thread: &ThreadId, head: NodeHash) -> Result<Vec<Thread<'h>>> {
    // Most threads have no children, and needn't be loaded.
    if children::known(home, thread)?.is_empty() {
        return Ok(Vec::new());
    }
    let ids = children::without_step(&Thread::load_at(home, thread.clone(), head)?)?;
    let found = ids.iter().map(|id| children::find(home, id)).collect::<Result<Vec<_>>>()?;
    Ok(found.into_iter().flatten().collect())
}

/// Unix milliseconds from which costs count: a duration before now, or the beginning of a day.
///
/// # Errors
/// `Usage` for another text.
pub fn since(typed: &str, zone: &DayZone) -> Result<u64> {
    let found = if uwf_core::config::is_date(typed) {
        zone.start_of(typed)
    } else {
        let ago = uwf_core::document::parse_duration(typed).and_then(|ago| u64::try_from(ago.as_millis()).ok());
        ago.map(|ago| ids::now_ms().saturating_sub(ago))
    };
    found.ok_or_else(|| {
        Error::usage(format!("`{typed}` is not a time")).hint("write how long ago, 7d or 12h, or a day, 2026-11-01")
    })
}
