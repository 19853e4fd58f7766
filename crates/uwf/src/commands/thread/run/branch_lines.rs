//! The lines about branches that begin, end, fail or wait while a run plays their group.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use uwf_core::config::UwfConfig;
use uwf_core::event::{ThreadEvent, ThreadEventKind};
use uwf_core::outcome::SUCCEEDED;
use uwf_core::text::one_line;
use uwf_engine::attempt::child_threads::stopped_branches::{names_branches_of, shared_reason};
use uwf_engine::root::ids;
use uwf_engine::thread::state::ThreadState;
use uwf_engine::views::groups::{self, BranchWork};
use uwf_engine::views::show;
use uwf_engine::views::thread_now::ThreadNow;

use crate::commands::thread::step::denied_calls;
use crate::context::CommandContext;
use crate::{style, table};

/// Columns of a path.
const PATH: usize = 60;

/// Columns of a reason.
const WHY: usize = 160;

/// The lines of one run.
pub(super) struct BranchLines<'c> {
    context: &'c CommandContext,
    config: UwfConfig,
    /// When the run began, in Unix milliseconds.
    since: u64,
    /// Branches with a line about their beginning. An attempt that begins and ends between two looks has none.
    begun: RefCell<BTreeSet<String>>,
    /// Branches whose newest line says that they failed.
    failed: RefCell<BTreeSet<String>>,
    /// The reasons of lines, with the branch of the first line.
    reasons: RefCell<BTreeMap<String, String>>,
}

impl<'c> BranchLines<'c> {
    pub(super) fn new(context: &'c CommandContext) -> BranchLines<'c> {
        let config = context.home.config().unwrap_or_default();
        BranchLines {
            context,
            config,
            since: ids::now_ms(),
            begun: RefCell::default(),
            failed: RefCell::default(),
            reasons: RefCell::default(),
        }
    }

    /// The line for an event; `None` if it says nothing about a branch, or if it happened before the run.
    pub(super) fn line(&self, event: &ThreadEvent) -> Option<String> {
        if event.at < self.since {
            return None;
        }
        let path = event.branch.as_deref()?;
        let branch = style::bold(&table::excerpt(path, PATH));
        match &event.what {
            ThreadEventKind::Attempt { role, agent, .. } => {
                self.failed.borrow_mut().remove(path);
                self.begun.borrow_mut().insert(path.to_owned());
                Some(format!("  ▸ {branch}{} by {agent}", role_beside(path, role)))
            }
            ThreadEventKind::End { status, .. } if status == ThreadState::Completed.name() => {
                Some(self.completed(event, path, &branch))
            }
            ThreadEventKind::End { .. } if self.failed.borrow().contains(path) => None,
            ThreadEventKind::End { .. } => Some(format!("  {} {branch}{}: killed", style::red("✗"), self.work(event))),
            ThreadEventKind::Failed { error, .. } => {
                self.failed.borrow_mut().insert(path.to_owned());
                let role = self.role_left_out(event, path);
                Some(format!("  {} {branch}{role}{}{}", style::red("✗"), self.work(event), self.reason(path, error)))
            }
            // The line before says it.
            ThreadEventKind::State { state, .. }
                if *state == ThreadState::Limited.name() && self.failed.borrow().contains(path) =>
            {
                None
            }
            ThreadEventKind::State { state, why, .. }
                if [ThreadState::Waiting, ThreadState::Limited].map(ThreadState::name).contains(&state.as_str()) =>
            {
                let why = why.as_ref().map(|why| self.reason(path, why)).unwrap_or_default();
                Some(format!("  {} {branch} is {state}{why}", style::yellow("…")))
            }
            _ => None,
        }
    }

    /// The line for a branch that has ended by itself, or that its group continues without.
    fn completed(&self, event: &ThreadEvent, path: &str, branch: &str) -> String {
        let now = ThreadNow::read(&self.context.home, &event.thread).ok();
        let Some(why) = now.and_then(|now| now.failed_branch()) else {
            return format!("  {} {branch}{}{}", style::green("✓"), self.role_left_out(event, path), self.work(event));
        };
        // The line before has the reason.
        let is_known = self.failed.borrow().contains(path);
        let why = if is_known { String::new() } else { format!(" ({})", table::excerpt(&why, WHY)) };
        format!("  {} {branch} failed{why}: its group continues without it", style::yellow("–"))
    }

    /// The role of a branch without a line about its beginning; otherwise that line has it.
    fn role_left_out(&self, event: &ThreadEvent, path: &str) -> String {
        if self.begun.borrow().contains(path) {
            return String::new();
        }
        let workflow = ThreadNow::read(&self.context.home, &event.thread).and_then(|now| now.thread.workflow());
        let roles = workflow.map(|workflow| workflow.roles.into_keys().collect::<Vec<_>>());
        match roles.as_deref() {
            Ok([role]) => role_beside(path, role),
            _ => String::new(),
        }
    }

    /// Why a branch has stopped, unless an earlier line says so. The branches of a group within the group have lines of their own.
    fn reason(&self, path: &str, why: &str) -> String {
        if names_branches_of(path, why) {
            return String::new();
        }
        let mut reasons = self.reasons.borrow_mut();
        match reasons.get(shared_reason(why)) {
            Some(first) if first != path => format!(": same reason as {}", table::excerpt(first, PATH)),
            Some(_) => format!(": {}", table::excerpt(why, WHY)),
            None => {
                reasons.insert(shared_reason(why).to_owned(), path.to_owned());
                format!(": {}", table::excerpt(why, WHY))
            }
        }
    }

    /// Agent, time and cost of a branch; empty if its thread is not readable.
    fn work(&self, event: &ThreadEvent) -> String {
        let Ok(now) = ThreadNow::read(&self.context.home, &event.thread) else { return String::new() };
        let BranchWork { agent, took_ms, waited_ms, attempts, spent, outcome, .. } = groups::work(&now, &self.config);
        let other = outcome.filter(|outcome| outcome != SUCCEEDED);
        let mut work = other.map(|outcome| format!(": {}", style::red(&one_line(&outcome)))).unwrap_or_default();
        work.push_str(&agent.map(|agent| format!(" by {agent}")).unwrap_or_default());
        let denied = denied_calls(&show::denied(&now));
        work.push_str(&format!(", {}", table::work_time(took_ms, waited_ms, attempts.len())));
        match spent.tokens.total() {
            _ if !spent.cost.is_empty() => work.push_str(&format!(", {}", spent.cost_text())),
            0 => {}
            tokens => work.push_str(&format!(", {tokens} tokens")),
        }
        work + &denied
    }
}

/// The role of a branch beside its path, unless the path ends with it.
fn role_beside(path: &str, role: &str) -> String {
    if path.ends_with(role) { String::new() } else { format!(" ({})", one_line(role)) }
}
