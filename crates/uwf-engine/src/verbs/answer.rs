//! `thread answer`: a person plays the next role. The person has already given the answer, so uwf starts no process for the step; the head
//! moves as in every step.

mod first_answer;
pub mod question;

use std::path::PathBuf;

use json_cas::NodeHash;
use uwf_core::config::NotifyEvent;
use uwf_core::moderator::NextAction;
use uwf_core::node::StepNode;
use uwf_core::thread::{MAX_GENERATIONS, ThreadId};

use self::first_answer::FirstAnswer;
use crate::attempt::agent_process::SignalListener;
use crate::attempt::agents::{AgentSpec, BUILT_IN_PREFIX, HUMAN};
use crate::attempt::bindings::AgentReference;
use crate::attempt::leftover::{self, AttemptRemains};
use crate::attempt::plan::StepPlan;
use crate::attempt::recorded::{self, RecordedAttempt};
use crate::attempt::{child_threads, elsewhere};
use crate::error::{Error, ErrorKind, Result};
use crate::root::home::Home;
use crate::root::lock;
use crate::root::marks::{self, ThreadMark};
use crate::thread::load::Thread;
use crate::thread::state::ThreadState;
use crate::thread::{moderate, nodes};
use crate::verbs::step::expected_head;
use crate::verbs::step::newest_attempt::{self, NewestAttempt};
use crate::verbs::step::replies;
use crate::verbs::step::{
    self, AttemptPosition, BegunAttempt, StepInProgress, StepReport, StepRequest, StoredStep, UpcomingRole,
};
use crate::verbs::{notify, otel};
use crate::views::branches;
use crate::views::thread_now::ThreadNow;

/// End of the messages about an earlier answer.
const NOT_RECORDED: &str = "your answer was not recorded";

/// The role or question that a thread waits for a person to answer, as of the time it was read.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenQuestion {
    /// The thread.
    pub thread: ThreadId,
    /// Its head. The answer counts only at this head.
    pub head: NodeHash,
    /// Role that the answer plays.
    pub role: String,
    /// Agent the answer is recorded under.
    pub agent: AgentSpec,
    /// Unix milliseconds since when the thread waits; `None` if it is not marked as waiting yet.
    pub since: Option<u64>,
    /// The question of the agent that plays the role; `None` if the person plays the role itself.
    pub question: Option<AgentQuestion>,
    /// Directory the thread works in from then on, if one was given.
    pub cwd: Option<PathBuf>,
}

/// A question of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentQuestion {
    /// Id of the attempt that asked it.
    pub attempt: String,
    /// The question.
    pub text: String,
    /// Replies to choose from. Any other reply is also allowed.
    pub options: Vec<String>,
}

/// The state of a thread that a person has seen before answering.
#[derive(Debug, Clone, Copy, Default)]
pub struct AnswerPrecondition {
    /// Its head.
    pub head: Option<NodeHash>,
    /// The newest attempt there.
    pub attempt: Option<NewestAttempt>,
}

/// Finds the question that a thread asks a person: either it waits, or its next role is bound to a person. If a child thread plays that
/// role, this is the question of the only child that waits. An answer is recorded only while the head stays the same.
///
/// # Errors
/// `Busy` when the thread is at another head or attempt, already has a reply, or has ended since. `NotFound` when it is not active,
/// `Waiting` when it is paused. `Usage` when it asks nothing, when several children wait, or when a child waits and an attempt is expected;
/// errors of the moderator.
pub fn asked(home: &Home, id: &ThreadId, seen: AnswerPrecondition) -> Result<OpenQuestion> {
    asked_in(home, id, seen, None)
}

/// Like [`asked`], for a thread that this machine has no record of: `cwd` is the directory it works in from then on.
pub fn asked_in(home: &Home, id: &ThreadId, seen: AnswerPrecondition, cwd: Option<&PathBuf>) -> Result<OpenQuestion> {
    asked_now(&ThreadNow::read(home, id)?, seen, cwd, MAX_GENERATIONS)
}

/// Like [`asked`], for a thread that was read before.
pub fn asked_at(now: &ThreadNow<'_>) -> Result<OpenQuestion> {
    asked_now(now, AnswerPrecondition::default(), None, MAX_GENERATIONS)
}

/// All open questions of a thread and of its child threads; empty if there are none.
///
/// # Errors
/// `NotFound` when it is not active; errors of the store.
pub(super) fn all_asked(home: &Home, id: &ThreadId) -> Result<Vec<OpenQuestion>> {
    let below = waiting_below(home, id, MAX_GENERATIONS)?;
    let threads = if below.len() > 1 { below } else { vec![id.clone()] };
    // A child may be answered meanwhile.
    let asked = threads.iter().map(|thread| asked(home, thread, AnswerPrecondition::default()));
    let is_answered = |error: &Error| matches!(error.kind, ErrorKind::Usage | ErrorKind::NotFound | ErrorKind::Busy);
    asked.filter(|asked| asked.as_ref().err().is_none_or(|error| !is_answered(error))).collect()
}

