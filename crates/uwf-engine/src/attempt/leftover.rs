//! How the next step handles an attempt whose keeper died: it ends the attempt's processes, then adopts its result if
//! it recorded one. Otherwise it keeps the attempt's output.
//!
//! # Why in this order
//!
//! 1. The caller takes the thread's lock. From then on no keeper of this machine works on the thread, so the open attempt in the record
//!    has no owner, and nothing else appends to its lines except the attempt's own processes.
//! 2. Those processes end. An agent that still runs could write files, spend money, or record a result while the next agent already works
//!    in the same directory. They also carry the attempt's id, so none of another attempt is ended.
//! 3. Only now is the record read again. A process may have recorded its answer after the first reading and before it ended. An answer
//!    that was read too early would be paid for twice.
//! 4. The head decides what the attempt is worth. If the head has moved, its result is either linked already or too late; output that was
//!    paid for is then kept as a failed attempt. If the head has not moved, a recorded step is adopted before anything is called a failure.
//! 5. Last, uwf asks other machines. What was left here is settled by then, so a claim that this machine loses costs it no answer.

use std::time::{Duration, UNIX_EPOCH};

use json_cas::{NameVersion, NodeHash, StoreError};
use uwf_core::config::DEFAULT_KILL_GRACE;
use uwf_core::node::{self, TypedPayload};
use uwf_core::spending;
use uwf_core::thread::ThreadId;

use crate::attempt::agent_process::{self, SignalListener};
use crate::attempt::elsewhere::{self, ClaimResolution};
use crate::attempt::ended::stopped;
use crate::attempt::live_trace::LiveTrace;
use crate::attempt::partial_output;
use crate::attempt::processes::{self, AttemptTrail};
use crate::attempt::recorded::{self, AttemptOpening, AttemptOutcome, AttemptOutputFiles, RecordedAttempt};
use crate::attempt::redactor::SecretRedactor;
use crate::attempt::turns::NodeBatch;
use crate::error::{AtPath, AttemptFailure, Error, Result};
use crate::root::agent_limits::{self, AgentLimit};
use crate::root::env_file;
use crate::root::home::Home;
use crate::root::log::{LogFile, log};
use crate::root::{ids, lock};
use crate::thread::load::Thread;

/// Source of a trace that names none.
const UNTOLD_SOURCE: &str = "trace";

/// Records the answer of a thread's newest attempt if its program ended well and no process of uwf is left to do it. Returns whether there
/// is one. The caller holds the thread's lock.
pub type AnswerKeeper = fn(&Home, &ThreadId) -> Result<bool>;

/// The remains of an open attempt.
pub(crate) enum AttemptRemains {
    /// Nothing to take over.
    Nothing {
        /// Attempt nodes that the next attempt at this head inherits.
        earlier: Vec<NodeHash>,
        /// The newest attempt, if there was one.
        last: Option<Box<RecordedAttempt>>,
        /// Version of the note with which machines that share the store claim the step; `None` without a note.
        note: Option<NameVersion>,
    },
    /// A step that was never linked: finished, or named by an agent but not yet verified.
    Step(Box<RecordedAttempt>, NodeHash),
}

/// Handles the thread's newest attempt, whether this machine or another one that shares the store made it. The caller
/// holds the thread's lock, so no live keeper of this machine owns the attempt.
pub(crate) fn left_over(
    thread: &Thread<'_>,
    grace: Duration,
    keep_answer: AnswerKeeper,
    signals: &mut SignalListener,
) -> Result<AttemptRemains> {
    loop {
        if let Some(signal) = signals.stop() {
            return Err(stopped(signal));
        }
        let last = match left_here(thread, grace, keep_answer)? {
            LeftHere::Step(attempt, step) => return Ok(AttemptRemains::Step(attempt, step)),
            LeftHere::Nothing(last) => last,
        };
        if let ClaimResolution::Free(note) = elsewhere::resolve_claim(thread.home(), &thread.id, thread.head, signals)?
        {
            let earlier = last.as_ref().map(|last| last.earlier_at(thread.head)).unwrap_or_default();
            return Ok(AttemptRemains::Nothing { earlier, last, note });
        }
    }
}

