//! Reads everything for the first page at once.

use std::collections::{BTreeMap, HashMap, HashSet};

use uwf_core::config::Config;
use uwf_core::spending::Spent;
use uwf_core::thread::ThreadId;
use uwf_engine::attempt::child_threads;
use uwf_engine::root::home::Home;
use uwf_engine::thread::state::State;
use uwf_engine::verbs::step::newest_attempt;
use uwf_engine::views::list::Named;
use uwf_engine::views::overview::{Overview, Overviews};
use uwf_engine::views::ps::{self, RunningStep};
use uwf_engine::views::thread_now::ThreadNow;

use super::super::need::OpenRequest;
use super::super::spent;
use crate::app::Memory;
use crate::failure::Failure;
use crate::filter::{self, Query};

/// Threads in a section of the first page.
const SHOWN: usize = 25;

/// Longest thread whose costs are added up for the list, in steps: each step costs reading two nodes.
const COUNTED: usize = 200;

/// Most threads that are shown with costs.
const COSTED: usize = 60;

/// Contents of the first page.
pub(super) struct Inbox {
    /// Number of threads in each state.
    pub(super) counts: BTreeMap<State, usize>,
    /// Whether the page shows the result of a query; then all threads are in `needs`.
    pub(super) is_filtered: bool,
    /// Whether more threads match the query.
    pub(super) has_more: bool,
    /// Threads that need a person.
    pub(super) needs: Vec<Item>,
    /// Running threads.
    pub(super) running: Vec<Item>,
    /// Threads that can be stepped.
    pub(super) ready: Vec<Item>,
    /// Threads that have ended since the last visit.
    pub(super) done: Vec<Item>,
    /// Number of those threads.
    pub(super) done_count: usize,
}

/// A thread.
pub(super) struct Item {
    pub(super) named: Named,
    pub(super) overview: Option<Overview>,
    pub(super) spent: Option<Spent>,
    pub(super) running: Option<RunningStep>,
    pub(super) need: Option<OpenRequest>,
    /// The newest attempt at its head; read only if the thread can be stepped or needs a person.
    pub(super) attempt: Option<String>,
}

impl Inbox {
    /// Reads the page; `since` is the time of the last visit, in Unix milliseconds.
    pub(super) fn read(home: &Home, memory: &Memory, query: &Query, since: u64) -> Result<Inbox, Failure> {
        let config = home.config().unwrap_or_default();
        let is_filtered = query.is_filter();
        if is_filtered {
            let found = query.find(home, memory)?;
            let counts = found.listing.counts;
            let needs = items(home, &config, memory, found.rows);
            let (running, ready, done) = (Vec::new(), Vec::new(), Vec::new());
            return Ok(Inbox {
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
        let all = Query { limit: filter::MOST.to_string(), ..Query::default() }.find(home, memory)?;
        let mut counts = all.listing.counts;
        let is_active = |row: &&Named| !matches!(row.row.state, State::Completed | State::Killed);
        let active: HashSet<ThreadId> =
            all.rows.iter().filter(is_active).map(|named| named.row.thread.clone()).collect();
        let (mut needs, mut running, mut ready, mut done) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for named in all.rows {
            match named.row.state {
                State::Waiting | State::Stuck | State::Limited | State::Corrupt => needs.push(named),
                State::Running => running.push(named),
                State::Active => ready.push(named),
                State::Completed | State::Killed if named.row.changed_at.is_some_and(|at| at >= since) => {
                    done.push(named);
                }
                State::Completed | State::Killed | State::Paused => {}
            }
        }
        // The thread above it needs the person.
        for state in [State::Waiting, State::Stuck, State::Limited] {
            let below = |named: &&Named| named.row.state == state && named.row.stopped_with.is_some();
            let hidden = needs.iter().filter(below).count();
            counts.entry(state).and_modify(|count| *count = count.saturating_sub(hidden));
        }
        needs.retain(|named| named.row.stopped_with.is_none());
        let before = ready.len();
        // A child thread continues with its parent.
        ready.retain(|named| !child_threads::parent_of(home, &named.row.thread).is_some_and(|it| active.contains(&it)));
        counts.entry(State::Active).and_modify(|count| *count = count.saturating_sub(before - ready.len()));
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
        Ok(Inbox { counts, is_filtered, has_more: false, needs, running, ready, done, done_count })
    }

    /// Whether the page has no threads.
    pub(super) fn is_empty(&self) -> bool {
        [&self.needs, &self.running, &self.ready, &self.done].iter().all(|items| items.is_empty())
    }

    /// Number of threads in these states.
    pub(super) fn count_of(&self, states: &[State]) -> usize {
        states.iter().filter_map(|state| self.counts.get(state)).sum()
    }
}

/// Threads with the data from their nodes.
fn items(home: &Home, config: &Config, memory: &Memory, rows: Vec<Named>) -> Vec<Item> {
    let mut overviews = Overviews::new(home);
    let seen: Vec<Option<Overview>> = rows.iter().map(|named| overviews.of(&named.row)).collect();
    let counted = |overview: &Option<Overview>| {
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
            Item { named, overview, spent, running: None, need: None, attempt: None }
        })
        .collect()
}

/// The newest attempt at the head of a thread. If it can't be read, the form lacks it, and the action is rejected.
fn attempt(home: &Home, item: &Item) -> Option<String> {
    let row = &item.named.row;
    newest_attempt::at(home, &row.thread, row.head).ok().map(|newest| newest.to_string())
}

/// A waiting child thread is answered on its own page.
fn need(home: &Home, config: &Config, item: &Item) -> Option<OpenRequest> {
    let now = ThreadNow::read(home, &item.named.row.thread).ok()?;
    OpenRequest::read(&now, config).filter(|need| !matches!(need, OpenRequest::Child(_)))
}
