//! Lists threads. Reads the marks, the index and the history once each, and nodes only of the threads that are shown.

mod current_role;
mod family;
mod filter;
mod folding;
mod memory;
mod order;
mod parents;
mod recorded;
mod search;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use json_cas::NodeHash;
use schemars::JsonSchema;
use serde::Serialize;
use uwf_core::label::ThreadLabels;
use uwf_core::thread::ThreadId;

pub(crate) use self::current_role::CurrentRoleReader;
use self::current_role::NextRoles;
use self::family::FamilyReader;
pub(crate) use self::family::RowPlace;
pub use self::filter::ThreadFilter;
use self::folding::BranchFolds;
pub use self::folding::{BranchCounts, PlayedBranch};
pub(crate) use self::memory::READ_DIRECTLY;
use self::memory::{HeadSummary, HeadSummaryCaches, beginning};
use self::order::{OrderedRows, began_at, newness};
pub use self::order::{in_families, in_families_of};
use self::parents::{leave_behind, stop_with_parents};
pub(crate) use self::recorded::without_settings;
use self::search::{TaskMemory, ThreadSearch};
use crate::attempt::child_threads;
use crate::attempt::elsewhere::{self, PeerActivity};
use crate::attempt::settings;
use crate::error::Result;
use crate::root::home::Home;
use crate::root::marks::{self, MarkReason, ThreadMark};
use crate::root::registry::Registry;
use crate::root::{history, record};
use crate::thread::state::{self, ThreadState};
use crate::thread::{ending, load};
use crate::views::left_child;
use crate::views::thread_state::{ActiveThreadFacts, ThreadPause};
use crate::views::workflow_names::WorkflowNames;

/// One thread of a listing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadRow {
    /// Its id.
    pub thread: ThreadId,
    /// Workflow it is pinned to; absent if its nodes are unreadable.
    pub workflow: Option<NodeHash>,
    /// Its head.
    pub head: NodeHash,
    /// Its state.
    pub state: ThreadState,
    /// Role of its last step; absent before the first.
    pub role: Option<String>,
    /// The role that is running, waits, failed or is next. Only lists of one role have it, because it may have to be computed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_role: Option<String>,
    /// Unix milliseconds of its start, from its id; absent if the id is not a ULID.
    pub started_at: Option<u64>,
    /// Unix milliseconds of its last change: its newest step, its start before the first, or when it ended.
    pub changed_at: Option<u64>,
    /// Why it is in this state, if there is a reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// When it can continue, in Unix milliseconds: at the end of a usage limit, at `askTimeout` of a question, or after the wait between two
    /// attempts of a running step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<u64>,
    /// The thread above whose state it has, because that thread plays it and has stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped_with: Option<ThreadId>,
    /// The thread above that ended or continued without it. It needs no action.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_by: Option<ThreadId>,
    /// Its outcome; absent if it has not ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// Name of the condition of its last transition, if that is recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// Its StartNode, once read.
    #[serde(skip)]
    start: Option<NodeHash>,
    /// Its thread-end node.
    #[serde(skip)]
    end: Option<NodeHash>,
    /// Whether it is a child thread.
    #[serde(skip)]
    is_child: bool,
    /// The role that is running, waits or failed, once read and if known.
    #[serde(skip)]
    known_role: Option<String>,
    /// Its place among other threads.
    #[serde(skip)]
    place: RowPlace,
    /// The beginning of its task, once read.
    #[serde(skip)]
    task: Option<String>,
    /// Its labels, if the listing has read them.
    #[serde(skip)]
    labels: Option<ThreadLabels>,
    /// Whether it is a failed branch that its group continued without.
    #[serde(skip)]
    is_failed_branch: bool,
    /// Whether it is pausing: no further step begins once the running one has ended.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub pausing: bool,
}

impl ThreadRow {
    /// Whether it is a child thread.
    #[must_use]
    pub fn is_child(&self) -> bool {
        self.is_child
    }

