//! One step of a thread: moderator → agent → extract → verify → link. This runs in the keeper.
//!
//! See `StepInProgress::run` for the sequence. Each of its lines needs a value of a type that only the line before returns, so no line can be left
//! out: `ResumeOutcome`, `BegunAttempt`, `StoredStep`, `VerifiedStep`, `LinkedStep`.

mod adopt;
pub(crate) mod ancestors;
mod away;
mod begin;
mod check;
pub mod end;
pub mod expected_head;
mod failure;
mod files;
mod link;
pub mod newest_attempt;
mod play;
pub(super) mod replies;
mod report;
mod retry;
mod set_up;

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::time::Instant;

use json_cas::{Head, NameVersion, NodeHash};
use serde::{Deserialize, Serialize};
use uwf_core::moderator::{ModeratorDecision, NextAction};
use uwf_core::thread::ThreadId;

use self::adopt::ResumeOutcome;
pub(crate) use self::link::StoredStep;
use self::link::VerifiedStep;
use self::newest_attempt::NewestAttempt;
pub use self::report::{StepReport, UpcomingRole};
use self::retry::FailedAgents;
use crate::attempt::advisors::ThreadAdvisors;
use crate::attempt::agent_process::SignalListener;
use crate::attempt::bindings::AgentReference;
use crate::attempt::lease::StepLease;
use crate::attempt::leftover::AnswerKeeper;
use crate::attempt::plan::StepPlan;
use crate::attempt::recorded::RecordedAttempt;
use crate::attempt::settings::ThreadSettings;
use crate::attempt::travel;
use crate::attempt::{branch_outlook, child_threads, keeper};
use crate::error::{Error, ErrorCause, ErrorKind, Result};
use crate::root::home::Home;
use crate::root::lock;
use crate::root::log::LogFile;
use crate::root::marks::{MarkReason, ThreadMark};
use crate::root::sharing;
use crate::thread::ending::ThreadEnding;
use crate::thread::load::Thread;
use crate::thread::moderate::{self, DecisionExplanation};

/// Which thread to step, and how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepRequest {
    /// The thread.
    pub thread: ThreadId,
    /// Agent for this step only.
    pub agent: Option<AgentReference>,
    /// Workspace, for a thread without a record on this machine. The thread keeps it.
    pub cwd: Option<PathBuf>,
    /// Whether the report explains the moderator's decision.
    pub explain: bool,
    /// Whether to read the newest failed attempt's text again instead of running the agent.
    #[serde(default)]
    pub reextract: bool,
    /// The head the thread must have.
    #[serde(default)]
    pub expected_head: Option<NodeHash>,
    /// The newest attempt the thread must have at its head.
    #[serde(default)]
    pub expected_attempt: Option<NewestAttempt>,
    /// Whether to forget the usage limits of the thread's agents first: a person wants to try now.
    #[serde(default)]
    pub forget_limits: bool,
    /// Whether no person answers, so that agents are not offered to ask.
    #[serde(default)]
    pub no_ask: bool,
    /// If the step plays a group, the list to which it hands over the threads of its branches.
    #[serde(default)]
    pub branches_to: Option<PathBuf>,
}

impl StepRequest {
    /// Request for a plain next step.
    pub fn plain(thread: ThreadId) -> StepRequest {
        StepRequest {
            thread,
            agent: None,
            cwd: None,
            explain: false,
            reextract: false,
            expected_head: None,
            expected_attempt: None,
            forget_limits: false,
            no_ask: false,
            branches_to: None,
        }
    }
}

/// Performs the next step of a thread in a keeper, which continues even if this process ends. Calls `tick` about ten times a second.
///
/// # Errors
/// `Busy` if the thread is not at the expected head or attempt, any error the keeper reports, `Internal` if the keeper dies without a
/// report.
pub fn in_keeper(
    home: &Home,
    request: &StepRequest,
    signals: &mut SignalListener,
    tick: &mut dyn FnMut(),
) -> Result<StepReport> {
    // The keeper checks again under the thread's lock, but no keeper should start for an ended thread.
    if request.expected_head.is_some() {
        expected_head::head(home, &request.thread, request.expected_head)?;
    }
    keeper::run(home, &request.thread, request, signals, tick)
}