/// The remains of an attempt in this machine's record.
enum LeftHere {
    Nothing(Option<Box<RecordedAttempt>>),
    Step(Box<RecordedAttempt>, NodeHash),
}

fn left_here(thread: &Thread<'_>, grace: Duration, keep_answer: AnswerKeeper) -> Result<LeftHere> {
    let home = thread.home();
    let nothing = |last: Option<RecordedAttempt>| LeftHere::Nothing(last.map(Box::new));
    let Some(attempt) = recorded::read(home, &thread.id)? else { return Ok(nothing(None)) };
    if attempt.closed.is_some() {
        return Ok(nothing(Some(attempt)));
    }
    elsewhere::refuse_copied(home, &attempt)?;
    end_survivors(home, &attempt, grace)?;
    // A program may answer while it is ended. Its agent process may have finished just before that.
    keep_answer(home, &thread.id)?;
    let attempt = recorded::read(home, &thread.id)?.unwrap_or(attempt);
    if attempt.opened.expected_head != thread.head {
        if attempt.result().is_none() && has_output(home, &attempt)? {
            // The answer was paid for, but another machine took the step before it could be stored.
            fail(home, &attempt, None, "the thread continued meanwhile, so this answer is kept but not used", None)?;
            return recorded::read(home, &thread.id).map(nothing);
        }
        return Ok(nothing(Some(attempt)));
    }
    if let Some(step) = attempt.result() {
        return Ok(LeftHere::Step(Box::new(attempt), step));
    }
    if attempt.only_waits() {
        suspend(home, &attempt, None)?;
    } else {
        let (exit_code, error) = match (&attempt.gave_up, &attempt.opened.machine) {
            (Some(gave_up), _) => (gave_up.exit_code, gave_up.error.clone()),
            (None, Some(machine)) => (None, elsewhere::gone(machine)),
            (None, None) => (None, "the keeper of this attempt died before the agent had finished".to_owned()),
        };
        let failure = attempt.gave_up.as_ref().and_then(|gave_up| AttemptFailure::of_attempt(&gave_up.to_error()));
        fail(home, &attempt, exit_code, &error, failure)?;
    }
    recorded::read(home, &thread.id).map(nothing)
}

/// Whether the agent of an attempt printed or answered anything.
fn has_output(home: &Home, attempt: &RecordedAttempt) -> Result<bool> {
    let files = AttemptOutputFiles::paths_of_attempt(home, &attempt.opened.thread, &attempt.opened.attempt);
    Ok(attempt.answered.is_some() || files.have_anything()?)
}

/// How often to look whether the agent of a dead keeper has ended.
const LOOK: Duration = Duration::from_millis(100);

/// Waits for the agent of an attempt whose keeper died: until it has ended or recorded its result, at most until its time limit. A stop signal
/// ends it. Calls `tick` meanwhile. Returns whether the next step pays nothing twice: it finds a result, an answer or a question, or no agent
/// was started.
///
/// # Errors
/// `Io` if the record or the lock cannot be read.
pub fn await_agent(
    home: &Home,
    thread: &ThreadId,
    signals: &mut SignalListener,
    tick: &mut dyn FnMut(),
) -> Result<bool> {
    loop {
        let Some(attempt) = without_keeper(home, thread)? else { return Ok(false) };
        let is_over = attempt.result().is_some() || attempt.gave_up.is_some();
        let trail = AttemptTrail::of_record(home, &attempt);
        if is_over || !processes::has_survivors(&trail) {
            // It may have recorded its result just before it ended.
            let last = recorded::read(home, thread)?.unwrap_or(attempt);
            let has_answer = last.result().is_some() || last.answered.is_some() || last.asks();
            // A keeper that dies at the wrong moment has started an agent without a record of its process.
            let is_unused = last.started.is_none() && !has_output(home, &last)?;
            return Ok(has_answer || last.only_waits() || is_unused);
        }
        if signals.stop().is_some() || is_overdue(home, &attempt) {
            let grace = home.config().map_or(DEFAULT_KILL_GRACE, |config| config.limits.kill_grace);
            processes::end_abandoned(&trail, grace);
            return Ok(recorded::read(home, thread)?.is_some_and(|last| last.result().is_some()));
        }
        tick();
        signals.wait(LOOK);
    }
}