    /// Its parent, if this machine knows that thread.
    #[must_use]
    pub fn parent(&self) -> Option<&ThreadId> {
        self.place.parent.as_ref()
    }

    /// Its place among other threads.
    pub(crate) fn place(&self) -> &RowPlace {
        &self.place
    }

    /// Whether it has reached a limit that ends by itself.
    #[must_use]
    pub fn is_limit_ending(&self) -> bool {
        self.state == ThreadState::Limited && self.until.is_some()
    }

    /// The role that is running, waits or failed, if the thread's marks or another machine's claim name it.
    pub(super) fn known_role(&self) -> Option<&str> {
        self.known_role.as_deref()
    }

    pub(super) fn is_finished(&self) -> bool {
        matches!(self.state, ThreadState::Completed | ThreadState::Killed)
    }

    fn know(&mut self, HeadSummary { role, is_child, start, task, .. }: HeadSummary) {
        (self.role, self.is_child, self.start, self.task) = (role, is_child, Some(start), task);
    }

    /// Whether it has everything that only its nodes contain.
    fn is_read(&self) -> bool {
        let has_been = match self.is_finished() {
            true => self.role.is_some() && self.outcome.is_some(),
            false => self.workflow.is_some(),
        };
        has_been || self.state == ThreadState::Corrupt
    }
}

/// A thread with the name of its workflow, and its place among other threads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NamedThreadRow {
    /// The thread.
    #[serde(flatten)]
    pub row: ThreadRow,
    /// Name of its workflow; absent if unreadable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflow_name: Option<String>,
    /// Its parent thread, if this machine knows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_thread: Option<ThreadId>,
    /// Path of the branch that it is, `GROUP.BRANCH`; absent if it is not a branch of a group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The beginning of its task on one line, or of the item of a branch; absent if unreadable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Its labels.
    #[serde(skip_serializing_if = "ThreadLabels::is_empty")]
    pub labels: ThreadLabels,
}

impl NamedThreadRow {
    /// A row with the name of its workflow, and its place among other threads.
    pub fn from_row(row: ThreadRow, names: &mut WorkflowNames, home: &Home) -> NamedThreadRow {
        let workflow_name = row.workflow.and_then(|hash| names.name(home, hash));
        let RowPlace { parent, branch, item } = row.place.clone();
        let task = item.as_deref().map(beginning).or(row.task.clone());
        let labels = row.labels.clone().unwrap_or_else(|| settings::labels(home, &row.thread));
        NamedThreadRow { row, workflow_name, parent_thread: parent, branch, task, labels }
    }
}

/// Result of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadListing {
    /// The threads within limit and offset, newest first.
    pub rows: Vec<ThreadRow>,
    /// Number of threads without limit and offset.
    pub matching: usize,
    /// Number of threads in each state, regardless of the rest of the filter; finished threads count only if requested. Counting reads no
    /// nodes, so a thread with unreadable nodes counts in the state of its marks.
    pub counts: BTreeMap<ThreadState, usize>,
    /// Number of threads that were folded into the rows.
    pub folded: usize,
    /// Branches that the threads of the rows are playing, if the filter folds them.
    pub branches: HashMap<ThreadId, Vec<PlayedBranch>>,
    /// Number of rows that the list of each state would have, if the filter folds branches and asks for all rows in any state.
    pub shown: BTreeMap<ThreadState, usize>,
}

/// Threads, newest first. Their states come from index, marks and locks. Nodes are read only of the threads that are shown, unless the
/// filter depends on nodes.
///
/// # Errors
/// Errors of index, history and marks as a whole. A single unreadable thread is a row that says so.
pub fn list(home: &Home, filter: &ThreadFilter) -> Result<ThreadListing> {
    list_again(home, filter, &mut ListMemory::default())
}

/// Tasks of threads, and roles that are next, from earlier listings. A new one is empty.
#[derive(Default)]
pub struct ListMemory {
    tasks: TaskMemory,
    next_roles: NextRoles,
}

