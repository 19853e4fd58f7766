//! `--expect-head` and `--expect-attempt`: a verb acts at the head that its caller saw, and can be repeated there.

use json_cas::{NodeHash, RemovalJournal};
use serde_json::json;
use uwf_core::thread::ThreadId;
use uwf_engine::attempt::agent_process::SignalListener;
use uwf_engine::attempt::child_threads::Child;
use uwf_engine::attempt::settings::ThreadSettings;
use uwf_engine::error::{Error, ErrorKind};
use uwf_engine::root::marks::{self, MarkReason, ThreadMark};
use uwf_engine::thread::state::ThreadState;
use uwf_engine::verbs::answer::{self, AnswerPrecondition};
use uwf_engine::verbs::settings::limit::{self, LimitChange, LimitChanges};
use uwf_engine::verbs::start_child::{self, ChildTask};
use uwf_engine::verbs::step::newest_attempt::{self, NewestAttempt};
use uwf_engine::verbs::step::{self, StepReport, StepRequest};
use uwf_engine::verbs::{kill, pause};
use uwf_engine::views::show;

use crate::memory::{ESSAY, Machine, Player, failure};

const SEVEN: LimitChanges = LimitChanges { steps: Some(LimitChange::To(7)), time: None, tokens: None, cost: None };

/// A thread with one step, and its head before that.
fn stepped(machine: &Machine) -> (ThreadId, NodeHash) {
    let id = machine.start("essay");
    let before = machine.thread(&id).head;
    machine.answer(&id, json!({"text": "It rains."})).unwrap();
    (id, before)
}

fn step(machine: &Machine, request: &StepRequest) -> Result<StepReport, Error> {
    step::perform(&machine.home, request, |_, _| Ok(false), &mut SignalListener::listen().unwrap())
}

fn at(head: NodeHash) -> AnswerPrecondition {
    AnswerPrecondition { head: Some(head), attempt: None }
}

#[test]
fn a_step_for_another_head_is_refused() {
    let machine = Machine::with_essay();
    let (id, before) = stepped(&machine);
    let now = machine.thread(&id).head;
    let request = StepRequest { expected_head: Some(before), ..StepRequest::plain(id.clone()) };
    let error = step(&machine, &request).unwrap_err();
    let message = format!("thread {id} has moved on: its head is {now}, not {before}");
    assert_eq!(failure(&error), (ErrorKind::Busy, message.as_str()));
    assert_eq!(error.hints, [format!("nothing was changed; `uwf thread show {id}` shows its state")]);
    let in_keeper = step::in_keeper(&machine.home, &request, &mut SignalListener::listen().unwrap(), &mut || ());
    assert_eq!(failure(&in_keeper.unwrap_err()), (ErrorKind::Busy, message.as_str()), "no keeper is started");
    assert_eq!(machine.thread(&id).head, now);
    // At its head it is begun, but no agent can be started here.
    let request = StepRequest { expected_head: Some(now), ..StepRequest::plain(id) };
    assert_ne!(step(&machine, &request).unwrap_err().kind, ErrorKind::Busy);
}

#[test]
fn verbs_for_another_head_change_nothing() {
    let machine = Machine::with_essay();
    let (id, before) = stepped(&machine);
    let home = &machine.home;
    let standing = show::show(home, &id).unwrap();
    for (verb, refused) in [
        ("answer", answer::asked(home, &id, at(before)).map(drop)),
        ("kill", kill::kill(home, &id, Some(before)).map(drop)),
        ("pause", pause::pause(home, &id, None, Some(before)).map(drop)),
        ("resume", pause::resume(home, &id, Some(before)).map(drop)),
        ("limit", limit::change(home, &id, &SEVEN, Some(before)).map(drop)),
    ] {
        let error = refused.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Busy, "{verb}");
        assert!(error.message.starts_with(&format!("thread {id} has moved on")), "{verb}: {}", error.message);
        assert_eq!(show::show(home, &id).unwrap(), standing, "{verb}");
    }
    assert_eq!(limit::show(home, &id).unwrap().limits.max_steps, Some(1000));
}

#[test]
fn a_refused_resume_leaves_a_thread_paused() {
    let machine = Machine::with_essay();
    let (id, before) = stepped(&machine);
    pause::pause(&machine.home, &id, Some("lunch"), None).unwrap();
    assert_eq!(pause::resume(&machine.home, &id, Some(before)).unwrap_err().kind, ErrorKind::Busy);
    let shown = show::show(&machine.home, &id).unwrap();
    assert_eq!((shown.state, shown.why.as_deref()), (ThreadState::Paused, Some("lunch")));
}