/// Performs one step while holding the thread's lock.
///
/// # Errors
/// Any kind. The head has not moved, unless the error says otherwise.
pub fn perform(
    home: &Home,
    request: &StepRequest,
    keep_answer: AnswerKeeper,
    signals: &mut SignalListener,
) -> Result<StepReport> {
    let lock = lock::take(home, &request.thread)?;
    let _mark = lock::sign(home, &request.thread, &lock)?;
    sharing::check(home, &request.thread)?;
    let (thread, head) = expected_head::active(home, &request.thread, request.expected_head)?;
    newest_attempt::check(home, &thread.id, head.hash, request.expected_attempt)?;
    refuse_paused(home, &thread.id)?;
    let plan = settled(&thread, request.cwd.as_ref())?;
    let plan = if request.no_ask { plan.without_questions() } else { plan };
    refuse_group(&thread, &plan)?;
    if request.forget_limits {
        plan.forget_limits(home)?;
    }
    let done = StepInProgress::new(&thread, &head, &plan, request).keeping(keep_answer).run_with_retries(signals);
    ancestors::mark_again(home, &thread.id, ancestors::ChildChange::Continued);
    done
}

/// The plan of a step, after its directory exists: a given `cwd` is recorded, and a worktree from another machine is created.
pub(crate) fn settled(thread: &Thread<'_>, cwd: Option<&PathBuf>) -> Result<StepPlan> {
    let (home, id) = (thread.home(), &thread.id);
    let plan = StepPlan::load(thread, cwd)?;
    // Fetch the files first: a machine that can't get them records nothing about the thread and doesn't work on it.
    let have_come = travel::arrive(home, id, thread.head, &plan.settings, plan.config.worktree_remote.as_ref())?;
    if cwd.is_some() {
        let settings = &plan.settings;
        // Until the files are here, only a machine that has them can say where they come from.
        if settings.worktree_in_use().is_none() && !works_in(home, id, &settings.workspace) {
            settings.workplace(thread.head).publish_note(home, id)?;
        }
        settings.begun_at(settings.begun_at.unwrap_or(thread.head)).save(home, id)?;
        child_threads::record_group(home, id, settings)?;
    }
    // A configuration of the project may have come with the files.
    if have_come { Ok(StepPlan::load(thread, None)?) } else { Ok(plan) }
}

/// Rejects the thread of a group: the step of its parent plays the branches.
fn refuse_group(thread: &Thread<'_>, plan: &StepPlan) -> Result<()> {
    if plan.workflow.planned_branches().is_none() {
        return Ok(());
    }
    let error = Error::usage(format!("thread {} is a group, which has no steps of its own", thread.id));
    Err(match &plan.settings.parent {
        Some(parent) => error.hint(format!("`uwf thread step {parent}` plays its branches")),
        None => error.hint("fork the thread that the group is a role of"),
    })
}

/// Whether this machine already knows that a thread works in a directory.
fn works_in(home: &Home, thread: &ThreadId, workspace: &Path) -> bool {
    matches!(ThreadSettings::load(home, thread), Ok(Some(known)) if known.workspace == workspace)
}

/// Where an attempt begins.
pub(crate) struct AttemptPosition {
    /// Nodes of the failed attempts at this position.
    pub(crate) earlier: Vec<NodeHash>,
    /// The version of the note that claims the step, in a shared store.
    pub(crate) note: Option<NameVersion>,
}

/// An attempt on record.
#[must_use]
pub(crate) struct BegunAttempt {
    pub(crate) attempt: RecordedAttempt,
    /// Whether it only reads an earlier answer again, which could not be stored then. This costs nothing.
    rereads: bool,
    /// This machine's lease on the step.
    pub(crate) lease: StepLease,
}

/// A step in progress: its thread, under the thread's lock.
pub(crate) struct StepInProgress<'a, 'h> {
    home: &'a Home,
    thread: &'a Thread<'h>,
    head: &'a Head,
    plan: &'a StepPlan,
    request: &'a StepRequest,
    keep_answer: AnswerKeeper,
    log: LogFile,
    began: Instant,
    failed: RefCell<FailedAgents>,
}

impl<'a, 'h> StepInProgress<'a, 'h> {
    pub(crate) fn new(
        thread: &'a Thread<'h>,
        head: &'a Head,
        plan: &'a StepPlan,
        request: &'a StepRequest,
    ) -> StepInProgress<'a, 'h> {
        let home = thread.home();
        let log = LogFile::open(&home.log_file(&thread.id));
        let (began, failed) = (Instant::now(), RefCell::default());
        let keep_answer: AnswerKeeper = |_, _| Ok(false);
        StepInProgress { home, thread, head, plan, request, keep_answer, log, began, failed }
    }