/// The newest attempt of a thread, if it is open, no keeper on this machine is at work for it, and no restart has ended its processes.
///
/// # Errors
/// `Io` if the record cannot be read.
pub fn without_keeper(home: &Home, thread: &ThreadId) -> Result<Option<RecordedAttempt>> {
    let Some(attempt) = recorded::read(home, thread)?.filter(|attempt| attempt.closed.is_none()) else {
        return Ok(None);
    };
    let may_live = may_live_here(&attempt)?;
    Ok(Some(attempt).filter(|_| may_live).filter(|_| !lock::is_held(home, thread).unwrap_or(true)))
}

/// Whether a process of an attempt may be alive on this machine: it was made here, and not in an earlier boot. On a system that does not
/// identify its boots, it may be.
fn may_live_here(attempt: &RecordedAttempt) -> Result<bool> {
    Ok(attempt.opened.machine.is_none() && recorded::is_of_this_boot(&attempt.opened)? != Some(false))
}

/// Whether the agent of an attempt is at work or silent for longer than its keeper would allow.
fn is_overdue(home: &Home, attempt: &RecordedAttempt) -> bool {
    let agent = &attempt.opened.agent;
    let since = |then: Option<u64>| then.map(|then| ids::now_ms().saturating_sub(then));
    let begun = attempt.started.as_ref().and_then(|started| started.started_at);
    let is_over =
        |limit: Option<u64>, spent: Option<u64>| limit.zip(spent).is_some_and(|(limit, spent)| spent >= limit);
    let files = AttemptOutputFiles::paths_of_attempt(home, &attempt.opened.thread, &attempt.opened.attempt);
    let written = [&files.out, &files.err, &files.raw].into_iter().filter_map(|file| {
        let changed = file.metadata().and_then(|file| file.modified()).ok()?;
        u64::try_from(changed.duration_since(UNIX_EPOCH).ok()?.as_millis()).ok()
    });
    is_over(agent.timeout_ms, since(begun)) || is_over(agent.idle_timeout_ms, since(written.chain(begun).max()))
}

/// Ends processes of an attempt that outlived their keeper; never processes of another boot. Steps of child threads
/// continue: they have their own keepers, and their work is paid for.
///
/// # Errors
/// `Busy` if processes are left that this system does not let uwf find. Without the error, two agents would work for one step.
pub(crate) fn end_survivors(home: &Home, attempt: &RecordedAttempt, grace: Duration) -> Result<()> {
    let trail = AttemptTrail::of_record(home, attempt);
    if !may_live_here(attempt)? || !processes::has_survivors(&trail) {
        return Ok(());
    }
    let opened = &attempt.opened;
    // It would pass TERM on to the keepers of its threads. All that it has done is stored, so it needs no orderly end.
    if opened.agent.plays_by_threads()
        && let Some(started) = &attempt.started
    {
        processes::kill_agent(&trail, started.pid);
    }
    processes::end_abandoned(&trail, grace);
    match trail.output() {
        Some(output) if trail.is_output_held() => {
            let message =
                format!("a process of attempt {} of thread {} could not be ended", opened.attempt, opened.thread);
            Err(Error::busy(message).hint(format!("end it by hand: `fuser {}` shows its id", output.display())))
        }
        _ => Ok(()),
    }
}

/// Closes the record of an attempt that must wait, and keeps nothing else.
pub(crate) fn suspend(home: &Home, attempt: &RecordedAttempt, why: Option<String>) -> Result<()> {
    recorded::closed(home, &attempt.opened, AttemptOutcome::Suspended, why, None)
}