#[test]
fn verbs_are_repeatable_at_their_head() {
    let machine = Machine::with_essay();
    let (id, before) = stepped(&machine);
    let home = &machine.home;
    let head = Some(machine.thread(&id).head);
    for _ in 0..2 {
        assert_eq!(pause::pause(home, &id, None, head).unwrap(), ThreadState::Paused);
    }
    for was_paused in [true, false] {
        assert_eq!(pause::resume(home, &id, head).unwrap(), (ThreadState::Active, was_paused));
    }
    for _ in 0..2 {
        assert_eq!(limit::change(home, &id, &SEVEN, head).unwrap().limits.max_steps, Some(7));
    }
    let end = kill::kill(home, &id, head).unwrap();
    assert!(end.is_some());
    assert_eq!(kill::kill(home, &id, head).unwrap(), end);
    assert_eq!(kill::kill(home, &id, None).unwrap_err().kind, ErrorKind::NotFound, "as ever without a head");
    let error = kill::kill(home, &id, Some(before)).unwrap_err();
    assert_eq!(failure(&error), (ErrorKind::Busy, format!("thread {id} was killed since").as_str()));
    assert_eq!(machine.heads.records().unwrap().readable.len(), 1);
}

#[test]
fn a_completed_thread_is_not_killed() {
    let machine = Machine::with_essay();
    let id = machine.start("essay");
    let head = machine.approved(&id).head;
    let error = kill::kill(&machine.home, &id, Some(head)).unwrap_err();
    assert_eq!(failure(&error), (ErrorKind::Busy, format!("thread {id} has ended since").as_str()));
    assert_eq!(show::show(&machine.home, &id).unwrap().state, ThreadState::Completed);
    assert_eq!(pause::pause(&machine.home, &id, None, Some(head)).unwrap_err().kind, ErrorKind::Busy);
}

#[test]
fn an_answer_is_recorded_once() {
    let machine = Machine::with_essay();
    let id = machine.start("essay");
    let head = machine.thread(&id).head;
    let asked = answer::asked(&machine.home, &id, at(head)).unwrap();
    machine.answer_as(&asked, json!({"text": "It rains."})).unwrap();
    assert_eq!(answer::asked(&machine.home, &id, at(head)).unwrap_err().kind, ErrorKind::Busy);
    assert_eq!(machine.steps(&id).len(), 1);
}

#[test]
fn a_step_for_another_attempt_is_refused() {
    let machine = Machine::with_essay();
    let id = machine.start("essay");
    let head = machine.thread(&id).head;
    let request = |attempt| StepRequest {
        expected_head: Some(head),
        expected_attempt: Some(attempt),
        ..StepRequest::plain(id.clone())
    };
    let newest = || newest_attempt::at_head(&machine.home, &id, head).unwrap();
    assert_eq!(newest(), NewestAttempt::None);
    machine.fail(&id, &Player::new("broken", "broken"), "it broke");
    let first = newest();
    let shown = show::show(&machine.home, &id).unwrap().last_attempt.unwrap();
    assert_eq!((first.to_string(), machine.thread(&id).head), (shown, head));
    let error = step(&machine, &request(NewestAttempt::None)).unwrap_err();
    let message = format!("thread {id} has a newer attempt: {first}, not none");
    assert_eq!(failure(&error), (ErrorKind::Busy, message.as_str()));
    assert_eq!(newest(), first, "nothing was tried");
    let seen = AnswerPrecondition { attempt: Some(NewestAttempt::None), ..at(head) };
    assert_eq!(answer::asked(&machine.home, &id, seen).unwrap_err().kind, ErrorKind::Busy);
    // After the attempt that was seen it is tried, but no agent can be started here.
    assert_ne!(step(&machine, &request(first)).unwrap_err().kind, ErrorKind::Busy);
    let second = newest();
    assert_ne!(second, first);
    assert_eq!(step(&machine, &request(first)).unwrap_err().kind, ErrorKind::Busy);
    assert_eq!(newest(), second);
}

#[test]
fn a_child_is_answered_by_its_own_attempt() {
    let machine = Machine::with_essay();
    machine.put("poem", &ESSAY.replace("name: essay", "name: poem"));
    machine
        .configure("  inner: { command: uwf-workflow, args: [poem] }\nagentOverrides: { essay: { writer: inner } }\n");
    let parent = machine.start("essay");
    let task = || {
        let settings = ThreadSettings { workspace: machine.work(), ..ThreadSettings::default() };
        Ok(ChildTask { workflow: "poem".to_owned(), prompt: "On snow.".to_owned(), settings, worktree: None })
    };
    let child = start_child::find_or_begin(&machine.thread(&parent), "writer", 3, task).unwrap();
    let Child::Active(child) = child else { panic!("{child:?}") };
    marks::set(
        &machine.home,
        &child,
        ThreadMark::Waiting,
        &MarkReason::from_message(ThreadMark::Waiting, "writer", "write it"),
    )
    .unwrap();
    let head = machine.thread(&parent).head;
    assert_eq!(answer::asked(&machine.home, &parent, at(head)).unwrap().thread, child);
    let seen = AnswerPrecondition { attempt: Some(NewestAttempt::None), ..at(head) };
    let error = answer::asked(&machine.home, &parent, seen).unwrap_err();
    let message =
        format!("child thread {child} of thread {parent} asks the question, so an attempt of {parent} does not apply");
    assert_eq!(failure(&error), (ErrorKind::Usage, message.as_str()));
    assert_eq!(error.hints, [format!("answer the child with its own head and attempt: `uwf thread answer {child}`")]);
}
