//! Reads everything for a thread's page at once.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::path::Path;

use json_cas::NodeHash;
use maud::{Markup, PreEscaped, html};
use uwf_core::config::UwfConfig;
use uwf_core::event::ThreadEvent;
use uwf_core::moderator::{MatchReason, TriedTransition};
use uwf_core::spending::SpendingTotals;
use uwf_core::view::PageFailure as FailedAttempt;
use uwf_core::workflow::{GraphDrawing, GraphOnPage};
use uwf_engine::root::home::Home;
use uwf_engine::root::{registry, thread_ids};
use uwf_engine::thread::moderate::ConsideredTransition;
use uwf_engine::thread::state::ThreadState;
use uwf_engine::verbs::diff::{DiffReport, DiffSubject, FileSums};
use uwf_engine::views::cost::{self, CostBy, CostRow};
use uwf_engine::views::course::{self, ThreadCourse};
use uwf_engine::views::decisions::{self, LastDecision};
use uwf_engine::views::forks::{self, ForkFamily};
use uwf_engine::views::groups::{self, GroupStatus};
use uwf_engine::views::live::{LiveStart, LiveThread};
use uwf_engine::views::pages;
use uwf_engine::views::show::{self, ThreadStatus};
use uwf_engine::views::thread_now::ThreadNow;
use uwf_engine::views::timeline::{self, TimedStep, TimedWork};
use uwf_engine::views::why::{self, StepRouting, ThreadOutlook};
use uwf_engine::views::workflow_names::WorkflowNames;

use super::super::files;
use super::super::need::OpenRequest;
use super::super::{spent, values};
use super::child_work::ChildWork;
use super::current::CurrentStep;
use super::fork_choices::ForkChoices;
use super::{role_sums, time_bars};
use crate::app::ServerCaches;
use crate::failure::HttpFailure;

/// Steps on a page.
pub(super) const SHOWN: usize = 100;

/// Longest thread whose costs are added up for the page: each step costs reading two nodes.
const COUNTED: usize = 1000;

/// Newest groups whose branches are shown.
const GROUPS: usize = 8;

/// Contents of a thread's page.
pub(super) struct ThreadView {
    pub(super) status: ThreadStatus,
    pub(super) workflow_name: String,
    /// The steps of this page.
    pub(super) steps: Vec<TimedStep>,
    /// Their positions, from 0.
    pub(super) range: Range<usize>,
    /// Spending of all steps; `None` if the thread is too long to add it up.
    pub(super) spent: Option<SpendingTotals>,
    /// Events of the running attempt.
    pub(super) now: Option<Vec<ThreadEvent>>,
    /// The newest groups, oldest first; the last one may still be played.
    pub(super) groups: Vec<GroupStatus>,
    /// The child threads that played roles, by step.
    pub(super) children: HashMap<NodeHash, ChildWork>,
    /// The next role, with the reason.
    pub(super) next: Option<ThreadOutlook>,
    /// The step that it plays, or at which it has stopped.
    pub(super) current: Option<CurrentStep>,
    /// Attempts that failed since the last step.
    pub(super) failures: Vec<FailedAttempt>,
    pub(super) need: Option<OpenRequest>,
    /// Possible differences of another run of the workflow.
    pub(super) fork: ForkChoices,
    pub(super) graph: Option<Markup>,
    /// The start, and how much has changed in the files since; `None` if no files are recorded.
    pub(super) files: Option<(NodeHash, FileSums)>,
    /// Why the newest steps have their roles, by position from 0.
    pub(super) reasons: BTreeMap<usize, Vec<ConsideredTransition>>,
    /// This thread and all threads that share steps with it.
    pub(super) forks: ForkFamily,
    /// Spending of each of them, as far as it was added up.
    pub(super) spent_by_thread: HashMap<String, SpendingTotals>,
}

impl ThreadView {
    /// The group that is being played.
    pub(super) fn running_group(&self) -> Option<&GroupStatus> {
        running_group(&self.groups)
    }

    /// The child thread that played the role of a step.
    pub(super) fn child_of(&self, step: NodeHash) -> Option<&ChildWork> {
        self.children.get(&step)
    }

    /// The group of a step.
    pub(super) fn group_of(&self, step: NodeHash) -> Option<&GroupStatus> {
        self.groups.iter().find(|group| group.step == Some(step))
    }

    /// When the agents of a step's branches and of its child thread worked.
    pub(super) fn times_below(&self, step: NodeHash) -> impl Iterator<Item = (u64, u64)> {
        let branches = self.group_of(step).into_iter().flat_map(time_bars::of_branches);
        branches.chain(self.child_of(step).into_iter().flat_map(ChildWork::busy))
    }

    /// The transitions that were tried after the newest step, if that is the step at this position.
    pub(super) fn considered_next(&self, position: usize) -> Option<&[ConsideredTransition]> {
        match self.next.as_ref().filter(|_| position + 1 == self.status.steps).map(|next| &next.routing) {
            Some(StepRouting::Explained(explained)) => Some(&explained.considered),
            _ => None,
        }
    }