/// Stores a failed attempt, or one whose agent asks a question, as a node and closes its record. If the agent has reached its usage limit,
/// no thread starts it again before its end. Returns the node.
pub fn fail(
    home: &Home,
    attempt: &RecordedAttempt,
    exit_code: Option<i32>,
    error: &str,
    failure: Option<AttemptFailure>,
) -> Result<NodeHash> {
    let opened = &attempt.opened;
    // The agent's output has the rest of the question.
    let question = attempt.gave_up.as_ref().and_then(|gave_up| gave_up.question.as_ref()?.lines().next());
    let asked = question.map(|line| format!("{}{line}", node::ASKED));
    let error = asked.as_deref().unwrap_or(error);
    let exit_code = exit_code.or_else(|| attempt.answered.as_ref()?.exit_code);
    let files = AttemptOutputFiles::paths_of_attempt(home, &opened.thread, &opened.attempt);
    // Nothing can be redacted without the secrets, and a node is permanent. So this fails and leaves the output in its
    // files.
    let env_file = env_file::read(&home.env_file())?;
    let redactor = SecretRedactor::new(opened.secrets.iter().cloned(), &env_file);
    let read = |path| agent_process::read_kept(path, opened.output_cap).map(|text| redactor.text(&text));
    let has_raw = files.raw.try_exists().path_context("look at", &files.raw)?;
    let raw = if has_raw { read(&files.raw)? } else { read(&files.out)? };
    let stderr = read(&files.err)?;
    let _hold = home.hold_nodes()?;
    let keep = |lead: &str, trace: &LiveTrace| {
        let mut batch = NodeBatch::default();
        let agent = spending::with_reported_model(opened.agent.payload(), trace.model.as_deref());
        let node = node::AttemptNode {
            role: opened.role.clone(),
            agent: batch.add(redactor.draft(agent.draft())),
            raw: batch.content(format!("{lead}{raw}")),
            stderr: batch.content(format!("{lead}{stderr}")),
            exit_code,
            error: Some(redactor.text(error)),
        };
        let hash = with_turns(&mut batch, node, trace, &redactor);
        home.store().put_all(&batch.drafts).map(|_| hash)
    };
    let hash = match keep("", &partial_output::turns(home, opened, &files)) {
        // A process that predicted the output may have stored another text under its hash. It could not predict this
        // attempt's id.
        Err(StoreError::Collision { hash }) => {
            let lead = format!("[attempt {}: there was another text under its hash {hash}]\n", opened.attempt);
            keep(&lead, &LiveTrace::default())
        }
        kept => kept,
    }?;
    let error = redactor.text(error);
    match attempt.asks() {
        true => recorded::closed(home, opened, AttemptOutcome::Asked, Some(error), Some(hash))?,
        false => recorded::failed(home, opened, error, failure, hash)?,
    }
    record_limit(home, opened, failure);
    Ok(hash)
}

/// Records the usage limit of an agent. Without it, the agent only reaches its limit once more.
fn record_limit(home: &Home, opened: &AttemptOpening, failure: Option<AttemptFailure>) {
    let Some(failure) = failure.filter(|_| !opened.agent.plays_by_threads()) else { return };
    let Some(until) = failure.limit_end() else { return };
    let limit = AgentLimit { agent: opened.agent.name.clone(), until, is_assumed: failure.is_assumed };
    if let Err(error) = agent_limits::record(home, &opened.agent.account(&opened.workspace), &limit) {
        let log = LogFile::open(&home.log_file(&opened.thread));
        log!(log, "W5D8M2QK", Warn, "the usage limit of agent {} is not recorded: {error}", limit.agent);
    }
}

/// The attempt with its agent's turns before the failure, as far as they are known.
fn with_turns(
    batch: &mut NodeBatch,
    attempt: node::AttemptNode,
    trace: &LiveTrace,
    redactor: &SecretRedactor,
) -> NodeHash {
    if trace.is_empty() {
        return batch.add(redactor.draft(attempt.draft()));
    }
    let session = trace.session.as_ref();
    let traced = node::TracedAttempt {
        attempt,
        turns: trace.turns.iter().map(|turn| batch.turn(turn, redactor)).collect(),
        tokens: trace.tokens(),
        source: session.map_or_else(|| UNTOLD_SOURCE.to_owned(), |session| session.source.clone()),
        session_id: session.and_then(|session| session.id.clone()),
    };
    batch.add(redactor.draft(traced.draft()))
}