/// Whether a thread, or a child thread that plays its next role, asks a person. Otherwise a thread that waits does so for its files.
pub fn asks_a_person(home: &Home, id: &ThreadId) -> Result<bool> {
    match asked(home, id, AnswerPrecondition::default()) {
        Ok(_) => Ok(true),
        Err(error) if matches!(error.kind, ErrorKind::Io | ErrorKind::Busy) => Err(error),
        Err(_) => Ok(!waiting_below(home, id, MAX_GENERATIONS)?.is_empty()),
    }
}

/// The next role of a thread, for a person who plays it instead of its agent.
///
/// # Errors
/// `NotFound` when the thread is not active, `Waiting` when it is paused, `Usage` when its next step ends it; errors of the moderator.
pub fn instead_of_agent(home: &Home, id: &ThreadId) -> Result<OpenQuestion> {
    let now = ThreadNow::read(home, id)?;
    let head = now.thread.head;
    expected_head::check(home, id, now.active_head(), Some(head))?;
    step::refuse_pause(id, now.pause.as_ref())?;
    let plan = StepPlan::from_record(&now.thread, &now.record, None)?;
    let NextAction::Role(role) = moderate::next(&now.thread, &plan.workflow)?.next else { return Err(ends_next(id)) };
    let agent =
        plan.agent(&role, Some(&AgentReference::plain(format!("{BUILT_IN_PREFIX}{HUMAN}")))).map(named_human)?;
    Ok(OpenQuestion { thread: id.clone(), head, role, agent, since: None, question: None, cwd: None })
}

fn ends_next(id: &ThreadId) -> Error {
    Error::usage(format!("thread {id} is not waiting for a person: its next step ends it"))
        .hint(format!("end it: `uwf thread step {id}`"))
}

fn asked_now(
    now: &ThreadNow<'_>,
    seen: AnswerPrecondition,
    cwd: Option<&PathBuf>,
    generations: usize,
) -> Result<OpenQuestion> {
    let (thread, id, home) = (&now.thread, &now.thread.id, now.thread.home());
    let head = thread.head;
    let first =
        || first_answer::to_question(&now.record, seen.attempt).or_else(|| first_answer::to_step(thread, seen.head));
    let or_first = |error| first().map_or(error, FirstAnswer::refusal);
    expected_head::check(home, id, now.active_head(), seen.head).map_err(or_first)?;
    newest_attempt::check(home, id, head, seen.attempt).map_err(or_first)?;
    step::refuse_pause(id, now.pause.as_ref())?;
    let plan = StepPlan::from_record(thread, &now.record, cwd)?;
    let NextAction::Role(role) = moderate::next(thread, &plan.workflow)?.next else {
        return Err(ends_next(id));
    };
    let mark = now.marks.get(&ThreadMark::Waiting);
    let last = now.newest();
    if let Some(first) = last.filter(|last| seen.attempt.is_some() && last.was_replied_to_at(head)) {
        return Err(FirstAnswer::of_attempt(first)
            .map_or_else(|| ends_next(id), FirstAnswer::refusal)
            .hint(format!("`uwf thread step {id}` continues with that reply")));
    }
    let question = last.and_then(|last| {
        let asks = last.question_at(head, &role)?;
        let (attempt, options) = (last.opened.attempt.clone(), asks.options.clone());
        Some(AgentQuestion { attempt, text: asks.question.clone()?, options })
    });
    let asks = question.is_some();
    let waiting = last.filter(|last| asks || mark.is_some() && last.was_suspended_at(head, &role));
    let agent = match waiting {
        Some(last) => last.opened.agent.clone(),
        None => plan.agent(&role, None).map(named_human)?,
    };
    let since = mark.map(|reason| reason.since);
    if agent.plays_by_threads() {
        let why = mark.map_or_else(|| format!("role `{role}` is played by a workflow"), |reason| reason.why.clone());
        let child = waiting_child(home, id, &why)?;
        // The child's question may have changed while its parent stayed the same.
        if seen.attempt.is_some() {
            return Err(Error::usage(format!(
                "child thread {child} of thread {id} asks the question, so an attempt of {id} does not apply"
            ))
            .hint(format!("answer the child with its own head and attempt: `uwf thread answer {child}`")));
        }
        return match generations {
            0 => Err(several_wait(home, id, &[child])),
            _ => asked_now(&ThreadNow::read(home, &child)?, AnswerPrecondition::default(), cwd, generations - 1),
        };
    }
    if mark.is_none() && !asks && !agent.is_built_in(HUMAN) {
        if let Some(first) = last.filter(|last| last.was_replied_to_at(head)).and_then(FirstAnswer::of_attempt) {
            return Err(first.refusal().hint(step_it(id)));
        }
        let refused = Error::usage(format!(
            "thread {id} does not wait for a person: its next role `{role}` is played by `{}`",
            agent.name
        ));
        let first = first_answer::in_last_step(thread).map(|first| first.to_string());
        let next = match now.state {
            ThreadState::Stuck => format!("its last attempt failed; repeat the step: `uwf thread retry {id}`"),
            _ => step_it(id),
        };
        return Err(first.into_iter().fold(refused, Error::hint).hint(next));
    }
    let cwd = cwd.cloned();
    Ok(OpenQuestion { thread: id.clone(), head, role, agent: named_human(agent), since, question, cwd })
}

