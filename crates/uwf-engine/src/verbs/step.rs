//! One step of a thread: moderator → agent → extract → verify → link. This runs in the keeper.
//!
//! `Step::run` is the picture of it. What lies between two of its lines is a value of a type that only the line before
//! gives, so none can be left out: `Resumed`, `Begun`, `Stored`, `Verified`, `Linked`.

mod adopt;
mod away;
mod begin;
mod check;
mod failure;
mod files;
mod link;
mod play;
mod report;

use std::path::{Path, PathBuf};
use std::time::Instant;

use json_cas::{Hash, Head, Version};
use serde::{Deserialize, Serialize};
use uwf_core::moderator::{Decision, EndReason, Next};
use uwf_core::thread::ThreadId;

use self::adopt::Resumed;
pub(crate) use self::link::Stored;
use self::link::Verified;
pub use self::report::{StepReport, Upcoming};
use crate::attempt::advisors::Advisors;
use crate::attempt::agent_process::Signals;
use crate::attempt::bindings::Named;
use crate::attempt::keeper;
use crate::attempt::lease::Lease;
use crate::attempt::plan::Plan;
use crate::attempt::recorded::Attempt;
use crate::attempt::settings::Settings;
use crate::attempt::travel;
use crate::error::{Error, ErrorCause, ErrorKind, Result};
use crate::root::home::Home;
use crate::root::lock;
use crate::root::log::Log;
use crate::root::marks::Mark;
use crate::root::sharing;
use crate::thread::load::Thread;
use crate::thread::moderate::{self, Explained};
use crate::verbs::child_threads;
use crate::verbs::end;
use crate::verbs::expected_head;
use crate::verbs::newest_attempt::{self, NewestAttempt};
use crate::verbs::{notify, otel};

/// What to step, and how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepRequest {
    /// The thread.
    pub thread: ThreadId,
    /// Agent for this step only.
    pub agent: Option<Named>,
    /// Workspace, for a thread whose record this machine lacks; kept from then on.
    pub cwd: Option<PathBuf>,
    /// Whether the report tells how the moderator decided.
    pub explain: bool,
    /// Whether the text of the newest failed attempt is read again instead of running the agent.
    #[serde(default)]
    pub reextract: bool,
    /// The head that the thread must have.
    #[serde(default)]
    pub expected_head: Option<Hash>,
    /// The newest attempt that it must have at its head.
    #[serde(default)]
    pub expected_attempt: Option<NewestAttempt>,
}

impl StepRequest {
    /// The next step of a thread, nothing special about it.
    pub fn plain(thread: ThreadId) -> StepRequest {
        StepRequest {
            thread,
            agent: None,
            cwd: None,
            explain: false,
            reextract: false,
            expected_head: None,
            expected_attempt: None,
        }
    }
}

/// The next step of a thread, performed by a keeper, which continues should this process end. `tick` is called about ten times
/// a second.
///
/// # Errors
/// `Busy` when the thread is not at the head or attempt that is expected, what the keeper reports; `Internal` when it dies without a report.
pub fn in_keeper(
    home: &Home,
    request: &StepRequest,
    signals: &mut Signals,
    tick: &mut dyn FnMut(),
) -> Result<StepReport> {
    // The keeper looks again under the thread's lock, but for a thread that has ended none is started.
    if request.expected_head.is_some() {
        expected_head::head(home, &request.thread, request.expected_head)?;
    }
    keeper::run(home, &request.thread, request, signals, tick)
}

/// The keeper's side of [`in_keeper`].
///
/// # Errors
/// `Usage` when the request is not readable.
pub fn keeper_main(request: &str) -> Result<()> {
    let performed = |request: &StepRequest| -> Result<StepReport> {
        let home = Home::from_environment()?;
        let before = (notify::Before::of(&home, &request.thread), otel::Before::of(&home, &request.thread));
        let report = perform(&home, request, &mut Signals::listen()?);
        before.0.tell(&home, &request.thread, report.as_ref().is_ok_and(|report| report.done));
        before.1.send_step(&home, &request.thread, report.is_ok());
        report
    };
    keeper::main(request, performed)
}

/// Performs one step while holding the thread's lock.
///
/// # Errors
/// Of every kind; the head is where it was unless the error says otherwise.
pub fn perform(home: &Home, request: &StepRequest, signals: &mut Signals) -> Result<StepReport> {
    let lock = lock::take(home, &request.thread)?;
    lock.write_owner(&std::process::id().to_string())?;
    sharing::check(home, &request.thread)?;
    let (thread, head) = expected_head::active(home, &request.thread, request.expected_head)?;
    newest_attempt::check(home, &thread.id, head.hash, request.expected_attempt)?;
    refuse_paused(home, &thread.id)?;
    let plan = settled(&thread, request.cwd.as_ref())?;
    Step::new(&thread, &head, &plan, request).run_until_kept(signals)
}

/// The plan of a step, in a directory that is there: one that was given is kept, and a worktree that comes from another machine is
/// made.
pub(crate) fn settled(thread: &Thread<'_>, cwd: Option<&PathBuf>) -> Result<Plan> {
    let (home, id) = (thread.home(), &thread.id);
    let plan = Plan::load(thread, cwd)?;
    // Files come first: a machine to which they don't come has nothing on record of the thread, and doesn't work on it.
    let have_come = travel::arrive(home, id, thread.head, &plan.settings, plan.config.worktree_remote.as_ref())?;
    if cwd.is_some() {
        let settings = &plan.settings;
        // Where files come from is for whoever has them to say, until they are here.
        if settings.worktree_in_use().is_none() && !works_in(home, id, &settings.workspace) {
            settings.workplace(thread.head).tell(home, id)?;
        }
        settings.begun_at(settings.begun_at.unwrap_or(thread.head)).save(home, id)?;
    }
    // A configuration of the project may have come with them.
    if have_come { Ok(Plan::load(thread, None)?) } else { Ok(plan) }
}