    /// Whether a person decides about its work, and so about its files.
    pub(super) fn is_decision(&self) -> bool {
        self.need.as_ref().is_some_and(OpenRequest::is_decision)
    }

    /// The files changed since its start, with the differences; `None` if no files are recorded.
    pub(super) fn changed_files(&self, home: &Home, cwd: &Path) -> Option<Result<DiffReport, String>> {
        let (start, _) = self.files?;
        let two = [DiffSubject::Node(start), DiffSubject::Node(self.status.head)];
        Some(files::compare(home, &two, true, cwd))
    }

    /// Reads a thread; `from` is the first step to show, from 1.
    pub(super) fn read(
        home: &Home,
        memory: &ServerCaches,
        (typed, cwd): (&str, &Path),
        from: Option<usize>,
    ) -> Result<ThreadView, HttpFailure> {
        let id = thread_ids::resolve(home, None, typed)?;
        let config = home.config().unwrap_or_default();
        let now = ThreadNow::read(home, &id)?;
        let (status, thread) = (show::status(&now)?, &now.thread);
        let mut names = WorkflowNames::from_registry(&registry::read(home).unwrap_or_default());
        let workflow_name = names.name(home, status.workflow).unwrap_or_else(|| status.workflow.to_string());
        let start = from.map_or_else(|| status.steps.saturating_sub(SHOWN), |from| from.saturating_sub(1));
        let range = start.min(status.steps)..(start + SHOWN).min(status.steps);
        // If a branch is unreadable, its thread's own page says why.
        let groups = groups::all(&now, &config, GROUPS).unwrap_or_default();
        let mut steps = timeline::timeline(thread, &config, range.clone())?;
        let roles = (status.steps <= COUNTED).then(|| by_role(&now, &config, &groups, &steps));
        steps.iter_mut().for_each(|timed| add_branches(timed, &groups));
        let of_step = |timed: &TimedStep| Some((timed.step.hash, ChildWork::of_step(home, &config, timed)?));
        let children = steps.iter().filter_map(of_step).collect();
        let forks = forks::find_family(&now)?;
        let start = thread.start_hash;
        let two = [DiffSubject::Node(start), DiffSubject::Node(status.head)];
        // Without a worktree, no files are recorded.
        let changed = match status.worktree.is_some() && status.head != start {
            true => memory.with_files((start, status.head), || files::sums(home, &two, cwd)),
            false => None,
        };
        let reasons = thread.workflow().map(|workflow| decisions::for_steps(thread, &workflow, range.clone()));
        let running = match status.state {
            ThreadState::Running => Some(running(&now)?),
            _ => None,
        };
        // The page has its own text about why a thread ended, and nothing comes next.
        let next = if status.done { None } else { why::ahead(&now).ok() };
        Ok(ThreadView {
            current: CurrentStep::read(&now, &config, &status, (next.as_ref(), running_group(&groups))),
            next,
            children,
            failures: if status.done { Vec::new() } else { pages::failures(&now) },
            need: OpenRequest::read(&now, &config),
            fork: ForkChoices::read(&now, cwd),
            graph: graph(&now, &steps, &groups, roles.as_ref().map(|(roles, total)| (roles, total))),
            spent_by_thread: by_thread(&now, &config, memory, &forks, roles.as_ref().map(|(_, total)| total)),
            files: changed.map(|sums| (start, sums)),
            reasons: reasons.unwrap_or_default(),
            forks,
            groups,
            steps,
            spent: roles.map(|(_, total)| total),
            workflow_name,
            range,
            now: running,
            status,
        })
    }
}

fn running_group(groups: &[GroupStatus]) -> Option<&GroupStatus> {
    groups.last().filter(|group| group.step.is_none())
}

fn has_group(groups: &[GroupStatus], timed: &TimedStep) -> bool {
    groups.iter().any(|group| group.step == Some(timed.step.hash))
}

/// Adds the time and the spending of its branches to the step of a group.
fn add_branches(timed: &mut TimedStep, groups: &[GroupStatus]) {
    let Some(group) = groups.iter().find(|group| group.step == Some(timed.step.hash)) else { return };
    timed.spent = group.spent();
    let work = time_bars::merged(time_bars::of_branches(group));
    timed.took_ms = match work.is_empty() {
        // Another machine played it.
        true => timed.spent.duration_ms,
        false => work.iter().map(|(from, to)| to - from).sum(),
    };
    let (role, has_failed) = (&timed.step.role, false);
    timed.work = work.into_iter().map(|(from, to)| TimedWork { role: role.clone(), from, to, has_failed }).collect();
}

