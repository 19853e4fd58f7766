//! The places of listed threads: the parent of each, and the branch that it is.
//!
//! The machine that started a child thread has them in its settings. For a thread that came by a copy of its store, or that another machine
//! started, they follow from nodes: the id of a child thread is made of its parent's id and head, and of its role.

use std::collections::{HashMap, HashSet};

use json_cas::NodeHash;
use serde_json::Value;
use ulid::Ulid;
use uwf_core::label::ThreadLabels;
use uwf_core::node::{NodeKind, StartNode, StepNode};
use uwf_core::thread::ThreadId;
use uwf_core::workflow::Workflow;

use super::memory::HeadSummaryCache;
use super::recorded::{RecordedFacts, RecordedFactsCache};
use super::{ThreadRow, finished};
use crate::attempt::child_threads::kinship::{ThreadKin, ThreadOrder};
use crate::root::history;
use crate::root::home::Home;
use crate::root::thread_branch::ThreadBranch;
use crate::thread::load::Thread;
use crate::thread::{children, nodes};
use crate::views::branches;

/// The place of a listed thread among others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RowPlace {
    /// Its parent, if this machine knows that thread.
    pub(crate) parent: Option<ThreadId>,
    /// Path of the branch that it is.
    pub(crate) branch: Option<String>,
    /// The item of the branch.
    pub(crate) item: Option<String>,
}

/// Reads the places of threads, each once.
pub(super) struct FamilyReader<'h> {
    home: &'h Home,
    has_finished: bool,
    recorded: RecordedFactsCache<'h>,
    known: HashMap<ThreadId, Option<ThreadKin>>,
    /// The threads of the listing, once they are needed.
    threads: Option<ListedThreads>,
}

/// All threads that a listing can have.
#[derive(Default)]
struct ListedThreads {
    heads: HashMap<ThreadId, NodeHash>,
    /// By StartNode.
    begun_at: HashMap<NodeHash, Vec<ThreadId>>,
}

