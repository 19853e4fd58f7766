//! Reads everything for the first page at once.

use std::collections::{BTreeMap, HashMap, HashSet};

use uwf_core::config::UwfConfig;
use uwf_core::spending::SpendingTotals;
use uwf_core::thread::ThreadId;
use uwf_engine::root::home::Home;
use uwf_engine::thread::state::ThreadState;
use uwf_engine::verbs::step::newest_attempt;
use uwf_engine::views::list::NamedThreadRow;
use uwf_engine::views::overview::{OverviewReader, ThreadOverview};
use uwf_engine::views::ps::{self, RunningStep};
use uwf_engine::views::thread_now::ThreadNow;

use super::super::need::OpenRequest;
use super::super::spent;
use crate::app::ServerCaches;
use crate::failure::HttpFailure;
use crate::filter::{self, ThreadListQuery};

/// Threads in a section of the first page.
const SHOWN: usize = 25;

/// Longest thread whose costs are added up for the list, in steps: each step costs reading two nodes.
const COUNTED: usize = 200;

/// Most threads that are shown with costs.
const COSTED: usize = 60;

/// Contents of the first page.
pub(super) struct InboxView {
    /// Number of threads in each state.
    pub(super) counts: BTreeMap<ThreadState, usize>,
    /// Whether the page shows the result of a query; then all threads are in `needs`.
    pub(super) is_filtered: bool,
    /// Whether more threads match the query.
    pub(super) has_more: bool,
    /// Threads that need a person.
    pub(super) needs: Vec<InboxThread>,
    /// Running threads.
    pub(super) running: Vec<InboxThread>,
    /// Threads that can be stepped.
    pub(super) ready: Vec<InboxThread>,
    /// Threads that have ended since the last visit.
    pub(super) done: Vec<InboxThread>,
    /// Number of those threads.
    pub(super) done_count: usize,
}

/// A thread.
pub(super) struct InboxThread {
    pub(super) named: NamedThreadRow,
    pub(super) overview: Option<ThreadOverview>,
    pub(super) spent: Option<SpendingTotals>,
    pub(super) running: Option<RunningStep>,
    pub(super) need: Option<OpenRequest>,
    /// The newest attempt at its head; read only if the thread can be stepped or needs a person.
    pub(super) attempt: Option<String>,
}

impl InboxView {
    /// Reads the page; `since` is the time of the last visit, in Unix milliseconds.
    pub(super) fn read(
        home: &Home,
        memory: &ServerCaches,
        query: &ThreadListQuery,
        since: u64,
    ) -> Result<InboxView, HttpFailure> {
        let config = home.config().unwrap_or_default();
        let is_filtered = query.is_filter();
        if is_filtered {
            let found = query.find_for_people(home, memory)?;
            let counts = found.listing.counts;
            let needs = items(home, &config, memory, found.rows);
            let (running, ready, done) = (Vec::new(), Vec::new(), Vec::new());
            return Ok(InboxView {
                counts,
                is_filtered,
                has_more: found.has_more,
                needs,
                running,
                ready,
                done,
                done_count: 0,
            });
        }
        // List all threads once: four lists would read index, history and marks four times. A list of the newest threads would not do,
        // because a thread that ended lately may have begun long ago.
        let all =
            ThreadListQuery { limit: filter::MOST.to_string(), ..ThreadListQuery::default() }.find(home, memory)?;
        let mut counts = all.listing.counts;
        let (mut needs, mut running, mut ready, mut done) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for named in all.rows {
            match named.row.state {
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
        let stopped: HashSet<ThreadId> = needs.iter().map(|named| named.row.thread.clone()).collect();
        // The thread above it needs the person, except for an answer. A child thread continues with its parent, and is a part of its result.
        let is_part = |named: &NamedThreadRow| match named.row.state {
            ThreadState::Waiting => named.row.stopped_with.is_some() || named.row.left_by.is_some(),
            ThreadState::Stuck | ThreadState::Limited => {
                let stops_above = named.parent_thread.as_ref().is_some_and(|parent| stopped.contains(parent));
                named.row.stopped_with.is_some() || named.row.left_by.is_some() || stops_above
            }
            ThreadState::Active | ThreadState::Completed | ThreadState::Killed => named.parent_thread.is_some(),
            ThreadState::Running | ThreadState::Paused | ThreadState::Corrupt => false,
        };
        for named in needs.iter().chain(&ready).filter(|named| is_part(named)) {
            counts.entry(named.row.state).and_modify(|count| *count = count.saturating_sub(1));
        }
        [&mut needs, &mut ready, &mut done].into_iter().for_each(|rows| rows.retain(|named| !is_part(named)));
        done.sort_by_key(|named| std::cmp::Reverse(named.row.changed_at));
        let done_count = done.len();
        for (rows, most) in [(&mut needs, SHOWN), (&mut running, SHOWN), (&mut ready, SHOWN / 2), (&mut done, SHOWN)] {
            rows.truncate(most);
        }
        let steps = memory.with_running(|known| ps::ps(home, known))?;
        let mut steps: HashMap<ThreadId, RunningStep> =
            steps.into_iter().map(|step| (step.thread.clone(), step)).collect();
        let mut running = items(home, &config, memory, running);
        running.iter_mut().for_each(|item| item.running = steps.remove(&item.named.row.thread));
        let mut needs = items(home, &config, memory, needs);
        needs.iter_mut().for_each(|item| item.need = need(home, &config, item));
        let mut ready = items(home, &config, memory, ready);
        needs.iter_mut().chain(&mut ready).for_each(|item| item.attempt = attempt(home, item));
        let done = items(home, &config, memory, done);
        Ok(InboxView { counts, is_filtered, has_more: false, needs, running, ready, done, done_count })
    }
}

/// Threads with the data from their nodes.
fn items(home: &Home, config: &UwfConfig, memory: &ServerCaches, rows: Vec<NamedThreadRow>) -> Vec<InboxThread> {
    let mut overviews = OverviewReader::new(home);
    let seen: Vec<Option<ThreadOverview>> = rows.iter().map(|named| overviews.summarize(&named.row)).collect();
    let counted = |overview: &Option<ThreadOverview>| {
        overview.as_ref().and_then(|overview| overview.steps).is_some_and(|steps| (1..=COUNTED).contains(&steps))
    };
    let threads: Vec<ThreadId> = rows
        .iter()
        .zip(&seen)
        .filter(|(_, overview)| counted(overview))
        .map(|(named, _)| named.row.thread.clone())
        .take(COSTED)
        .collect();
    let mut spent = spent::by_thread(home, config, memory, threads);
    rows.into_iter()
        .zip(seen)
        .map(|(named, overview)| {
            let spent = spent.remove(named.row.thread.as_str());
            InboxThread { named, overview, spent, running: None, need: None, attempt: None }
        })
        .collect()
}

/// The newest attempt at the head of a thread. If it can't be read, the form lacks it, and the action is rejected.
fn attempt(home: &Home, item: &InboxThread) -> Option<String> {
    let row = &item.named.row;
    newest_attempt::at_head(home, &row.thread, row.head).ok().map(|newest| newest.to_string())
}

/// A waiting child thread is answered on its own page.
fn need(home: &Home, config: &UwfConfig, item: &InboxThread) -> Option<OpenRequest> {
    let now = ThreadNow::read(home, &item.named.row.thread).ok()?;
    OpenRequest::read(&now, config).filter(|need| !matches!(need, OpenRequest::Child(_)))
}