/// The only child thread that waits for a person; `why` says why the thread itself does not.
fn waiting_child(home: &Home, id: &ThreadId, why: &str) -> Result<ThreadId> {
    let waiting = waiting_below(home, id, MAX_GENERATIONS)?;
    match waiting.as_slice() {
        [only] => Ok(only.clone()),
        [] => Err(Error::usage(format!("thread {id} is not waiting for a person itself: {why}")).hint(step_it(id))),
        several => Err(several_wait(home, id, several)),
    }
}

/// The child threads that wait, and the waiting branches of groups, whose own threads never wait.
fn waiting_below(home: &Home, id: &ThreadId, generations: usize) -> Result<Vec<ThreadId>> {
    let mut waiting = Vec::new();
    for child in child_threads::active(home, id)? {
        // A branch that is a group waits only because its own branches do.
        let below = if generations > 0 { waiting_below(home, &child, generations - 1)? } else { Vec::new() };
        if below.is_empty() && marks::marks_of_thread(home, &child).contains(&ThreadMark::Waiting) {
            waiting.push(child);
        }
        waiting.extend(below);
    }
    Ok(waiting)
}

fn several_wait(home: &Home, id: &ThreadId, children: &[ThreadId]) -> Error {
    let hint = |child: &ThreadId| match branches::path(home, child) {
        Some(path) => format!("answer one: `uwf thread answer {id} --branch {}`", branches::as_argument(&path)),
        None => format!("answer one: `uwf thread answer {child}`"),
    };
    Error::usage(format!("several child threads of thread {id} wait")).hints(children.iter().map(hint))
}

fn step_it(id: &ThreadId) -> String {
    format!("step it: `uwf thread step {id}`")
}

/// Replaces the name of an agent without an alias by the short name of the built-in agent.
fn named_human(agent: AgentSpec) -> AgentSpec {
    let is_unnamed = agent.name == format!("{BUILT_IN_PREFIX}{HUMAN}");
    if is_unnamed { AgentSpec { name: HUMAN.to_owned(), is_word: false, ..agent } } else { agent }
}

/// An answer to be recorded.
pub struct PersonAnswer<'g> {
    /// Returns the output of the answer as part of an attempt. Stores nothing.
    pub output: &'g dyn Fn(&RecordedAttempt) -> Result<NodeHash>,
    /// Stores the step of an attempt with all its nodes, records the attempt as finished and returns the StepNode.
    pub store: &'g dyn Fn(&RecordedAttempt) -> Result<NodeHash>,
}

/// Records an answer and moves the head. If a killed process has recorded the same answer without moving the head, this call moves it.
///
/// # Errors
/// `Busy` when another process steps the thread or has answered first; errors of `given`. After any error the thread still waits.
pub fn record(home: &Home, asked: &OpenQuestion, given: &PersonAnswer<'_>) -> Result<StepReport> {
    let id = &asked.thread;
    let lock = lock::take(home, id)?;
    let _mark = lock::sign(home, id, &lock)?;
    let (thread, head) = match Thread::active(home, id) {
        Err(ended) if ended.kind == ErrorKind::NotFound => return Err(too_late(home, asked, "the thread has ended")),
        other => other?,
    };
    if head.hash != asked.head {
        return Err(too_late(home, asked, &format!("the head is {} now", head.hash)));
    }
    step::refuse_paused(home, id)?;
    let before = otel::OtelBaseline::read(home, id);
    let plan = step::settled(&thread, asked.cwd.as_ref())?;
    let request = StepRequest::plain(id.clone());
    let step = StepInProgress::new(&thread, &head, &plan, &request);
    let mut signals = SignalListener::listen()?;
    let position = match leftover::left_over(&thread, plan.config.limits.kill_grace, |_, _| Ok(false), &mut signals)? {
        AttemptRemains::Nothing { earlier, note, .. } => AttemptPosition { earlier, note },
        AttemptRemains::Step(attempt, recorded) => {
            refuse_another(&thread, recorded, (given.output)(&attempt)?)?;
            let linked = step.adopt(&attempt, recorded)?;
            let report = linked.look_ahead(&mut signals);
            step::ancestors::mark_again(home, id, step::ancestors::ChildChange::Continued);
            before.send(home, id);
            return Ok(StepReport { adopted: true, ..report });
        }
    };
    let BegunAttempt { attempt, lease, .. } = step.begin_by(&asked.role, asked.agent.clone(), None, position)?;
    let link = |stored| {
        let finished = recorded::read(home, id)?.and_then(|record| record.finished);
        StoredStep::new(&step, &attempt.opened, stored, finished).verify()?.link()
    };
    let linked = (given.store)(&attempt).and_then(link);
    let linked = linked.inspect_err(|_| {
        let record = recorded::read(home, id).ok().flatten();
        if record.is_some_and(|record| record.closed.is_none() && record.finished.is_none()) {
            // If the attempt stayed open, the next step would conclude it in the same way.
            let _ = leftover::suspend(home, &attempt, Some("the answer could not be stored".to_owned()));
        }
    });
    lease.end();
    let linked = linked?;
    let report = linked.look_ahead(&mut signals);
    if report.done {
        notify::spawn_notifier(home, id, NotifyEvent::Ended);
    }
    step::ancestors::mark_again(home, id, step::ancestors::ChildChange::Continued);
    before.send(home, id);
    Ok(report)
}