/// Spending of each role, and of all roles together. The branches of a group count for the group, and a child thread for the role that it
/// played in one of these steps.
fn by_role(
    now: &ThreadNow<'_>,
    config: &UwfConfig,
    groups: &[GroupStatus],
    steps: &[TimedStep],
) -> (BTreeMap<String, SpendingTotals>, SpendingTotals) {
    let costs = cost::of_thread(now, config, CostBy::Branch);
    let mut roles: BTreeMap<String, SpendingTotals> = BTreeMap::new();
    for CostRow { name, spent, .. } in costs.rows {
        let Some(name) = name else { continue };
        let is_below =
            |path: &str| name.strip_prefix(path).is_some_and(|rest| rest.starts_with('.') || rest.is_empty());
        let is_of = |group: &&GroupStatus| {
            name.starts_with(&format!("{}.", group.role))
                || group.branches.iter().any(|branch| is_below(&branch.branch))
        };
        let group = groups.iter().find(is_of);
        roles.entry(group.map_or(name, |group| group.role.clone())).or_default().merge(spent);
    }
    for timed in steps.iter().filter(|timed| timed.step.is_child_thread && !has_group(groups, timed)) {
        roles.entry(timed.step.role.clone()).or_default().merge(timed.spent.clone());
    }
    (roles, costs.total)
}

/// Spending of each fork, unless they are too long to add it up. `own` is the spending of the thread itself.
fn by_thread(
    now: &ThreadNow<'_>,
    config: &UwfConfig,
    memory: &ServerCaches,
    forks: &ForkFamily,
    own: Option<&SpendingTotals>,
) -> HashMap<String, SpendingTotals> {
    let steps: usize = forks.threads.iter().map(|related| related.steps).sum();
    if forks.threads.len() < 2 || steps > COUNTED {
        return HashMap::new();
    }
    let id = &now.thread.id;
    let others = forks.threads.iter().map(|related| related.row.thread.clone()).filter(|other| other != id).collect();
    let mut spent = spent::by_thread(now.thread.home(), config, memory, others);
    spent.extend(own.map(|own| (id.to_string(), own.clone())));
    spent
}

/// Events of the running attempt so far.
fn running(now: &ThreadNow<'_>) -> Result<Vec<ThreadEvent>, HttpFailure> {
    Ok(LiveThread::watch(now.thread.id.clone(), LiveStart::After(now.thread.head), None).poll_at(now)?)
}

/// The workflow's graph with the thread's path, and the spending of each role if it was added up. A role links to its last step on the
/// page, an arrow to the conditions of the workflow.
fn graph(
    now: &ThreadNow<'_>,
    steps: &[TimedStep],
    groups: &[GroupStatus],
    roles: Option<(&BTreeMap<String, SpendingTotals>, &SpendingTotals)>,
) -> Option<Markup> {
    let ThreadCourse { workflow, course, hash, .. } = course::thread_course(now).ok()?.with_branches(groups);
    let last = |role: &str| steps.iter().rev().find(|timed| timed.step.role == role);
    let node_href = |role: &str| Some(format!("#s-{}", last(role)?.step.hash));
    let branch_href = |role: &str, name: &str| {
        let group = groups.iter().rev().find(|group| group.role == role)?;
        let branch = group.branches.iter().find(|branch| branch.name == name)?;
        branch.thread.as_ref().map(|thread| format!("/threads/{thread}"))
    };
    let edge_href = |_: &str, _: &str| Some(format!("/workflows/{hash}#conditions"));
    let decisions = decisions::last(&now.thread, &workflow);
    let edge_note = |from: &str, to: &str| note(decisions.get(from)?, to);
    let page = GraphOnPage {
        ids: "graph",
        node_href: &node_href,
        branch_href: &branch_href,
        edge_href: &edge_href,
        edge_note: &edge_note,
    };
    let picture = PreEscaped(GraphDrawing::from_workflow(&workflow, Some(&course)).svg_for_page(&page));
    Some(html! {
        (picture)
        @if let Some((roles, total)) = roles { (role_sums::table(&course.roles, &workflow, roles, total)) }
    })
}

/// Results of an arrow's conditions when they were last evaluated.
fn note(last: &LastDecision, to: &str) -> Option<String> {
    let when = match last.after {
        0 => "At the start".to_owned(),
        after => format!("After step {after}"),
    };
    let tried = last.tried.iter().filter(|tried| tried.role == to);
    let gave: Vec<String> = tried.filter_map(|tried| Some(format!("{when} {}", gave(tried)?))).collect();
    (!gave.is_empty()).then(|| gave.join("\n"))
}

/// Result of a condition; `None` for a transition without one.
fn gave(tried: &TriedTransition) -> Option<String> {
    let name = tried.condition.as_deref()?;
    let value = tried.value.as_ref().map_or_else(|| "nothing".to_owned(), values::short);
    Some(match tried.note {
        MatchReason::Counted => format!("{name} gave {value}, which counts as {}", tried.matched),
        MatchReason::Unconditional | MatchReason::Boolean | MatchReason::Missing => format!("{name} gave {value}"),
    })
}
