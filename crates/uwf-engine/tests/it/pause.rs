//! `thread pause` and `thread resume`: a mark that every step looks at.

use uwf_engine::attempt::agent_process::SignalListener;
use uwf_engine::error::ErrorKind;
use uwf_engine::root::marks::{self, ThreadMark};
use uwf_engine::thread::state::ThreadState;
use uwf_engine::verbs::step::{self, StepRequest};
use uwf_engine::verbs::{kill, pause};
use uwf_engine::views::show;

use crate::memory::{Machine, failure};

#[test]
fn paused_thread_is_not_stepped_until_resumed() {
    let machine = Machine::with_essay();
    let id = machine.start("essay");
    assert_eq!(pause::pause(&machine.home, &id, None, None).unwrap(), ThreadState::Paused);
    let error = step::perform(
        &machine.home,
        &StepRequest::plain(id.clone()),
        |_, _| Ok(false),
        &mut SignalListener::listen().unwrap(),
    )
    .unwrap_err();
    assert_eq!(failure(&error), (ErrorKind::Waiting, format!("thread {id} is paused: paused by hand").as_str()));
    assert_eq!(error.hints, [format!("`uwf thread resume {id}` resumes it")]);
    assert_eq!(pause::resume(&machine.home, &id, None).unwrap(), (ThreadState::Active, true));
    assert_eq!(
        pause::resume(&machine.home, &id, None).unwrap(),
        (ThreadState::Active, false),
        "nothing was left to resume"
    );
}

#[test]
fn newer_pause_reason_wins_and_one_resume_suffices() {
    let machine = Machine::with_essay();
    let id = machine.start("essay");
    pause::pause(&machine.home, &id, Some("lunch"), None).unwrap();
    pause::pause(&machine.home, &id, Some("  until Monday\n"), None).unwrap();
    let shown = show::show(&machine.home, &id).unwrap();
    assert_eq!((shown.state, shown.why.as_deref()), (ThreadState::Paused, Some("until Monday")));
    pause::resume(&machine.home, &id, None).unwrap();
    assert_eq!(show::show(&machine.home, &id).unwrap().state, ThreadState::Active);
}

#[test]
fn secret_in_reason_is_redacted() {
    let machine = Machine::with_essay();
    let id = machine.start("essay");
    std::fs::write(machine.home.env_file(), "API_KEY=sk-0123456789abcdef\n").unwrap();
    pause::pause(&machine.home, &id, Some("sk-0123456789abcdef has run out"), None).unwrap();
    let why = marks::get(&machine.home, &id, ThreadMark::Paused).unwrap().why;
    assert_eq!(why, "[redacted API_KEY] has run out");
}

#[test]
fn ended_thread_cannot_be_paused_or_resumed() {
    let machine = Machine::with_essay();
    let id = machine.start("essay");
    pause::pause(&machine.home, &id, None, None).unwrap();
    kill::kill(&machine.home, &id, None).unwrap();
    assert_eq!(marks::marks_of_thread(&machine.home, &id), [].into(), "its end took the mark");
    assert_eq!(pause::pause(&machine.home, &id, None, None).unwrap_err().kind, ErrorKind::NotFound);
    assert_eq!(pause::resume(&machine.home, &id, None).unwrap_err().kind, ErrorKind::NotFound);
    assert_eq!(marks::marks_of_thread(&machine.home, &id), [].into());
}
