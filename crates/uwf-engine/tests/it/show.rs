//! `thread show`, and how threads are named.

use json_cas::ObjectBackend;
use serde_json::json;
use uwf_core::agent_name::AgentName;
use uwf_core::thread::ThreadId;
use uwf_engine::attempt::agent_process::SignalListener;
use uwf_engine::attempt::bindings::AgentReference;
use uwf_engine::error::{ErrorKind, Result};
use uwf_engine::root::{ids, thread_ids};
use uwf_engine::thread::nodes;
use uwf_engine::thread::state::ThreadState;
use uwf_engine::verbs::fork::{self, ForkChanges};
use uwf_engine::verbs::step::{self, StepRequest};
use uwf_engine::views::steps::{self, StepEntry};
use uwf_engine::views::{list, show};

use crate::memory::{Machine, failure};

fn resolve(machine: &Machine, typed: &str) -> Result<ThreadId> {
    thread_ids::resolve(&machine.home, None, typed)
}

#[test]
fn thread_shows_task_steps_and_digest() {
    let machine = Machine::with_essay();
    let id = machine.start("essay");
    let started = show::show(&machine.home, &id).unwrap();
    assert_eq!((started.task.as_str(), started.steps, started.role), ("On rain.", 0, None));
    machine.refused(&id, 3);
    let shown = show::show(&machine.home, &id).unwrap();
    assert_eq!((shown.steps, shown.role.as_deref(), shown.done), (6, Some("editor"), false));
    assert!(started.digest.is_some() && shown.digest.is_some() && started.digest != shown.digest);
}

#[test]
fn a_thread_that_has_ended_shows_how() {
    let machine = Machine::with_essay();
    let id = machine.start("essay");
    let head = machine.approved(&id).head;
    let shown = show::show(&machine.home, &id).unwrap();
    assert_eq!((shown.done, shown.state, shown.head), (true, ThreadState::Completed, head));
    assert_eq!(shown.why.as_deref(), Some("end"));
    assert!(machine.home.store().has(shown.end.unwrap()).unwrap());
}

#[test]
fn a_stuck_thread_shows_its_failed_attempt() {
    let machine = Machine::with_essay();
    let id = machine.start("essay");
    machine.configure("  robot: { command: /there/is/no/robot, output: text }\n");
    let asked = AgentReference { agent: "robot".to_owned(), output: None };
    let request = StepRequest { agent: Some(asked), ..StepRequest::plain(id.clone()) };
    let error =
        step::perform(&machine.home, &request, |_, _| Ok(false), &mut SignalListener::listen().unwrap()).unwrap_err();
    let shown = show::show(&machine.home, &id).unwrap();
    assert_eq!((shown.state, shown.steps, shown.why.as_ref()), (ThreadState::Stuck, 0, Some(&error.message)));
    assert_eq!((shown.at_role.as_deref(), shown.agent.as_ref().map(AgentName::short)), (Some("writer"), Some("robot")));
    let attempt = nodes::attempt(machine.home.store(), shown.attempt.unwrap()).unwrap();
    assert_eq!((attempt.role.as_str(), attempt.error), ("writer", Some(error.message)));
}

#[test]
fn threads_of_one_start_have_own_times() {
    let machine = Machine::with_essay();
    let [first, second] = [(); 2].map(|()| machine.start("essay"));
    let show = |id: &ThreadId| show::show(&machine.home, id).unwrap();
    let [one, two] = [show(&first), show(&second)];
    assert_eq!(one.head, two.head);
    assert!(two.started_at > one.started_at, "{one:?} {two:?}");
    assert_eq!((two.started_at, two.changed_at), (second.time_ms(), second.time_ms()));
    let rows = list::list(&machine.home, &list::ThreadFilter::default()).unwrap().rows;
    assert_eq!((&rows[0].thread, rows[0].changed_at), (&second, two.started_at));
    let steps = steps::steps(&machine.home, &second, 0..1).unwrap().steps;
    assert!(matches!(steps[..], [StepEntry::Start { timestamp, .. }] if timestamp == two.started_at), "{steps:?}");
    let fork = fork::thread(&machine.home, &second, None, &ForkChanges::default(), &machine.work()).unwrap().thread;
    assert_eq!(show(&fork).changed_at, fork.time_ms());
}

