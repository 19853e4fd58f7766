//! One step of a thread: moderator → agent → extract → persist. This runs in the keeper.

mod report;
mod unlinked;

use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::time::Duration;

use json_cas::{Hash, Head, Swap};
use serde::{Deserialize, Serialize};
use uwf_core::moderator::{Decision, Next};
use uwf_core::thread::ThreadId;

pub use self::report::{Report, Upcoming};
use self::unlinked::Unmoved;
use crate::attempt::advisors::Advisors;
use crate::attempt::agent_process::{self, Ended, Job, Signals};
use crate::attempt::agents::{self, AgentSpec};
use crate::attempt::bindings::Named;
use crate::attempt::environment::{self, Redactor};
use crate::attempt::keeper;
use crate::attempt::leftover::{self, Left};
use crate::attempt::plan::Plan;
use crate::attempt::recorded::{self, Attempt, Closed, Finished, Opened, Outcome, OutputFiles, Started};
use crate::attempt::recorded_digest;
use crate::attempt::result_line;
use crate::error::{AtPath, Error, Kind, Result};
use crate::root::home::Home;
use crate::root::lock;
use crate::root::log::{Log, log};
use crate::root::marks::{self, Mark};
use crate::root::node_types;
use crate::root::sharing;
use crate::thread::chain::Record;
use crate::thread::closure::{self, Bounds};
use crate::thread::end_reason;
use crate::thread::load::Thread;
use crate::thread::moderate;
use crate::verbs::child_threads;
use crate::verbs::end;
use crate::verbs::reextract::{self, Readable};
use crate::verbs::verified::{self, Verified};

/// What to step, and how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
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
}

impl Request {
    /// The next step of a thread, nothing special about it.
    pub fn plain(thread: ThreadId) -> Request {
        Request { thread, agent: None, cwd: None, explain: false, reextract: false }
    }
}

/// The next step of a thread, performed by a keeper, which goes on should this process end. `tick` is called about ten times
/// a second.
///
/// # Errors
/// What the keeper reports; `Internal` when it dies without a report.
pub fn in_keeper(home: &Home, request: &Request, signals: &mut Signals, tick: &mut dyn FnMut()) -> Result<Report> {
    keeper::run(home, &request.thread, request, signals, tick)
}

/// The keeper's side of [`in_keeper`].
///
/// # Errors
/// `Usage` when the request is not readable.
pub fn keeper_main(request: &str) -> Result<()> {
    keeper::main(request, perform)
}

/// Performs one step while holding the thread's lock.
///
/// # Errors
/// Of every kind; the head is where it was unless the error says otherwise.
pub fn perform(home: &Home, request: &Request, signals: &mut Signals) -> Result<Report> {
    let lock = lock::take(home, &request.thread)?;
    lock.write_owner(&std::process::id().to_string())?;
    sharing::check(home, &request.thread)?;
    let (thread, head) = Thread::active(home, &request.thread)?;
    refuse_paused(home, &thread.id)?;
    let plan = Plan::load(&thread, request.cwd.as_ref())?;
    if request.cwd.is_some() {
        let begun_at = plan.settings.begun_at.unwrap_or(thread.head);
        plan.settings.begun_at(begun_at).save(home, &thread.id)?;
    }
    Step::new(&thread, &head, &plan, request).run(signals)
}

pub(crate) struct Step<'a, 'h> {
    home: &'a Home,
    thread: &'a Thread<'h>,
    head: &'a Head,
    plan: &'a Plan,
    request: &'a Request,
    log: Log,
}

impl<'a, 'h> Step<'a, 'h> {
    pub(crate) fn new(thread: &'a Thread<'h>, head: &'a Head, plan: &'a Plan, request: &'a Request) -> Step<'a, 'h> {
        let home = thread.home();
        let log = Log::open(&home.log_file(&thread.id));
        Step { home, thread, head, plan, request, log }
    }

