//! Adds up steps and attempts, each once.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use json_cas::NodeHash;
use uwf_core::config::{DEFAULT_CURRENCY, ListPrices, UwfConfig};
use uwf_core::node::{self, StepNode};
use uwf_core::spending::{self, AttemptUsage, MoneySource, SpendingTotals};
use uwf_core::thread::ThreadId;

use super::group_place::GroupPlace;
use super::memory::{CachedThreadSteps, CostMemory};
use super::{
    CostBy, CostReport, CostRequest, CostRow, DayZone, HeadAndRecord, PricesUsed, UnreadableThread,
    children_without_step, in_progress,
};
use crate::attempt::settings;
use crate::error::Result;
use crate::root::file_sign::FileSign;
use crate::root::home::Home;
use crate::root::marks::{self, ThreadMark};
use crate::thread::load::Thread;
use crate::thread::nodes;
use crate::thread::runs::{KnownRun, RunReader, StepRuns};
use crate::views::workflow_names;

/// Reads each step once.
pub(super) struct CostReader<'h> {
    home: &'h Home,
    runs: RunReader<'h>,
    pub(super) memory: &'h mut CostMemory,
    workflows: HashMap<NodeHash, Option<String>>,
}

impl CostReader<'_> {
    fn workflow(&mut self, hash: NodeHash) -> Option<String> {
        let home = self.home;
        self.workflows.entry(hash).or_insert_with(|| workflow_names::own_name(home, hash)).clone()
    }

    /// Workflow and steps of a thread.
    fn line(&mut self, thread: &Thread<'_>) -> Result<Arc<CachedThreadSteps>> {
        if let Some(known) = self.memory.line(thread.head) {
            return Ok(known);
        }
        let steps = thread.chain()?.records().iter().map(|record| record.step).collect();
        let workflow = self.workflow(thread.start.workflow);
        let is_child = thread.start.parent.is_some();
        Ok(self.memory.keep_line(thread.head, CachedThreadSteps { workflow, steps, is_child }))
    }

    fn step(&mut self, step: NodeHash) -> Arc<StepRuns> {
        if let Some(known) = self.memory.step(step) {
            return known;
        }
        let runs = self.runs.of_step(step);
        let runs = runs.unwrap_or_else(|error| StepRuns { unreadable: Some(error), ..StepRuns::default() });
        self.memory.keep_step(step, runs)
    }

    /// A failed attempt with the time that the record of its thread has; `None` for any other run, or if no record has its time.
    fn with_duration(&mut self, thread: Option<&ThreadId>, known: &KnownRun) -> Option<AttemptUsage> {
        let (thread, attempt) = (thread?, known.attempt?);
        let duration_ms = self.memory.attempt_times(self.home, thread).of_attempt(attempt)?;
        Some(AttemptUsage { duration_ms, ..known.run.clone() })
    }
}

/// The subject of a row and, for a thread, the name of its workflow.
pub(super) type RowKey = (Option<String>, Option<String>);

/// The sums so far.
pub(super) struct CostLedger<'h> {
    config: &'h UwfConfig,
    by: CostBy,
    zone: DayZone,
    only_ended: bool,
    /// Whether a child thread is named by its place in the groups above it. In the costs of all threads it may come before its parent.
    pub(super) names_places: bool,
    since: u64,
    until: u64,
    pub(super) reader: CostReader<'h>,
    rows: BTreeMap<RowKey, SpendingTotals>,
    pub(super) total: SpendingTotals,
    /// Steps in the total.
    counted: HashSet<NodeHash>,
    /// Threads whose failed attempts are in the total. Their nodes can't be counted like steps: two attempts of a thread may have the same
    /// node.
    tried: HashSet<ThreadId>,
    /// The marks of all threads, if the costs of all are added up.
    pub(super) marks: Option<BTreeMap<String, BTreeSet<ThreadMark>>>,
    /// Threads whose attempt in progress is in the total.
    playing: HashSet<ThreadId>,
    /// Steps that occurred more than once.
    shared: HashSet<NodeHash>,
    unpriced: BTreeSet<Option<String>>,
    unreadable: Vec<UnreadableThread>,
}

