//! `thread limit`: shows or changes the limits of a thread, with its usage.

use std::time::Duration;

use json_cas::NodeHash;
use schemars::JsonSchema;
use serde::Serialize;
use uwf_core::config::DEFAULT_CURRENCY;
use uwf_core::number::{self, MAX_MONEY};
use uwf_core::spending::SpendingTotals;
use uwf_core::thread::ThreadId;
use uwf_core::usage::{ThreadLimits, UsageAmount};

use crate::attempt::plan::{self, StepPlan};
use crate::attempt::spent;
use crate::error::Result;
use crate::root::home::Home;
use crate::root::lock;
use crate::root::marks::{self, ThreadMark};
use crate::thread::state::{self, ThreadState};
use crate::verbs::step::{ancestors, expected_head};
use crate::views::cost::{self, CostBy};
use crate::views::thread_now::ThreadNow;

/// A change of a limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LimitChange<T> {
    /// Set it to this value.
    To(T),
    /// Raise it by this value; without a limit, set it to this much above the usage.
    By(T),
}

/// Changes of limits.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct LimitChanges {
    /// Steps.
    pub steps: Option<LimitChange<u64>>,
    /// Time since the thread began, in seconds.
    pub time: Option<LimitChange<u64>>,
    /// Tokens.
    pub tokens: Option<LimitChange<u64>>,
    /// US dollars.
    pub cost: Option<LimitChange<f64>>,
}

impl LimitChanges {
    /// Whether applying it twice differs from applying it once.
    pub fn is_relative(&self) -> bool {
        fn is<T>(change: &Option<LimitChange<T>>) -> bool {
            matches!(change, Some(LimitChange::By(_)))
        }
        is(&self.steps) || is(&self.time) || is(&self.tokens) || is(&self.cost)
    }

    /// Changed limits, unless every run so far reported the usage that they count.
    fn unproven(&self, limits: ThreadLimits, used: UsageAmount, spent: &SpendingTotals) -> ThreadLimits {
        ThreadLimits {
            max_tokens: limits
                .max_tokens
                .filter(|_| self.tokens.is_some() && (used.tokens == 0 || spent.tokens_unknown > 0)),
            max_cost: limits.max_cost.filter(|_| self.cost.is_some() && (used.cost <= 0.0 || spent.cost_unknown > 0)),
            ..ThreadLimits::default()
        }
    }

    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        *self == LimitChanges::default()
    }
}

/// Usage and limits of a thread.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LimitReport {
    /// The thread.
    pub thread: ThreadId,
    /// Its state.
    pub state: ThreadState,
    /// Its usage.
    pub used: KnownUsage,
    /// Number of agent runs with unknown tokens; the unknown tokens count as 0.
    pub tokens_unknown: usize,
    /// Number of agent runs with an unknown cost, which counts as 0.
    pub cost_unknown: usize,
    /// Number of agent runs in progress, so that tokens and cost are minimums.
    pub running: usize,
    /// Seconds since it began.
    pub age: u64,
    /// Its limits.
    pub limits: ThreadLimits,
    /// The limit that it has reached, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reached: Option<String>,
    /// Why it is at a limit other than these: `maxDepth`, or the limit of another thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Warnings about changed limits that have no effect with its agents.
    #[serde(skip)]
    pub notes: Vec<String>,
}

/// The usage of a thread as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct KnownUsage {
    /// Steps.
    pub steps: u64,
    /// Input and output tokens, at least; null if no agent run reported any.
    pub tokens: Option<u64>,
    /// US dollars, at least; null if costs of agent runs are unknown and the others cost nothing.
    pub cost: Option<f64>,
    /// Seconds agents worked.
    pub seconds: f64,
}

impl KnownUsage {
    fn new(used: UsageAmount, spent: &SpendingTotals) -> KnownUsage {
        let UsageAmount { steps, tokens, cost, seconds } = used;
        let is_known = |unknown: usize| unknown + spent.running == 0;
        KnownUsage {
            steps,
            tokens: Some(tokens).filter(|tokens| *tokens > 0 || is_known(spent.tokens_unknown)),
            cost: Some(cost).filter(|cost| *cost > 0.0 || is_known(spent.cost_unknown)),
            seconds,
        }
    }
}

/// The usage, with the usage of the attempt in progress. No limit counts it before the attempt has ended.
fn with_attempt_in_progress(used: UsageAmount, spent: &SpendingTotals) -> UsageAmount {
    let dollars = spent.by_currency().get(DEFAULT_CURRENCY).copied().unwrap_or_default();
    UsageAmount { tokens: used.tokens.max(spent.tokens.total()), cost: used.cost.max(dollars), ..used }
}

/// Usage and limits of a thread.
///
/// # Errors
/// `NotFound` when the thread does not exist; errors of its record, its workflow and the nodes of its steps.
pub fn show(home: &Home, id: &ThreadId) -> Result<LimitReport> {
    limits(&ThreadNow::read(home, id)?)
}

