//! Reads everything for the first page at once.

use std::collections::{BTreeMap, HashMap, HashSet};

use json_cas::NodeHash;
use serde_json::Value;
use uwf_core::config::UwfConfig;
use uwf_core::spending::SpendingTotals;
use uwf_core::thread::{MAX_GENERATIONS, ThreadId};
use uwf_engine::root::home::Home;
use uwf_engine::thread::nodes;
use uwf_engine::thread::state::ThreadState;
use uwf_engine::verbs::diff;
use uwf_engine::verbs::step::newest_attempt;
use uwf_engine::views::list::{NamedThreadRow, PlayedBranch};
use uwf_engine::views::overview::{OverviewReader, ThreadOverview};
use uwf_engine::views::ps::{self, RunningStep};
use uwf_engine::views::thread_now::ThreadNow;

use super::super::need::OpenRequest;
use super::super::spent;
use crate::app::ServerCaches;
use crate::failure::HttpFailure;
use crate::filter::ThreadListQuery;

/// Threads in a section of the first page, and threads of a filtered list that have actions: each has to be read for them.
pub(super) const SHOWN: usize = 25;

/// Longest thread whose costs are added up for the list, in steps: each step costs reading two nodes.
const COUNTED: usize = 200;

/// Most threads that are shown with costs.
const COSTED: usize = 60;

/// Contents of the first page.
#[derive(Default)]
pub(super) struct InboxView {
    /// Number of threads that the list of each state shows.
    pub(super) counts: BTreeMap<ThreadState, usize>,
    /// Number of threads that the list of all states shows.
    pub(super) all: usize,
    /// Whether the page shows the result of a query; then all threads are in `needs`.
    pub(super) is_filtered: bool,
    /// Whether more threads match the query.
    pub(super) has_more: bool,
    /// Threads that need a person.
    pub(super) needs: InboxSection,
    /// Running threads.
    pub(super) running: InboxSection,
    /// Threads that can be stepped.
    pub(super) ready: InboxSection,
    /// Threads that have ended since the last visit.
    pub(super) done: InboxSection,
    /// The agents of the configuration.
    pub(super) agents: Vec<String>,
}

/// Threads of a section.
#[derive(Default)]
pub(super) struct InboxSection {
    pub(super) threads: Vec<InboxThread>,
    /// Number of threads, including those that are not shown.
    pub(super) count: usize,
}

/// A thread.
pub(super) struct InboxThread {
    pub(super) named: NamedThreadRow,
    pub(super) overview: Option<ThreadOverview>,
    pub(super) spent: Option<SpendingTotals>,
    pub(super) running: Option<RunningStep>,
    pub(super) need: Option<OpenRequest>,
    /// Since when it has needed the person, in Unix milliseconds.
    pub(super) since: Option<u64>,
    /// The branch that needs the person, if the thread does not.
    pub(super) asking: Option<AskingBranch>,
    /// The newest attempt at its head, or at the head of the asking branch; read only if the thread can be stepped or needs a person.
    pub(super) attempt: Option<String>,
    /// Whether the files changed before its approval may be known.
    pub(super) has_files: bool,
    /// The output of its last step; read only if it has ended.
    pub(super) result: Option<Value>,
    /// The branches that it is playing.
    pub(super) branches: Vec<PlayedBranch>,
}

/// A branch that waits for an answer.
pub(super) struct AskingBranch {
    pub(super) thread: ThreadId,
    pub(super) head: NodeHash,
    pub(super) path: Option<String>,
}

/// Branches by the thread that plays them.
type PlayedBranches = HashMap<ThreadId, Vec<PlayedBranch>>;