    fn run(&self, signals: &mut Signals) -> Result<Report> {
        let (earlier, last) = match leftover::left_over(self.thread, self.plan.config.limits.kill_grace)? {
            Left::Nothing { earlier, last } => (earlier, last),
            Left::Step(attempt, step) => match self.adopt(&attempt, step, signals) {
                Ok(report) => return Ok(Report { adopted: true, ..report }),
                Err(refused) if refused.kind == Kind::AgentFailed => {
                    log!(self.log, "7Q2M9XKA", Warn, "a recorded result was not adopted: {}", refused.message);
                    let failed = leftover::fail(self.home, &attempt, None, &refused.message)?;
                    (vec![failed], recorded::read(self.home, &self.thread.id)?.map(Box::new))
                }
                Err(other) => return Err(other),
            },
        };
        let decision = moderate::next(self.thread, &self.plan.workflow)?;
        let role = match &decision.next {
            Next::End(_) => return self.end(&decision, signals),
            Next::Role(role) => role.clone(),
        };
        if let Err(limit) = self.plan.check_limit(self.thread.chain()?.len()) {
            self.mark(Mark::Limited, &role, &limit.message);
            return Err(limit);
        }
        let is_unread = match &last {
            Some(last) => self.is_answered(last, &role)?,
            None => false,
        };
        let attempt = if self.request.reextract || is_unread {
            self.open_again(&role, earlier, last.as_deref().filter(|_| is_unread))?
        } else {
            if let Some(asked) = &self.request.agent {
                asked.refuse_secret(&Redactor::of(self.home)?)?;
            }
            let agent = self.plan.agent(&role, self.request.agent.as_ref())?;
            if let Some(waits) = self.still_asked(last.as_deref(), &role, &agent) {
                return Err(waits);
            }
            self.open(&role, agent, earlier)?
        };
        match self.attempt(&attempt, signals) {
            Ok(moved) => {
                let report = self.linked(&attempt.opened, &moved, signals);
                let explain = self.request.explain.then(|| moderate::explain(&decision));
                Ok(Report { explain, adopted: is_unread, ..report })
            }
            Err(error) => Err(self.conclude(&attempt, error)),
        }
    }

    /// The moderator chose the end: no agent runs.
    fn end(&self, decision: &Decision, signals: &mut Signals) -> Result<Report> {
        let Next::End(reason) = &decision.next else { unreachable!("only called for an end") };
        let summary = self.advisors(self.thread).summary(signals);
        end::complete(self.thread, self.head, *reason, summary)?;
        Ok(Report {
            done: true,
            reason: Some(moderate::reason(*reason).to_owned()),
            explain: self.request.explain.then(|| moderate::explain(decision)),
            ..self.report(self.thread.head)
        })
    }

    /// Whether the agent of the last attempt has answered already and only its answer was not kept, for want of space for
    /// instance: then that is read, and nobody is paid again. An agent that is given for this step, or another than then,
    /// is asked all the same.
    fn is_answered(&self, last: &Attempt, role: &str) -> Result<bool> {
        if self.request.agent.is_some() || !last.has_unread_answer(self.home, self.head.hash, role)? {
            return Ok(false);
        }
        let is_same = self.plan.agent(role, None)?.name == last.opened.agent.name;
        if is_same {
            log!(self.log, "D8T3Y5PE", Info, "attempt {}: its answer is read again", last.opened.attempt);
        }
        Ok(is_same)
    }

    /// What a person is asked already: nobody needs to be started to ask it again.
    fn still_asked(&self, last: Option<&Attempt>, role: &str, agent: &AgentSpec) -> Option<Error> {
        let last = last.filter(|_| agent.is_built_in(agents::HUMAN))?;
        if last.opened.agent != *agent || !last.was_suspended_at(self.head.hash, role) {
            return None;
        }
        let reason = marks::get(self.home, &self.thread.id, Mark::Waiting)?;
        Some(Error::new(Kind::Waiting, reason.message()))
    }