/// Like [`list`], for callers that list repeatedly.
pub fn list_again(home: &Home, filter: &ThreadFilter, memory: &mut ListMemory) -> Result<ThreadListing> {
    let heads = home.heads().list()?;
    let marks = marks::all(home)?;
    let paused_below = child_threads::paused_below(home, &marks)?;
    let elsewhere = elsewhere::all(home, &heads)?;
    let mut known = ActiveThreads { home, marks, paused_below, elsewhere, by_name: BTreeMap::new() };
    let mut rows: Vec<ThreadRow> = heads.iter().filter_map(|(name, head)| known.active(name, *head)).collect();
    stop_with_parents(home, &mut rows)?;
    // Threads that share a start belong together, whatever continues them.
    if filter.start.is_none() {
        leave_behind(home, &mut rows, filter.all)?;
    }
    let mut finished_heads = Vec::new();
    if filter.asks_finished() {
        let history = history::all(home)?;
        // A thread that ended since the index was read is in both.
        let ended: HashSet<&ThreadId> = history.iter().map(|line| &line.thread).collect();
        rows.retain(|row| !ended.contains(&row.thread));
        finished_heads.extend(history.iter().map(|line| line.head));
        rows.extend(history.into_iter().map(|line| finished(home, line)));
    }
    let is_whole = filter.asks_finished() && filter.limit.is_none();
    let all: Option<HashSet<ThreadId>> = is_whole.then(|| rows.iter().map(|row| row.thread.clone()).collect());
    let counts = counts(&rows);
    let states = rows.iter().filter(|_| filter.folds_branches);
    let states: HashMap<ThreadId, ThreadState> = states.map(|row| (row.thread.clone(), row.state)).collect();
    let after = filter.after.as_ref().map(|after| {
        let row = rows.iter().find(|row| row.thread == *after);
        (began_at(home, after, row.and_then(|row| row.changed_at)), after.clone(), row.map(|row| row.head))
    });
    let mut rows: Vec<_> = rows.into_iter().map(|row| (newness(home, &row), row)).collect();
    rows.retain(|((began, _), row)| filter.may_show(row) && after.as_ref().is_none_or(|(last, ..)| began <= last));
    if let Some(project) = &filter.project {
        let mut is_of_project = project.membership(home);
        rows.retain(|(_, row)| is_of_project(&row.thread));
    }
    let asked = filter.reads_of(!filter.labels.is_empty(), rows.len());
    let mut family = FamilyReader::new(home, filter.asks_finished(), asked);
    if !filter.labels.is_empty() {
        rows.retain(|(_, row)| {
            let labels = family.labels(&row.thread);
            filter.labels.iter().all(|label| label.matches(&labels))
        });
    }
    rows.sort_by(|(a, _), (b, _)| b.cmp(a));
    if let Some((began, after, head)) = &after {
        let after = family.order(*began, after, *head);
        rows.retain(|((time, _), row)| {
            time < began || family.order(*time, &row.thread, Some(row.head)).newest_first(&after).is_gt()
        });
    }
    let mut rows: Vec<ThreadRow> = rows.into_iter().map(|(_, row)| row).collect();
    let mut memories = HeadSummaryCaches::load(home, filter, &rows);
    let mut roles = CurrentRoleReader::with_known(home, std::mem::take(&mut memory.next_roles));
    if filter.asks_nodes() {
        let mut search = filter.search.as_deref().map(|text| ThreadSearch::new(home, text, &mut memory.tasks));
        rows.retain_mut(|row| {
            known.read_for(filter, row, &mut memories);
            let begins = filter.start.is_none_or(|start| memories.start_of(row) == Some(start));
            let is_found = begins
                && filter.shows(row)
                && filter.role.as_ref().is_none_or(|wanted| roles.is_at(row, wanted))
                && search.as_mut().is_none_or(|search| search.finds(row, memories.start_of(row)));
            row.current_role = filter.role.clone().filter(|_| is_found && !row.is_finished());
            is_found
        });
    }
    memory.next_roles = roles.into_known();
    let mut matching = rows.len();
    let mut folds = filter.folds_branches.then(|| BranchFolds::new(home, filter, states, &rows));
    let (mut page, mut folded) = (Vec::new(), 0);
    let mut rows = OrderedRows::new(home, rows);
    let mut read = |row: &mut ThreadRow| {
        if !row.is_read() {
            known.read(row, &mut memories);
        }
    };
    rows.skip(filter.offset, &mut family, &mut read);
    while page.len() < filter.limit.unwrap_or(usize::MAX)
        && let Some(mut row) = rows.next(&mut family, &mut read)
    {
        row.labels = family.remembered_labels(&row.thread);
        row.place = family.place(&row);
        match folds.as_mut().is_some_and(|folds| folds.folds(&row, &mut family)) {
            true => folded += 1,
            false => page.push(row),
        }
    }
    // A thread with damaged nodes is in another state than the requested one.
    let shown = page.len();
    page.retain(|row| filter.is_in_state(row));
    matching -= shown - page.len() + folded;
    family.save(all);
    memories.save(home, heads.into_iter().map(|(_, head)| head), finished_heads);
    let (mut branches, mut shown) = (HashMap::new(), BTreeMap::new());
    if let Some(folds) = folds {
        let may_play = |row: &&ThreadRow| !row.is_finished() && folds.may_play(&row.thread, page.len());
        let playing = page.iter().filter(may_play).map(|row| &row.thread);
        branches = playing.map(|thread| (thread.clone(), folds.branches(thread, &mut family))).collect();
        branches.retain(|_, played: &mut Vec<PlayedBranch>| !played.is_empty());
        shown = folds.shown();
    }
    Ok(ThreadListing { rows: page, matching, counts, folded, branches, shown })
}