/// Records a person's reply to the question of an agent, which the agent gets in its next attempt. Recording the same reply again changes
/// nothing. `by` says who replied.
///
/// # Errors
/// `Busy` when another process steps the thread, has recorded another reply, or has played the role; errors of the store and the record.
pub fn reply(home: &Home, asked: &OpenQuestion, question: &AgentQuestion, text: &str, by: &str) -> Result<StepReport> {
    let id = &asked.thread;
    let lock = lock::take(home, id)?;
    let _mark = lock::sign(home, id, &lock)?;
    let (thread, head) = match Thread::active(home, id) {
        Err(ended) if ended.kind == ErrorKind::NotFound => return Err(too_late(home, asked, "the thread has ended")),
        other => other?,
    };
    step::settled(&thread, asked.cwd.as_ref())?;
    elsewhere::catch_up(home, id, head.hash)?;
    if elsewhere::is_at_work(home, id)? {
        return Err(too_late(home, asked, "another machine is running it"));
    }
    let last = recorded::read(home, id)?.filter(|last| last.opened.attempt == question.attempt);
    let Some(last) = last.filter(|_| head.hash == asked.head) else {
        return Err(too_late(home, asked, &format!("the head is {} now", head.hash)));
    };
    let replies::RecordedReply { reply, counts } = replies::record(home, &last, &question.text, text, by)?;
    if counts.reply != reply || counts.by.as_ref().is_some_and(|first| first != by) {
        let first = FirstAnswer::of_reply(&asked.role, id, &counts);
        return Err(first
            .refusal()
            .hint(format!("`uwf cas get {}` shows it, `uwf thread step {id}` continues with it", counts.reply)));
    }
    step::ancestors::mark_again(home, id, step::ancestors::ChildChange::Continued);
    let start = &thread.start;
    let standing = StepReport::standing(start.workflow, id.clone(), head.hash).with_task(&start.prompt);
    Ok(StepReport { next: Some(UpcomingRole::Role(asked.role.clone())), ..standing })
}

/// Fails if the recorded answer has another output: the first recorded answer counts.
fn refuse_another(thread: &Thread<'_>, recorded: NodeHash, output: NodeHash) -> Result<()> {
    let (step, _) = nodes::step_node(thread.home().store(), recorded)?;
    if step.output == output {
        return Ok(());
    }
    let StepNode { role, output, .. } = step;
    Err(Error::busy(format!("role `{role}` has another answer already, {output}"))
        .hint(format!(
            "`uwf cas get {output}` shows the answer that counts, `uwf thread step {}` takes it over",
            thread.id
        ))
        .hint(NOT_RECORDED))
}

fn too_late(home: &Home, asked: &OpenQuestion, now: &str) -> Error {
    let OpenQuestion { thread, role, .. } = asked;
    let first = ThreadNow::read(home, thread).ok();
    let first = first.and_then(|now| {
        let question = asked.question.as_ref().and_then(|question| question.attempt.parse().ok());
        let replied = first_answer::to_question(&now.record, question.map(NewestAttempt::Is));
        replied.or_else(|| first_answer::to_step(&now.thread, Some(asked.head)))
    });
    if let Some(first) = first {
        return first.refusal();
    }
    Error::busy(format!("role `{role}` was played by another process meanwhile: {now}"))
        .hint(format!("`uwf thread read {thread}` shows the answer; yours was not recorded"))
}