#[test]
fn unknown_thread_hints_at_full_list() {
    let machine = Machine::with_essay();
    let id = ids::new_thread_id();
    let error = show::show(&machine.home, &id).unwrap_err();
    assert_eq!(failure(&error), (ErrorKind::NotFound, format!("thread {id} does not exist").as_str()));
    assert_eq!(error.hints, ["`uwf thread list --all` lists every thread"]);
}

#[test]
fn thread_with_only_local_records_hints_at_recovery() {
    let machine = Machine::with_essay();
    let elsewhere = Machine::with_essay();
    let id = elsewhere.start("essay");
    std::fs::create_dir_all(machine.home.threads_dir()).unwrap();
    std::fs::copy(elsewhere.home.record_file(&id), machine.home.record_file(&id)).unwrap();
    let error = show::show(&machine.home, &id).unwrap_err();
    assert_eq!(error.hints, ["this machine has records of the thread: `uwf recover --dry-run` shows them"]);
}

#[test]
fn damaged_head_is_reported_with_verify_hint() {
    let machine = Machine::with_essay();
    let id = machine.start("essay");
    let head = machine.answer(&id, json!({"text": "It rains."})).unwrap().head;
    machine.objects.replace(head, b"\xa0").unwrap();
    let error = show::show(&machine.home, &id).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Data);
    assert!(error.message.starts_with(&format!("node {head} is corrupt: ")), "{}", error.message);
    let hint = format!("`uwf cas verify {head}` checks it; putting the same content again repairs it");
    assert_eq!(error.hints, [hint]);
}

#[test]
fn older_damage_does_not_hide_newest_step() {
    let machine = Machine::with_essay();
    let id = machine.start("essay");
    machine.refused(&id, 2);
    let first = machine.steps(&id)[0];
    machine.objects.replace(first, b"\xa0").unwrap();
    assert_eq!(show::show(&machine.home, &id).unwrap().steps, 4);
    machine.approved(&id);
}

#[test]
fn thread_is_resolved_by_id_prefix_or_suffix() {
    let machine = Machine::with_essay();
    let id = machine.start("essay");
    let text = id.as_str();
    for typed in
        [text, &text.to_lowercase(), &text[..20], &text[20..], &text[20..].to_lowercase(), &format!("…{}", &text[20..])]
    {
        assert_eq!(resolve(&machine, typed).unwrap(), id, "{typed}");
    }
    let error = resolve(&machine, &text[..3]).unwrap_err();
    let message =
        format!("`{}` is not a thread id; give at least 4 symbols of the start or the end of one", &text[..3]);
    assert_eq!(failure(&error), (ErrorKind::Usage, message.as_str()));
}

#[test]
fn a_beginning_that_several_threads_share_names_none() {
    let machine = Machine::with_essay();
    let [first, second] = [(); 2].map(|()| machine.start("essay"));
    let error = resolve(&machine, &first.as_str()[..6]).unwrap_err();
    let message = format!("`{}` is not unique: {first}, {second}", &first.as_str()[..6]);
    assert_eq!((error.kind, error.message), (ErrorKind::Usage, message));
    assert_eq!(error.hints, ["give more symbols"]);
}

#[test]
fn a_misspelt_end_is_answered_with_the_nearest() {
    let machine = Machine::with_essay();
    let id = machine.start("essay");
    let end = &id.as_str()[18..];
    let misspelt = format!("{}{}", if end.starts_with('0') { '1' } else { '0' }, &end[1..]);
    let error = resolve(&machine, &misspelt).unwrap_err();
    assert_eq!(failure(&error), (ErrorKind::NotFound, format!("no thread begins or ends with `{misspelt}`").as_str()));
    assert_eq!(error.hints, [format!("did you mean …{end}?")]);
}

#[test]
fn at_sign_names_newest_thread_even_if_ended() {
    let machine = Machine::with_essay();
    let missing = resolve(&machine, "@").unwrap_err();
    assert_eq!(failure(&missing), (ErrorKind::NotFound, "`@` names no thread: no thread exists yet"));
    let older = machine.start("essay");
    let newer = machine.start("essay");
    machine.approved(&newer);
    let resolve = |typed: &str| resolve(&machine, typed);
    assert_eq!((resolve("@").unwrap(), resolve("@2").unwrap()), (newer, older));
    assert_eq!(resolve("@3").unwrap_err().message, "`@3` names no thread: there are 2");
    assert_eq!(resolve("@0").unwrap_err().hints, ["@ is the newest thread, @2 the one before"]);
}