/// The workflows of threads that a list shows with this name, for example because they were started from a file and are not in the registry.
pub fn workflows_shown_as(home: &Home, registry: &Registry, name: &str) -> Result<Vec<NodeHash>> {
    let rows = list(home, &ThreadFilter { all: true, ..ThreadFilter::default() })?.rows;
    let workflows: BTreeSet<NodeHash> = rows.into_iter().filter_map(|row| row.workflow).collect();
    let mut names = WorkflowNames::from_registry(registry);
    Ok(workflows.into_iter().filter(|hash| names.name(home, *hash).is_some_and(|shown| shown == name)).collect())
}

fn counts(rows: &[ThreadRow]) -> BTreeMap<ThreadState, usize> {
    let mut counts = BTreeMap::new();
    rows.iter().for_each(|row| *counts.entry(row.state).or_default() += 1);
    counts
}

/// Active threads, without their nodes.
struct ActiveThreads<'h> {
    home: &'h Home,
    marks: BTreeMap<String, BTreeSet<ThreadMark>>,
    /// Threads that are paused with an ancestor, and that ancestor.
    paused_below: BTreeMap<ThreadId, ThreadId>,
    /// Activity of other machines by thread name, until it is moved to `by_name`.
    elsewhere: BTreeMap<String, PeerActivity>,
    by_name: BTreeMap<ThreadId, ActiveThreadFacts>,
}