/// The same for a thread that was read before.
fn limits(now: &ThreadNow<'_>) -> Result<LimitReport> {
    let thread = &now.thread;
    let plan = StepPlan::to_look_at(thread, &now.record)?;
    let used = spent::used(thread, &plan.config, &now.failed(), None)?;
    let age = now.end.as_ref().map_or_else(|| plan::age(thread), |end| plan::age_at(thread, end.completed_at));
    let why = now.reason.as_ref().filter(|_| now.state == ThreadState::Limited).map(|reason| reason.why.clone());
    let spent = cost::of_thread(now, &plan.config, CostBy::Thread).total;
    let report = report(&thread.id, (now.state, why), plan.limits(), (used, &spent), age);
    Ok(LimitReport { used: KnownUsage::new(with_attempt_in_progress(used, &spent), &spent), ..report })
}

/// The limits to raise so that a limited thread continues; `None` if it is at another limit, or if they can't be read.
pub fn to_lift(now: &ThreadNow<'_>) -> Option<LimitReport> {
    limits(now).ok().filter(|limits| limits.why.is_none())
}

/// Changes the limits of a thread, if it is at the expected head. A limited thread continues with its next step, unless it is at another
/// limit.
///
/// # Errors
/// As for [`show`]; `Busy` while another process steps the thread, or when it is at another head.
pub fn change(home: &Home, id: &ThreadId, changes: &LimitChanges, expected: Option<NodeHash>) -> Result<LimitReport> {
    // A process that steps the thread also writes to its record, and may shorten it.
    let _lock = lock::take(home, id)?;
    let now = ThreadNow::read(home, id)?;
    expected_head::check(home, id, now.active_head(), expected)?;
    let thread = &now.thread;
    let plan = StepPlan::from_record(thread, &now.record, None)?;
    let (limits, used) = (plan.limits(), spent::used(thread, &plan.config, &now.failed(), None)?);
    let age = plan::age(thread);
    let spent = cost::of_thread(&now, &plan.config, CostBy::Thread).total;
    let mut settings = plan.settings.clone();
    let own = &mut settings.limits;
    own.max_steps = whole(changes.steps, limits.max_steps, used.steps).or(own.max_steps);
    own.max_time = whole(changes.time, limits.max_time, age.as_secs()).or(own.max_time);
    own.max_tokens = whole(changes.tokens, limits.max_tokens, used.tokens).or(own.max_tokens);
    let cost = changes.cost.map(|change| match change {
        LimitChange::To(limit) => limit,
        LimitChange::By(more) => (limits.max_cost.unwrap_or(used.cost) + more).min(MAX_MONEY),
    });
    own.max_cost = cost.or(own.max_cost);
    let was_reached = limits.reached(used, age).is_some();
    let limits = settings.limits.or(limits);
    // A thread at another limit stays there, whatever these limits are now. Clear the mark first. If this process is killed before it saves
    // the limits, the same command still finds the old limit reached. A step sets the mark again.
    if was_reached && limits.reached(used, age).is_none() {
        marks::clear(home, id, &[ThreadMark::Limited])?;
    }
    let begun_at = settings.begun_at.unwrap_or(thread.head);
    settings.begun_at(begun_at).save(home, id)?;
    ancestors::mark_again(home, id, ancestors::ChildChange::Continued);
    // Everything that can fail was read before: after an error, the old limits still hold.
    let notes = plan.unenforced(home, changes.unproven(limits, used, &spent));
    let why = marks::get(home, id, ThreadMark::Limited).map(|reason| reason.why);
    let state = state::of_active(home, id, &marks::marks_of_thread(home, id));
    Ok(LimitReport { notes, ..report(id, (state, why), limits, (used, &spent), age) })
}

fn whole(change: Option<LimitChange<u64>>, now: Option<u64>, used: u64) -> Option<u64> {
    Some(match change? {
        LimitChange::To(limit) => limit,
        LimitChange::By(more) => number::sum(now.unwrap_or(used), more),
    })
}

/// `why` says why a limited thread is limited.
fn report(
    thread: &ThreadId,
    (state, why): (ThreadState, Option<String>),
    limits: ThreadLimits,
    (used, spent): (UsageAmount, &SpendingTotals),
    age: Duration,
) -> LimitReport {
    let reached = limits.reached(used, age).map(|reached| reached.to_string());
    let why = why.filter(|_| state == ThreadState::Limited && reached.is_none());
    LimitReport {
        thread: thread.clone(),
        state,
        used: KnownUsage::new(used, spent),
        tokens_unknown: spent.tokens_unknown,
        cost_unknown: spent.cost_unknown,
        running: spent.running,
        age: age.as_secs(),
        limits,
        reached,
        why,
        notes: Vec::new(),
    }
}