    /// An attempt in which uwf reads what the agent of an earlier one wrote; of one that is `unread` also the value it
    /// handed in.
    fn open_again(&self, role: &str, earlier: Vec<Hash>, unread: Option<&Attempt>) -> Result<Attempt> {
        let of_unread = |unread: &Attempt| OutputFiles::of(self.home, &self.thread.id, &unread.opened.attempt);
        let has_value = unread.map_or(Ok(false), |unread| of_unread(unread).has_value())?;
        let Readable { mut agent, attempt } = reextract::readable(self.thread, role, &earlier, has_value)?;
        agent.own_keys = agents::extraction_key(&self.plan.config).map(str::to_owned).into_iter().collect();
        self.open_with(role, agent, earlier, attempt, unread)
    }

    /// Records the attempt before anything is started.
    pub(crate) fn open(&self, role: &str, agent: AgentSpec, earlier: Vec<Hash>) -> Result<Attempt> {
        self.open_with(role, agent, earlier, None, None)
    }

    fn open_with(
        &self,
        role: &str,
        agent: AgentSpec,
        earlier: Vec<Hash>,
        reextract: Option<Hash>,
        unread: Option<&Attempt>,
    ) -> Result<Attempt> {
        let last = if reextract.is_some() { recorded::read(self.home, &self.thread.id)? } else { None };
        let rereads = last.map_or(0, |last| last.rereads());
        // A damaged record of an earlier failure must not make the result of this attempt unsound.
        let earlier = earlier.into_iter().filter(|hash| self.is_sound(*hash)).collect();
        let digest = recorded_digest::at_head(self.thread).inspect_err(|error| {
            log!(self.log, "C2J8W4FR", Warn, "the digest of the thread is not known: {}", error.message);
        });
        let planned = self.plan.attempt(self.thread, role, agent)?;
        let opened = Opened { earlier, reextract, rereads, digest: digest.ok(), ..planned };
        self.plan.role(role)?;
        node_types::ensure(self.home)?;
        let dir = self.home.attempts_dir(&self.thread.id);
        // What an agent prints may hold secrets; it is cleaned of them only when it is stored.
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(sharing::output_dir_mode(self.home))
            .create(&dir)
            .at("create", &dir)?;
        if let Some(unread) = unread {
            recorded::hand_on(self.home, &self.thread.id, &unread.opened.attempt, &opened.attempt)?;
        }
        recorded::open(self.home, opened.clone())?;
        // Not before this attempt is on record: a value that is handed on would be lost with the one before.
        recorded::sweep(self.home, &self.thread.id, Some(&opened.attempt));
        Ok(Attempt::begun(opened))
    }

    /// Whether the node of a failed attempt can be made part of a step.
    fn is_sound(&self, attempt: Hash) -> bool {
        let Err(unsound) = closure::check(self.home.store(), &Bounds::below(attempt), |_| ()) else { return true };
        // What cannot be read just now may be whole.
        let Ok(why) = unsound.why() else { return true };
        log!(self.log, "Z5N7Q1DM", Warn, "failed attempt {attempt} is left out of the step: {why}");
        false
    }