    /// The step, keeping the answers of programs that uwf no longer waits for.
    fn keeping(self, keep_answer: AnswerKeeper) -> StepInProgress<'a, 'h> {
        StepInProgress { keep_answer, ..self }
    }

    /// The process may be killed between any two lines, or the power may fail. The order guarantees that paid work is never lost: the
    /// attempt is recorded before its agent starts, the agent's process records its step before it reports it, and the head moves last.
    /// After a kill, the next step reads from the record how far this one got, and `resume_leftover` continues from there.
    fn run(&self, signals: &mut SignalListener) -> Result<StepReport> {
        let failed = match self.resume_leftover(signals)? {
            ResumeOutcome::Linked(linked) => return Ok(StepReport { adopted: true, ..linked.look_ahead(signals) }),
            ResumeOutcome::Failed(failed) => failed,
        };
        // ① The moderator: the next role, or the end.
        let decision = self.next_of(self.thread)?;
        let role = match &decision.next {
            NextAction::End(_) => return self.end(&decision, signals),
            NextAction::Role(role) => role,
        };
        self.check_limits(role, &failed.nodes)?;
        let begun = self.begin(role, failed)?;
        let mut setup = None;
        // ② The agent, in a worktree that is set up, and ③ extraction, which runs in the agent's process: see agent_kit::submit.
        let stored = self.set_up_worktree(&begun, signals).and_then(|done| {
            setup = done;
            self.play(&begun, signals)
        });
        // ④ The head moves only to a verified and durable step.
        let linked = stored.and_then(StoredStep::verify).and_then(VerifiedStep::link);
        let linked = linked.map_err(|error| self.conclude(&begun, error));
        let report = linked.map(|linked| linked.look_ahead(signals));
        // Keep the lease until a supervisor has said whether the thread continues.
        begun.lease.end();
        let report = report?;
        let explain = self.explained(&decision);
        Ok(StepReport { explain, adopted: begun.rereads, setup, ..report })
    }

    /// The moderator's decision. If the conditions cannot be evaluated, the thread is stuck until a person fixes them.
    fn next_of(&self, thread: &Thread<'_>) -> Result<ModeratorDecision> {
        moderate::next(thread, &self.plan.workflow).inspect_err(|error| {
            if error.cause == Some(ErrorCause::Unroutable) {
                self.mark_unroutable(thread.head, error);
            }
        })
    }

    /// Ends the thread: the moderator chose the end, so no agent runs.
    fn end(&self, decision: &ModeratorDecision, signals: &mut SignalListener) -> Result<StepReport> {
        let summary = self.advisors(self.thread).summary(signals);
        let ending = ThreadEnding::by(decision);
        end::end(self.thread, self.head, ending.clone(), Some(&self.plan.workflow), summary)?;
        let report = StepReport { explain: self.explained(decision), ..self.report(self.thread.head) };
        Ok(report.ended(ending))
    }

    /// How the moderator decided, if requested.
    fn explained(&self, decision: &ModeratorDecision) -> Option<DecisionExplanation> {
        self.request.explain.then(|| branch_outlook::explain(self.thread, &self.plan.workflow, decision))
    }

    /// Whether the limits allow another step, counting failed attempts at it.
    fn check_limits(&self, role: &str, failed: &[NodeHash]) -> Result<()> {
        self.plan.check_limits(self.thread, failed).inspect_err(|error| {
            if error.kind == ErrorKind::Limit {
                self.mark(ThreadMark::Limited, role, &error.message);
            }
        })
    }

    fn advisors<'b, 't>(&'b self, thread: &'b Thread<'t>) -> ThreadAdvisors<'b, 't> {
        ThreadAdvisors { thread, plan: self.plan, log: &self.log }
    }

    fn report(&self, head: NodeHash) -> StepReport {
        let start = &self.thread.start;
        StepReport::standing(start.workflow, self.thread.id.clone(), head).with_task(&start.prompt)
    }
}

pub(crate) fn refuse_paused(home: &Home, thread: &ThreadId) -> Result<()> {
    refuse_pause(thread, child_threads::paused(home, thread)?.as_ref())
}

/// Rejects a step of a thread that is paused.
pub(crate) fn refuse_pause(thread: &ThreadId, pause: Option<&(ThreadId, MarkReason)>) -> Result<()> {
    let Some((paused, reason)) = pause else { return Ok(()) };
    let with = if paused == thread { String::new() } else { format!(" with its parent {paused}") };
    Err(Error::waiting(format!("thread {thread} is paused{with}: {}", reason.why))
        .hint(format!("`uwf thread resume {paused}` resumes it")))
}
