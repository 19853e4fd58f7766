//! `thread step`, as far as no agent must be started for it.

use serde_json::json;
use uwf_core::node::EndStatus;
use uwf_core::thread::ThreadId;
use uwf_core::usage::ThreadLimits;
use uwf_engine::attempt::agent_process::SignalListener;
use uwf_engine::error::{Error, ErrorKind};
use uwf_engine::root::{history, ids, lock};
use uwf_engine::thread::state::ThreadState;
use uwf_engine::verbs::fork::{self, ForkChanges};
use uwf_engine::verbs::step::{self, StepReport, StepRequest};
use uwf_engine::views::show;

use crate::memory::{ESSAY, Machine, failure};

fn step(machine: &Machine, id: &ThreadId) -> Result<StepReport, Error> {
    step::perform(
        &machine.home,
        &StepRequest::plain(id.clone()),
        |_, _| Ok(false),
        &mut SignalListener::listen().unwrap(),
    )
}

#[test]
fn thread_at_graph_end_ends_without_agent() {
    let machine = Machine::with_essay();
    let id = machine.start("essay");
    let head = machine.approved(&id).head;
    let again = fork::thread(&machine.home, &id, None, &ForkChanges::default(), &machine.work()).unwrap().thread;
    let request = StepRequest { explain: true, ..StepRequest::plain(again.clone()) };
    let report =
        step::perform(&machine.home, &request, |_, _| Ok(false), &mut SignalListener::listen().unwrap()).unwrap();
    assert_eq!((report.done, report.role, report.head, report.reason.as_deref()), (true, None, head, Some("end")));
    let explained = report.explain.unwrap();
    assert_eq!((explained.next.as_str(), explained.considered[0].matched), ("$END", true));
    assert_eq!(history::newest_line(&machine.home, &again).unwrap().unwrap().status, EndStatus::Completed);
}

#[test]
fn a_thread_ends_where_no_transition_matches() {
    let machine = Machine::new();
    machine.put("essay", &ESSAY.replace(", { role: writer } ]\n", " ]\n"));
    let id = machine.start("essay");
    machine.answer(&id, json!({"text": "It rains."})).unwrap();
    let report = machine.answer(&id, json!({"approved": false})).unwrap();
    assert_eq!((report.done, report.reason.as_deref()), (true, Some("no-match")));
}

#[test]
fn step_beyond_limit_is_rejected_with_reason() {
    let machine = Machine::with_essay();
    let id = machine.start("essay");
    machine.refused(&id, 1);
    let changes = ForkChanges {
        limits: ThreadLimits { max_steps: Some(2), ..ThreadLimits::default() },
        ..ForkChanges::default()
    };
    let limited = fork::thread(&machine.home, &id, None, &changes, &machine.work()).unwrap().thread;
    let error = step(&machine, &limited).unwrap_err();
    assert_eq!(failure(&error), (ErrorKind::Limit, "the thread has 2 steps; its limit is 2"));
    let shown = show::show(&machine.home, &limited).unwrap();
    assert_eq!((shown.state, shown.at_role.as_deref()), (ThreadState::Limited, Some("writer")));
}

#[test]
fn an_unknown_thread_is_not_found() {
    let machine = Machine::with_essay();
    let id = ids::new_thread_id();
    assert_eq!(
        failure(&step(&machine, &id).unwrap_err()),
        (ErrorKind::NotFound, format!("thread {id} does not exist").as_str())
    );
}

#[test]
fn one_thread_has_one_stepper() {
    let machine = Machine::with_essay();
    let id = machine.start("essay");
    let held = lock::take(&machine.home, &id).unwrap();
    let message = format!("thread {id} is being stepped by another process");
    assert_eq!(failure(&step(&machine, &id).unwrap_err()), (ErrorKind::Busy, message.as_str()));
    assert_eq!(machine.answer(&id, json!({"text": "It rains."})).unwrap_err().kind, ErrorKind::Busy);
    drop(held);
    machine.answer(&id, json!({"text": "It rains."})).unwrap();
}

#[test]
fn unstartable_agent_keeps_head_and_leaves_thread_stuck() {
    let machine = Machine::with_essay();
    let config = "agents:\n  robot: { command: /there/is/no/robot, output: text }\ndefaultAgent: robot\n";
    let id = machine.start("essay");
    let head = machine.thread(&id).head;
    std::fs::write(machine.home.config_file(), config).unwrap();
    step(&machine, &id).unwrap_err();
    let shown = show::show(&machine.home, &id).unwrap();
    assert_eq!((shown.head, shown.state), (head, ThreadState::Stuck));
}