impl ActiveThreads<'_> {
    /// The row of an active thread before its nodes are read.
    fn active(&mut self, name: &str, head: NodeHash) -> Option<ThreadRow> {
        let thread: ThreadId = name.parse().ok()?;
        let known = self.known(name, &thread, head);
        let state = known.state(self.home, &thread);
        let row = ThreadRow {
            started_at: record::started_at(self.home, &thread),
            workflow: None,
            head,
            state,
            role: None,
            changed_at: None,
            why: None,
            until: None,
            stopped_with: None,
            left_by: None,
            outcome: None,
            condition: None,
            start: None,
            end: None,
            is_child: false,
            known_role: None,
            current_role: None,
            place: RowPlace::default(),
            task: None,
            labels: None,
            is_failed_branch: false,
            pausing: known.is_pausing(state),
            thread: thread.clone(),
        };
        self.by_name.insert(thread, known);
        Some(row)
    }

    fn known(&mut self, name: &str, thread: &ThreadId, head: NodeHash) -> ActiveThreadFacts {
        let marks = self.marks.get(name).map(|marks| marks::at_head(self.home, thread, marks, head));
        let mut marks = marks.unwrap_or_default();
        let own = marks.remove(&ThreadMark::Paused).then_some(thread);
        let by = own.or(self.paused_below.get(thread)).cloned();
        ActiveThreadFacts {
            marks,
            pause: by.map(|by| ThreadPause { by, reason: None }),
            elsewhere: self.elsewhere.remove(name),
        }
    }

    /// Adds to a row the data that the filter needs.
    fn read_for(&self, filter: &ThreadFilter, row: &mut ThreadRow, memories: &mut HeadSummaryCaches) {
        if !row.is_finished() || filter.asks_last_steps() {
            self.read(row, memories);
        }
    }

    /// Adds to a row the data from its nodes and marks.
    fn read(&self, row: &mut ThreadRow, memories: &mut HeadSummaryCaches) {
        if row.is_finished() {
            let end = || ending::read(self.home.store(), row.end?);
            row.outcome = row.outcome.take().or_else(|| end().map(|end| end.outcome().to_owned()));
            if row.is_failed_branch {
                row.why = end().map(|end| end.reason);
            }
            if let Some(summary) = memories.finished.of_finished(self.home, row) {
                row.know(summary);
            }
            return;
        }
        (row.why, row.until, row.known_role) = self.why(row);
        match memories.active.of_active(self.home, &row.thread, row.head) {
            Ok(summary) => {
                let stepped_at = summary.role.as_ref().map(|_| summary.timestamp);
                row.changed_at = load::changed_at(row.started_at, stepped_at);
                row.workflow = Some(summary.workflow);
                row.know(summary);
            }
            Err(error) => {
                row.state = ThreadState::Corrupt;
                row.why = Some(error.message);
            }
        }
    }

    /// Why it is in its state, until when, and the role that this is about.
    fn why(&self, row: &ThreadRow) -> (Option<String>, Option<u64>, Option<String>) {
        if let Some(above) = &row.left_by {
            return (Some(left_child::continued_without(above)), None, None);
        }
        if let Some(above) = &row.stopped_with {
            return (Some(child_threads::stopped_with(above, row.state)), None, None);
        }
        let Some(known) = self.by_name.get(&row.thread) else { return (None, None, None) };
        if let Some(PeerActivity::AtWork(at_work)) = &known.elsewhere {
            let why = format!("by `{}` on machine `{}`", at_work.agent.short(), at_work.machine);
            return (Some(why), None, Some(at_work.role.clone()));
        }
        let reason = known.reason(&row.thread, row.state, |id, mark| marks::get(self.home, id, mark));
        reason.map_or((None, None, None), |MarkReason { why, until, role, .. }| (Some(why), until, role))
    }
}

/// The row of a finished thread before its last step is read.
fn finished(home: &Home, line: history::HistoryLine) -> ThreadRow {
    ThreadRow {
        started_at: record::started_at(home, &line.thread),
        workflow: line.workflow,
        head: line.head,
        state: state::of_finished(line.shown_status()),
        is_failed_branch: line.is_failed_branch(),
        role: None,
        changed_at: Some(line.completed_at),
        why: None,
        until: None,
        stopped_with: None,
        left_by: None,
        outcome: line.outcome,
        condition: line.condition,
        start: None,
        end: line.end,
        is_child: false,
        known_role: None,
        current_role: None,
        place: RowPlace::default(),
        task: None,
        labels: None,
        pausing: false,
        thread: line.thread,
    }
}