impl InboxView {
    /// Reads the page; `since` is the time of the last visit, in Unix milliseconds.
    pub(super) fn read(
        home: &Home,
        memory: &ServerCaches,
        query: &ThreadListQuery,
        since: u64,
    ) -> Result<InboxView, HttpFailure> {
        let config = home.config().unwrap_or_default();
        // List all threads once: four lists would read index, history and marks four times. A list of the newest threads would not do,
        // because a thread that ended lately may have begun long ago.
        let mut all = query.in_any_state().find_for_people(home, memory)?;
        let (counts, count) = (std::mem::take(&mut all.listing.shown), all.listing.matching);
        if query.is_filter() {
            let most = query.most()?;
            let mut found = match query.state.is_empty() && query.after.is_empty() {
                true => all,
                false => query.find_for_people(home, memory)?,
            };
            let has_more = found.has_more || found.rows.len() > most;
            found.rows.truncate(most);
            let mut threads = items(home, &config, memory, found.rows, &mut found.listing.branches);
            for item in threads.iter_mut().take(SHOWN) {
                match item.named.row.state {
                    ThreadState::Waiting | ThreadState::Stuck | ThreadState::Limited => item.ask(home, &config),
                    ThreadState::Active => {}
                    _ => continue,
                }
                item.attempt = item.newest_attempt(home);
            }
            add_running_steps(home, memory, &mut threads)?;
            let needs = InboxSection { count: threads.len(), threads };
            let found = InboxView { counts, all: count, is_filtered: true, has_more, needs, ..InboxView::default() };
            return Ok(InboxView { agents: config.agents.into_keys().collect(), ..found });
        }
        let played = &mut all.listing.branches;
        let at_work = running_parts(&all.rows, played);
        let is_asked = |thread: &ThreadId, played: &PlayedBranches| {
            played.get(thread).into_iter().flatten().any(|branch| branch.state == Some(ThreadState::Waiting))
        };
        let (mut needs, mut running, mut ready, mut done) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for named in all.rows {
            match named.row.state {
                ThreadState::Running if is_asked(&named.row.thread, played) => needs.push(named),
                ThreadState::Waiting | ThreadState::Stuck | ThreadState::Limited | ThreadState::Corrupt => {
                    needs.push(named);
                }
                ThreadState::Running => running.push(named),
                ThreadState::Active => ready.push(named),
                ThreadState::Completed | ThreadState::Killed if named.row.changed_at.is_some_and(|at| at >= since) => {
                    done.push(named);
                }
                ThreadState::Completed | ThreadState::Killed | ThreadState::Paused => {}
            }
        }
        let ids = |rows: &[NamedThreadRow]| rows.iter().map(|named| named.row.thread.clone()).collect::<HashSet<_>>();
        let stopped = ids(&needs);
        // The thread above it needs the person, except for an answer. A child thread continues with its parent, and is a part of its result.
        let is_part = |named: &NamedThreadRow| match named.row.state {
            ThreadState::Waiting => named.row.stopped_with.is_some() || named.row.left_by.is_some(),
            ThreadState::Stuck | ThreadState::Limited => {
                let stops_above = named.parent_thread.as_ref().is_some_and(|parent| stopped.contains(parent));
                named.row.stopped_with.is_some() || named.row.left_by.is_some() || stops_above
            }
            ThreadState::Active | ThreadState::Completed | ThreadState::Killed => named.parent_thread.is_some(),
            // The row of its parent says what it does.
            ThreadState::Running => at_work.contains(&named.row.thread),
            ThreadState::Paused | ThreadState::Corrupt => false,
        };
        let parts = [&mut needs, &mut running, &mut ready, &mut done];
        parts.into_iter().for_each(|rows| rows.retain(|named| !is_part(named)));
        done.sort_by_key(|named| std::cmp::Reverse(named.row.changed_at));
        needs.sort_by_key(|named| named.row.is_limit_ending());
        let mut section = |mut rows: Vec<NamedThreadRow>, most: usize| {
            let count = rows.len();
            rows.truncate(most);
            InboxSection { threads: items(home, &config, memory, rows, played), count }
        };
        let (mut needs, mut running) = (section(needs, SHOWN), section(running, SHOWN));
        let (mut ready, mut done) = (section(ready, SHOWN / 2), section(done, SHOWN));
        add_running_steps(home, memory, &mut running.threads)?;
        needs.threads.iter_mut().for_each(|item| item.ask(home, &config));
        needs.threads.iter_mut().chain(&mut ready.threads).for_each(|item| item.attempt = item.newest_attempt(home));
        done.threads.iter_mut().for_each(|item| item.result = last_output(home, item.named.row.head));
        let agents = config.agents.into_keys().collect();
        Ok(InboxView { counts, all: count, is_filtered: false, has_more: false, needs, running, ready, done, agents })
    }
}

impl InboxThread {
    /// Finds out what it needs: its own action, or an answer for one of its branches. A waiting child thread that is not a branch is
    /// answered on its own page.
    fn ask(&mut self, home: &Home, config: &UwfConfig) {
        let own = ThreadNow::read(home, &self.named.row.thread).ok();
        self.since = own.as_ref().and_then(ThreadNow::stopped_since);
        self.need =
            own.and_then(|now| OpenRequest::read(&now, config)).filter(|need| !matches!(need, OpenRequest::Child(_)));
        if self.need.is_some() {
            self.has_files = diff::may_know_files(home, &self.named.row.thread);
            return;
        }
        for branch in self.branches.iter().filter(|branch| branch.state == Some(ThreadState::Waiting)) {
            let Ok(now) = ThreadNow::read(home, &branch.thread) else { continue };
            if let Some(need @ OpenRequest::Answer(_)) = OpenRequest::read(&now, config) {
                let (thread, head, path) = (branch.thread.clone(), now.thread.head, branch.path.clone());
                self.has_files = diff::may_know_files(home, &thread);
                (self.need, self.asking) = (Some(need), Some(AskingBranch { thread, head, path }));
                return;
            }
        }
    }

