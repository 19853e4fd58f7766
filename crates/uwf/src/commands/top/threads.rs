//! The threads of the screen: all of them, the shown ones, and the selected one.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use json_cas::NodeHash;
use uwf_core::config::UwfConfig;
use uwf_core::thread::ThreadId;
use uwf_engine::error::Result;
use uwf_engine::root::ids;
use uwf_engine::root::project_files::ProjectRoot;
use uwf_engine::thread::state::ThreadState;
use uwf_engine::views::cost::{self, CostBy, CostRequest};
use uwf_engine::views::list::{self, BranchCounts, ThreadFilter, ThreadRow};
use uwf_engine::views::overview::{OverviewReader, ThreadOverview};
use uwf_engine::views::ps::{self, RunningMemory, RunningStep};
use uwf_engine::views::{show, workflow_names};

use crate::commands::thread::list::branches_in_words;
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::table;

/// Data about a thread besides its row, valid while its head and state are the same.
struct ThreadFacts {
    head: NodeHash,
    state: ThreadState,
    overview: Option<ThreadOverview>,
    project: String,
    cost: String,
    /// When the cost was read.
    cost_at: Instant,
}

/// How long the cost of a running thread is shown before it is read again.
const COST_LOOK: Duration = Duration::from_secs(2);

/// The words about a thread at the end of its line, as many as there is room for.
#[derive(Default)]
pub(super) struct TopThreadAbout {
    /// Its task, after the states of its branches if these are folded.
    pub(super) task: String,
    /// Why it does not continue.
    pub(super) why: Option<String>,
    /// The present activity of its agent.
    pub(super) doing: Option<String>,
    /// Tokens of its agent so far.
    pub(super) tokens: Option<String>,
}

/// A thread's line on the screen.
pub(super) struct TopThreadLine {
    pub(super) thread: ThreadId,
    pub(super) state: ThreadState,
    pub(super) state_in_words: String,
    /// The workflow, or the path of the branch that the thread is.
    pub(super) workflow: String,
    pub(super) is_branch: bool,
    /// Name of the project, or nothing outside of one.
    pub(super) project: String,
    /// How many threads above it have lines.
    pub(super) depth: usize,
    pub(super) role: String,
    /// Milliseconds since the thread started; for a finished thread, its duration.
    pub(super) elapsed: Option<u64>,
    pub(super) cost: String,
    pub(super) about: TopThreadAbout,
    pub(super) is_chosen: bool,
}

pub(super) struct TopThreadList<'c> {
    context: &'c CommandContext,
    config: UwfConfig,
    /// The project whose threads are shown; all if there is none.
    project: Option<ProjectRoot>,
    all: bool,
    /// Whether the threads of groups have lines of their own.
    has_branches: bool,
    filter: String,
    rows: Vec<ThreadRow>,
    /// How many threads above each row have rows.
    depths: Vec<usize>,
    /// Branches that the threads of the rows are playing, if these are folded.
    branches: HashMap<ThreadId, BranchCounts>,
    /// Positions of the rows that match the filter.
    shown: Vec<usize>,
    /// The selected thread, wherever it moves in the list.
    chosen: Option<ThreadId>,
    /// The first shown line.
    top: usize,
    workflows: HashMap<NodeHash, String>,
    known: HashMap<ThreadId, ThreadFacts>,
    /// The steps that are under way on this machine.
    running: HashMap<ThreadId, RunningStep>,
    memory: RunningMemory,
}