/// Whether this machine knows already that a thread works in a directory.
fn works_in(home: &Home, thread: &ThreadId, workspace: &Path) -> bool {
    matches!(Settings::load(home, thread), Ok(Some(known)) if known.workspace == workspace)
}

/// What an attempt is begun from.
pub(crate) struct Position {
    /// Nodes of the attempts that failed there.
    pub(crate) earlier: Vec<Hash>,
    /// The version of the note by which the step is claimed, where machines share the store.
    pub(crate) note: Option<Version>,
}

/// An attempt on record.
#[must_use]
pub(crate) struct Begun {
    pub(crate) attempt: Attempt,
    /// Whether the answer of an earlier attempt is read again, which could not be stored then: nobody is paid.
    rereads: bool,
    /// By which the step is this machine's.
    pub(crate) lease: Lease,
}

/// A step that is under way: its thread, under the thread's lock.
pub(crate) struct Step<'a, 'h> {
    home: &'a Home,
    thread: &'a Thread<'h>,
    head: &'a Head,
    plan: &'a Plan,
    request: &'a StepRequest,
    log: Log,
    began: Instant,
}

impl<'a, 'h> Step<'a, 'h> {
    pub(crate) fn new(
        thread: &'a Thread<'h>,
        head: &'a Head,
        plan: &'a Plan,
        request: &'a StepRequest,
    ) -> Step<'a, 'h> {
        let home = thread.home();
        let log = Log::open(&home.log_file(&thread.id));
        Step { home, thread, head, plan, request, log, began: Instant::now() }
    }

    /// A process may be killed between any two lines of this, or the power may fail. What keeps the promise that nothing paid
    /// for is lost is the order: the attempt is on record before its agent is started, the agent's process records its step
    /// before it reports it, and the head moves last. Whatever was killed, the next step finds in the record how far this
    /// one came, and `resume_leftover` continues from there.
    fn run(&self, signals: &mut Signals) -> Result<StepReport> {
        let failed = match self.resume_leftover(signals)? {
            Resumed::Linked(linked) => return Ok(StepReport { adopted: true, ..linked.look_ahead(signals) }),
            Resumed::Failed(failed) => failed,
        };
        // ① The moderator: the next role, or the end.
        let decision = self.next_of(self.thread)?;
        let role = match &decision.next {
            Next::End(reason) => return self.end(*reason, &decision, signals),
            Next::Role(role) => role,
        };
        self.check_limits(role, &failed.nodes)?;
        let begun = self.begin(role, failed)?;
        // ② The agent, and ③ extraction, which happens in the agent's process: see agent_kit::submit.
        let stored = self.play(&begun, signals);
        // ④ A head never points at what is not verified and durable.
        let linked = stored.and_then(Stored::verify).and_then(Verified::link);
        let linked = linked.map_err(|error| self.conclude(&begun, error));
        let report = linked.map(|linked| linked.look_ahead(signals));
        // Not before a supervisor has said whether the thread continues.
        begun.lease.end();
        let report = report?;
        let explain = self.explained(&decision);
        Ok(StepReport { explain, adopted: begun.rereads, ..report })
    }

    /// The moderator's decision. A thread whose conditions cannot be evaluated is stuck until a person fixes that.
    fn next_of(&self, thread: &Thread<'_>) -> Result<Decision> {
        moderate::next(thread, &self.plan.workflow).inspect_err(|error| {
            if error.cause == Some(ErrorCause::Unroutable) {
                self.mark_unroutable(thread.head, &error.message);
            }
        })
    }

    /// The moderator chose the end: no agent runs.
    fn end(&self, reason: EndReason, decision: &Decision, signals: &mut Signals) -> Result<StepReport> {
        let summary = self.advisors(self.thread).summary(signals);
        end::complete(self.thread, self.head, reason, summary)?;
        Ok(StepReport {
            done: true,
            reason: Some(moderate::reason(reason).to_owned()),
            return_code: Some(end::COMPLETED_CODE),
            explain: self.explained(decision),
            ..self.report(self.thread.head)
        })
    }

    /// How a decision came about, when that was asked for.
    fn explained(&self, decision: &Decision) -> Option<Explained> {
        self.request.explain.then(|| moderate::explain(self.thread, &self.plan.workflow, decision))
    }

    /// Whether the thread may have another step, also for what failed attempts at it have used.
    fn check_limits(&self, role: &str, failed: &[Hash]) -> Result<()> {
        self.plan.check_limits(self.thread, failed).inspect_err(|error| {
            if error.kind == ErrorKind::Limit {
                self.mark(Mark::Limited, role, &error.message);
            }
        })
    }

    fn advisors<'b, 't>(&'b self, thread: &'b Thread<'t>) -> Advisors<'b, 't> {
        Advisors { thread, plan: self.plan, log: &self.log }
    }

    fn report(&self, head: Hash) -> StepReport {
        StepReport::standing(self.thread.start.workflow, self.thread.id.clone(), head)
    }
}

pub(crate) fn refuse_paused(home: &Home, thread: &ThreadId) -> Result<()> {
    let Some((paused, reason)) = child_threads::paused(home, thread)? else { return Ok(()) };
    let with = if paused == *thread { String::new() } else { format!(" with its parent {paused}") };
    Err(Error::waiting(format!("thread {thread} is paused{with}: {}", reason.why))
        .hint(format!("`uwf thread resume {paused}` resumes it")))
}