    /// The thread that its forms are about, and its head.
    pub(super) fn subject(&self) -> (&ThreadId, NodeHash) {
        match &self.asking {
            Some(asking) => (&asking.thread, asking.head),
            None => (&self.named.row.thread, self.named.row.head),
        }
    }

    /// The newest attempt at the head of its subject. If it can't be read, the form lacks it, and the action is rejected.
    fn newest_attempt(&self, home: &Home) -> Option<String> {
        let (thread, head) = self.subject();
        newest_attempt::at_head(home, thread, head).ok().map(|newest| newest.to_string())
    }
}

/// The output of the step at a head, if it is readable. The page of the thread says why it is not.
fn last_output(home: &Home, head: NodeHash) -> Option<Value> {
    let (step, _) = nodes::step_node(home.store(), head).ok()?;
    Some(home.store().get(step.output).ok()?.payload)
}

/// Running child threads of running threads. The row of the topmost thread stands for them, so it gets their branches.
fn running_parts(rows: &[NamedThreadRow], played: &mut PlayedBranches) -> HashSet<ThreadId> {
    let running = || rows.iter().filter(|named| named.row.state == ThreadState::Running);
    let ids: HashSet<&ThreadId> = running().map(|named| &named.row.thread).collect();
    let above = |named: &NamedThreadRow| named.parent_thread.clone().filter(|parent| ids.contains(parent));
    let parents: HashMap<ThreadId, ThreadId> =
        running().filter_map(|named| Some((named.row.thread.clone(), above(named)?))).collect();
    for part in parents.keys() {
        let Some(branches) = played.remove(part) else { continue };
        let mut top = part;
        for _ in 0..MAX_GENERATIONS {
            let Some(parent) = parents.get(top) else { break };
            top = parent;
        }
        played.entry(top.clone()).or_default().extend(branches);
    }
    parents.into_keys().collect()
}

/// Adds to running threads what runs in them.
fn add_running_steps(home: &Home, memory: &ServerCaches, threads: &mut [InboxThread]) -> Result<(), HttpFailure> {
    if threads.iter().all(|item| item.named.row.state != ThreadState::Running) {
        return Ok(());
    }
    let steps = memory.with_running(|known| ps::ps(home, known))?;
    let mut steps: HashMap<ThreadId, RunningStep> = steps.into_iter().map(|step| (step.thread.clone(), step)).collect();
    threads.iter_mut().for_each(|item| item.running = steps.remove(&item.named.row.thread));
    Ok(())
}

/// Threads with the data from their nodes. Takes their branches out of `played`.
fn items(
    home: &Home,
    config: &UwfConfig,
    memory: &ServerCaches,
    rows: Vec<NamedThreadRow>,
    played: &mut PlayedBranches,
) -> Vec<InboxThread> {
    let mut overviews = OverviewReader::new(home);
    let seen: Vec<Option<ThreadOverview>> = rows.iter().map(|named| overviews.summarize(&named.row)).collect();
    // The cost of a first step is only in the trace of its agent, which may be long. A group's is in its branches.
    let counted = |named: &NamedThreadRow, overview: &Option<ThreadOverview>| {
        let least = usize::from(!played.contains_key(&named.row.thread));
        overview.as_ref().and_then(|overview| overview.steps).is_some_and(|steps| (least..=COUNTED).contains(&steps))
    };
    let threads: Vec<ThreadId> = rows
        .iter()
        .zip(&seen)
        .filter(|(named, overview)| counted(named, overview))
        .map(|(named, _)| named.row.thread.clone())
        .take(COSTED)
        .collect();
    let mut spent = spent::by_thread(home, config, memory, threads);
    let item = |(named, overview): (NamedThreadRow, Option<ThreadOverview>)| {
        let spent = spent.remove(named.row.thread.as_str());
        let branches = played.remove(&named.row.thread).unwrap_or_default();
        InboxThread {
            named,
            overview,
            spent,
            running: None,
            need: None,
            since: None,
            asking: None,
            attempt: None,
            has_files: false,
            result: None,
            branches,
        }
    };
    rows.into_iter().zip(seen).map(item).collect()
}