/// The thread whose steps are being added up.
#[derive(Default)]
pub(super) struct CostAccount {
    /// The thread whose record has the times of failed attempts.
    thread: Option<ThreadId>,
    /// Key of its row.
    row: RowKey,
    /// Whether the thread above was added before, with the costs of this one.
    is_part: bool,
    /// The workflow of the current steps: the thread's, or a child thread's.
    workflow: Option<String>,
    /// The branch or the group of the current steps.
    place: GroupPlace,
    /// The thread's labels, if rows are of labels.
    labels: Vec<String>,
    /// Why a part of the thread is unreadable.
    pub(super) why: Option<String>,
}

impl<'h> CostLedger<'h> {
    pub(super) fn new(
        home: &'h Home,
        config: &'h UwfConfig,
        request: &CostRequest,
        memory: &'h mut CostMemory,
    ) -> CostLedger<'h> {
        let runs = RunReader::new(home.store(), config);
        CostLedger {
            config,
            by: request.by,
            zone: request.zone.clone(),
            only_ended: request.only_ended,
            names_places: false,
            since: request.since.unwrap_or(0),
            until: request.until.unwrap_or(u64::MAX),
            reader: CostReader { home, runs, memory, workflows: HashMap::new() },
            rows: BTreeMap::new(),
            total: SpendingTotals::default(),
            counted: HashSet::new(),
            tried: HashSet::new(),
            marks: None,
            playing: HashSet::new(),
            shared: HashSet::new(),
            unpriced: BTreeSet::new(),
            unreadable: Vec::new(),
        }
    }

    /// Adds a thread.
    pub(super) fn thread(&mut self, thread: &Thread<'_>, standing: &HeadAndRecord) {
        if let Some(line) = self.line_of(thread) {
            self.line(&thread.id, standing, &line, false);
        }
    }

    /// Workflow and steps of a thread; `None` if they are unreadable, which is noted.
    pub(super) fn line_of(&mut self, thread: &Thread<'_>) -> Option<Arc<CachedThreadSteps>> {
        let line = self.reader.line(thread);
        line.map_err(|error| {
            let row = (Some(thread.id.to_string()), self.reader.workflow(thread.start.workflow));
            self.lacks(&row, thread.id.clone(), error.to_string());
        })
        .ok()
    }

    /// Adds a thread with these steps. A completed thread has no failed attempts after its last step. With `is_part`, the thread above it was
    /// added before: its row has the costs of this one, which gets a row only for more than those.
    pub(super) fn line(
        &mut self,
        thread: &ThreadId,
        standing: &HeadAndRecord,
        line: &CachedThreadSteps,
        is_part: bool,
    ) {
        let row = (Some(thread.to_string()), line.workflow.clone());
        let outside = GroupPlace::default();
        let place = if self.names_places { outside.of_child(self.reader.home, thread) } else { outside };
        let labels = if self.by == CostBy::Label { self.labels(thread) } else { Vec::new() };
        let (thread_id, workflow) = (Some(thread.clone()), line.workflow.clone());
        let mut account = CostAccount { thread: thread_id, row, is_part, workflow, place, labels, why: None };
        for step in &line.steps {
            self.step(&mut account, *step, 0);
        }
        if let Some(record) = standing.record {
            self.failures(&mut account, thread, standing.head, record);
        }
        self.in_progress(&account, thread, standing.head);
        self.children_without_step(&mut account, thread, standing.head, 0);
        if self.by == CostBy::Thread && !is_part && self.since == 0 && self.until == u64::MAX {
            // A thread without costs also gets a row.
            self.rows.entry(account.row.clone()).or_default();
        }
        if let Some(why) = account.why {
            self.lacks(&account.row, thread.clone(), why);
        }
    }

    fn labels(&self, thread: &ThreadId) -> Vec<String> {
        let labels = settings::labels(self.reader.home, thread);
        labels.iter().map(|(key, value)| format!("{key}={value}")).collect()
    }

    /// Records that a part of a thread is unreadable. It counts as a run with unknown costs.
    pub(super) fn lacks(&mut self, row: &RowKey, thread: ThreadId, why: String) {
        self.total.add_unknown();
        if self.by == CostBy::Thread {
            self.rows.entry(row.clone()).or_default().add_unknown();
        }
        self.unreadable.push(UnreadableThread { thread, why });
    }

    pub(super) fn step(&mut self, account: &mut CostAccount, hash: NodeHash, depth: usize) {
        let step = self.reader.step(hash);
        let is_new = self.counted.insert(hash);
        if !is_new && !account.is_part {
            self.shared.insert(hash);
        }
        for run in &step.runs {
            self.run(account, run, is_new);
        }
        if let Some(error) = &step.unreadable {
            account.why = Some(error.to_string());
        }
        if let Some(child) = step.child.filter(|_| depth < nodes::MAX_NESTING) {
            let (own, place) = (account.workflow.clone(), account.place.clone());
            account.place = place.below(step.group.as_deref());
            if let Err(error) = self.child(account, child, depth + 1) {
                account.why = Some(error.to_string());
            }
            (account.workflow, account.place) = (own, place);
        }
    }

    /// Adds the steps of a child thread, newest first.
    fn child(&mut self, account: &mut CostAccount, last: NodeHash, depth: usize) -> Result<()> {
        let store = self.reader.home.store();
        let mut next = Some(last);
        let mut start = None;
        while let Some(hash) = next {
            let (node, _): (StepNode, u64) = nodes::step_node(store, hash)?;
            if start.is_none() {
                let of: node::StartNode = nodes::payload(node.start, &store.get(node.start)?)?;
                start = Some(node.start);
                account.workflow = self.reader.workflow(of.workflow);
            }
            self.step(account, hash, depth);
            next = node.prev;
        }
        Ok(())
    }

    /// Adds the child threads that did not become a step of this thread.
    fn children_without_step(&mut self, account: &mut CostAccount, thread: &ThreadId, head: NodeHash, depth: usize) {
        let home = self.reader.home;
        let children = match children_without_step(home, thread, head) {
            Ok(children) => children,
            Err(error) => return account.why = Some(error.to_string()),
        };
        let (own, place, parent) = (account.workflow.clone(), account.place.clone(), account.thread.clone());
        for child in children.iter().filter(|_| depth < nodes::MAX_NESTING) {
            account.place = if self.by == CostBy::Branch { place.of_child(home, &child.id) } else { place.clone() };
            account.thread = Some(child.id.clone());
            match self.reader.line(child) {
                Ok(line) => {
                    account.workflow.clone_from(&line.workflow);
                    line.steps.iter().for_each(|step| self.step(account, *step, depth + 1));
                }
                Err(error) => account.why = Some(error.to_string()),
            }
            if let Some(record) = FileSign::from_file(&home.record_file(&child.id)) {
                self.failures(account, &child.id, child.head, record);
            }
            self.in_progress(account, &child.id, child.head);
            self.children_without_step(account, &child.id, child.head, depth + 1);
        }
        (account.workflow, account.place, account.thread) = (own, place, parent);
    }

    /// Adds the failed attempts since the newest step, which belong to no step yet.
    fn failures(&mut self, account: &mut CostAccount, thread: &ThreadId, head: NodeHash, record: FileSign) {
        let is_new = self.tried.insert(thread.clone());
        for hash in self.reader.memory.tries(self.reader.home, thread, head, record) {
            match self.reader.runs.failed(hash) {
                Ok(failed) => failed.iter().for_each(|run| self.run(account, run, is_new)),
                Err(error) => account.why = Some(error.to_string()),
            }
        }
    }

    /// Adds the attempt in progress, if there is one.
    fn in_progress(&mut self, account: &CostAccount, thread: &ThreadId, head: NodeHash) {
        if !self.only_ended
            && self.is_open(thread)
            && let Some(run) = in_progress::run(self.reader.home, self.config, thread, head)
        {
            let is_new = self.playing.insert(thread.clone());
            self.run(account, &run, is_new);
        }
    }

    /// Whether a thread has an open attempt. Most have none, and their records needn't be read.
    fn is_open(&self, thread: &ThreadId) -> bool {
        match &self.marks {
            Some(marks) => marks.get(thread.as_str()).is_some_and(|marks| marks.contains(&ThreadMark::Open)),
            None => marks::is_open_here(self.reader.home, thread),
        }
    }

    fn run(&mut self, account: &CostAccount, known: &KnownRun, is_new: bool) {
        if !(self.since..self.until).contains(&known.at_ms) {
            return;
        }
        let timed = self.reader.with_duration(account.thread.as_ref(), known);
        let run = timed.as_ref().unwrap_or(&known.run);
        let prices = spending::run_prices(self.config, known.model.as_deref());
        let reader = spending::reading_model(self.config).map(str::to_owned);
        let alone = AttemptUsage { reading: None, ..run.clone() };
        if is_new {
            self.total.add(run, prices);
            let (mut of_agent, mut of_reading) = (SpendingTotals::default(), SpendingTotals::default());
            of_agent.add(&alone, prices);
            run.reading.iter().for_each(|reading| of_reading.add_reading(reading, prices.reading));
            let unpriced = [(of_agent, &known.model), (of_reading, &reader)].into_iter();
            self.unpriced.extend(unpriced.filter(|(spent, _)| spent.cost_unknown > 0).map(|(_, model)| model.clone()));
        }
        // A row of a thread counts all its steps; any other row counts shared steps once, like the total.
        let key = match self.by {
            CostBy::Thread if account.is_part && !is_new => return,
            CostBy::Thread => account.row.clone(),
            _ if !is_new => return,
            CostBy::Role => (Some(known.role.clone()), None),
            CostBy::Branch => (Some(account.place.path.clone().unwrap_or_else(|| known.role.clone())), None),
            CostBy::Agent => (known.agent.clone(), None),
            CostBy::Model => {
                if let Some(reading) = &run.reading {
                    self.rows.entry((reader, None)).or_default().add_reading(reading, prices.reading);
                }
                self.rows.entry((known.model.clone(), None)).or_default().add(&alone, prices);
                return;
            }
            CostBy::Workflow => (account.workflow.clone(), None),
            CostBy::Label if !account.labels.is_empty() => {
                for label in &account.labels {
                    self.rows.entry((Some(label.clone()), None)).or_default().add(run, prices);
                }
                return;
            }
            CostBy::Label => (None, None),
            CostBy::Day => (Some(self.zone.day_of(known.at_ms)), None),
        };
        self.rows.entry(key).or_default().add(run, prices);
    }

    /// The report, of this number of threads.
    pub(super) fn costs(self, threads: usize) -> CostReport {
        let row = |((name, workflow), spent)| CostRow { name, workflow, spent };
        let mut rows: Vec<CostRow> = self.rows.into_iter().map(row).collect();
        match self.by {
            CostBy::Thread => rows.reverse(),
            CostBy::Day => {}
            CostBy::Role | CostBy::Branch | CostBy::Agent | CostBy::Model | CostBy::Workflow | CostBy::Label => {
                let tokens = |row: &CostRow| row.spent.tokens.total();
                rows.sort_by_key(|row| std::cmp::Reverse(tokens(row)));
            }
        }
        let table = self.config.prices.as_ref();
        let has_list_prices = self.total.cost.keys().any(|(_, from)| *from == MoneySource::List);
        let (date, currency) = (&ListPrices::shipped().date, DEFAULT_CURRENCY);
        let list_prices = has_list_prices.then(|| PricesUsed { date: date.clone(), currency: currency.to_owned() });
        CostReport {
            list_prices,
            by: self.by,
            time_zone: self.zone.name().to_owned(),
            rows,
            total: self.total,
            threads,
            shared_steps: self.shared.len(),
            prices: table.map(|prices| PricesUsed { date: prices.date.clone(), currency: prices.currency.clone() }),
            unpriced: self.unpriced.into_iter().collect(),
            unreadable: self.unreadable,
        }
    }
}