    /// Runs the agent and moves the head to its step.
    fn attempt(&self, attempt: &Attempt, signals: &mut Signals) -> Result<Thread<'h>> {
        let opened = &attempt.opened;
        log!(self.log, "V4C8T0RD", Info, "attempt {}: role {} by {}", opened.attempt, opened.role, opened.agent.name);
        let job = self.job(opened)?;
        let ended = agent_process::run(&job, signals, |pid| {
            recorded::started(self.home, &opened.thread, Started { attempt: opened.attempt.clone(), pid })
        })?;
        log!(self.log, "P9ZB3N6E", Info, "attempt {}: {ended:?}", opened.attempt);
        let (step, recorded) = self.result(opened, &job, ended)?;
        self.advance(opened, step, recorded.as_ref()).map_err(|why| self.unmoved(opened, step, why))
    }

    /// The step an agent that has ended left, and how it was recorded as finished.
    fn result(&self, opened: &Opened, job: &Job, ended: Ended) -> Result<(Hash, Option<Finished>)> {
        let after = recorded::read(self.home, &opened.thread)?.filter(|after| after.opened.attempt == opened.attempt);
        if let Some(finished) = after.as_ref().and_then(|after| after.finished.as_ref()) {
            // Stored, synced and recorded: whatever happened to the process afterwards, this was paid for.
            return Ok((finished.step, Some(finished.clone())));
        }
        // What an agent says when it is told to end is not why it ended.
        let by_itself = matches!(ended, Ended::Exited(_) | Ended::Signaled(_));
        if let Some(gave_up) = after.and_then(|after| after.gave_up).filter(|_| by_itself) {
            return Err(Error { hints: gave_up.hints, ..Error::new(gave_up.kind, gave_up.error) });
        }
        let out = job
            .stdout
            .as_deref()
            .map_or_else(|| Ok(String::new()), |path| agent_process::read_capped(path, opened.output_cap))?;
        let step = result_line::result_line(&opened.agent, ended, &out, job)?;
        recorded::named(self.home, &opened.thread, &opened.attempt, step)?;
        Ok((step, None))
    }

    fn job(&self, opened: &Opened) -> Result<Job> {
        let files = OutputFiles::of(self.home, &opened.thread, &opened.attempt);
        Ok(Job {
            argv: opened.command_line(self.home.bin()),
            cwd: opened.workspace.clone(),
            env: environment::of_attempt(self.home, opened)?,
            watched: vec![files.out.clone(), files.err.clone(), files.raw.clone()],
            // Of the process that runs a command the record says all; its stdout would only repeat the hash.
            stdout: (!opened.is_wrapped()).then_some(files.out),
            stderr: files.err,
            attempt: opened.attempt.clone(),
            timeout: opened.agent.timeout_ms.map(Duration::from_millis),
            idle_timeout: opened.agent.idle_timeout_ms.map(Duration::from_millis),
            grace: self.plan.config.limits.kill_grace,
            cap: opened.output_cap,
        })
    }

    /// Takes over the recorded result of an earlier attempt. The record is a file that an agent can write to, so its role has
    /// to be the one whose turn it is, and everything else is verified as that of a fresh result is.
    pub(crate) fn adopt(&self, attempt: &Attempt, step: Hash, signals: &mut Signals) -> Result<Report> {
        let role = &attempt.opened.role;
        let why = match moderate::next(self.thread, &self.plan.workflow)?.next {
            Next::Role(next) if next == *role => return self.link(attempt, step, attempt.finished.as_ref(), signals),
            Next::Role(next) => format!("it is the turn of role `{next}`"),
            Next::End(_) => "the thread is at its end".to_owned(),
        };
        let message = format!("the recorded result {step} was refused: it is one of role `{role}`, but {why}");
        Err(Error::new(Kind::AgentFailed, message).hint("the node is kept; nothing was linked"))
    }

    /// Moves the head to a finished step; then looks ahead and ends the thread if that was the last.
    pub(crate) fn link(
        &self,
        attempt: &Attempt,
        step: Hash,
        recorded: Option<&Finished>,
        signals: &mut Signals,
    ) -> Result<Report> {
        let opened = &attempt.opened;
        let moved = self.advance(opened, step, recorded).map_err(|why| self.unmoved(opened, step, why))?;
        Ok(self.linked(opened, &moved, signals))
    }

    /// Verifies a finished step and moves the head to it. Gives the thread as it stands then.
    ///
    /// A line that says it was finished is believed when it has the digest of what was verified: then uwf wrote it, after it
    /// had synced those nodes. Any other was written by somebody else.
    fn advance(
        &self,
        opened: &Opened,
        step: Hash,
        recorded: Option<&Finished>,
    ) -> std::result::Result<Thread<'h>, Unmoved> {
        let role = self.plan.role(&opened.role)?;
        let Verified { thread: moved, digest, nodes } =
            verified::verify(self.thread, &opened.role, role, step, opened.digest)?;
        if recorded.is_none_or(|recorded| recorded.step != step || recorded.digest != digest) {
            self.home.store().objects().sync(&nodes).map_err(Error::from)?;
            recorded::finished(self.home, &opened.thread, &opened.attempt, step, digest)?;
        }
        match self.home.heads().swap(self.thread.id.as_str(), &self.head.version, step) {
            Ok(Swap::Done) => Ok(moved),
            Ok(Swap::Moved(now)) => Err(Unmoved::Elsewhere(now)),
            Err(failed) => Err(Unmoved::Unsure(failed)),
        }
    }

    /// What follows once the head has moved, and the agent has ended.
    fn linked(&self, opened: &Opened, moved: &Thread<'h>, signals: &mut Signals) -> Report {
        self.tidy(opened, moved);
        let report = Report {
            role: Some(opened.role.clone()),
            agent: Some(opened.agent.name.clone()),
            ..self.report(moved.head)
        };
        self.look_ahead(moved, report, signals)
    }

    /// Derived records of a head that has moved. None of it is needed, so a failure does not make the step one.
    fn tidy(&self, opened: &Opened, moved: &Thread<'h>) {
        if let (Ok(chain), Some(step)) = (self.thread.chain(), &moved.last) {
            let record = Record::of(moved.head, step);
            moved.has_chain(chain.followed_by(self.home, &self.thread.id, record));
        }
        let done = marks::clear(self.home, &self.thread.id, &[Mark::Waiting, Mark::Limited, Mark::Stuck])
            .and_then(|()| self.close(opened, Outcome::Linked, None));
        if let Err(error) = done {
            log!(
                self.log,
                "T9C4W2HB",
                Warn,
                "the step is linked, but its attempt was not concluded: {}",
                error.message
            );
        }
    }

    /// The head has moved; what the moderator says now must not undo that.
    fn look_ahead(&self, thread: &Thread<'_>, report: Report, signals: &mut Signals) -> Report {
        let mut ahead = || -> Result<Report> {
            let decision = moderate::next(thread, &self.plan.workflow)?;
            let explain_next = self.request.explain.then(|| moderate::explain(&decision));
            let (done, reason, next) = match decision.next {
                Next::End(reason) => {
                    let summary = self.advisors(thread).summary(signals);
                    end::complete(thread, &thread.current_head()?, reason, summary)?;
                    (true, Some(moderate::reason(reason).to_owned()), None)
                }
                Next::Role(role) => match self.advisors(thread).objection(signals) {
                    Some(why) => {
                        let reason = format!("{}{why}", end_reason::SUPERVISOR);
                        end::stop(thread, &thread.current_head()?, &reason)?;
                        (true, Some(reason), None)
                    }
                    None => (false, None, Some(Upcoming::Role(role))),
                },
            };
            Ok(Report { done, reason, next, explain_next, ..report.clone() })
        };
        ahead().unwrap_or_else(|error| {
            log!(self.log, "H5W1YJ7S", Warn, "the moderator failed after the head moved: {}", error.message);
            Report { next: Some(Upcoming::Error(error.message)), ..report.clone() }
        })
    }

    fn advisors<'b, 't>(&'b self, thread: &'b Thread<'t>) -> Advisors<'b, 't> {
        Advisors { thread, plan: self.plan, log: &self.log }
    }

    fn close(&self, opened: &Opened, outcome: Outcome, error: Option<String>) -> Result<()> {
        let closed = Closed {
            attempt: opened.attempt.clone(),
            outcome,
            error,
            node: None,
            closed_at: crate::root::ids::now_ms(),
        };
        recorded::closed(self.home, &opened.thread, closed)
    }

    fn report(&self, head: Hash) -> Report {
        Report::standing(self.thread.start.workflow, self.thread.id.clone(), head)
    }
}

pub(crate) fn refuse_paused(home: &Home, thread: &ThreadId) -> Result<()> {
    let Some((paused, reason)) = child_threads::paused(home, thread)? else { return Ok(()) };
    let with = if paused == *thread { String::new() } else { format!(" with its parent {paused}") };
    Err(Error::new(Kind::Waiting, format!("thread {thread} is paused{with}: {}", reason.why))
        .hint(format!("`uwf thread resume {paused}` lets it go on")))
}