impl<'h> FamilyReader<'h> {
    /// `has_finished` says whether the listing has finished threads, `asked` is the number of threads whose settings it reads.
    pub(super) fn new(home: &'h Home, has_finished: bool, asked: usize) -> FamilyReader<'h> {
        let recorded = RecordedFactsCache::load(home, asked);
        FamilyReader { home, has_finished, recorded, known: HashMap::new(), threads: None }
    }

    /// The labels of a thread; none if this machine does not know its settings.
    pub(super) fn labels(&mut self, id: &ThreadId) -> ThreadLabels {
        self.recorded.get(id).map(|recorded| recorded.labels.clone()).unwrap_or_default()
    }

    /// The same if the listing is so large that it remembers them for the next one.
    pub(super) fn remembered_labels(&mut self, id: &ThreadId) -> Option<ThreadLabels> {
        self.recorded.is_kept().then(|| self.labels(id))
    }

    /// Keeps what was read for the next listing. `all` has all threads of this machine, if the listing read them.
    pub(super) fn save(&self, all: Option<HashSet<ThreadId>>) {
        self.recorded.save(all);
    }

    /// The parent of a thread and the branch that it is; `None` if neither is known. `head` is its head, if the caller knows it.
    pub(super) fn kinship(&mut self, id: &ThreadId, head: Option<NodeHash>) -> Option<&ThreadKin> {
        if !self.known.contains_key(id) {
            let recorded = self.recorded.get(id).map(RecordedFacts::kin);
            // A person may have stepped a thread here that another machine began, without its parent.
            let is_whole = recorded.as_ref().is_some_and(|kinship| kinship.parent.is_some() || head.is_none());
            let found = if is_whole { recorded } else { self.derived(id, head).or(recorded) };
            self.known.insert(id.clone(), found);
        }
        self.known.get(id)?.as_ref()
    }

    /// The order of a row that began at this time.
    pub(super) fn order(&mut self, began_at: u64, id: &ThreadId, head: Option<NodeHash>) -> ThreadOrder {
        ThreadOrder::new(began_at, self.kinship(id, head), id.clone())
    }

    /// The order of a row whose nodes were read, among rows that began at the same time.
    pub(super) fn order_of_read(&mut self, row: &ThreadRow) -> ThreadOrder {
        let kinship = if row.is_child { self.kinship(&row.thread, Some(row.head)) } else { None };
        ThreadOrder::new(0, kinship, row.thread.clone())
    }

    /// The place of a row whose nodes were read.
    pub(super) fn place(&mut self, row: &ThreadRow) -> RowPlace {
        if !row.is_child {
            return RowPlace::default();
        }
        let Some(kinship) = self.kinship(&row.thread, Some(row.head)).cloned() else { return RowPlace::default() };
        let branch = branches::path_of(&kinship, &mut |id| self.kinship(id, None).cloned());
        let item = kinship.branch.and_then(|branch| branch.item_text());
        RowPlace { parent: kinship.parent, branch, item }
    }

    /// The place that follows from the nodes of a thread.
    fn derived(&mut self, id: &ThreadId, head: Option<NodeHash>) -> Option<ThreadKin> {
        let store = self.home.store();
        let head = head.or_else(|| self.threads().heads.get(id).copied())?;
        let before = nodes::typed::<StartNode>(store, start_of(self.home, head)?).ok()?.parent?;
        let begun_at = start_of(self.home, before)?;
        let random = Ulid::from_string(id.as_str()).ok()?.random();
        let candidates = self.threads().begun_at.get(&begun_at).cloned().unwrap_or_default();
        candidates.into_iter().find_map(|parent| self.child_of(parent, before, random))
    }

    /// The place of the child thread with these random bits that began at a head of a thread; `None` if it is of another thread.
    fn child_of(&mut self, parent: ThreadId, before: NodeHash, random: u128) -> Option<ThreadKin> {
        let is_it = |name: &str| children::random(&parent, before, name) == random;
        let thread = Thread::load_at(self.home, parent.clone(), before).ok()?;
        let workflow = thread.workflow().ok()?;
        let Some(planned) = workflow.planned_branches() else {
            let is_child = workflow.roles.keys().any(|role| is_it(role));
            return is_child.then_some(ThreadKin { parent: Some(parent), branch: None });
        };
        let names = planned.into_iter().map(|branch| branch.name).chain(self.further_steps(&parent));
        let (position, name) = names.enumerate().find(|(_, name)| is_it(name))?;
        let items: Vec<Value> = serde_json::from_str(&thread.start.prompt).unwrap_or_default();
        let branch = ThreadBranch {
            group: group_of(&workflow).to_owned(),
            name,
            item: items.get(position).cloned(),
            position: Some(position),
        };
        Some(ThreadKin { parent: Some(parent), branch: Some(branch) })
    }

    /// The names of a group's linked steps: a role that resolved conflicts is not planned.
    fn further_steps(&mut self, group: &ThreadId) -> Vec<String> {
        let Some(head) = self.threads().heads.get(group).copied() else { return Vec::new() };
        let chain = Thread::load_at(self.home, group.clone(), head).and_then(|thread| {
            thread
                .chain()?
                .records()
                .iter()
                .map(|record| Ok(nodes::step_node(self.home.store(), record.step)?.0.role))
                .collect()
        });
        chain.unwrap_or_default()
    }

    fn threads(&mut self) -> &ListedThreads {
        if self.threads.is_none() {
            self.threads = Some(ListedThreads::read(self.home, self.has_finished));
        }
        self.threads.get_or_insert_default()
    }
}

impl ListedThreads {
    /// Unreadable threads are left out.
    fn read(home: &Home, has_finished: bool) -> ListedThreads {
        let mut all = ListedThreads::default();
        let heads = home.heads().list().unwrap_or_default();
        let mut active = HeadSummaryCache::load(home.active_heads_cache(), heads.len());
        for (name, head) in &heads {
            let Ok(id) = name.parse::<ThreadId>() else { continue };
            if let Ok(summary) = active.of_active(home, &id, *head) {
                all.add(id, *head, summary.start);
            }
        }
        active.save(home, heads.into_iter().map(|(_, head)| head));
        let ended = if has_finished { history::all(home).unwrap_or_default() } else { Vec::new() };
        let mut known = HeadSummaryCache::load(home.finished_heads_cache(), ended.len());
        let rows: Vec<ThreadRow> = ended.into_iter().map(|line| finished(home, line)).collect();
        for row in &rows {
            if let Some(summary) = known.of_finished(home, row) {
                all.add(row.thread.clone(), row.head, summary.start);
            }
        }
        known.save(home, rows.iter().map(|row| row.head));
        all
    }

    fn add(&mut self, id: ThreadId, head: NodeHash, start: NodeHash) {
        self.heads.insert(id.clone(), head);
        self.begun_at.entry(start).or_default().push(id);
    }
}

/// The StartNode of a thread's head.
fn start_of(home: &Home, head: NodeHash) -> Option<NodeHash> {
    let node = nodes::get(home.store(), head).ok()?;
    match NodeKind::from_type_hash(node.type_hash)? {
        NodeKind::StartNode => Some(head),
        NodeKind::StepNode => nodes::payload::<StepNode>(head, &node).ok().map(|step| step.start),
        _ => None,
    }
}

/// The role that is the group whose own workflow this is: it is named `WORKFLOW.ROLE`.
fn group_of(workflow: &Workflow) -> &str {
    workflow.name.rsplit('.').next().unwrap_or_default()
}