impl<'c> TopThreadList<'c> {
    pub(super) fn read(
        context: &'c CommandContext,
        project: Option<ProjectRoot>,
        all: bool,
        filter: String,
    ) -> Result<TopThreadList<'c>, CommandError> {
        let mut threads = TopThreadList {
            context,
            config: context.config()?,
            project,
            all,
            has_branches: false,
            filter,
            rows: Vec::new(),
            depths: Vec::new(),
            branches: HashMap::new(),
            shown: Vec::new(),
            chosen: None,
            top: 0,
            workflows: HashMap::new(),
            known: HashMap::new(),
            running: HashMap::new(),
            memory: RunningMemory::default(),
        };
        threads.refresh()?;
        Ok(threads)
    }

    /// Reads the threads and their states.
    ///
    /// # Errors
    /// Errors of index, history and marks; the list is then unchanged.
    pub(super) fn refresh(&mut self) -> Result<()> {
        let folds_branches = !self.has_branches;
        let filter =
            ThreadFilter { all: self.all, folds_branches, project: self.project.clone(), ..ThreadFilter::default() };
        let listing = list::list(&self.context.home, &filter)?;
        let before = self.position();
        (self.rows, self.depths) = nested(listing.rows);
        self.branches =
            listing.branches.into_iter().map(|(thread, played)| (thread, BranchCounts::count(&played))).collect();
        let running = ps::ps(&self.context.home, &mut self.memory)?;
        self.running = running.into_iter().map(|step| (step.thread.clone(), step)).collect();
        self.select(before);
        Ok(())
    }

    pub(super) fn toggle_finished(&mut self) -> Result<()> {
        self.all = !self.all;
        self.refresh()
    }

    pub(super) fn toggle_branches(&mut self) -> Result<()> {
        self.has_branches = !self.has_branches;
        self.refresh()
    }

    pub(super) fn shows_finished(&self) -> bool {
        self.all
    }

    pub(super) fn filter(&self) -> &str {
        &self.filter
    }

    pub(super) fn set_filter(&mut self, filter: String) {
        let before = self.position();
        self.filter = filter;
        self.select(before);
    }

    /// The number of shown threads, and of all threads.
    pub(super) fn counts(&self) -> (usize, usize) {
        (self.shown.len(), self.rows.len())
    }

    /// The number of threads in each state, in the order of states.
    pub(super) fn by_state(&self) -> Vec<(ThreadState, usize)> {
        let count = |state| self.rows.iter().filter(|row| row.state == state).count();
        ThreadState::ALL.into_iter().map(|state| (state, count(state))).filter(|(_, count)| *count > 0).collect()
    }

    pub(super) fn chosen(&self) -> Option<(ThreadId, ThreadState)> {
        let row = &self.rows[*self.shown.get(self.position())?];
        Some((row.thread.clone(), row.state))
    }

    pub(super) fn move_up(&mut self, lines: usize) {
        self.choose(self.position().saturating_sub(lines));
    }

    pub(super) fn move_down(&mut self, lines: usize) {
        self.choose(self.position().saturating_add(lines));
    }

    fn choose(&mut self, position: usize) {
        let at = self.shown.get(position.min(self.shown.len().saturating_sub(1)));
        self.chosen = at.map(|at| self.rows[*at].thread.clone());
    }

    /// Position of the selected thread among the shown ones; 0 if it is gone.
    fn position(&self) -> usize {
        let is_chosen = |at: &usize| Some(&self.rows[*at].thread) == self.chosen.as_ref();
        self.shown.iter().position(is_chosen).unwrap_or(0)
    }

    /// Applies the filter. If the selected thread is gone, selects the one at its position.
    fn select(&mut self, before: usize) {
        let wanted = self.filter.to_lowercase();
        let mut shown = Vec::with_capacity(self.rows.len());
        for at in 0..self.rows.len() {
            if wanted.is_empty() || self.is_wanted(at, &wanted) {
                shown.push(at);
            }
        }
        self.shown = shown;
        let is_there = self.chosen().is_some_and(|(thread, _)| Some(&thread) == self.chosen.as_ref());
        if !is_there {
            self.choose(before);
        }
    }

    fn is_wanted(&mut self, at: usize, wanted: &str) -> bool {
        let workflow = self.rows[at].workflow.map(|hash| self.workflow(hash)).unwrap_or_default();
        let row = &self.rows[at];
        let outcome = row.outcome.as_deref().unwrap_or_default();
        let role = row.role.as_deref().unwrap_or_default();
        let texts = [row.thread.as_str(), &workflow, row.state.name(), outcome, role];
        texts.iter().any(|text| text.to_lowercase().contains(wanted))
    }

    fn workflow(&mut self, hash: NodeHash) -> String {
        let home = &self.context.home;
        let name = || workflow_names::own_name(home, hash).unwrap_or_else(|| hash.to_string());
        self.workflows.entry(hash).or_insert_with(name).clone()
    }

    /// The lines that fit, including the selected one. Only these threads are read in detail.
    pub(super) fn lines(&mut self, room: usize) -> Vec<TopThreadLine> {
        let position = self.position();
        self.top = self.top.clamp((position + 1).saturating_sub(room.max(1)), position);
        let end = (self.top + room).min(self.shown.len());
        let shown: Vec<usize> = self.shown[self.top.min(end)..end].to_vec();
        let chosen = self.chosen().map(|(thread, _)| thread);
        let now = ids::now_ms();
        let branches = self.branches.clone();
        let line = |at: usize| {
            let row = self.rows[at].clone();
            let workflow = row.workflow.map(|hash| self.workflow(hash)).unwrap_or_default();
            let known = self.known(&row);
            let has_ended = matches!(row.state, ThreadState::Completed | ThreadState::Killed);
            let until = if has_ended { row.changed_at } else { Some(now) };
            let role = known.overview.as_ref().and_then(|overview| overview.role.clone()).or(row.role);
            let task = known.overview.as_ref().map(|overview| overview.task.clone()).unwrap_or_default();
            let branch = known.overview.as_ref().and_then(|overview| overview.branch.clone());
            let folded = branches.get(&row.thread);
            let task = folded.map_or(task.clone(), |counts| format!("{} · {task}", branches_in_words(counts)));
            let why = row.why.map(|why| why.lines().collect::<Vec<_>>().join(" · "));
            let (cost, project) = (known.cost.clone(), known.project.clone());
            let step = self.running.get(&row.thread);
            let tokens = step.and_then(|step| table::tokens_so_far(step.tokens.as_ref()?));
            let doing = step.and_then(|step| step.doing.clone());
            TopThreadLine {
                is_chosen: Some(&row.thread) == chosen.as_ref(),
                state_in_words: show::state_in_words(row.state, row.pausing, row.outcome.as_deref()),
                elapsed: until.zip(row.started_at).map(|(until, since)| until.saturating_sub(since)),
                cost,
                about: TopThreadAbout { task, why, doing, tokens },
                role: role.unwrap_or_default(),
                thread: row.thread,
                state: row.state,
                project,
                is_branch: branch.is_some(),
                depth: self.depths[at],
                workflow: branch.unwrap_or(workflow),
            }
        };
        shown.into_iter().map(line).collect()
    }

    fn known(&mut self, row: &ThreadRow) -> &ThreadFacts {
        let is_fresh = |known: &ThreadFacts| {
            known.head == row.head && known.state == row.state && row.state != ThreadState::Running
        };
        if !self.known.get(&row.thread).is_some_and(is_fresh) {
            let (cost, cost_at) = self.cost(row);
            let known = ThreadFacts {
                head: row.head,
                state: row.state,
                overview: OverviewReader::new(&self.context.home).summarize(row),
                project: ProjectRoot::of_thread(&self.context.home, &row.thread)
                    .map(|project| project.name())
                    .unwrap_or_default(),
                cost,
                cost_at,
            };
            self.known.insert(row.thread.clone(), known);
        }
        &self.known[&row.thread]
    }

    /// The cost of a thread, and when it was read: cached while its head and its state are the same, and shortly while an agent works.
    fn cost(&self, row: &ThreadRow) -> (String, Instant) {
        let is_fresh = |known: &&ThreadFacts| {
            let is_running = row.state == ThreadState::Running;
            known.head == row.head && known.state == row.state && (!is_running || known.cost_at.elapsed() < COST_LOOK)
        };
        if let Some(known) = self.known.get(&row.thread).filter(is_fresh) {
            return (known.cost.clone(), known.cost_at);
        }
        let request = CostRequest { threads: vec![row.thread.clone()], by: CostBy::Thread, ..CostRequest::default() };
        let spent = cost::cost(&self.context.home, &self.config, &request);
        (spent.map_or_else(|_| "?".to_owned(), |costs| costs.total.cost_text()), Instant::now())
    }
}

/// Puts each child thread below its parent, oldest first. Also returns how deep each is.
fn nested(rows: Vec<ThreadRow>) -> (Vec<ThreadRow>, Vec<usize>) {
    let order = list::in_families(&rows);
    let mut rows: Vec<Option<ThreadRow>> = rows.into_iter().map(Some).collect();
    order.into_iter().filter_map(|(at, depth)| Some((rows[at].take()?, depth))).unzip()
}
